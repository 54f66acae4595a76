"""What is read of an account before a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from deploy import account
from deploy.account import NO_STACK, Account, Endpoint, Stack

REGION = "eu-west-1"
WANTED = {"TableName": "queue", "VpcEndpointIds": "vpce-1,vpce-2"}
UNREAD = ["TableName", "ScheduleConcurrency", "VpcEndpointIds", "CreateApiLoggingRole"]


class Session:
    """A session whose clients give one answer each; an answer that is a text is an error's code."""

    region_name = REGION

    def __init__(self, answers: Mapping[str, tuple[str, Any]], why: str = "it says why") -> None:
        self._answers = {"sts": ("get_caller_identity", {"Account": "123456789012"}), **answers}
        self._why = why

    def client(self, service: str) -> Any:
        operation, answer = self._answers[service]
        client: Any = boto3.client(service, region_name=REGION)  # type: ignore[call-overload]  # any service
        stub = Stubber(client)
        if isinstance(answer, str):
            stub.add_client_error(operation, answer, self._why)
        else:
            stub.add_response(operation, answer)
        stub.activate()
        return client


def endpoint(name: str, **more: Any) -> dict[str, Any]:
    return {"VpcEndpointId": name, "ServiceName": f"com.amazonaws.{REGION}.execute-api", "State": "available", **more}


SEEN: dict[str, tuple[str, Any]] = {
    "dynamodb": ("scan", {"Count": 0}),
    "lambda": ("get_account_settings", {"AccountLimit": {"UnreservedConcurrentExecutions": 998}}),
    "ec2": ("describe_vpc_endpoints", {"VpcEndpoints": [endpoint("vpce-1", PrivateDnsEnabled=True)]}),
    "apigateway": ("get_account", {"cloudwatchRoleArn": "arn:aws:iam::123456789012:role/logs"}),
}


def read(**answers: tuple[str, Any]) -> Account:
    session: Any = Session({**SEEN, **answers})
    return account.read_account(session, WANTED)


def test_all_that_the_parameters_need_is_read():
    service = f"com.amazonaws.{REGION}.execute-api"
    assert read() == Account(
        id="123456789012",
        region=REGION,
        table_has_items=False,
        unreserved=998,
        endpoints={"vpce-1": Endpoint(service=service, state="available", private_names=True)},
        logs_apis=True,
        unread=[],
    )


def test_what_the_deployer_may_not_see_is_unknown_and_named():
    denied = {service: (operation, "AccessDeniedException") for service, (operation, _) in SEEN.items()}
    found = read(**denied)
    assert (found.table_has_items, found.unreserved, found.endpoints, found.logs_apis) == (None, None, None, None)
    assert [sentence.partition(" ")[0] for sentence in found.unread] == UNREAD
    assert all("could not be checked: " in each and "AccessDeniedException" in each for each in found.unread)


@pytest.mark.parametrize(
    ("answer", "has_items"), [({"Count": 1}, True), ({"Count": 0}, False), ("ResourceNotFoundException", None)]
)
def test_a_table_is_there_with_items_without_or_not_at_all(answer: Any, has_items: bool | None):
    found = read(dynamodb=("scan", answer))
    assert (found.table_has_items, found.unread) == (has_items, [])


def test_an_account_without_a_role_for_logs_is_known():
    assert read(apigateway=("get_account", {})).logs_apis is False


@pytest.mark.parametrize(
    ("answer", "stack"),
    [
        ("ValidationError", Stack()),
        ("AccessDenied", Stack()),
        (
            {"Stacks": [{"StackName": "q", "CreationTime": 0, "StackStatus": "UPDATE_COMPLETE"}]},
            Stack(status="UPDATE_COMPLETE"),
        ),
        (
            {
                "Stacks": [
                    {
                        "StackName": "q",
                        "CreationTime": 0,
                        "StackStatus": "CREATE_COMPLETE",
                        "Parameters": [{"ParameterKey": "ScheduleConcurrency", "ParameterValue": "2"}],
                    }
                ]
            },
            Stack(status="CREATE_COMPLETE", parameters={"ScheduleConcurrency": "2"}),
        ),
    ],
)
def test_a_stack_is_read_with_its_parameters(answer: Any, stack: Stack):
    session: Any = Session({"cloudformation": ("describe_stacks", answer)})
    assert account.read_stack(session, "q") == stack


def test_a_missing_stack_is_known():
    session: Any = Session({"cloudformation": ("describe_stacks", "ValidationError")}, "Stack with id q does not exist")
    assert account.read_stack(session, "q") == NO_STACK


def test_only_the_wanted_endpoints_are_read_and_those_that_do_not_exist_are_left_out():
    found = read(ec2=("describe_vpc_endpoints", {"VpcEndpoints": [endpoint("vpce-2"), endpoint("vpce-3")]}))
    assert found.endpoints is not None
    assert {name: each.private_names for name, each in found.endpoints.items()} == {"vpce-2": False}


@pytest.mark.parametrize(
    ("status", "created", "deleted"),
    [
        ("NONE", True, False),
        ("REVIEW_IN_PROGRESS", True, False),
        ("ROLLBACK_COMPLETE", True, True),
        ("ROLLBACK_FAILED", True, True),
        ("CREATE_FAILED", True, True),
        ("DELETE_FAILED", True, True),
        ("CREATE_COMPLETE", False, False),
        ("UPDATE_ROLLBACK_COMPLETE", False, False),
        ("UPDATE_ROLLBACK_FAILED", False, False),
        ("", False, False),
    ],
)
def test_the_status_says_whether_a_deployment_creates_the_resources(status: str, created: bool, deleted: bool):
    stack = Stack(status=status)
    assert (stack.is_to_be_created, stack.can_only_be_deleted) == (created, deleted)
