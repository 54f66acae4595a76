"""Names of pools."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.pool_names import on_demand_pool, pool_of

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
