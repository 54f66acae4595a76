"""Orders that compare predicted run times, over the whole service layer: a job is predicted once, when it enters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from headway.api_documents.jobs import ExpectedRun
from headway.lifecycle import WAITING
from headway.policy import Order, Policy
from headway.scheduling.standing import standing_on_entry
from headway_service.admission.submission import Submission
from headway_service.api.documents.forecast import explanation_document
from headway_service.api.documents.jobs import job_details_document
from headway_service.jobs.submit_batch import Accepted, submit_all
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.job_filter import JobFilter
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord, PredictedRun
from tests.core.builders import changed
from tests.service.scheduling.test_equals import CHECKPOINTS, HOUR_S, stored
from tests.service.world import ADA, P5, ROOT, World, request

SHORT = {"order": "short", "byPredictions": True}
REMAINING = {"order": "shortest-remaining", "byPredictions": True}


def configure(world: World, size: int = 1, **document: Any) -> None:
    world.configuration.write({"pools": {P5: {"size": size}}, **document})


def learned(priority: dict[str, Any] = REMAINING, **document: Any) -> World:
    """A queue of one instance on which ten jobs of ten minutes have completed."""
    world = World(pools={P5: 1})
    configure(world, 10, predictions=True)
    for number in range(10):
        world.submit(f"bert-{number}")
    world.tick()
    world.pass_time(3000)
    for number in range(10):
        world.container.accountant.account([world.seen(f"bert-{number}").job])
    # Run times that were read before are used for some minutes.
    world.pass_time(600)
    configure(world, **{"predictions": True, "priority": priority, **document})
    world.tick()
    return world


def submit(world: World, name: str, run_s: int = 600, hours: int = 10, **more: Any) -> JobRecord:
    limit = {"MaxRuntimeInSeconds": hours * HOUR_S}
    environment = {"SANDBOX_RUN_SECONDS": str(run_s)}
    world.submit(name, StoppingCondition=limit, Environment=environment, CheckpointConfig=CHECKPOINTS, **more)
    world.now_s += 1
    return stored(world, name)


@pytest.mark.parametrize("priority", [SHORT, REMAINING], ids=lambda each: each["order"])
def test_a_job_like_earlier_ones_is_compared_by_how_long_these_have_run(priority: dict[str, Any]) -> None:
    world = learned(priority)
    job = submit(world, "bert-10")
    assert job.predicted is not None
    assert job.predicted.runs == 10
    # Ten minutes of training, and what SageMaker needs beside it.
    assert 600_000 < job.predicted.run_ms < 1_200_000
    policy = Policy(order=Order(priority["order"]), by_predictions=True)
    standing = standing_on_entry(job.limit_ms, job.demand, policy, predicted_ms=job.predicted.run_ms)
    assert standing.handicap_ms == 10 * job.predicted.run_ms
    assert {name: getattr(job, name) for name in asdict(standing)} == asdict(standing)
    assert job.queue_entries()[0].waiting().terms.standing.expected_ms == standing.expected_ms


@pytest.mark.parametrize(
    ("priority", "document"),
    [
        ({"order": "shortest-remaining"}, {}),
        ({"order": "shortest-remaining"}, {"predictions": False}),
        ({"order": "fifo"}, {}),
    ],
)
def test_a_job_is_not_predicted_unless_the_policy_compares_that(
    priority: dict[str, Any], document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = learned(priority, **document)
    monkeypatch.setattr(world.container.run_times, "get", lambda: pytest.fail("run times were read"))
    job = submit(world, "bert-10")
    assert (job.predicted, job.expected_ms, job.extension_ms) == (None, None, 0)
    changed = RequestChange(max_runtime_s=20 * HOUR_S)
    assert world.changes.change("bert-10", changed, ROOT).job.predicted is None


def test_a_job_of_another_kind_counts_with_its_limit() -> None:
    world = World(pools={P5: 1})
    configure(world, predictions=True, priority=REMAINING)
    job = submit(world, "bert-10")
    assert (job.predicted, job.expected_ms, job.handicap_ms) == (None, None, 10 * (job.limit_ms or 0))


def test_a_job_that_is_expected_to_be_short_preempts_one_that_has_outlived_what_was_expected() -> None:
    world = learned()
    before = submit(world, "bert-10", run_s=9 * HOUR_S)
    world.tick()
    world.pass_time(700)
    submit(world, "bert-11")
    world.tick()
    world.check()
    assert world.states("bert-10", "bert-11") == {"bert-10": "running", "bert-11": "pending"}
    # After four times as long, as long again is expected of it.
    world.pass_time(4 * (before.expected_ms or 0) // 1000 - 690)
    world.tick()
    world.check()
    assert world.states("bert-10") == {"bert-10": "stopping"}
    attempt = AttemptRecord.parse(world.table.get(AttemptRecord.key(str(stored(world, "bert-10").live_attempt))) or {})
    assert attempt.allocation().terms.standing.expected_ms == before.expected_ms
    world.pass_time(130)
    world.check()
    assert world.states("bert-10", "bert-11") == {"bert-10": "preempted", "bert-11": "running"}
    after = stored(world, "bert-10")
    assert after.extension_ms == 8 * before.extension_ms
    assert (before.expected_ms or 0) < (after.expected_ms or 0) < (after.left_ms or 0)
    assert after.handicap_ms == 10 * (after.expected_ms or 0)
    # What it was compared by when it entered stays.
    assert after.predicted == before.predicted


def test_later_predictions_change_nothing_for_a_job_unless_it_enters_again() -> None:
    world = learned()
    submit(world, "first", run_s=9 * HOUR_S)
    world.tick()
    before = submit(world, "bert-10")
    configure(world, predictions=True, priority={"order": "shortest-remaining"})
    world.tick()
    less = world.changes.change("bert-10", RequestChange(max_runtime_s=9 * HOUR_S), ROOT).job
    assert (less.predicted, less.expected_ms) == (before.predicted, before.expected_ms)
    more = world.changes.change("bert-10", RequestChange(max_runtime_s=20 * HOUR_S), ROOT).job
    assert (more.predicted, more.expected_ms, more.extension_ms) == (None, None, 0)
    configure(world, predictions=True, priority=REMAINING)
    world.tick()
    again = world.changes.change("bert-10", RequestChange(max_runtime_s=30 * HOUR_S), ROOT).job
    assert (again.predicted, again.expected_ms) == (before.predicted, before.expected_ms)


def test_jobs_of_a_batch_are_predicted_as_well_by_run_times_that_are_read_once() -> None:
    world = learned()
    found = submit_all(
        [request(f"bert-{number}") for number in (20, 21)],
        ROOT,
        None,
        call="POST /job-batches",
        submitter=world.container.make_submitter,
        wake=world.container.wake,
        remaining_ms=lambda: 60_000,
    )
    jobs = [stored(world, each.seen.job.job_name) for each in found if isinstance(each, Accepted)]
    assert [job.predicted is not None for job in jobs] == [True, True]


def test_a_dry_run_compares_the_job_by_its_prediction() -> None:
    world = learned()
    found = world.forecast_service.dry_run(request("bert-10"), ROOT)
    assert found.seen.job.predicted is not None
    assert found.seen.job.handicap_ms == 10 * found.seen.job.predicted.run_ms


def test_jobs_of_another_owner_are_predicted_by_all_jobs() -> None:
    world = learned()
    world.submitter.submit(request("other"), ADA)
    assert stored(world, "other").predicted is not None


def test_the_members_of_an_array_count_with_what_was_expected_of_the_array() -> None:
    world = learned()
    submission = Submission(request=request("bert"), sweep={"grid": {"seed": [1, 2]}})
    array = world.submitter.submit(submission, ROOT)[0].job
    world.tick()
    member = stored(world, "bert_0")
    assert array.predicted is not None
    assert (member.predicted, member.expected_ms) == (array.predicted, array.expected_ms)


def test_a_listed_job_counts_with_what_is_expected_of_it() -> None:
    world = learned()
    job = submit(world, "bert-10")
    listed, _ = world.queries.jobs(JobFilter(states=WAITING), 1, None)
    # A listing has no need of what a job runs, of what hints are made from, and of how it may be stopped.
    expected = changed(job.waiting(), source="", allowance_ms=None, checkpoints=False)
    assert [each.job.waiting() for each in listed] == [expected]


def test_a_job_and_its_explanation_say_what_is_expected() -> None:
    world = learned()
    run_ms = (submit(world, "bert-10").predicted or PredictedRun(run_ms=0, runs=0)).run_ms
    for document in (
        job_details_document(*world.queries.show("bert-10", ROOT)),
        explanation_document(world.forecast_service.explain("bert-10")),
    ):
        assert document.expected_run == ExpectedRun(seconds=run_ms // 1000, runs=10)
    for document in (
        job_details_document(*world.queries.show("bert-1", ROOT)),
        explanation_document(world.forecast_service.explain("bert-1")),
    ):
        assert document.expected_run is None


def test_a_job_says_whether_its_start_or_end_may_be_predicted() -> None:
    world = learned()
    submit(world, "bert-10")
    assert job_details_document(*world.queries.show("bert-10", ROOT)).predictable
    assert not job_details_document(*world.queries.show("bert-1", ROOT)).predictable
    configure(world)
    world.tick()
    submit(world, "bert-11")
    assert not job_details_document(*world.queries.show("bert-11", ROOT)).predictable
