"""A deployment whose lists make a policy too long is refused, with the parameters that can be shorter."""

from __future__ import annotations

from pathlib import Path

from deploy.policy_sizes import MAX_ROLE_POLICIES, PolicySize, check, find_too_long
from deploy.resolve import Place
from headway_client.account import parameters
from tests.client.account.fake_account import PARAMETERS

TEMPLATE = Path(__file__).resolve().parents[2] / "template.yaml"
DECLARED = parameters.read_declared(TEMPLATE)
PLACE = Place(stack="headway", partition="aws", region="eu-west-1", account="123456789012")


def problems(**given: str) -> list[str]:
    return [each.sentence for each in check(TEMPLATE, parameters.values({**PARAMETERS, **given}, {}, DECLARED), PLACE)]


def arns(kind: str, count: int, length: int) -> str:
    return ",".join(f"arn:aws:iam::123456789012:{kind}/{number:03}".ljust(length, "a") for number in range(count))


def test_a_policy_of_the_limit_fits_and_one_more_character_does_not():
    fits = PolicySize(name="AdminPolicy", size=6_144, limit=6_144, parameters=("StageName",))
    assert list(find_too_long([fits])) == []
    longer = PolicySize(name="AdminPolicy", size=6_145, limit=6_144, parameters=("StageName",))
    (found,) = find_too_long([longer])
    assert found.sentence.startswith(
        "the policy of AdminPolicy: it would have 6145 characters, and AWS allows 6144. Shorten StageName,"
    )


def test_the_lists_of_a_usual_deployment_fit():
    assert problems(TrainingRoleArns=arns("role", 20, 100), ReuseBucketArns="arn:aws:s3:::research") == []


def test_roles_that_the_scheduler_passes_and_asks_about_may_be_too_many_and_fewer_fit():
    reuse = "arn:aws:s3:::research"
    (sentence,) = problems(TrainingRoleArns=arns("role", 32, 120), ReuseBucketArns=reuse)
    assert sentence.startswith("the policy of ScheduleFunctionRole: it would have 1")
    assert (
        f"AWS allows {MAX_ROLE_POLICIES}. Shorten FunctionSubnetIds, ReuseBucketArns, TrainingRoleArns, such as"
        in sentence
    )
    assert problems(TrainingRoleArns=arns("role", 20, 120), ReuseBucketArns=reuse) == []
    assert problems(TrainingRoleArns=arns("role", 32, 120)) == [], "named once without reuse"


def test_callers_and_endpoints_may_be_too_many_for_the_policy_of_the_api():
    endpoints = ",".join(["vpce-0123456789abcdef0"] * 160)
    (sentence,) = problems(CallerArns=arns("role", 34, 119), VpcEndpointIds=endpoints)
    assert sentence.startswith("the policy of Api: it would have ")
    assert "Shorten CallerArns, VpcEndpointIds" in sentence
    assert problems(CallerArns=arns("role", 34, 119)) == []
