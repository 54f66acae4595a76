"""Training time that runs faster than the machine's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox.sagemaker.clock import Clock

SPEEDS = st.floats(0.01, 10_000)
NOWS = st.floats(1_000_000_000, 2_000_000_000)


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_time_cannot_stand_still_or_run_backwards(speed: float) -> None:
    with pytest.raises(ValueError, match="must be a number above 0"):
        Clock(speed=speed)


def test_an_hour_of_training_time_takes_a_minute_at_speed_60() -> None:
    clock = Clock.starting(60.0, 1000.0)
    assert [clock.training_time(now_s) for now_s in (1000.0, 1060.0)] == [1000.0, 4600.0]


@given(SPEEDS, NOWS, st.floats(0, 100_000))
def test_a_time_is_the_same_after_both_conversions(speed: float, start_s: float, passed_s: float) -> None:
    clock = Clock.starting(speed, start_s)
    assert clock.machine_time(clock.training_time(start_s + passed_s)) == pytest.approx(start_s + passed_s)


@given(SPEEDS, SPEEDS, NOWS, st.floats(0, 100_000))
def test_another_speed_continues_from_the_training_time_so_far(
    before: float, after: float, start_s: float, passed_s: float
) -> None:
    clock = Clock.starting(before, start_s)
    changed = clock.at_speed(after, start_s + passed_s)
    assert changed.training_time(start_s + passed_s) == pytest.approx(clock.training_time(start_s + passed_s))
    assert changed.speed == after


@pytest.mark.parametrize(("speed", "interval_s"), [(1.0, 60.0), (30.0, 60.0), (60.0, 60.0), (600.0, 600.0)])
def test_an_interval_lasts_at_least_a_second_of_the_machine(speed: float, interval_s: float) -> None:
    assert Clock(speed=speed).interval_s(60.0, shortest_s=1.0) == interval_s
