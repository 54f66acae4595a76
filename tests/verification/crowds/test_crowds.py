"""The crowds of `make crowds`, in small: each tick decides, and serves who waits for nothing."""

from __future__ import annotations

import pytest

from headway_verification.crowds.__main__ import HEADERS, row_of
from headway_verification.crowds.crowds import CROWDS, accepted, play
from headway_verification.crowds.deployment import MANY, Tick

BECOME = {
    "arrays": "30 open, 30 at rest",
    "held-arrays": "30 open, 30 at rest",
    "holds": "30 held",
    "held-members": "1 open, 1 at rest",
    "chain": "30 have ended",
}


@pytest.mark.parametrize("key", CROWDS)
def test_each_tick_decides_and_serves_who_waits_for_nothing(key: str) -> None:
    ticks, become = play(CROWDS[key], 30, 3)
    assert [tick.decisions > 0 and tick.is_served for tick in ticks] == [True] * 3
    assert become == BECOME[key]
    # Calls that took no time would show nothing.
    assert all(tick.calls and tick.took_s > 0 for tick in ticks)
    assert len(row_of(key, "some", ticks, become)) == len(HEADERS)


def test_a_tick_without_a_decision_is_seen() -> None:
    tick = Tick(decisions=0, is_served=False, calls=3, took_s=20.0, own_s=0.1)
    assert row_of("key", "some", [tick], "")[3:8] == ("0", "20.0 s", "1", "20.00 s, 3 calls, 0.10 s of our own", "0")


def test_open_arrays_are_accepted_up_to_the_limit() -> None:
    limits = {"arraysPerTeam": MANY, "arraysPerOwner": 4}
    assert accepted(limits, 10) == 4
    assert accepted(limits, 3) == 3
