"""The AWS account that scripts run in: a sandbox without a queue, with a role and buckets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from headway_sandbox.local import aws_account
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.training.platform.s3_objects import Location

_ROLE = "HeadwayRehearsalRole"
_LONGEST_SESSION_S = 43_200


def create_role(sb: Sandbox) -> str:
    """Create a role that may use all buckets, and return its ARN.

    Args:
        sb: The sandbox, which has no other data than that of this rehearsal.
    """
    iam = sb.client("iam")
    trust = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"AWS": f"arn:aws:iam::{sb.info.account}:root"},
    }
    allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    arn: str = iam.create_role(RoleName=_ROLE, AssumeRolePolicyDocument=_policy(trust))["Role"]["Arn"]
    iam.put_role_policy(RoleName=_ROLE, PolicyName="buckets", PolicyDocument=_policy(allowed))
    return arn


def _policy(statement: object) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def credentials(sb: Sandbox, role_arn: str) -> tuple[str, str, str]:
    """Return new credentials of a role: access key, secret key and session token.

    Args:
        sb: The sandbox.
    """
    found = sb.client("sts").assume_role(
        RoleArn=role_arn, RoleSessionName="rehearsal", DurationSeconds=_LONGEST_SESSION_S
    )["Credentials"]
    return found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"]


def upload(sb: Sandbox, files: Iterable[tuple[Location, Path]]) -> None:
    """Copy files to S3, and create the buckets.

    Args:
        sb: The sandbox.
        files: The objects with their files.
    """
    s3, buckets = sb.client("s3"), set()
    for target, path in files:
        if target.bucket not in buckets:
            aws_account.create_bucket(sb.info, target.bucket)
            buckets.add(target.bucket)
        s3.upload_file(str(path), target.bucket, target.key)


def paths(sb: Sandbox, folder: Location) -> list[PurePosixPath]:
    """Return the paths of the objects in a folder of S3.

    Args:
        sb: The sandbox.
    """
    pages = sb.client("s3").get_paginator("list_objects_v2").paginate(Bucket=folder.bucket, Prefix=f"{folder.key}/")
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    return [PurePosixPath(key.removeprefix(f"{folder.key}/")) for key in keys]


def put(sb: Sandbox, folder: Location, path: PurePosixPath, content: bytes) -> None:
    """Write an object.

    Args:
        sb: The sandbox.
        folder: The folder of S3.
        path: Its path in the folder.
    """
    target = folder / path
    sb.client("s3").put_object(Bucket=target.bucket, Key=target.key, Body=content)
