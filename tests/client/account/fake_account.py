"""An AWS account that a queue runs in, as AWS's clients see it: real clients, whose calls are answered from values.

Requests and answers are checked against the service models.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import boto3
from botocore.validate import validate_parameters

ACCOUNT, REGION = "123456789012", "eu-west-1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/HeadwayTrainingRole"
SCHEDULER = f"arn:aws:iam::{ACCOUNT}:role/headway-ScheduleFunctionRole-1"
API_ENDPOINT, VPC, OTHER_VPC = "vpce-0123456789abcdef0", "vpc-0123456789abcdef0", "vpc-0fedcba9876543210"
SUBNETS = ("subnet-0123456789abcdef0", "subnet-0fedcba9876543210")
SERVICES = ("dynamodb", "events", "lambda", "monitoring", "sagemaker.api", "sns", "sqs")
FUNCTIONS = ("Api", "Schedule", "Observe", "Reconcile", "Patrol", "Tell", "Watch")
TRAINING, ALL, LONGEST = (
    "ml.p5.48xlarge for training job usage",
    "Number of instances across all training jobs",
    "Longest run time for a training job",
)
PARAMETERS = {
    "VpcEndpointIds": API_ENDPOINT,
    "TrainingRoleArns": ROLE,
    "PoolInstanceType": "ml.p5.48xlarge",
    "PoolSize": "2",
    "TableName": "sagemaker-queue",
    "ScheduleConcurrency": "0",
    "CreateApiLoggingRole": "true",
    "FunctionSubnetIds": ",".join(SUBNETS),
    "FunctionSecurityGroupIds": "sg-0123456789abcdef0",
}


def trust(**statement: Any) -> dict[str, Any]:
    allowed = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
    return {"Version": "2012-10-17", "Statement": [{**allowed, **statement}]}


def endpoint(service: str, **changes: Any) -> dict[str, Any]:
    return {
        "ServiceName": f"com.amazonaws.{REGION}.{service}",
        "State": "available",
        "VpcEndpointType": "Interface",
        "VpcId": VPC,
        "PrivateDnsEnabled": True,
        "SubnetIds": list(SUBNETS),
        **changes,
    }


def _endpoints() -> dict[str, dict[str, Any]]:
    gateway = {"VpcEndpointType": "Gateway", "RouteTableIds": ["rtb-1"], "PrivateDnsEnabled": False, "SubnetIds": []}
    made = {f"vpce-{service}": endpoint(service, **(gateway if service == "dynamodb" else {})) for service in SERVICES}
    return {API_ENDPOINT: endpoint("execute-api"), **made}


def _resources() -> dict[str, tuple[str, str]]:
    made = {f"{name}Function": ("AWS::Lambda::Function", f"headway-{name}Function-1") for name in FUNCTIONS}
    return {"ScheduleFunctionRole": ("AWS::IAM::Role", "headway-ScheduleFunctionRole-1"), **made}


def _answers() -> dict[str, tuple[str | None, Any]]:
    answers: dict[str, tuple[str | None, Any]] = {f"headway-{name}Function-1": (None, None) for name in FUNCTIONS}
    answers["headway-ApiFunction-1"] = (None, {"statusCode": 200, "body": "{}"})
    return answers


@dataclass
class FakeAccount:
    """The default is an account in which a queue runs and nothing is wrong.

    Attributes:
        status: of the stack; None for no stack.
        items: how many the table has; None for no table.
        decisions: of the simulation, by the action.
        answers: of functions by their names: the error's kind, and the payload.
        denied: actions that the caller may not take.
        calls: each call that was made, as an action with its request.
    """

    status: str | None = "UPDATE_COMPLETE"
    parameters: dict[str, str] = field(default_factory=lambda: dict(PARAMETERS))
    outputs: dict[str, str] = field(default_factory=lambda: {"ApiId": "abc123"})
    resources: dict[str, tuple[str, str]] = field(default_factory=_resources)
    items: int | None = 5
    unreserved: int = 1000
    logs_role: str = f"arn:aws:iam::{ACCOUNT}:role/logs"
    endpoints: dict[str, dict[str, Any]] = field(default_factory=_endpoints)
    subnets: dict[str, tuple[str, str]] = field(
        default_factory=lambda: {SUBNETS[0]: (VPC, f"{REGION}a"), SUBNETS[1]: (VPC, f"{REGION}b")}
    )
    routes: list[dict[str, Any]] = field(default_factory=list)
    quotas: dict[str, float] = field(default_factory=lambda: {TRAINING: 2, ALL: 20, LONGEST: 432000})
    defaults: dict[str, float] = field(default_factory=lambda: {TRAINING: 0, ALL: 4, LONGEST: 432000})
    roles: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            "HeadwayTrainingRole": {"Arn": ROLE, "AssumeRolePolicyDocument": trust()},
            "headway-ScheduleFunctionRole-1": {"Arn": SCHEDULER, "AssumeRolePolicyDocument": trust()},
        }
    )
    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, tuple[str | None, Any]] = field(default_factory=_answers)
    denied: set[str] = field(default_factory=set)
    failing_quotas: set[str] = field(default_factory=set)
    pages: int = 1
    calls: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def client(self, service: str) -> Any:
        client = _client(service)
        for event, handler in (("provide-client-params", self._remember), ("before-call", self._answer)):
            client.meta.events.unregister(event, unique_id=event)
            client.meta.events.register(event, handler, unique_id=event)
        return client

    def _remember(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.calls.append((f"{model.service_model.service_name}:{model.name}", params))

    def _answer(self, model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        action, request = self.calls[-1]
        if action in self.denied:
            return self._error("AccessDenied", f"not authorized to perform: {action}")
        answer: Any = getattr(self, f"_{model.name}")(request)
        if isinstance(answer, tuple):
            return self._error(*answer)
        if "Payload" not in answer:
            validate_parameters(answer, model.output_shape)
        return _Http(200), {**answer, "ResponseMetadata": {"HTTPStatusCode": 200}}

    @staticmethod
    def _error(code: str, message: str) -> tuple[Any, dict[str, Any]]:
        return _Http(400), {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": 400}}

    def _GetCallerIdentity(self, _: Any) -> Any:  # noqa: N802 - named as the operation, like all below
        return {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/ada", "UserId": "A"}

    def _DescribeStacks(self, request: Any) -> Any:  # noqa: N802
        if self.status is None:
            return "ValidationError", f"Stack with id {request['StackName']} does not exist"
        parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in self.parameters.items()]
        outputs = [{"OutputKey": name, "OutputValue": value} for name, value in self.outputs.items()]
        found = {"StackName": "headway", "StackStatus": self.status, "CreationTime": "2026-11-01T00:00:00Z"}
        return {"Stacks": [{**found, "Parameters": parameters, "Outputs": outputs}]}

    def _ListStackResources(self, _: Any) -> Any:  # noqa: N802
        common = {"LastUpdatedTimestamp": "2026-11-01T00:00:00Z", "ResourceStatus": "CREATE_COMPLETE"}
        listed = [
            {"LogicalResourceId": logical, "ResourceType": kind, "PhysicalResourceId": name, **common}
            for logical, (kind, name) in self.resources.items()
        ]
        return {"StackResourceSummaries": listed}

    def _Scan(self, _: Any) -> Any:  # noqa: N802
        if self.items is None:
            return "ResourceNotFoundException", "Requested resource not found"
        return {"Count": min(1, self.items)}

    def _GetAccountSettings(self, _: Any) -> Any:  # noqa: N802
        return {"AccountLimit": {"UnreservedConcurrentExecutions": self.unreserved}}

    def _GetAccount(self, _: Any) -> Any:  # noqa: N802
        return {"cloudwatchRoleArn": self.logs_role} if self.logs_role else {}

    def _DescribeVpcEndpoints(self, request: Any) -> Any:  # noqa: N802
        all_of_them = [{"VpcEndpointId": name, **each} for name, each in self.endpoints.items()]
        members = {"vpc-endpoint-id": "VpcEndpointId", "service-name": "ServiceName"}
        wanted = [(members[each["Name"]], each["Values"]) for each in request["Filters"]]
        return {"VpcEndpoints": [each for each in all_of_them if all(each[name] in of for name, of in wanted)]}

    def _DescribeSubnets(self, request: Any) -> Any:  # noqa: N802
        (wanted,) = request["Filters"]
        found = [(name, self.subnets[name]) for name in wanted["Values"] if name in self.subnets]
        return {"Subnets": [{"SubnetId": name, "VpcId": vpc, "AvailabilityZone": zone} for name, (vpc, zone) in found]}

    def _DescribeRouteTables(self, _: Any) -> Any:  # noqa: N802
        return {"RouteTables": [{"RouteTableId": "rtb-1", "Associations": [{"Main": True}], "Routes": self.routes}]}

    def _ListServiceQuotas(self, request: Any) -> Any:  # noqa: N802
        return self._quota_page(self.quotas, request)

    def _ListAWSDefaultServiceQuotas(self, request: Any) -> Any:  # noqa: N802
        return self._quota_page(self.defaults, request)

    def _quota_page(self, quotas: Mapping[str, float], request: Any) -> Any:
        number = int(request.get("NextToken", "0"))
        more = {"NextToken": str(number + 1)} if number + 1 < self.pages else {}
        failed = {"ErrorReason": {"ErrorCode": "DEPENDENCY_THROTTLING_ERROR"}}
        listed = [
            {"QuotaName": name, "Value": value, **(failed if name in self.failing_quotas else {})}
            for name, value in quotas.items()
        ]
        return {"Quotas": [] if more else listed, **more}

    def _GetRole(self, request: Any) -> Any:  # noqa: N802
        role = self.roles.get(request["RoleName"])
        if role is None:
            return "NoSuchEntity", f"The role with name {request['RoleName']} cannot be found."
        common = {
            "Path": "/",
            "RoleId": "R" * 16,
            "RoleName": request["RoleName"],
            "CreateDate": "2026-11-01T00:00:00Z",
        }
        # botocore decodes the document.
        return {"Role": {**common, **role, "AssumeRolePolicyDocument": json.dumps(role["AssumeRolePolicyDocument"])}}

    def _SimulatePrincipalPolicy(self, request: Any) -> Any:  # noqa: N802
        (action,) = request["ActionNames"]
        result = {"EvalActionName": action, "EvalDecision": "allowed", **self.decisions.get(action, {})}
        results = [{**result, "EvalResourceName": each} for each in request["ResourceArns"]]
        return {"EvaluationResults": results, "IsTruncated": False}

    def _Invoke(self, request: Any) -> Any:  # noqa: N802
        error, payload = self.answers[request["FunctionName"]]
        body = io.BytesIO(json.dumps(payload).encode())
        return {"StatusCode": 200, "Payload": body, **({"FunctionError": error} if error else {})}


@cache
def _client(service: str) -> Any:
    """Make a client, once for all tests: to load a service model takes a while."""
    make: Any = boto3.Session("key", "secret", region_name=REGION).client
    return make(service)


@dataclass
class _Http:
    status_code: int
