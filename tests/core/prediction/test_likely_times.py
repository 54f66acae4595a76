"""When waiting jobs are likely to start, and running ones to end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.histogram import RELATIVE_ERROR, bucket_of
from headway.days import Period, begin_ms, day_of, month_of
from headway.forecasting.forecast import forecast
from headway.forecasting.members import ArrayToCome
from headway.model import Allocation, Snapshot, WaitingJob
from headway.prediction.kinds import RunKind
from headway.prediction.likely_times import predict_end, predict_starts
from headway.prediction.run_times import RunTimes
from tests.core.builders import G5, NOW_MS, P5, changed, held, job, snapshot, warm

MINUTE = 60_000
MONTH = Period(month=month_of(day_of(NOW_MS)))
HOURS_12 = 12 * 3600

assert begin_ms(MONTH.first) <= NOW_MS


def of(source: str, each: WaitingJob | Allocation) -> WaitingJob | Allocation:
    return changed(each, owner="ann", source=source)


def known(**minutes: list[int]) -> RunTimes:
    """Completed jobs by source, of an owner that has no others."""
    found = RunTimes(NOW_MS)
    for source, lasted in minutes.items():
        for each in lasted:
            found.add(RunKind(owner="ann", source=source), MONTH, {bucket_of(each * 60): 1})
    return found


def queue(*waiting: WaitingJob, ran_minutes: int = 0, size: int = 1) -> Snapshot:
    """A running job, with a limit of twelve hours from now on, and waiting ones."""
    since_ms = NOW_MS - ran_minutes * MINUTE
    return snapshot(of("train", held("now", 9, since=since_ms, ends_in_s=HOURS_12)), *waiting, size=size)


def minutes(time_ms: int) -> float:
    return (time_ms - NOW_MS) / MINUTE


def test_a_job_is_likely_to_start_when_those_like_the_running_one_have_ended() -> None:
    found = predict_starts(queue(job("next", limit_s=60)), known(train=list(range(60, 101))))["next"]
    assert minutes(found.from_ms) == pytest.approx(64, rel=RELATIVE_ERROR)
    assert minutes(found.about_ms) == pytest.approx(80, rel=RELATIVE_ERROR)
    assert minutes(found.until_ms) == pytest.approx(96, rel=RELATIVE_ERROR)
    # The time that is proven stays as it is.
    assert forecast(queue(job("next", limit_s=60))).starts == {"next": NOW_MS + HOURS_12 * 1000}


def test_what_a_running_job_has_run_is_no_longer_to_come() -> None:
    found = predict_starts(queue(job("next"), ran_minutes=50), known(train=list(range(60, 101))))["next"]
    assert minutes(found.about_ms) == pytest.approx(30, rel=0.2)


def test_jobs_ahead_of_a_job_are_predicted_as_well() -> None:
    ahead = of("train", job("ahead", 5, limit_s=HOURS_12))
    assert isinstance(ahead, WaitingJob)
    found = predict_starts(queue(ahead, job("next")), known(train=[60] * 20))
    assert minutes(found["ahead"].about_ms) == pytest.approx(60, rel=RELATIVE_ERROR)
    assert minutes(found["next"].about_ms) == pytest.approx(120, rel=RELATIVE_ERROR)


def test_members_of_arrays_that_are_no_jobs_yet_are_predicted_as_well() -> None:
    member = of("train", job("sweep_0", 5, limit_s=HOURS_12))
    assert isinstance(member, WaitingJob)
    array = ArrayToCome(name="sweep", count=3, member=member, demands=(member.demand,))
    found = predict_starts(queue(job("next")), known(train=[60] * 20), arrays=[array])
    assert minutes(found["next"].about_ms) == pytest.approx(240, rel=RELATIVE_ERROR)


def test_jobs_of_which_nothing_is_known_run_as_long_as_their_limits() -> None:
    waiting = [job("ahead", 5, limit_s=7200), job("next")]
    found = predict_starts(queue(*waiting), known(train=[60] * 20))
    assert minutes(found["next"].about_ms) == pytest.approx(180, rel=RELATIVE_ERROR)
    unknown = replace(queue(*waiting), allocations=(held("now", 9, ends_in_s=HOURS_12),))
    assert predict_starts(unknown, known(train=[60] * 20)) == {}
    assert predict_starts(queue(*waiting), RunTimes(NOW_MS)) == {}


def test_a_job_behind_one_that_may_run_for_ever_has_no_likely_start() -> None:
    assert set(predict_starts(queue(job("ahead", 5), job("next")), known(train=[60] * 20))) == {"ahead"}


def test_a_warm_pool_is_no_job_that_runs() -> None:
    pool = of("train", warm("w"))
    assert isinstance(pool, Allocation)
    assert predict_starts(snapshot(pool, job("next"), size=1), known(train=[60] * 20)) == {}


def test_a_job_that_waits_again_beside_its_own_warm_pool_is_predicted() -> None:
    waiting = [of("train", job("again", 5, limit_s=HOURS_12)), job("next")]
    own = of("train", warm("again"))
    assert isinstance(own, Allocation)
    beside, alone = snapshot(own, *waiting, size=1), snapshot(*waiting, size=1)
    runs = known(train=[60] * 20)
    found = predict_starts(beside, runs)["next"]
    assert minutes(found.about_ms) == pytest.approx(minutes(predict_starts(alone, runs)["next"].about_ms), abs=10)


def test_only_the_jobs_that_are_asked_for_are_simulated_for() -> None:
    waiting = [of("train", job(name, 9 - number, limit_s=HOURS_12)) for number, name in enumerate("abc")]
    jobs = [each for each in waiting if isinstance(each, WaitingJob)]
    assert set(predict_starts(queue(*jobs), known(train=[60] * 20), awaited=["b"])) == {"a", "b"}
    assert set(predict_starts(queue(*jobs), known(train=[60] * 20), steps=1)) == {"a"}


def test_a_start_that_only_some_courses_reach_is_not_predicted() -> None:
    elsewhere = held("elsewhere", pool=G5, ends_in_s=80 * 60)
    snap = snapshot(
        of("train", held("now", 9, since=NOW_MS, ends_in_s=HOURS_12)), elsewhere, job("next"), pools={P5: 1, G5: 1}
    )
    lasted = known(train=list(range(60, 101)))
    assert set(predict_starts(snap, lasted)) == {"next"}
    # The first step is the end of the running job if that is short, and otherwise the one elsewhere.
    assert predict_starts(snap, lasted, steps=1) == {}


def test_a_job_may_start_later_if_others_end_sooner() -> None:
    """A wide job then starts before it, and otherwise waits so long that this one passes it."""
    snap = queue(job("wide", 5, count=2, limit_s=36_000), job("small", 1, limit_s=7200), size=2)
    snap = replace(snap, allocations=(*snap.allocations, held("other", 9, ends_in_s=3600)))
    found = predict_starts(snap, known(train=list(range(10, 101))))["small"]
    assert minutes(found.from_ms) == 60
    assert minutes(found.about_ms) == minutes(found.until_ms) == 660


def test_a_running_job_is_likely_to_end_when_those_like_it_that_ran_as_long_have_ended() -> None:
    (running,) = queue(ran_minutes=70).allocations
    found = predict_end(running, known(train=list(range(60, 101))), NOW_MS)
    assert found is not None
    assert minutes(found.about_ms) == pytest.approx(15, abs=5)
    assert 0 < minutes(found.from_ms) < minutes(found.about_ms) < minutes(found.until_ms) < 36
    assert predict_end(changed(running, source=""), known(train=[100] * 20), NOW_MS) is None
    assert predict_end(running, RunTimes(NOW_MS), NOW_MS) is None


@given(
    st.lists(st.integers(1, 700), min_size=3, max_size=20),
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 300),
)
def test_a_likely_start_is_in_its_interval_and_not_in_the_past(
    lasted: list[int], waiting: list[tuple[int, int, bool]], ran: int
) -> None:
    jobs = [
        changed(job(f"j{number}", priority, count=count, limit_s=HOURS_12), owner="ann", source="train" * like)
        for number, (priority, count, like) in enumerate(waiting)
    ]
    snap = queue(*jobs, ran_minutes=ran, size=3)
    for found in predict_starts(snap, known(train=lasted)).values():
        assert NOW_MS <= found.from_ms <= found.about_ms <= found.until_ms


def test_where_one_pool_runs_jobs_in_turn_predicted_starts_are_not_after_the_proven_ones() -> None:
    jobs = [changed(job(f"j{n}", entered=n, limit_s=7200), owner="ann", source="train") for n in range(4)]
    snap = queue(*jobs)
    proven = forecast(snap).starts
    for name, found in predict_starts(snap, known(train=[30, 60, 90, 240])).items():
        assert found.until_ms <= (proven[name] or 0)
