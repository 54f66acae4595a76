from __future__ import annotations

from typing import Any

import pytest

from headway_client.job_sentences import (
    cost_sentence,
    end_sentence,
    estimate_sentence,
    job_sentence,
    lost_sentence,
    progress_sentence,
    saved_sentence,
)
from headway_client.models import Job, JobDetails
from tests.client.fakes.contract import Queue


def job(state: str, message: str, **members: Any) -> Job:
    queue = Queue()
    queue.add("job1")
    document = queue.answer("GET", "/jobs/job1", b"")[1]
    reason = {"code": "c", "message": message}
    return Job.from_document({**document, "place": None, "jobState": state, "reason": reason, **members})


@pytest.mark.parametrize(
    ("state", "message", "expected"),
    [
        ("failed", "failed", "job1 has failed"),
        ("failed", "failed: AlgorithmError", "job1 has failed: AlgorithmError"),
        ("failed", "failedish", "job1 has failed: failedish"),
        ("failed", "SageMaker refused the request", "job1 has failed: SageMaker refused the request"),
        ("completed", "completed", "job1 has completed"),
        ("completed", "anything", "job1 has completed"),
        ("stopped", "stopped by user/ada while it waited", "job1 was stopped by user/ada while it waited"),
        ("stopped", "SageMaker stopped it", "job1 was stopped: SageMaker stopped it"),
    ],
)
def test_the_end_of_a_job_is_stated_once(state: str, message: str, expected: str):
    ended = job(state, message)

    assert [end_sentence(ended), job_sentence(ended), progress_sentence(ended)] == [expected] * 3


@pytest.mark.parametrize(
    ("members", "shown", "progress"),
    [
        ({}, "job1 is pending (priority 0): x", "job1 waits: x"),
        ({"place": 2}, "job1 is pending (priority 0, place 2 in the queue): x", "job1 waits, place 2 in the queue: x"),
        ({"held": True}, "job1 is pending (priority 0): x", "job1 is held: x"),
        (
            {"held": True, "reason": {"code": "c", "message": "held on request of ada"}},
            "job1 is pending (priority 0): held on request of ada",
            "job1 is held on request of ada",
        ),
        (
            {"jobState": "preempted", "place": 1},
            "job1 is preempted (priority 0, place 1 in the queue): x",
            "job1 is preempted and waits for its next turn, place 1 in the queue: x",
        ),
        ({"jobState": "running", "liveAttempt": "a"}, "job1 is running (priority 0): x", "job1 runs as a: x"),
        ({"jobState": "stopping"}, "job1 is stopping (priority 0): x", "job1 is stopping: x"),
    ],
)
def test_a_job_that_has_not_ended_is_stated_with_its_place_and_reason(
    members: dict[str, Any], shown: str, progress: str
):
    seen = job("pending", "x", **members)

    assert (job_sentence(seen), progress_sentence(seen)) == (shown, progress)


@pytest.mark.parametrize(
    ("members", "cost", "lost"),
    [
        ({"lostSeconds": 0, "lostCost": 0.0, "cost": 5.0}, "5.00 USD for ended attempts", None),
        (
            {"lostSeconds": 1800, "lostCost": 1.5, "cost": 5.0},
            "5.00 USD for ended attempts",
            "0.50 instance hours, 1.50 USD of the cost",
        ),
        ({"lostSeconds": 1800}, None, "0.50 instance hours"),
        (
            {"lostSeconds": 1800, "lostUnpricedSeconds": {"ml.p5.48xlarge": 1000, "ml.g5.xlarge": 800}},
            None,
            "0.50 instance hours (no price set for ml.g5.xlarge, ml.p5.48xlarge)",
        ),
        (
            {
                "lostSeconds": 7200,
                "lostCost": 1.5,
                "cost": 5.0,
                "unpricedSeconds": {"p": 9000},
                "lostUnpricedSeconds": {"p": 3600},
            },
            "5.00 USD for ended attempts, without 2.50 instance hours of unknown price",
            "2.00 instance hours, 1.50 USD of the cost, without 1.00 instance hours of unknown price",
        ),
    ],
    ids=["nothing", "with a price", "of no pool", "without a price", "a part without a price"],
)
def test_what_a_job_has_lost_is_stated_with_its_part_of_the_cost(
    members: dict[str, Any], cost: str | None, lost: str | None
):
    queue = Queue()
    queue.add("job1")
    document = {**queue.answer("GET", "/jobs/job1", b"")[1], "currency": "USD", **members}
    job = JobDetails.from_document(document)

    assert (cost_sentence(job), lost_sentence(job)) == (cost, lost)


@pytest.mark.parametrize(
    ("members", "saved"),
    [
        ({}, None),
        ({"savedSeconds": {"p.spot": 0}, "savedCost": 0.0}, None),
        (
            {"savedSeconds": {"p.spot": 400}, "billedSeconds": {"p.spot": 100, "p": 900}, "savedCost": 4.0},
            "4.00 USD by spot instances, 80% of their time",
        ),
        (
            {"savedSeconds": {"p.spot": 3600}, "billedSeconds": {"p.spot": 3600}},
            "1.00 instance hours by spot instances, 50% of their time",
        ),
    ],
    ids=["not known", "nothing", "the example of AWS", "without a price"],
)
def test_what_spot_saved_is_stated_with_its_part_of_the_time_that_spot_instances_trained(
    members: dict[str, Any], saved: str | None
):
    queue = Queue()
    queue.add("job1")
    document = {**queue.answer("GET", "/jobs/job1", b"")[1], "currency": "USD", **members}
    assert saved_sentence(JobDetails.from_document(document)) == saved


@pytest.mark.parametrize(
    ("estimated", "said"),
    [
        (None, None),
        (0.0, None),
        (4.5, "about 4.50 USD more for spot instances without a bill yet, by spotPerHour"),
    ],
)
def test_an_estimate_is_stated_as_one(estimated: float | None, said: str | None):
    queue = Queue()
    queue.add("job1")
    document = {**queue.answer("GET", "/jobs/job1", b"")[1], "currency": "USD", "estimatedCost": estimated}
    assert estimate_sentence(JobDetails.from_document(document)) == said
