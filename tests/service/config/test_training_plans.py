"""Pools that follow a training plan, in the configuration document."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.config.document import new_text_to_keep, parse, text_of, validate
from headway_service.config.training_plans import MAX_PLAN_POOLS
from headway_service.errors import InvalidConfiguration

P5 = "ml.p5.48xlarge"
POOL = f"{P5}.plan.spring"
ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"


def test_a_pool_of_a_plan_needs_no_size() -> None:
    pool = validate({"pools": {POOL: {"plan": ARN}}}).pools[POOL]
    assert (pool.plan, pool.size, pool.follows) == (ARN, 10_000, True)


@pytest.mark.parametrize("pool", [{"plan": ARN}, {"plan": ARN, "size": 2}])
def test_a_pool_of_a_plan_round_trips_as_it_was_written(pool: dict[str, Any]) -> None:
    configuration = validate({"pools": {POOL: pool}})
    assert parse(text_of(configuration)) == configuration
    assert configuration.model_dump(mode="json")["pools"][POOL] == pool


def test_other_pools_are_shown_without_a_plan() -> None:
    configuration = validate({"pools": {P5: {"size": 2}}})
    assert configuration.model_dump(mode="json")["pools"][P5] == {"size": 2}


@pytest.mark.parametrize(
    ("name", "pool", "field", "message"),
    [
        (POOL, {"size": 2}, "plan", "is required: add the ARN of the training plan that the pool is named after"),
        (P5, {}, "size", "is required: add it"),
        (P5, {"plan": ARN}, "plan", f"is the plan spring, whose pool has the name {POOL}: rename the pool"),
        (f"{P5}.plan.autumn", {"plan": ARN}, "plan", f"is the plan spring, whose pool has the name {POOL}"),
        (
            POOL,
            {"plan": ARN, "size": 2, "schedule": [{"days": ["mon"], "from": "08:00", "to": "09:00", "size": 1}]},
            "schedule",
            "cannot be combined with plan, which gives the sizes: keep one of the two",
        ),
        (POOL, {"plan": "spring"}, "plan", "must be the ARN of a training plan, such as arn:aws:sagemaker:"),
    ],
)
def test_a_pool_of_a_plan_that_is_wrong_is_refused_with_what_to_change(
    name: str, pool: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        validate({"pools": {name: pool}})
    (found,) = caught.value.fields
    assert found.field == f"pools.{name}.{field}"
    assert found.message.startswith(message)


def test_there_is_a_limit_of_pools_with_plans() -> None:
    pools = {f"{POOL}{number}": {"plan": f"{ARN}{number}"} for number in range(MAX_PLAN_POOLS + 1)}
    with pytest.raises(InvalidConfiguration, match=f"has {MAX_PLAN_POOLS + 1} pools that follow a training plan"):
        validate({"pools": pools})
    pools.popitem()
    validate({"pools": pools})


@pytest.mark.parametrize(
    ("region", "account", "message"),
    [
        (
            "us-east-1",
            "123456789012",
            "is in the region eu-west-1, and this queue is in us-east-1: use",
        ),
        ("eu-west-1", "999999999999", "is in the account 123456789012, and this queue is in 999999999999"),
        ("eu-west-1", "123456789012", None),
        ("", "", None),
    ],
)
def test_a_plan_of_another_region_or_account_is_refused_when_it_is_set(
    region: str, account: str, message: str | None
) -> None:
    document = {"pools": {POOL: {"plan": ARN}, P5: {"size": 1}}}
    if message is None:
        new_text_to_keep(document, region=region, account=account)
        return
    with pytest.raises(InvalidConfiguration, match=message):
        new_text_to_keep(document, region=region, account=account)
