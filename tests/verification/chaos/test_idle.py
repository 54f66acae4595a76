"""How long pools idle after the last fault of a run."""

from __future__ import annotations

import pytest

from headway_verification.chaos.idle import IdleTimes, idle_pools
from headway_verification.chaos.raw_state import RawState


def state(free: dict[str, int], *demands: dict[str, int]) -> RawState:
    entries = [
        {"pk": f"line#{pool}", "sk": str(number), "pool": pool, "demand": demand}
        for number, demand in enumerate(demands)
        for pool in demand
    ]
    pools = [{"pk": "ledger", "sk": f"pool#{pool}", "pool": pool, "free": count} for pool, count in free.items()]
    return RawState(items=tuple(entries), ledger=tuple(pools), training_jobs=())


@pytest.mark.parametrize(
    ("free", "demands", "idle"),
    [
        ({"p": 1}, [], set()),
        ({"p": 1}, [{"p": 1}], {"p"}),
        ({"p": 1}, [{"p": 2}], set()),
        ({"p": 1, "g": 0}, [{"p": 1, "g": 1}], set()),
        ({"p": 1, "g": 1}, [{"p": 2}, {"p": 1, "g": 1}], {"p", "g"}),
    ],
)
def test_a_pool_idles_if_a_waiting_job_fits_into_what_is_free(
    free: dict[str, int], demands: list[dict[str, int]], idle: set[str]
) -> None:
    assert idle_pools(state(free, *demands)) == idle


def test_the_longest_time_counts() -> None:
    times = IdleTimes()
    for now_s, free in [(0, 1), (4, 1), (5, 0), (6, 1), (8, 1)]:
        times.observe(state({"p": free}, {"p": 1}), now_s)
    assert times.longest_s == {"p": 4}
