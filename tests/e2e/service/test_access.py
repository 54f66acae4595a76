"""Authorization: IAM decides on calls before any function runs, and the queue decides on jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from headway_client.errors import ConfigurationChangedError
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.command_line import CommandLine
from tests.e2e.conftest import DOCUMENT, PARTNER
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e


@pytest.fixture
def reader(sb: Sandbox, tmp_path: Path) -> CommandLine:
    """The command line of a user with read permissions only."""
    look = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "arn:aws:execute-api:*:*:*/v1/GET/*"}
    keys = sb.make_user("onlooker", {"Version": "2012-10-17", "Statement": [look]})
    folder = tmp_path / "onlooker"
    folder.mkdir()
    return CommandLine(sb, folder, keys=keys)


def test_a_reader_sees_the_queue_and_cannot_change_it(queue: QueueView, reader: CommandLine):
    queue.submit("job")
    queue.wait_until_training("job")
    name = f"{queue.prefix}job"
    assert [job["jobName"] for job in reader("queue", "-o", "json").document["jobs"]] == [name]
    assert reader("show", name, "-o", "json").document["jobState"] == "running"
    assert reader("capacity", "-o", "json").document["pools"][0]["size"] == 2

    for command in (["submit", "-"], ["stop", name], ["priority", name, "9"], ["config", "set", "-"]):
        outcome = reader(*command, stdin=queue.request("mine") if command[0] == "submit" else {"pools": {}}, expect=6)
        assert "not allowed" in outcome.err or "execute-api:Invoke" in outcome.err, outcome.err
    assert queue.states() == {"job": "running"}
    assert queue.job("job").priority == 0


def test_a_wrong_secret_is_refused(sb: Sandbox, queue: QueueView, tmp_path: Path):
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    key, _ = sb.make_user("forger", {"Version": "2012-10-17", "Statement": [everything]})
    forger = CommandLine(sb, tmp_path, keys=(key, "wrong"))
    forger("queue", expect=6)
    forger("submit", "-", stdin=queue.request("forged"), expect=6)
    assert queue.jobs() == {}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/jobs"), ("POST", "/jobs"), ("POST", "/add-job"), ("PUT", "/config")]
)
def test_unsigned_requests_are_refused(sb: Sandbox, queue: QueueView, method: str, path: str):
    answer = requests.request(method, sb.endpoint + path, json=queue.request("unsigned"), timeout=30)
    assert answer.status_code == 403
    assert "error" not in answer.json(), "a function has answered"
    assert queue.jobs() == {}


# ------------------------------------------------------------------------------------------ callers of other accounts

EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
NOTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "s3:*", "Resource": "*"}]}


def test_a_caller_of_a_trusted_account_with_a_policy_of_its_own_submits_as_a_member_of_a_team(
    sb: Sandbox, queue: QueueView, tmp_path: Path
):
    teams = {"partners": {"members": [f"{PARTNER}:user/eve"]}, "ours": {"members": ["user/ada"]}}
    queue.api.put_config({**DOCUMENT, "teams": teams}, force=True)
    eve = CommandLine(sb, tmp_path, keys=sb.make_user_of(PARTNER, "eve", EVERYTHING))
    eve("submit", "-", stdin=queue.request("theirs"))
    job = queue.job("theirs")
    assert (job.team, job.owner) == ("partners", f"arn:aws:iam::{PARTNER}:user/eve")
    queue.empty()
    queue.api.put_config(DOCUMENT, force=True)


@pytest.mark.parametrize(
    ("account", "policy"),
    [(PARTNER, NOTHING), ("333333333333", EVERYTHING)],
    ids=["of a trusted account without a policy", "of an account that is not trusted"],
)
def test_a_caller_of_another_account_needs_both_policies(
    sb: Sandbox, queue: QueueView, tmp_path: Path, account: str, policy: dict[str, Any]
):
    stranger = CommandLine(sb, tmp_path, keys=sb.make_user_of(account, f"stranger-{account}", policy))
    for command in (["queue"], ["submit", "-"]):
        outcome = stranger(*command, stdin=queue.request("foreign"), expect=6)
        assert "execute-api:Invoke" in outcome.err, outcome.err
    assert queue.jobs() == {}


# ---------------------------------------------------------------------------- users, as in docs/reference/access.md

SECRET = "hunter2"
PEOPLE = {
    "ada": "UserPolicy",
    "bob": "UserPolicy",
    "lea": "LeadPolicy",
    "cora": "OnCallPolicy",
    "olaf": "OperatorPolicy",
    "adam": "AdminPolicy",
    "stranger": None,
}
"""The users, with their managed policies of the stack."""


@pytest.fixture
def person(sb: Sandbox, queue: QueueView, tmp_path: Path) -> Iterator[Callable[[str], CommandLine]]:
    """The command lines of users under a configuration with access rules."""
    formation = sb.client("cloudformation")
    (stack,) = formation.describe_stacks(StackName=sb.info.stack)["Stacks"]
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}

    def command_line(name: str) -> CommandLine:
        folder = tmp_path / name
        folder.mkdir()
        policy = PEOPLE[name]
        return CommandLine(sb, folder, keys=sb.make_user(name, policy and outputs[f"{policy}Arn"]))

    everybody = {name: command_line(name) for name in PEOPLE}
    role = sb.info.role_arn
    queue.api.put_config(
        {
            **DOCUMENT,
            "teams": {"research": {"members": ["user/ada"], "leads": ["user/lea"], "maxPriority": 10}, "open": {}},
            "access": {
                "admins": ["user/adam"],
                "details": "owner",
                "trainingRoles": [{"roles": [role], "callers": ["user/ada"], "teams": ["research"]}],
            },
        },
        force=True,
    )
    yield everybody.__getitem__
    queue.empty()
    queue.api.put_config(DOCUMENT, force=True)


def test_a_user_a_lead_an_administrator_and_a_stranger_have_their_permissions(
    queue: QueueView, person: Callable[[str], CommandLine]
):
    name = f"{queue.prefix}job"
    asked = queue.request("job", HyperParameters={"token": SECRET})
    person("ada")("submit", "-", stdin=asked)
    job = queue.job("job")
    assert (job.team, job.owner) == ("research", f"arn:aws:iam::{queue.sandbox.info.role_arn.split(':')[4]}:user/ada")
    queue.wait_until_training("job")

    # The function's refusals have their own messages.
    refusals = {
        ("stop", name): f"user/bob may not stop `{name}`: only its owner (user/ada), a lead of the team research or an",
        ("submit", "-"): "which your jobs of the team open may not run with",
    }
    for command, words in refusals.items():
        stdin = queue.request("other", Tags=[{"Key": "team", "Value": "open"}]) if command[0] == "submit" else ""
        outcome = person("bob")(*command, stdin=stdin, expect=6)
        assert words in outcome.err
        assert "execute-api" not in outcome.err
    theirs = person("bob")("show", name, "-o", "json")
    assert theirs.document["withheld"] == ["Environment", "HyperParameters"]
    assert SECRET not in theirs.out
    assert SECRET in json.dumps(person("ada")("show", name, "-o", "json").document["request"])

    # Calls refused by IAM reach no function.
    document = json.dumps(DOCUMENT)
    for who, denied in (
        ("ada", ["priority", name, "5"]),
        ("lea", ["config", "set", "-"]),
        ("lea", ["dlq", "show"]),
        ("cora", ["stop", name]),
        ("cora", ["drain", "ml.g5.xlarge"]),
        ("olaf", ["submit", "-"]),
        ("olaf", ["config", "set", "-", "--yes"]),
        ("stranger", ["queue"]),
    ):
        assert "execute-api" in person(who)(*denied, stdin=document, expect=6).err

    person("lea")("priority", name, "7")
    assert queue.job("job").priority == 7
    assert "from 0 to 10 for the team research" in person("adam")("priority", name, "11", expect=3).err
    assert "user/olaf may not stop" in person("olaf")("stop", name, expect=6).err
    person("cora")("pause")
    person("olaf")("resume")
    person("olaf")("config", "history")
    for who in ("cora", "olaf", "adam"):
        person(who)("dlq", "show")
    person("adam")("stop", name)


def test_who_edits_an_earlier_version_of_the_configuration_is_told_what_has_changed(queue: QueueView):
    """The function reads that version, which its policy has to allow."""
    before = queue.api.get_config()
    changed = {**DOCUMENT, "retries": {"service": {"maxPerJob": 7}}}
    queue.api.put_config(changed, force=True)
    try:
        with pytest.raises(ConfigurationChangedError, match=r"it changed retries"):
            queue.api.put_config(DOCUMENT, if_version=before.version)
    finally:
        queue.api.put_config(DOCUMENT, force=True)
