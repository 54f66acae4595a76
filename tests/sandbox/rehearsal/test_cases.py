from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox.rehearsal.cases import Case, Disturbance, cases, parse_moments
from headway_sandbox.rehearsal.errors import CannotRehearse
from tests.sandbox.rehearsal.attempts import BASELINE


def moments_of(found: list[Case]) -> list[float]:
    return [case.at_s for case in found if case.disturbance is Disturbance.SIGTERM]


@pytest.mark.parametrize(
    ("text", "at_s"),
    [("5s", [5.0]), ("50%", [10.0]), ("2.5s, 12.5%", [2.5, 2.5]), ("0s", [0.0]), (",".join(["1s"] * 20), [1.0] * 20)],
)
def test_a_moment_is_in_seconds_or_a_part_of_the_run_time(text: str, at_s: list[float]):
    assert moments_of(cases(parse_moments(text), times=0, seed=0, baseline=BASELINE)) == at_s


@pytest.mark.parametrize(
    "text", ["", "5", "s", "-5s", "5m", "half", "5s,,6s", "1e3s", "\N{ARABIC-INDIC DIGIT FIVE}s", "5 s"]
)
def test_another_form_of_a_moment_is_refused(text: str):
    with pytest.raises(CannotRehearse, match="neither seconds such as 20s nor a part"):
        parse_moments(text)


def test_too_many_moments_are_refused():
    with pytest.raises(CannotRehearse, match="21 moments, more than 20"):
        parse_moments(",".join(["1s"] * 21))


@pytest.mark.parametrize("text", ["20s", "100%", "3600s", "150%"])
def test_a_moment_after_the_end_is_refused(text: str):
    with pytest.raises(CannotRehearse, match=f"--preempt-after {text} is after the end .* takes 20.0 s"):
        cases(parse_moments(text), times=0, seed=0, baseline=BASELINE)


def test_each_moment_has_both_signals_and_there_is_one_loss():
    found = cases(parse_moments("50%"), times=3, seed=0, baseline=BASELINE)
    assert Counter(case.disturbance for case in found) == {
        Disturbance.SIGTERM: 4, Disturbance.SIGTERM_TO_ALL: 4, Disturbance.LOST_IN_WRITE: 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("uploads", "expected"),
    [
        (2, {"at_s": 10.0, "after_upload": True, "on_sigterm": False}),
        (1, {"at_s": 0.0, "after_upload": False, "on_sigterm": False}),
        (0, {"at_s": 10.0, "after_upload": False, "on_sigterm": True}),
    ],
)
def test_a_loss_waits_for_a_write_that_will_come(uploads: int, expected: Any):
    found = cases(parse_moments("50%"), times=0, seed=0, baseline=replace(BASELINE, uploads=uploads))
    assert found[-1] == Case(disturbance=Disturbance.LOST_IN_WRITE, **expected)


@given(
    seed=st.integers(0, 10**9),
    run_s=st.floats(0.5, 50_000),
    first=st.none() | st.floats(0, 1.5),
    times=st.integers(0, 20),
)
def test_random_moments_follow_the_first_checkpoint_and_leave_time_before_the_end(
    seed: int, run_s: float, first: float | None, times: int
):
    first_s = None if first is None else first * run_s
    baseline = replace(BASELINE, run_s=run_s, first_checkpoint_s=first_s)
    found = cases([], times=times, seed=seed, baseline=baseline)
    assert len(moments_of(found)) == times
    for at_s in moments_of(found):
        assert 0.1 * run_s <= at_s <= 0.8 * run_s * (1 + 1e-9)
        assert at_s >= min(first_s or 0.0, 0.8 * run_s)
    assert found == cases([], times=times, seed=seed, baseline=baseline)


def test_another_seed_draws_other_moments():
    first, second = (cases([], times=3, seed=seed, baseline=BASELINE) for seed in (1, 2))
    assert moments_of(first) != moments_of(second)
