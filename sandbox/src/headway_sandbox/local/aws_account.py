"""The sandbox's AWS account: clients, resources for training jobs, and the deployed stack."""

from __future__ import annotations

import json
import re
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from headway_sandbox.emulator.placeholders import VPC_ENDPOINT
from headway_sandbox.errors import InvalidName, SandboxError
from headway_sandbox.local.sandbox_info import SandboxInfo

ROLE = "HeadwayTrainingRole"
# The buckets of training jobs: the sandbox's own, and those that the SageMaker SDK makes.
_BUCKETS = ("headway-jobs-*", "sagemaker-*")
_DATA = [
    {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": [f"arn:aws:s3:::{name}" for name in _BUCKETS]},
    {
        "Effect": "Allow",
        "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
        "Resource": [f"arn:aws:s3:::{name}/*" for name in _BUCKETS],
    },
]
_ROLE_POLICY = {"Version": "2012-10-17", "Statement": _DATA}
# What users need besides the queue: their data, and what `headway logs`, `headway advise` and the board read.
_USER_POLICY: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        *_DATA,
        {
            "Effect": "Allow",
            "Action": [
                "logs:DescribeLogStreams",
                "logs:GetLogEvents",
                "cloudwatch:GetMetricData",
                "sagemaker:DescribeTrainingJob",
            ],
            "Resource": "*",
        },
    ],
}
# Source: IAM API reference, CreateUser, UserName.
_USER_NAME = re.compile(r"[\w+=,.@-]{1,64}", re.ASCII)
# A parameter in the sandbox, so that it is lost together with the deployment if the server is killed.
_MARK = "/headway-sandbox/deployed"


def session(info: SandboxInfo, *, access_key: str | None = None, secret_key: str | None = None) -> boto3.Session:
    """Return a boto3 session.

    Args:
        info: The sandbox.
        access_key: Access key; None: the root's.
        secret_key: Secret key; None: the root's.
    """
    return boto3.Session(
        aws_access_key_id=access_key or info.access_key,
        aws_secret_access_key=secret_key or info.secret_key,
        region_name=info.region,
    )


def client(info: SandboxInfo, service: str, *, access_key: str | None = None, secret_key: str | None = None) -> Any:
    """Return a boto3 client with short timeouts.

    Args:
        info: The sandbox.
        service: Name of the service.
        access_key: Access key; None: the root's.
        secret_key: Secret key; None: the root's.
    """
    config = Config(
        connect_timeout=5,
        read_timeout=60,
        retries={"mode": "standard", "total_max_attempts": 3},
        proxies={},
        s3={"addressing_style": "path"},
    )
    # boto3's stubs have a literal type per service name, so an Any is needed.
    made: Any = session(info, access_key=access_key, secret_key=secret_key)
    return made.client(service, endpoint_url=info.aws_endpoint, config=config)


def create_resources(info: SandboxInfo) -> None:
    """Create the training jobs' role and bucket if they do not exist."""
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
    make_role = {"RoleName": ROLE, "AssumeRolePolicyDocument": json.dumps(trust)}
    _unless_exists(lambda: client(info, "iam").create_role(**make_role), "EntityAlreadyExists")
    client(info, "iam").put_role_policy(RoleName=ROLE, PolicyName="training", PolicyDocument=json.dumps(_ROLE_POLICY))
    create_bucket(info, info.bucket)


def create_bucket(info: SandboxInfo, name: str) -> None:
    """Create a bucket if it does not exist.

    Args:
        info: The sandbox.
        name: The bucket's name.
    """
    location = {"LocationConstraint": info.region}
    _unless_exists(
        lambda: client(info, "s3").create_bucket(Bucket=name, CreateBucketConfiguration=location),
        "BucketAlreadyOwnedByYou",
    )


def _unless_exists(create: Any, already: str) -> None:
    try:
        create()
    except ClientError as error:
        if error.response["Error"]["Code"] != already:
            raise SandboxError(f"Cannot set up the sandbox's account: {error}") from error


def template_parameters(info: SandboxInfo) -> dict[str, str]:
    """Return the sandbox's values of template parameters."""
    # The sandbox's own bucket, and the one that the SageMaker SDK makes.
    buckets = f"arn:aws:s3:::{info.bucket},arn:aws:s3:::sagemaker-{info.region}-{info.account}"
    return {
        "VpcEndpointIds": VPC_ENDPOINT,
        "TrainingRoleArns": info.role_arn,
        "ReuseBucketArns": buckets,
        "CheckpointBucketArns": buckets,
        # A sandbox's stack is deleted as a whole.
        "TableDeletionProtection": "false",
        # Enable all optional parts, to test them.
        "Alarms": "all",
        "CreateDashboard": "true",
    }


def api_endpoint(info: SandboxInfo) -> str:
    """Return the URL of the queue's API with its stage; empty if the stack does not exist or is not complete."""
    formation = client(info, "cloudformation")
    try:
        (stack,) = formation.describe_stacks(StackName=info.stack)["Stacks"]
    except ClientError:
        return ""  # ValidationError: the stack does not exist
    if stack["StackStatus"] not in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}:
        return ""
    found = {}
    for resource in formation.describe_stack_resources(StackName=info.stack)["StackResources"]:
        found[resource["ResourceType"]] = resource["PhysicalResourceId"]
    api, stage = found.get("AWS::ApiGateway::RestApi"), found.get("AWS::ApiGateway::Stage")
    if not api or not stage:
        return ""
    # The host {api}.execute-api.localhost does not resolve on every machine. The path form works on all, and the
    # emulator checks the signature over the path as sent.
    return f"{info.aws_endpoint}/_aws/execute-api/{api}/{stage.rpartition('/')[2].rpartition('|')[2]}"


def deployed_mark(info: SandboxInfo) -> str | None:
    """Return the mark of the deployed sources and parameters; None if nothing is deployed."""
    parameters = client(info, "ssm")
    try:
        value: str = parameters.get_parameter(Name=_MARK)["Parameter"]["Value"]
    except ClientError:
        return None
    return value


def mark_deployed(info: SandboxInfo, mark: str) -> None:
    """Save the mark of the deployed sources and parameters.

    Args:
        info: The sandbox.
    """
    client(info, "ssm").put_parameter(Name=_MARK, Value=mark, Type="String", Overwrite=True)


def make_queue_user(info: SandboxInfo, name: str, policy: str) -> tuple[str, str]:
    """Create a user of the queue unless it exists, and return a new access key and its secret key.

    Args:
        info: The sandbox.
        name: The user's name.
        policy: Name of a managed policy of the stack in the template, such as UserPolicy; in place of another one.

    Raises:
        InvalidName: IAM has no users of that name.
    """
    if not _USER_NAME.fullmatch(name):
        raise InvalidName(f"{name!r} is no name of a user: it has 1 to 64 letters, digits and characters of +=,.@_-.")
    keys = make_user(info, name, _USER_POLICY)
    iam, (stack,) = client(info, "iam"), client(info, "cloudformation").describe_stacks(StackName=info.stack)["Stacks"]
    arns = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    for attached in iam.list_attached_user_policies(UserName=name)["AttachedPolicies"]:
        iam.detach_user_policy(UserName=name, PolicyArn=attached["PolicyArn"])
    iam.attach_user_policy(UserName=name, PolicyArn=arns[f"{policy}Arn"])
    return keys


def make_user(info: SandboxInfo, name: str, policy: dict[str, Any] | str | None) -> tuple[str, str]:
    """Create an IAM user and return its access key and secret key.

    Args:
        info: The sandbox.
        name: The user's name.
        policy: Its policy document, the ARN of a managed policy, or None.
    """
    iam = client(info, "iam")
    _unless_exists(lambda: iam.create_user(UserName=name), "EntityAlreadyExists")
    if isinstance(policy, str):
        iam.attach_user_policy(UserName=name, PolicyArn=policy)
    elif policy is not None:
        iam.put_user_policy(UserName=name, PolicyName="sandbox", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]
