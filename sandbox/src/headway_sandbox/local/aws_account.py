"""The sandbox's AWS account, seen from outside: what jobs need in it, and what is deployed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from headway_sandbox.emulator.placeholders import VPC_ENDPOINT
from headway_sandbox.errors import SandboxError

if TYPE_CHECKING:
    from headway_sandbox.local.manager import SandboxInfo

ROLE = "HeadwayTrainingRole"
# Kept in the sandbox itself, so that it is lost with the deployment that it speaks of, should the server be killed.
_MARK = "/headway-sandbox/deployed"


def session(info: SandboxInfo, *, access_key: str | None = None, secret_key: str | None = None) -> boto3.Session:
    """A boto3 session with the root's credentials, or those given."""
    return boto3.Session(
        aws_access_key_id=access_key or info.access_key,
        aws_secret_access_key=secret_key or info.secret_key,
        region_name=info.region,
    )


def client(info: SandboxInfo, service: str, *, access_key: str | None = None, secret_key: str | None = None) -> Any:
    """A client of the sandbox for a service. Impatient: what doesn't answer here won't."""
    config = Config(
        connect_timeout=5,
        read_timeout=60,
        retries={"mode": "standard", "total_max_attempts": 3},
        proxies={},
        s3={"addressing_style": "path"},
    )
    # The name of a service is a literal type in boto3's stubs, one per service.
    made: Any = session(info, access_key=access_key, secret_key=secret_key)
    return made.client(service, endpoint_url=info.aws_endpoint, config=config)


def furnish(info: SandboxInfo) -> None:
    """Make the role that training jobs run with, and the bucket for their data, if they aren't there."""
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
    make_role = {"RoleName": ROLE, "AssumeRolePolicyDocument": json.dumps(trust)}
    location = {"LocationConstraint": info.region}
    _unless_there(lambda: client(info, "iam").create_role(**make_role), "EntityAlreadyExists")
    _unless_there(
        lambda: client(info, "s3").create_bucket(Bucket=info.bucket, CreateBucketConfiguration=location),
        "BucketAlreadyOwnedByYou",
    )


def _unless_there(make: Any, already: str) -> None:
    try:
        make()
    except ClientError as error:
        if error.response["Error"]["Code"] != already:
            raise SandboxError(f"The sandbox's account could not be set up: {error}") from error


def template_parameters(info: SandboxInfo) -> dict[str, str]:
    """What the sandbox sets of the template's parameters."""
    return {
        "VpcEndpointIds": VPC_ENDPOINT,
        "TrainingRoleArns": info.role_arn,
        # A stack of the sandbox is thrown away as a whole.
        "TableDeletionProtection": "false",
        # All that there is has to work.
        "Alarms": "all",
        "CreateDashboard": "true",
    }


def api_endpoint(info: SandboxInfo) -> str:
    """Where the queue's API answers, stage included; empty if the stack isn't there or isn't complete."""
    formation = client(info, "cloudformation")
    try:
        (stack,) = formation.describe_stacks(StackName=info.stack)["Stacks"]
    except ClientError:
        return ""  # the answer for a stack that doesn't exist is a ValidationError
    if stack["StackStatus"] not in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}:
        return ""
    found = {}
    for resource in formation.describe_stack_resources(StackName=info.stack)["StackResources"]:
        found[resource["ResourceType"]] = resource["PhysicalResourceId"]
    api, stage = found.get("AWS::ApiGateway::RestApi"), found.get("AWS::ApiGateway::Stage")
    if not api or not stage:
        return ""
    # The host form {api}.execute-api.localhost doesn't resolve on every machine; the path form always works, and
    # the emulator checks the signature over the path as it was sent.
    return f"{info.aws_endpoint}/_aws/execute-api/{api}/{stage.rpartition('/')[2].rpartition('|')[2]}"


def deployed_mark(info: SandboxInfo) -> str | None:
    parameters = client(info, "ssm")
    try:
        value: str = parameters.get_parameter(Name=_MARK)["Parameter"]["Value"]
    except ClientError:
        return None
    return value


def mark_deployed(info: SandboxInfo, mark: str) -> None:
    client(info, "ssm").put_parameter(Name=_MARK, Value=mark, Type="String", Overwrite=True)


def make_user(info: SandboxInfo, name: str, policy: dict[str, Any] | str | None) -> tuple[str, str]:
    """A user with one policy of its own, or the managed one of that ARN, or none; its access key and secret."""
    iam = client(info, "iam")
    _unless_there(lambda: iam.create_user(UserName=name), "EntityAlreadyExists")
    if isinstance(policy, str):
        iam.attach_user_policy(UserName=name, PolicyArn=policy)
    elif policy is not None:
        iam.put_user_policy(UserName=name, PolicyName="sandbox", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]
