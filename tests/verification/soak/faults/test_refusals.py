"""Refusals that last: they narrow what an account has, from one time to another."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from headway_sandbox.sagemaker.faults import Faults
from headway_verification.soak.faults.refusals import LastingRefusals

DENIED = {"spot": {"present": "EnableManagedSpotTraining"}}
REFUSALS = LastingRefusals(
    begin_s=100, end_s=200, limits={"quotas": {"p5": 2}, "capacity": {"g5": 1}}, denials=DENIED, capacity_wait_s=500
)


@pytest.mark.parametrize(("now_s", "is_refused"), [(99, False), (100, True), (199, True), (200, False)])
def test_they_last_from_one_time_to_another(now_s: float, is_refused: bool) -> None:
    found = REFUSALS.over(Faults(capacity_wait_s=0), now_s)
    assert (found != Faults(capacity_wait_s=0)) is is_refused
    assert (found.denials == DENIED) is is_refused


def test_the_least_of_both_counts() -> None:
    account = Faults(quotas={"p5": 1, "g5": 7}, capacity={"g5": 3}, capacity_wait_s=900, event_drop=0.5)
    found = REFUSALS.over(account, 150)
    assert (found.quotas, found.capacity) == ({"p5": 1, "g5": 7}, {"g5": 1})
    assert (found.capacity_wait_s, found.event_drop) == (900, 0.5)


def test_about_half_of_the_runs_have_some_and_all_kinds_are_drawn() -> None:
    drawn = [LastingRefusals.draw(Random(seed), {"p5": 2, "g5": 3}, 1000) for seed in range(400)]
    found = [each for each in drawn if each is not None]
    assert 150 < len(found) < 250
    kinds = Counter(name for each in found for name in each.limits)
    assert kinds.keys() == {"quotas", "spot_quotas", "capacity", "account_limits"}
    assert min(*kinds.values(), sum(bool(each.denials) for each in found)) > 20
    assert all(each.begin_s >= 1000 and each.end_s - each.begin_s >= 3600 for each in found)
