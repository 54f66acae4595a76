"""Kueue's test is replayed completely, and a replay that breaks a promise or stalls is detected."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bench.peers.kueue_jobs import KINDS, POOL_SIZE, POOLS, TEAMS, Submission, configuration, submissions
from bench.queues.kueue_without_latency import without_latency_s
from bench.queues.timed_training_jobs import BrokenPromiseError, TimedTrainingJobs
from bench.report.kueue_figures import figures_of, table_of
from bench.runs.kueue_replay import Replay
from headway_service.errors import TrainingJobEnded
from headway_service.sagemaker_api.tags import JOB_TAG

SMALL, POOL = KINDS[0], POOLS[0]


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.ms = 0.0

    def __call__(self) -> float:
        return self.ms


def launch(attempt: str, *, job: str = "", count: int = 1, run_ms: int = 100) -> dict[str, Any]:
    return {
        "TrainingJobName": attempt,
        "Tags": [{"Key": JOB_TAG, "Value": job or attempt}],
        "ResourceConfig": {"InstanceType": POOL, "InstanceCount": count},
        "Environment": {"RUN_MS": str(run_ms)},
    }


def job(number: int, *, due_ms: int = 0) -> Submission:
    return Submission(due_ms=due_ms, name=f"job-{number}", kind=SMALL, pool=POOL, team=TEAMS[0])


@pytest.mark.parametrize(("share", "of_each"), [(1, 1), (10, 10)])
def test_each_queue_gets_its_jobs_and_they_come_in_order(share, of_each):
    jobs = submissions(share)
    assert len(jobs) == 15_000 // of_each
    assert [each.due_ms for each in jobs] == sorted(each.due_ms for each in jobs)
    assert len({each.name for each in jobs}) == len(jobs)
    assert set(Counter((each.pool, each.team) for each in jobs).values()) == {500 // of_each}


@pytest.mark.parametrize(
    ("launches", "said"),
    [
        ([launch("a"), launch("a")], "a is launched twice"),
        ([launch("a", job="j"), launch("b", job="j")], "j is launched although it runs"),
        ([launch("a", count=3), launch("b", count=2)], "5 of 4"),
    ],
)
def test_a_launch_that_breaks_a_promise_is_found_out(launches, said):
    training_jobs = TimedTrainingJobs({POOL: 4}, Clock())
    *first, last = launches
    for each in first:
        training_jobs.create(each)
    with pytest.raises(BrokenPromiseError, match=said):
        training_jobs.create(last)


def test_a_training_job_uses_its_instances_until_its_end_is_told():
    clock = Clock()
    training_jobs = TimedTrainingJobs({POOL: 4}, clock)
    training_jobs.create(launch("a", count=3, run_ms=100))
    clock.ms = 100
    assert training_jobs.in_use == {POOL: 3}
    assert [(each.attempt, each.status) for each in training_jobs.ended()] == [("a", "Completed")]
    assert training_jobs.in_use == {POOL: 0}
    assert list(training_jobs.ended()) == []
    with pytest.raises(TrainingJobEnded):
        training_jobs.stop("a")


def test_what_a_stopped_training_job_has_done_is_wasted():
    clock = Clock()
    training_jobs = TimedTrainingJobs({POOL: 4}, clock)
    training_jobs.create(launch("a", job="j", count=3, run_ms=100))
    clock.ms = 40
    training_jobs.stop("a")
    assert [each.status for each in training_jobs.ended()] == ["Stopped"]
    assert (training_jobs.stopped, training_jobs.wasted_ms, training_jobs.completed) == (1, 120, {})
    training_jobs.create(launch("b", job="j"))


def test_a_replay_that_stands_still_is_broken_off():
    replay = Replay([job(1)], teams=False, limit_s=60)
    replay.queue.accept = lambda *_, **__: None  # type: ignore[method-assign]
    with pytest.raises(BrokenPromiseError, match="nothing runs and nothing comes"):
        replay.run()


def test_a_run_is_told_with_its_figures_beside_kueues():
    replay = Replay([job(1), job(2, due_ms=20)], teams=True, limit_s=60)
    replay.run()
    assert replay.problems() == []
    figures = figures_of(replay)
    assert (figures["jobs"], figures["completed"], figures["preemptions"]) == (2, 2, 0)
    assert figures["averageAdmissionSeconds"].keys() == {"small"}
    work_s = 2 * SMALL.run_ms / 1000
    assert figures["usefulUtilisation"] == round(work_s / (len(POOLS) * POOL_SIZE * replay.wall_s), 3)
    told = table_of(figures)
    assert "2 of 2" in told
    assert "351.1" in told


def test_a_run_that_did_not_begin_has_figures_too():
    figures = figures_of(Replay([job(1)], teams=True, limit_s=60))
    assert (figures["completed"], figures["jobsPerSecond"], figures["heldUtilisation"]) == (0, 0.0, 0.0)
    assert "0 of 1" in table_of(figures)


def test_jobs_run_for_at_least_their_protected_time():
    document = configuration(teams=True, min_run_time_s=1)
    assert document["preemption"] == {"minRunTimeSeconds": 1}
    small = [job(number) for number in range(POOL_SIZE)]
    large = Submission(due_ms=50, name="large", kind=KINDS[2], pool=POOL, team=TEAMS[0])
    preempted = {}
    for min_run_time_s in (0, 1):
        replay = Replay([*small, large], teams=False, limit_s=86_400, min_run_time_s=min_run_time_s)
        replay.run()
        preempted[min_run_time_s] = replay.training_jobs.stopped > 0
    assert preempted == {0: True, 1: False}


def test_without_latency_the_test_takes_as_long_as_its_jobs_keep_each_other_from_instances():
    small = [job(number) for number in range(POOL_SIZE + 1)]
    assert without_latency_s(small) == 2 * SMALL.run_ms / 1000
    # The large job preempts the small ones, which run again from their begin.
    large = Submission(due_ms=50, name="large", kind=KINDS[2], pool=POOL, team=TEAMS[0])
    elsewhere = Submission(due_ms=60, name="elsewhere", kind=KINDS[2], pool=POOLS[1], team=TEAMS[0])
    assert without_latency_s([*small[:POOL_SIZE], large, elsewhere]) == (50 + KINDS[2].run_ms) / 1000
