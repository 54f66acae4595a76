"""The command: what it says before it begins, and when it does not begin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from headway_client.config.profile import Connection
from headway_client.errors import UsageError
from headway_verification.acceptance import __main__ as command
from headway_verification.acceptance import target as targets
from headway_verification.acceptance.errors import CannotAccept
from headway_verification.acceptance.target import Options, find
from tests.verification.acceptance.aws import account

STACK = {
    "StackName": "queue",
    "Parameters": [
        {"ParameterKey": "TrainingRoleArns", "ParameterValue": "arn:aws:iam::1:role/a,arn:aws:iam::1:role/b"}
    ],
    "Outputs": [{"OutputKey": "ApiId", "OutputValue": "abc123"}],
}
OTHER = {"StackName": "other", "Outputs": [{"OutputKey": "ApiId", "OutputValue": "xyz789"}]}


def test_on_aws_the_cost_is_said_and_nothing_begins_without_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def found(*_: Any) -> Iterator[Any]:
        yield account()

    def begun(*_: Any, **__: Any) -> None:
        raise AssertionError("the run has begun")

    monkeypatch.setattr(command, "find", found)
    monkeypatch.setattr(command, "examine", begun)
    assert command.main([]) == 2
    said = capsys.readouterr()
    assert (
        "up to 4 training jobs on ml.m5.large of at most 5 minutes each (0.50 instance-hours at most, 0.06 USD"
        in said.out
    )
    assert "Give --yes (YES=1)" in said.err
    with pytest.raises(AssertionError, match="has begun"):
        command.main(["--yes"])


def test_the_price_of_another_type_is_not_guessed() -> None:
    said = command.cost(replace_type("ml.c5.xlarge"))
    assert "USD" not in said
    assert "ml.c5.xlarge" in said


def replace_type(instance_type: str) -> Any:
    target = account()
    object.__setattr__(target, "instance_type", instance_type)
    return target


class Formation:
    def get_paginator(self, _name: str) -> Formation:
        return self

    def paginate(self) -> list[dict[str, Any]]:
        return [{"Stacks": [OTHER]}, {"Stacks": [STACK]}]

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803  boto3's
        return {"Stacks": [{**STACK, "StackName": StackName}]}


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connection(endpoint="https://abc123.execute-api.eu-west-1.amazonaws.com/v1", region="eu-west-1")
    monkeypatch.setattr(targets, "resolve_connection", lambda **_: connection)
    monkeypatch.setattr(Connection, "aws_client", lambda _self, _service: Formation())


COMPLETE = Options(bucket="a", image="b")


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("options", "stack", "role"),
    [
        (COMPLETE, "queue", "arn:aws:iam::1:role/a"),
        (replace(COMPLETE, stack="mine", role="arn:aws:iam::1:role/c"), "mine", "arn:aws:iam::1:role/c"),
    ],
)
def test_the_stack_is_that_of_the_endpoint_and_the_role_one_that_it_may_pass(
    options: Options, stack: str, role: str
) -> None:
    with find(options, print) as target:
        assert (target.stack, target.role, target.is_sandbox) == (stack, role, False)


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (replace(COMPLETE, bucket=None), r"Give --bucket \(BUCKET=\)"),
        (replace(COMPLETE, image=None), r"Give --image \(IMAGE=\)"),
    ],
)
def test_what_a_run_on_aws_needs_is_asked_for(options: Options, sentence: str) -> None:
    with pytest.raises(CannotAccept, match=sentence), find(options, print):
        pass


@pytest.mark.usefixtures("configured")
def test_an_endpoint_without_a_stack_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connection(endpoint="https://none.execute-api.eu-west-1.amazonaws.com/v1", region="eu-west-1")
    monkeypatch.setattr(targets, "resolve_connection", lambda **_: connection)
    with (
        pytest.raises(CannotAccept, match=r"No stack in eu-west-1 has the API of .*Give --stack"),
        find(COMPLETE, print),
    ):
        pass


def test_a_wrong_setting_starts_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise UsageError("The endpoint is no URL.")

    monkeypatch.setattr(targets, "resolve_connection", refuse)
    with pytest.raises(UsageError, match="no URL"), find(Options(), print):
        pass
