"""The deployment without sam: archives, and the stack's creation and update."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from headway_sandbox.errors import DeployFailed
from headway_sandbox.local import direct_deployment
from headway_sandbox.local.installed_package import InstalledPackage

STACK = "arn:aws:cloudformation:eu-west-1:123456789012:stack/headway-sandbox/1"
REQUEST = {"StackName": "headway-sandbox", "TemplateURL": "http://127.0.0.1/t"}


def written(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return packed.namelist()


def test_an_archive_has_the_sources_only_with_a_fixed_time(tmp_path: Path):
    written(tmp_path / "a" / "b.py", "pass")
    written(tmp_path / "a" / "__pycache__" / "b.cpython-311.pyc")
    with zipfile.ZipFile(io.BytesIO(direct_deployment.archive(tmp_path, prefix="x/"))) as packed:
        (entry,) = packed.infolist()
    assert (entry.filename, entry.date_time) == ("x/a/b.py", (1980, 1, 1, 0, 0, 0))


def test_local_folders_of_the_template_are_uploaded_and_nothing_else_changes(tmp_path: Path):
    written(tmp_path / "bundle" / "functions" / "api" / "app.py")
    written(tmp_path / "headway" / "scheduling" / "decision.py")
    package = InstalledPackage(bundle=tmp_path / "bundle", packages={"layers/core/src": tmp_path / "headway"})
    function = {"Type": "AWS::Serverless::Function", "Properties": {"CodeUri": "functions/api", "Timeout": 3}}
    layer = {"Type": "AWS::Serverless::LayerVersion", "Properties": {"ContentUri": "layers/core/src"}}
    table = {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "t"}}
    uploaded: list[bytes] = []

    def upload(content: bytes) -> str:
        uploaded.append(content)
        return f"bucket/{len(uploaded)}"

    template = {"Resources": {"F": function, "L": layer, "T": table}}
    assert direct_deployment.with_uploaded_code(template, package, upload)["Resources"] == {
        "F": {"Type": "AWS::Serverless::Function", "Properties": {"CodeUri": "s3://bucket/1", "Timeout": 3}},
        "L": {"Type": "AWS::Serverless::LayerVersion", "Properties": {"ContentUri": "s3://bucket/2"}},
        "T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "t"}},
    }
    # A layer's packages are where Lambda's Python searches them, a function's files beside its handler.
    assert [names(content) for content in uploaded] == [["app.py"], ["python/headway/scheduling/decision.py"]]


@pytest.fixture
def formation(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Stubber]]:
    monkeypatch.setattr(direct_deployment, "_POLL_S", 0.001)
    client = boto3.client(
        "cloudformation", region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


def described(stub: Stubber, *states: str) -> None:
    for state in states:
        stack = {"StackName": "headway-sandbox", "CreationTime": "2026-01-01T00:00:00Z", "StackStatus": state}
        stub.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": STACK})


def test_a_new_stack_is_created_and_deleted_if_that_fails(formation):
    client, stub = formation
    stub.add_response("create_stack", {"StackId": STACK}, {**REQUEST, "OnFailure": "DELETE"})
    described(stub, "CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    direct_deployment._create_or_update(client, REQUEST)


def test_an_existing_stack_is_updated(formation):
    client, stub = formation
    stub.add_client_error("create_stack", "AlreadyExistsException")
    stub.add_response("update_stack", {"StackId": STACK}, REQUEST)
    described(stub, "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE")
    direct_deployment._create_or_update(client, REQUEST)


def test_an_update_without_changes_is_done_already(formation):
    client, stub = formation
    stub.add_client_error("create_stack", "AlreadyExistsException")
    stub.add_client_error("update_stack", "ValidationError", "No updates are to be performed.")
    direct_deployment._create_or_update(client, REQUEST)


def test_a_template_that_cloudformation_refuses_is_reported_in_its_words(formation):
    client, stub = formation
    stub.add_client_error("create_stack", "ValidationError", "Template format error: no Resources")
    with pytest.raises(DeployFailed, match=r"refused the template: .*no Resources"):
        direct_deployment._create_or_update(client, REQUEST)


def test_a_failed_deployment_names_each_resource_that_failed(formation):
    client, stub = formation
    stub.add_response("create_stack", {"StackId": STACK})
    described(stub, "DELETE_COMPLETE")
    event = {"StackId": STACK, "EventId": "1", "StackName": "headway-sandbox", "Timestamp": "2026-01-01T00:00:00Z"}
    events = [
        {**event, "LogicalResourceId": "JobsTable", "ResourceStatus": "DELETE_COMPLETE"},
        {
            **event, "LogicalResourceId": "JobsTable", "ResourceStatus": "CREATE_FAILED",
            "ResourceStatusReason": "it exists",
        },
    ]  # fmt: skip
    stub.add_response("describe_stack_events", {"StackEvents": events}, {"StackName": STACK})
    with pytest.raises(DeployFailed, match=r"could not deploy the stack headway-sandbox:\nJobsTable: it exists$"):
        direct_deployment._create_or_update(client, REQUEST)
