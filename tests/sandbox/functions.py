"""Lambda functions created by tests."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from headway_sandbox.local.sandbox import Sandbox

_TRUST = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}


def make_function(sb: Sandbox, name: str, source: str, *, actions: list[str], **variables: str) -> str:
    """Create a function with a separate role; return its ARN.

    Args:
        sb: the sandbox.
        name: the name of the function and its role.
        source: the source of its module, with `handler`.
        actions: the actions that it may perform on every resource.
        variables: its environment variables.
    """
    may = [{"Effect": "Allow", "Action": actions, "Resource": "*"}] if actions else []
    iam = sb.client("iam")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=_document([_TRUST]))["Role"]["Arn"]
    if may:
        iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=_document(may))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as package:
        package.writestr("app.py", source)
    arn: str = sb.client("lambda").create_function(
        FunctionName=name, Runtime="python3.13", Handler="app.handler", Role=role, Timeout=20,
        Code={"ZipFile": content.getvalue()}, Environment={"Variables": variables},
    )["FunctionArn"]  # fmt: skip
    return arn


def _document(statements: list[dict[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})
