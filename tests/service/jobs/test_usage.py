"""What a job has had of its pools: since when, and how much its ended attempts held."""

from __future__ import annotations

import json

import pytest

from headway.lifecycle import JobState
from headway_sandbox.errors import AwsError
from headway_sandbox.inprocess.lambda_loader import http_event
from headway_service.api.documents.jobs import job_document
from headway_service.ports.table import LISTED
from headway_service.store.job_filter import JobFilter
from headway_service.store.records.job import EndedAttempt, JobRecord
from headway_service.store.records.listed_job import SUMMARY, ListedJob, Usage
from tests.core.builders import changed
from tests.service.launching.test_launcher import fail_once
from tests.service.store.builders import NOTED, NOTED_FAILED
from tests.service.world import P5, ROOT, World, on

G5 = "ml.g5.xlarge"
LONG = {"SANDBOX_RUN_SECONDS": "90000"}

MAX_PROJECTED = 20
"""DynamoDB's limit of attributes in one index (API reference, Projection: NonKeyAttributes)."""


@pytest.fixture
def world() -> World:
    return World()


def told(world: World, name: str) -> tuple[str | None, int, dict[str, int]]:
    document = job_document(world.seen(name))
    return document.started_time, document.preemptions, dict(document.instance_seconds)


def test_a_waiting_job_has_no_usage(world: World) -> None:
    world.submit("a")
    assert told(world, "a") == (None, 0, {})


def test_instances_are_counted_from_the_start_to_the_end_of_each_attempt(world: World) -> None:
    world.submit("low", 1, ResourceConfig=on(2), Environment=LONG)
    world.tick()
    first = told(world, "low")[0]
    assert first is not None
    assert told(world, "low") == (first, 0, {}), "what runs is counted when it has ended"
    world.pass_time(300)
    world.submit("high", 5)
    world.tick()
    world.pass_time(200)
    (ended,) = world.seen("low").job.attempts
    held_s = (ended.ended_ms - ended.since_ms) // 1000
    assert held_s > 300
    assert told(world, "low") == (first, 1, {P5: 2 * held_s})
    world.pass_time(100_000)
    _, again = world.seen("low").job.attempts
    held_s += (again.ended_ms - again.since_ms) // 1000
    assert told(world, "low") == (first, 1, {P5: 2 * held_s})


def test_a_document_has_the_instances_that_each_attempt_holds_or_held(world: World) -> None:
    def attempts() -> list[tuple[str, dict[str, int]]]:
        document = json.loads(world.invoke("api", http_event("GET", "/jobs/low"))["body"])
        return [(each["attemptState"], each["demand"]) for each in document["attempts"]]

    world.submit("low", 1, ResourceConfig=on(2), Environment=LONG)
    world.tick()
    assert attempts() == [("live", {P5: 2})]
    world.submit("high", 5)
    world.tick()
    world.pass_time(200)
    assert attempts() == [("ended", {P5: 2})]


def test_each_pool_of_a_cluster_is_counted() -> None:
    world = World(pools={P5: 2, G5: 3})
    groups = [
        {"InstanceGroupName": f"g{i}", "InstanceType": pool, "InstanceCount": count}
        for i, (pool, count) in enumerate([(P5, 1), (G5, 2)])
    ]
    world.submit("a", ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30})
    world.tick()
    world.pass_time(2000)
    (ended,) = world.seen("a").job.attempts
    held_ms = ended.ended_ms - ended.since_ms
    assert told(world, "a")[2] == {P5: held_ms // 1000, G5: 2 * held_ms // 1000}


def test_a_postponed_attempt_does_not_count_as_a_start(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("ResourceLimitExceeded", "quota"))
    world.tick()
    assert told(world, "a") == (None, 0, {})
    world.now_s += 61
    world.tick()
    assert told(world, "a")[0] is not None


def test_an_attempt_that_was_never_launched_counts_nothing(world: World) -> None:
    world.submit("a")
    fail_once(world, "CreateTrainingJob", AwsError("ValidationException", "no such image"))
    world.tick()
    assert world.states("a") == {"a": "failed"}
    assert told(world, "a") == (None, 0, {})


def test_a_postponed_later_attempt_keeps_the_first_start(world: World) -> None:
    world.submit("a", Environment=LONG)
    world.tick()
    first = told(world, "a")[0]
    world.pass_time(60)
    world.fleet.fail("a", "InternalServerError: We encountered an internal error.", now=world.now_s)
    world.pass_time(61)
    fail_once(world, "CreateTrainingJob", AwsError("ResourceLimitExceeded", "quota"))
    world.tick()
    assert world.states("a") == {"a": "pending"}
    assert told(world, "a")[0] == first


def test_the_index_projects_the_filter_attributes_and_has_room_for_more() -> None:
    assert {"jobName", "jobState", "owner", "team", "summary"} < {*LISTED}
    assert len({*LISTED}) == len(LISTED) < MAX_PROJECTED
    assert not {*LISTED} & {*SUMMARY}
    stored = {field.alias for record in (ListedJob, Usage) for field in record.model_fields.values()} - {"usage"}
    assert stored | {"schemaVersion", "summary"} == {*LISTED} | {*SUMMARY}


def test_a_listing_shows_the_same_as_the_jobs_item(world: World) -> None:
    world.submit("a", 3, Environment=LONG)
    world.tick()
    world.submit("b", 5, ResourceConfig=on(2))
    world.tick()
    world.pass_time(130)
    world.tick()
    page, _ = world.queries.jobs(JobFilter(states=frozenset(JobState)), 100, None)
    for listed in (seen.job for seen in page):
        whole = JobRecord.parse(world.table.get(JobRecord.key(listed.job_name)) or {})
        assert listed == ListedJob(**{name: getattr(whole, name) for name in ListedJob.model_fields})
    assert {seen.job.preemption_count for seen in page} == {0, 1}


def test_a_decision_for_a_listing_knows_all_of_a_job_that_decisions_depend_on(world: World) -> None:
    world.submit("a")
    whole = JobRecord.parse(world.table.get(JobRecord.key("a")) or {}).model_copy(
        update={"failed": NOTED_FAILED, "warm_key": "k", "keep_s": 60, "stops_for_size": True, "source": "train.py"}
    )
    listed = ListedJob.parse({name: value for name, value in whole.put().item.items() if name in LISTED})
    # What it runs is for predictions, and what its limit has beside MaxRuntimeInSeconds for hints.
    assert listed.waiting() == changed(whole.waiting(), source="", allowance_ms=None)


def test_an_attribute_in_the_map_and_one_beside_it_are_read_alike(world: World) -> None:
    world.submit("a")
    item = dict(world.table.get(JobRecord.key("a")) or {})
    failed = {"failed": {"count": 1, "sinceMs": 1, "lastMs": 2, "cause": "capacity"}}
    beside = {**item, **item["summary"], **failed, "summary": {}}
    within = {**item, "summary": {**item["summary"], **failed}}
    assert JobRecord.parse(beside) == JobRecord.parse(within)
    assert JobRecord.parse(beside).failed is not None


def test_a_job_without_map_attributes_is_stored_without_the_map(world: World) -> None:
    world.submit("a")
    item = world.table.get(JobRecord.key("a"))
    bare = JobRecord.parse(item or {}).model_copy(update={"limit_ms": None, "max_run_s": None, "handicap_ms": 0})
    assert "summary" not in bare.put().item
    assert JobRecord.parse(bare.put().item) == bare


def test_attributes_without_filters_are_in_one_map(world: World) -> None:
    world.submit("a")
    world.tick()
    world.pass_time(3600)
    item = world.table.get(JobRecord.key("a"))
    assert item is not None
    assert {"attemptCount", "endedMs", "startedMs", "instanceMs", "limitMs"} <= {*item["summary"]} <= {*SUMMARY}
    assert not {*item} & {*SUMMARY, "usage"}


@pytest.mark.parametrize(("checkpoints", "lost_s"), [(False, 700), (True, 600)])
def test_a_preempted_attempt_has_lost_the_work_since_its_last_checkpoint(
    world: World, checkpoints: bool, lost_s: int
) -> None:
    more = {"CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints"}} if checkpoints else {}
    world.submit("low", 1, ResourceConfig=on(2), Environment=LONG, **more)
    world.tick()
    world.pass_time(700)
    world.submit("high", 5)
    world.tick()
    world.pass_time(200)
    job = world.seen("low").job
    (ended,) = job.attempts
    held_s = (ended.ended_ms - ended.since_ms) // 1000
    assert held_s >= 700
    assert ended.lost_ms == (600_000 if checkpoints else held_s * 1000)
    assert ended.lost_ms >= lost_s * 1000
    assert job.usage.lost_ms == 2 * ended.lost_ms
    assert job.usage.lost_billed_ms == ended.lost_billed_ms
    assert 0 < job.usage.lost_billed_ms[P5] <= job.usage.billed_ms[P5]
    assert (job.usage.lost_billed_ms == job.usage.billed_ms) is not checkpoints


def test_a_job_that_completes_or_is_stopped_on_request_has_lost_nothing(world: World) -> None:
    world.submit("done")
    world.submit("stopped", Environment=LONG)
    world.tick()
    world.commands.stop("stopped", ROOT)
    world.tick()
    world.pass_time(3600)
    for name in ("done", "stopped"):
        job = world.seen(name).job
        assert (len(job.attempts), job.usage.lost_ms) == (1, 0)


SPOT = P5 + ".spot"


@pytest.mark.parametrize(
    ("spot", "billable_s", "billed_ms", "unbilled_ms", "lost_billed_ms", "lost_unbilled_ms"),
    [
        (False, 50, {P5: 100_000}, {}, {P5: 25_000}, {}),
        (False, None, {P5: 120_000}, {}, {P5: 30_000}, {}),
        (True, 20, {SPOT: 40_000}, {}, {SPOT: 10_000}, {}),
        (True, None, {}, {SPOT: 120_000}, {}, {SPOT: 30_000}),
        (True, 0, {SPOT: 0}, {}, {SPOT: 0}, {}),
    ],
)
def test_spot_instances_are_billed_by_their_billable_time_only_and_what_was_lost_by_its_part_of_that(
    spot: bool,
    billable_s: int | None,
    billed_ms: dict[str, int],
    unbilled_ms: dict[str, int],
    lost_billed_ms: dict[str, int],
    lost_unbilled_ms: dict[str, int],
) -> None:
    ended = EndedAttempt(
        attempt_name="a",
        number=1,
        since_ms=0,
        ended_ms=60_000,
        reason=NOTED,
        demand={P5: 2},
        spot=spot,
        billable_s=billable_s,
    )
    assert (ended.billed_ms, ended.unbilled_ms) == (billed_ms, unbilled_ms)
    assert (ended.lost_billed_ms, ended.lost_unbilled_ms) == ({}, {})
    quarter = ended.model_copy(update={"lost_ms": 15_000})
    assert (quarter.lost_billed_ms, quarter.lost_unbilled_ms) == (lost_billed_ms, lost_unbilled_ms)
    whole = ended.model_copy(update={"lost_ms": 60_000})
    assert (whole.lost_billed_ms, whole.lost_unbilled_ms) == (billed_ms, unbilled_ms)


@pytest.mark.parametrize(
    ("spot", "trained_s", "billable_s", "saved_ms"),
    [
        (True, 500, 100, {SPOT: 2 * 400_000}),
        (True, None, 100, {}),
        (True, 500, None, {}),
        (True, 500, 500, {}),
        (True, 500, 600, {}),
        (True, 5000, 100, {SPOT: 2 * 600_000}),
        (False, None, 500, {}),
    ],
    ids=[
        "the example of AWS",
        "no training time",
        "no bill",
        "no discount",
        "more billed",
        "longer than held",
        "demand",
    ],
)
def test_spot_saves_what_it_has_trained_without_being_billed(
    spot: bool, trained_s: int | None, billable_s: int | None, saved_ms: dict[str, int]
) -> None:
    ended = EndedAttempt(
        attempt_name="a",
        number=1,
        since_ms=0,
        ended_ms=600_000,
        reason=NOTED,
        demand={P5: 2},
        spot=spot,
        billable_s=billable_s,
        trained_s=trained_s,
    )
    assert ended.saved_ms == saved_ms
