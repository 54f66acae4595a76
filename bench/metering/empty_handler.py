"""What a call on the sandbox costs before any of Headway's code runs: the same call to a function that does nothing."""

from __future__ import annotations

import io
import json
import zipfile

from headway_sandbox.local.sandbox import Sandbox

NAME, STAGE = "empty", "v1"
SOURCE = """\
def handler(event, context):
    return {"statusCode": 201, "headers": {"Content-Type": "application/json"}, "body": "{}"}
"""
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def make_empty_api(sandbox: Sandbox) -> str:
    """Create a REST API with signed calls, whose only call is ``POST /jobs``; return its URL with its stage.

    The function has Headway's runtime and memory, and neither its layers nor its permissions.
    """
    role = sandbox.client("iam").create_role(RoleName=NAME, AssumeRolePolicyDocument=json.dumps(_TRUST))["Role"]["Arn"]
    function = sandbox.client("lambda").create_function(
        FunctionName=NAME, Runtime="python3.13", Handler="app.handler", Role=role, MemorySize=1024,
        Code={"ZipFile": _package()},
    )["FunctionArn"]  # fmt: skip
    gateway = sandbox.client("apigateway")
    api = gateway.create_rest_api(name=NAME)["id"]
    (root,) = gateway.get_resources(restApiId=api)["items"]
    resource = gateway.create_resource(restApiId=api, parentId=root["id"], pathPart="jobs")["id"]
    method = {"restApiId": api, "resourceId": resource, "httpMethod": "POST"}
    gateway.put_method(**method, authorizationType="AWS_IAM")
    region, account = sandbox.info.region, sandbox.info.account
    uri = f"arn:aws:apigateway:{region}:lambda:path/2015-03-31/functions/{function}/invocations"
    gateway.put_integration(**method, type="AWS_PROXY", integrationHttpMethod="POST", uri=uri)
    gateway.create_deployment(restApiId=api, stageName=STAGE)
    sandbox.client("lambda").add_permission(
        FunctionName=NAME, StatementId=NAME, Action="lambda:InvokeFunction", Principal="apigateway.amazonaws.com",
        SourceArn=f"arn:aws:execute-api:{region}:{account}:{api}/*",
    )  # fmt: skip
    return f"{sandbox.info.aws_endpoint}/_aws/execute-api/{api}/{STAGE}"


def _package() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as package:
        package.writestr("app.py", SOURCE)
    return content.getvalue()
