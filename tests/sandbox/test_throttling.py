from __future__ import annotations

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.fleet import Fleet, FleetSettings
from headway_sandbox.throttling import Rate, Throttle


def test_a_burst_is_admitted_and_then_as_many_as_the_rate_allows():
    throttle = Throttle({"List": Rate(per_s=2, burst=3)})
    assert [throttle.admits("List", 0.0) for _ in range(5)] == [True, True, True, False, False]
    assert [throttle.admits("List", 0.5), throttle.admits("List", 0.9), throttle.admits("List", 1.0)] == [
        True,
        False,
        True,
    ]
    # No more than the burst is saved up, however long nobody calls.
    assert [throttle.admits("List", 1000.0) for _ in range(4)] == [True, True, True, False]
    assert all(throttle.admits("Describe", 0.0) for _ in range(100))


@pytest.mark.parametrize("rate", [{"per_s": 0, "burst": 1}, {"per_s": -1, "burst": 1}, {"per_s": 1, "burst": 0}])
def test_a_rate_that_admits_nothing_is_refused(rate):
    with pytest.raises(ValueError, match="A rate is above 0"):
        Rate(**rate)


def test_training_jobs_are_listed_twice_a_second_as_on_aws():
    fleet = Fleet()
    for _ in range(10):
        fleet.list_jobs(now=100.0)
    with pytest.raises(AwsError, match="Rate exceeded") as refused:
        fleet.list_jobs(now=100.0)
    assert refused.value.code == "ThrottlingException"
    for number in range(20):
        fleet.list_jobs(now=101.0 + number / 2)


def test_other_rates_can_be_set():
    settings = FleetSettings(rates={"StopTrainingJob": Rate(per_s=1, burst=1)})
    fleet = Fleet(settings=settings)
    for _ in range(50):
        fleet.list_jobs(now=0.0)
    for expected in ("Requested resource not found", "Rate exceeded"):
        with pytest.raises(AwsError, match=expected):
            fleet.stop("nobody", now=0.0)
