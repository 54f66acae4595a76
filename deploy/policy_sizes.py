"""The sizes of a stack's policies, beside AWS's limits.

CloudFormation creates a policy that is too long halfway through a deployment, and rolls back. Lists in parameters
(roles, buckets, callers) have no limit that a template could express, so the preflight measures what they make.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.resolve import Place, Resolver, read_template
from headway_client.account.finding import Finding

MAX_MANAGED_POLICY = 6_144
"""Characters without white space (IAM user guide, "IAM and AWS STS quotas")."""
MAX_ROLE_POLICIES = 10_240
"""Characters of all inline policies of a role together, without white space (the same)."""
MAX_FUNCTION_POLICY = 20_480
"""Bytes (Lambda developer guide, "Lambda quotas": 20 KB)."""
MAX_API_POLICY = 8_192
"""Bytes (API Gateway developer guide, "Quotas for configuring and running a REST API")."""
MAX_QUEUE_POLICY = 8_192
"""Bytes (SQS developer guide, "Amazon SQS policy quotas")."""
MAX_TOPIC_POLICY = 30_720
"""Bytes (SNS developer guide, "Policy quotas": 30 KB)."""
MAX_TABLE_POLICY = 20_480
"""Bytes, with white space (DynamoDB developer guide, "Resource-based policies", considerations: 20 KB)."""

MAX_KEY_POLICY = 32_768
"""Bytes (KMS developer guide, "Resource quotas": 32 KB)."""
MAX_ENDPOINT_POLICY = 20_480
"""Characters, with white space (PrivateLink guide, "Control access to VPC endpoints using endpoint policies")."""

_ANY_RESOURCE = "execute-api:/"
_WITH_LISTS = frozenset({"AWS::IAM::ManagedPolicy", "AWS::IAM::Role", "AWS::Serverless::Api"})
"""What has parameters of any length in its policy."""


@dataclass(frozen=True, kw_only=True)
class PolicySize:
    """A policy's size; of a role, that of all its inline policies.

    Attributes:
        name: the logical id of what has the policy.
        size: in the unit of the limit. White space is counted nowhere: documents are sent without.
        limit: see the constants of this module.
        parameters: those that are in it, which can make it shorter.
    """

    name: str
    size: int
    limit: int
    parameters: tuple[str, ...]


def check(template: Path, parameters: Mapping[str, str], place: Place) -> Iterator[Finding]:
    """Yield a problem for each policy of a deployment that AWS would refuse.

    Args:
        template: that is deployed, before the transform of SAM.
        parameters: the values that the stack will have.
        place: of the stack.
    """
    read = read_template(template)
    resources = {name: each for name, each in read["Resources"].items() if each["Type"] in _WITH_LISTS}
    yield from find_too_long(measure(resources, Resolver(read, parameters, place)))


def measure(resources: Mapping[str, Any], resolver: Resolver) -> Iterator[PolicySize]:
    """Yield the sizes of the policies of some resources.

    Args:
        resources: of a template, by logical id, before or after the transform of SAM.
        resolver: of the same template, with the parameters of a deployment.

    Raises:
        NotResolved: a policy has what the resolver does not know.
    """
    for name, policy, limit in _policies(resources):
        used = resolver.parameters_in(policy)
        yield PolicySize(name=name, size=_size(resolver.resolve(policy)), limit=limit, parameters=used)


def find_too_long(sizes: Iterable[PolicySize]) -> Iterator[Finding]:
    """Yield a problem for each policy that AWS would refuse."""
    for each in sizes:
        if each.size > each.limit:
            yield Finding(
                check="policies",
                result="problem",
                asked=f"the policy of {each.name}",
                said=f"it would have {each.size} characters, and AWS allows {each.limit}",
                remedy=f"Shorten {', '.join(each.parameters)}, such as by fewer or shorter entries.",
            )


def _policies(resources: Mapping[str, Any]) -> Iterator[tuple[str, Any, int]]:
    for name, resource in resources.items():
        if found := _POLICIES.get(resource["Type"]):
            policy_of, limit = found
            if policy := policy_of(resource["Properties"]):
                yield name, policy, limit
    permissions = [
        (each["Properties"]["FunctionName"]["Ref"], _function_statement(name, each["Properties"]))
        for name, each in resources.items()
        if each["Type"] == "AWS::Lambda::Permission"
    ]
    for called in dict.fromkeys(called for called, _ in permissions):
        statements = [statement for function, statement in permissions if function == called]
        yield called, {"Version": "2012-10-17", "Id": "default", "Statement": statements}, MAX_FUNCTION_POLICY


def _api_policy(statements: Any) -> Any:
    """API Gateway stores the full ARN of the API; whether that counts is not documented, so it does here."""
    prefix = "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/"
    full = [{**each, "Resource": {"Fn::Sub": each["Resource"].replace(_ANY_RESOURCE, prefix)}} for each in statements]
    return {"Version": "2012-10-17", "Statement": full}


def _function_statement(name: str, properties: Mapping[str, Any]) -> Any:
    """The statement that Lambda makes of a permission (API reference, AddPermission), with an id of CloudFormation."""
    return {
        "Sid": {"Fn::Sub": "${AWS::StackName}-" + name + "-ABCDEFGHIJKL"},
        "Effect": "Allow",
        "Principal": {"Service": properties["Principal"]},
        "Action": properties["Action"],
        "Resource": {"Fn::GetAtt": [properties["FunctionName"]["Ref"], "Arn"]},
        "Condition": {"ArnLike": {"AWS:SourceArn": properties["SourceArn"]}},
    }


def _size(document: Any) -> int:
    """The bytes of a document, or of each of several."""
    parts = document if isinstance(document, list) else [document]
    return sum(len(json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode()) for part in parts)


_POLICIES: Mapping[str, tuple[Callable[[Any], Any], int]] = {
    "AWS::ApiGateway::RestApi": (
        lambda own: _api_policy(own["Body"]["x-amazon-apigateway-policy"]["Statement"]),
        MAX_API_POLICY,
    ),
    "AWS::DynamoDB::Table": (lambda own: own["ResourcePolicy"]["PolicyDocument"], MAX_TABLE_POLICY),
    "AWS::EC2::VPCEndpoint": (lambda own: own["PolicyDocument"], MAX_ENDPOINT_POLICY),
    "AWS::IAM::ManagedPolicy": (lambda own: own["PolicyDocument"], MAX_MANAGED_POLICY),
    "AWS::IAM::Role": (lambda own: [each["PolicyDocument"] for each in own.get("Policies", [])], MAX_ROLE_POLICIES),
    "AWS::KMS::Key": (lambda own: own["KeyPolicy"], MAX_KEY_POLICY),
    "AWS::SNS::TopicPolicy": (lambda own: own["PolicyDocument"], MAX_TOPIC_POLICY),
    "AWS::SQS::QueuePolicy": (lambda own: own["PolicyDocument"], MAX_QUEUE_POLICY),
    "AWS::Serverless::Api": (
        lambda own: _api_policy(own["Auth"]["ResourcePolicy"]["CustomStatements"]),
        MAX_API_POLICY,
    ),
}
"""Where a resource has its policy, and its limit. Permissions of functions are resources of their own."""
