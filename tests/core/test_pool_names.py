"""Names of pools."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.pool_names import is_of_plan, on_demand_pool, plan_of, pool_of

TYPES = st.sampled_from(["ml.p5.48xlarge", "ml.g5.xlarge"])
POOLS = st.frozensets(TYPES | TYPES.map("{}.spot".format))


@given(TYPES, st.booleans(), POOLS)
def test_instances_come_from_a_pool_of_their_type(kind: str, spot: bool, pools: frozenset[str]) -> None:
    pool = pool_of(kind, spot=spot, pools=pools)
    assert on_demand_pool(pool) == kind
    assert pool in pools or kind not in pools or pool == kind
    assert pool == kind or spot, "on-demand instances never come from a spot pool"


@given(TYPES, POOLS)
def test_a_spot_pool_takes_the_spot_jobs_of_its_type(kind: str, pools: frozenset[str]) -> None:
    assert (pool_of(kind, spot=True, pools=pools) == f"{kind}.spot") == (f"{kind}.spot" in pools)


@given(TYPES, POOLS, st.booleans())
def test_a_job_in_a_training_plan_comes_from_the_pool_of_that_plan_if_there_is_one(
    kind: str, pools: frozenset[str], has_pool: bool
) -> None:
    planned = f"{kind}.plan.spring"
    pool = pool_of(kind, spot=False, pools=pools | {planned} if has_pool else pools, plan="spring")
    assert pool == (planned if has_pool else kind)
    assert is_of_plan(pool) is has_pool
    assert on_demand_pool(planned) == kind


@given(TYPES)
def test_other_jobs_never_come_from_the_pool_of_a_training_plan(kind: str) -> None:
    pools = {f"{kind}.plan.spring"}
    assert pool_of(kind, spot=False, pools=pools) == pool_of(kind, spot=False, pools=pools, plan="autumn") == kind


def test_the_arn_of_a_training_plan_names_it() -> None:
    assert plan_of("arn:aws:sagemaker:us-east-1:123456789012:training-plan/spring") == "spring"
    assert plan_of("arn:aws:sagemaker:us-east-1:123456789012:training-job/spring") == ""
