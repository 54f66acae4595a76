"""No policy exceeds AWS's limit, whatever names a deployment has; docs/reference/security.md has the sizes.

`HEADWAY_GOLDEN=write` rewrites the table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from deploy.policy_sizes import PolicySize, measure
from deploy.resolve import Place, Resolver, read_template
from headway_client.account.stack import MAX_STACK_NAME_CHARS
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.template import expanded

ACCOUNT = "123456789012"
# The longest names of partitions and regions. Source: botocore's endpoints.json.
REGIONS = [("aws", "ap-southeast-1"), ("aws-us-gov", "us-gov-west-1"), ("aws-iso-f", "us-isof-south-1")]
ROLES, BUCKETS, CALLERS, ENDPOINTS = 20, 3, 20, 5


def longest(partition: str, region: str) -> dict[str, str]:
    """The parameters with the longest names, and all that adds statements."""
    buckets = ",".join(f"arn:{partition}:s3:::{number:b>63}" for number in range(BUCKETS))
    return {
        "StageName": "s" * 32,
        "TableName": "t" * 223,
        "KmsKeyArn": f"arn:{partition}:kms:{region}:{ACCOUNT}:key/{'k' * 64}",
        "TrainingRoleArns": roles(partition, ROLES),
        "CallerArns": roles(partition, CALLERS),
        "VpcEndpointIds": ",".join(["vpce-0123456789abcdef0"] * ENDPOINTS),
        "TrustedAccounts": ",".join(["210987654321"] * 50),
        "ReuseBucketArns": buckets,
        "CheckpointBucketArns": buckets,
        "AllowStoppingRogueJobs": "true",
        "Tracing": "Active",
        "FunctionSubnetIds": "subnet-0123456789abcdef0",
        "FunctionSecurityGroupIds": "sg-0123456789abcdef0",
    }


def roles(partition: str, count: int) -> str:
    """ARNs of roles with names of 64 characters, the most that IAM takes."""
    return ",".join(f"arn:{partition}:iam::{ACCOUNT}:role/{number:r>64}" for number in range(count))


def resolver(template: Mapping[str, Any], partition: str, region: str, given: Mapping[str, str]) -> Resolver:
    values = {name: given.get(name, str(each.get("Default", ""))) for name, each in template["Parameters"].items()}
    return Resolver(template, values, Place("s" * MAX_STACK_NAME_CHARS, partition, region, ACCOUNT))


def measured(partition: str, region: str) -> list[PolicySize]:
    given = longest(partition, region)
    template = expanded(Checkout.here(), **given)
    return list(measure(template["Resources"], resolver(template, partition, region, given)))


@pytest.fixture(scope="module")
def sizes() -> dict[str, list[PolicySize]]:
    """The sizes of all policies by region."""
    return {region: measured(partition, region) for partition, region in REGIONS}


def test_the_longest_names_are_the_longest_that_the_template_accepts(template):
    given = longest(*REGIONS[0])
    for name in ("StageName", "TableName"):
        pattern = template["Parameters"][name]["AllowedPattern"]
        assert re.fullmatch(pattern, given[name])
        assert not re.fullmatch(pattern, given[name] + "x")
    for name, value in given.items():
        parameter = template["Parameters"][name]
        elements = value.split(",") if parameter["Type"] == "CommaDelimitedList" else [value]
        assert all(re.fullmatch(parameter.get("AllowedPattern", ".*"), each) for each in elements), name
        assert len(value) <= 4_096, f"{name}: CloudFormation takes no longer value"


@pytest.mark.parametrize("region", [region for _, region in REGIONS])
def test_every_policy_fits_with_the_longest_names(sizes, region):
    assert [each for each in sizes[region] if each.size > each.limit] == []


def test_each_resource_with_a_policy_is_measured(sizes, resources):
    kinds = {"AWS::IAM::ManagedPolicy", "AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy", "AWS::DynamoDB::Table"}
    kinds |= {"AWS::ApiGateway::RestApi"}
    with_policies = {name for name, each in resources.items() if each["Type"] in kinds}
    with_policies |= {name for name, each in resources.items() if "Policies" in each.get("Properties", {})}
    called = {each["Properties"]["FunctionName"]["Ref"] for each in resources.values() if "Permission" in each["Type"]}
    assert {each.name for each in sizes[REGIONS[0][1]]} == with_policies | called


def test_the_policy_of_a_customer_managed_key_fits(root):
    partition, region = REGIONS[1]
    template = read_template(root / "deploy" / "key.yaml")
    found = list(measure(template["Resources"], resolver(template, partition, region, {"StackName": "s" * 57})))
    assert [each.name for each in found] == ["Key"]
    assert all(each.size <= each.limit for each in found)


def test_the_stack_is_within_the_quotas_of_cloudformation(template, root):
    """Source: CloudFormation user guide, "Understand CloudFormation quotas"."""
    assert len(template["Resources"]) <= 500
    assert len(template["Parameters"]) <= 200
    assert len(template["Outputs"]) <= 200
    assert (root / "template.yaml").stat().st_size <= 1_000_000
    assert all(len(parameter["Description"]) <= 4_000 for parameter in template["Parameters"].values())


BEGIN, END = "<!-- sizes of policies -->\n", "<!-- end of sizes -->\n"


def table(found: Iterable[PolicySize]) -> str:
    lines = ["| policy of | size | limit |", "| --- | --- | --- |"]
    lines += [f"| `{each.name}` | {each.size:,} | {each.limit:,} |" for each in found]
    return "\n" + "\n".join(lines) + "\n\n"


def test_the_docs_have_the_sizes_with_the_longest_names(sizes, root: Path):
    page = root / "docs" / "reference" / "security.md"
    text = page.read_text(encoding="utf-8")
    before, found = text.split(BEGIN)
    written, after = found.split(END)
    greatest = [max(each, key=lambda size: size.size) for each in zip(*sizes.values(), strict=True)]
    expected = table(sorted(greatest, key=lambda size: size.size / size.limit, reverse=True))
    if os.environ.get("HEADWAY_GOLDEN") == "write":
        page.write_text(before + BEGIN + expected + END + after, encoding="utf-8")
        return
    assert written == expected, (
        "write it again: HEADWAY_GOLDEN=write pytest tests/template/security/test_policy_sizes.py"
    )
    assert f"{ROLES} roles of training jobs, {CALLERS} callers, {BUCKETS} buckets" in before
