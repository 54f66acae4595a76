"""Notifications about a job: each change exactly once."""

from __future__ import annotations

from typing import Any

import pytest

from headway_client.botocore_hooks.progress import Progress
from headway_client.models import Job
from tests.client.fakes.contract import Queue


def seen(**changes: Any) -> Job:
    queue = Queue()
    queue.add("job1")
    return Job.from_document({**queue.answer("GET", "/jobs/job1", b"")[1], "place": None, **changes})


RUNS = {"jobState": "running", "liveAttempt": "job1"}
RUNS_AGAIN = {"jobState": "running", "liveAttempt": "job1-2", "preemptions": 1}
WAITS = {"jobState": "preempted", "preemptions": 1}


@pytest.mark.parametrize(
    ("looks", "beginnings"),
    [
        pytest.param([RUNS, RUNS], ["job1 runs as job1:"], id="what has not changed is told once"),
        pytest.param(
            [RUNS, WAITS, RUNS_AGAIN],
            ["job1 runs as job1:", "job1 is preempted and waits", "job1 runs as job1-2:"],
            id="a preemption that is seen is told as it is seen",
        ),
        pytest.param(
            [RUNS, RUNS_AGAIN],
            ["job1 runs as job1:", "job1 was preempted, and kept its place", "job1 runs as job1-2:"],
            id="a preemption between two looks is told all the same",
        ),
        pytest.param(
            [RUNS, {"jobState": "completed", "preemptions": 2}],
            ["job1 runs as job1:", "job1 was preempted, and kept its place", "job1 has completed"],
            id="also if the job has ended since",
        ),
        pytest.param([RUNS_AGAIN], ["job1 runs as job1-2:"], id="what was before the first look is not told"),
    ],
)
def test_each_change_is_reported_once(looks: list[dict[str, Any]], beginnings: list[str]):
    told: list[str] = []
    progress = Progress(told.append)
    for look in looks:
        progress.update(seen(**look))
    assert len(told) == len(beginnings), told
    assert all(sentence.startswith(beginning) for sentence, beginning in zip(told, beginnings, strict=True)), told


@pytest.mark.parametrize(("own_only", "count"), [(False, 1), (True, 0)])
def test_jobs_that_are_not_followed_may_be_left_out(own_only: bool, count: int):
    sentences: list[str] = []
    progress = Progress(sentences.append, own_only=own_only)

    for _ in range(2):
        progress.update(seen(**RUNS))

    assert len(sentences) == count


def test_a_job_that_is_followed_is_told_from_then_on():
    told: list[str] = []
    progress = Progress(told.append, own_only=True)
    progress.follow(seen())
    progress.update(seen())
    progress.update(seen(**RUNS))
    assert [sentence.partition(":")[0] for sentence in told] == ["job1 waits", "job1 runs as job1"]


def test_where_the_sdk_prints_the_changes_only_what_the_caller_did_is_told():
    told: list[str] = []
    progress = Progress(told.append, changes=False)
    progress.follow(seen())
    progress.update(seen(**RUNS))
    assert [sentence.partition(":")[0] for sentence in told] == ["job1 waits"]


def test_a_preemption_is_reported_once():
    told: list[str] = []
    progress = Progress(told.append)
    for look in (RUNS, RUNS_AGAIN, {**RUNS_AGAIN, "jobState": "stopping"}, RUNS_AGAIN):
        progress.update(seen(**look))
    assert sum("was preempted" in sentence for sentence in told) == 1
