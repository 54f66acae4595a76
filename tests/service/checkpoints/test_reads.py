"""Looks at the checkpoints of running attempts by the reconciler, and what decisions make of them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any
from unittest import mock

import pytest

from headway.durations import in_words
from headway_service.checkpoints import reads
from headway_service.checkpoints.reads import MAX_ATTEMPTS, MAX_READS_MS, CheckpointReads
from headway_service.errors import Conflict, RetryLater
from headway_service.ports.objects import ObjectPage
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_objects import MemoryObjects
from headway_service.testing.memory_role_permissions import EVERYTHING
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, World, on, request

BUCKET = "research"
LONG: dict[str, Any] = {
    "Environment": {"SANDBOX_RUN_SECONDS": "80000"},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
}
AFTER_S = 300


class CountedTable(MemoryTable):
    """Counts the transactions, and the items that are read one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.reads = 0

    def write(self, writes: Any) -> None:
        self.writes += 1
        super().write(writes)

    def get(self, key: Any) -> Any:
        self.reads += 1
        return super().get(key)


def world_of(
    *names: str, buckets: tuple[str, ...] = (BUCKET,), size: int | None = None, speed: float = 1.0, **changes: Any
) -> World:
    """Jobs that train, each with checkpoints in a folder of its own."""
    world = World(pools={P5: size or len(names)}, table=CountedTable(), speed=speed)
    world.objects.put(BUCKET, "other", b"")
    world.container.settings = replace(world.container.settings, checkpoint_buckets=buckets)
    for name in names:
        checkpoints = {"S3Uri": f"s3://{BUCKET}/{name}"}
        world.submit(name, **{"CheckpointConfig": checkpoints, **LONG, **changes})
    world.tick()
    world.pass_time(240)
    return world


def write(world: World, name: str, ago_s: float = 0, file: str = "1") -> int:
    """A checkpoint is written. Returns when, ms."""
    written_ms = world.machine_clock() - round(ago_s * 1000)
    world.objects.put(BUCKET, f"{name}/{file}", b"", written_ms)
    return written_ms


def attempt(world: World, name: str) -> AttemptRecord:
    return next(each for each in read_ledger(world.table).attempts if each.job_name == name)


def seen_ms(world: World, name: str = "a") -> int | None:
    return attempt(world, name).checkpoint_seen_ms


def look(world: World) -> None:
    """Let so much time pass that the reconciler asks about the attempts, and looks at their checkpoints."""
    world.pass_time(AFTER_S + 1)
    world.reconcile(AFTER_S)


def of(world: World) -> CheckpointReads:
    return world.container.checkpoint_reads


def listed(world: World) -> list[str]:
    return world.objects.calls


def test_the_newest_checkpoint_of_a_running_attempt_is_noted() -> None:
    world = world_of("a", "b")
    write(world, "a", 20)
    written_ms = write(world, "a", 10, "0")
    look(world)
    assert (seen_ms(world), seen_ms(world, "b")) == (written_ms, None)
    newer_ms = write(world, "a")
    look(world)
    assert seen_ms(world) == newer_ms


def test_it_is_noted_in_the_write_that_notes_that_the_attempt_has_not_changed() -> None:
    counted = []
    for buckets in ((), (BUCKET,)):
        world = world_of("a", buckets=buckets)
        table = world.table
        assert isinstance(table, CountedTable)
        write(world, "a")
        before = table.writes
        look(world)
        counted.append(table.writes - before)
    assert counted[0] == counted[1] == 1


def test_without_listed_buckets_nothing_is_called_read_or_written_for_it() -> None:
    world = world_of("a", buckets=())
    table = world.table
    assert isinstance(table, CountedTable)
    write(world, "a")
    before = table.reads
    look(world)
    assert (listed(world), table.reads - before) == ([], 0)
    item = world.table.get(AttemptRecord.key("a"))
    assert item is not None
    assert "checkpointSeenMs" not in item


def test_a_folder_that_the_training_role_may_not_list_is_not_looked_at() -> None:
    """Its owner would learn when something was written there, and whether there is such a name."""
    world = world_of("a", "b", CheckpointConfig={"S3Uri": f"s3://{BUCKET}/secret"})
    mine = {"StringLike": {"s3:prefix": "mine/*"}}
    role = request("a")["RoleArn"]
    world.role_permissions.statements[role] = [
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*", "Condition": mine}
    ]
    write(world, "secret")
    look(world)
    assert (listed(world), seen_ms(world)) == ([], None)
    world.role_permissions.statements[role] = [EVERYTHING]
    look(world)
    assert seen_ms(world) is not None


def test_without_an_answer_about_the_role_nothing_is_looked_at() -> None:
    world = world_of("a")
    world.role_permissions.unknown = True
    write(world, "a")
    look(world)
    assert (listed(world), seen_ms(world)) == ([], None)


def test_iam_is_asked_once_about_the_attempts_of_one_role() -> None:
    world = world_of("a", "b", "c")
    look(world)
    assert [resources for _, _, resources, _ in world.role_permissions.calls] == [(f"arn:aws:s3:::{BUCKET}",)]


@pytest.mark.parametrize(
    "checkpoints",
    [None, {"S3Uri": "s3://private/a"}, {"S3Uri": "https://research.s3.amazonaws.com/a"}],
    ids=["none", "in another bucket", "elsewhere"],
)
def test_no_bucket_is_listed_for_a_job_without_checkpoints_in_one_of_these(checkpoints: Any) -> None:
    world = world_of("a", CheckpointConfig=checkpoints)
    world.objects.put("private", "a/1", b"", world.machine_clock())
    look(world)
    assert (listed(world), seen_ms(world)) == ([], None)


def test_an_attempt_that_does_not_train_yet_writes_none_or_is_being_stopped_is_not_due() -> None:
    world = world_of("a")
    trains = attempt(world, "a")
    starts = trains.model_copy(update={"training_since_ms": None})
    stops = trains.model_copy(update={"stop_cause": StopCause.PREEMPTION})
    writes_none = trains.model_copy(update={"checkpoints": False})
    assert [len(of(world).due([each])) for each in (trains, starts, stops, writes_none)] == [1, 0, 0, 0]


def test_an_older_time_never_replaces_a_newer_one() -> None:
    world = world_of("a")
    world.pass_time(100)
    written_ms = write(world, "a")
    look(world)
    world.objects.delete(BUCKET, "a/1")
    world.objects.put(BUCKET, "a/0", b"", written_ms - 50_000)
    look(world)
    assert seen_ms(world) == written_ms
    world.objects.unreadable = True
    look(world)
    assert seen_ms(world) == written_ms


@pytest.mark.parametrize(("after_ms", "counts"), [(0, False), (1, True)])
def test_a_checkpoint_from_before_the_training_is_of_an_earlier_attempt(after_ms: int, *, counts: bool) -> None:
    world = world_of("a")
    began_ms = attempt(world, "a").training_since_ms
    assert began_ms is not None
    world.objects.put(BUCKET, "a/1", b"", began_ms + after_ms)
    look(world)
    assert (seen_ms(world) is not None) is counts


def test_a_time_in_the_future_counts_as_now() -> None:
    world = world_of("a")
    write(world, "a", -1000)
    look(world)
    assert seen_ms(world) == world.clock()


def test_the_age_of_a_checkpoint_is_the_same_in_training_time() -> None:
    world = world_of("a", speed=10.0)
    world.pass_time(301)
    write(world, "a", 5)
    world.reconcile(30)
    assert seen_ms(world) == world.clock() - 5000


@pytest.mark.parametrize("trouble", ["refused", "no bucket", "no requests"])
def test_whatever_s3_or_the_table_refuse_the_reconciler_goes_on(trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("a")
    write(world, "a")
    if trouble == "refused":
        world.objects.unreadable = True
    elif trouble == "no bucket":
        del world.objects.contents[BUCKET]
    else:
        monkeypatch.setattr(reads, "find_request_of", mock.Mock(side_effect=RetryLater("throttled")))
    world.pass_time(AFTER_S + 1)
    with (
        mock.patch("headway_service.checkpoints.reads.logger.warning") as warned,
        mock.patch("headway_service.checkpoints.newest.logger.warning", warned),
    ):
        world.reconcile(AFTER_S)
    assert warned.call_count == 1
    assert "error" in warned.call_args.kwargs["extra"]
    assert attempt(world, "a").seen_ms == world.machine_clock(), "it is noted that it has not changed"
    assert seen_ms(world) is None
    assert world.wakes[-1] == "reconcile"


def test_an_attempt_without_a_stored_request_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("a")
    write(world, "a")
    monkeypatch.setattr(reads, "find_request_of", lambda *_: None)
    look(world)
    assert (listed(world), seen_ms(world)) == ([], None)


def test_a_change_that_the_look_did_not_see_is_kept() -> None:
    world = world_of("a")
    write(world, "a")
    world.pass_time(AFTER_S + 1)

    class Meanwhile(MemoryObjects):
        def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
            world.table.write(transitions.note_missing(attempt(world, "a"), 5))
            return super().list(bucket, prefix, token)

    world.container.objects = Meanwhile(world.objects.contents)
    world.reconcile(AFTER_S)
    found = attempt(world, "a")
    assert (found.missing_since_ms, found.checkpoint_seen_ms) == (5, None)
    with pytest.raises(Conflict):
        world.table.write(transitions.touch(found.model_copy(update={"version": found.version - 1}), 1))


def test_one_run_looks_at_a_bounded_number_of_attempts_in_a_random_order() -> None:
    names = [f"job-{number}" for number in range(MAX_ATTEMPTS + 1)]
    world = world_of(*names)
    world.container._random = Random(1)
    for name in names:
        write(world, name)
    looked = set()
    for _ in range(2):
        before = len(listed(world))
        look(world)
        assert len(listed(world)) - before == MAX_ATTEMPTS
        looked |= {*listed(world)[before:]}
    assert len(looked) == MAX_ATTEMPTS + 1
    assert len({each.seen_ms for each in read_ledger(world.table).attempts}) == 1, "each was noted"


@pytest.mark.parametrize(("each_ms", "calls"), [(MAX_READS_MS - 1, 2), (MAX_READS_MS, 1)])
def test_no_call_is_begun_when_the_looks_have_taken_too_long(each_ms: int, calls: int) -> None:
    world = world_of("a", "b", "c")

    class Slow(MemoryObjects):
        def list(self, bucket: str, prefix: str, token: str | None = None) -> ObjectPage:
            world.now_s += each_ms / 1000
            return super().list(bucket, prefix, token)

    slow = Slow(world.objects.contents)
    world.container.objects = slow
    look(world)
    assert len(slow.calls) == calls
    assert len({each.seen_ms for each in read_ledger(world.table).attempts}) == 1, "each was noted"


def test_a_seen_checkpoint_changes_which_of_two_jobs_is_stopped() -> None:
    def stopped(buckets: tuple[str, ...]) -> list[str]:
        world = world_of("older", buckets=buckets, size=2)
        world.submit("younger", **LONG, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/younger"})
        world.tick()
        world.pass_time(800)
        write(world, "older")
        look(world)
        world.submit("urgent", 9, ResourceConfig=on(1))
        world.tick()
        world.check()
        return [name for name, state in world.states("older", "younger").items() if state == "stopping"]

    assert (stopped(()), stopped((BUCKET,))) == (["younger"], ["older"])


def test_the_reason_of_the_preemption_says_when_the_checkpoint_was_written() -> None:
    world = world_of("a")
    write(world, "a")
    look(world)
    world.submit("urgent", 9, ResourceConfig=on(1))
    world.tick()
    reason = world.seen("a").job.reason
    assert reason.message.endswith(f"; its last checkpoint was written {in_words((AFTER_S + 1) * 1000)} before")


@pytest.mark.parametrize(
    ("ago_s", "least_s", "most_s"),
    # From the look on it takes two minutes until the attempt has ended.
    [(100, 100, 230), (None, 600, 600), (-1000, 0, 0)],
    ids=["seen", "not seen", "seen by a clock that is ahead"],
)
def test_usage_counts_no_more_as_lost_than_since_the_seen_checkpoint(
    ago_s: int | None, least_s: int, most_s: int
) -> None:
    world = world_of("a")
    world.pass_time(1000)
    if ago_s is not None:
        seen = transitions.touch(attempt(world, "a"), 1, checkpoint_seen_ms=world.clock() - ago_s * 1000)
        world.table.write(seen)
    world.submit("urgent", 9, ResourceConfig=on(1))
    world.tick()
    world.pass_time(130)
    job = JobRecord.parse(world.table.get(JobRecord.key("a")) or {})
    (ended,) = job.attempts
    assert least_s * 1000 <= ended.lost_ms <= most_s * 1000


def test_the_next_attempt_begins_without_it() -> None:
    world = world_of("a")
    write(world, "a")
    look(world)
    world.submit("urgent", 9, ResourceConfig=on(1), Environment={"SANDBOX_RUN_SECONDS": "60"})
    world.tick()
    world.pass_time(2000)
    assert attempt(world, "a").number == 2
    assert seen_ms(world) is None


def test_an_item_of_older_code_has_none_and_older_code_ignores_it() -> None:
    world = world_of("a")
    write(world, "a")
    look(world)
    item = dict(world.table.get(AttemptRecord.key("a")) or {})
    assert item.pop("checkpointSeenMs") == seen_ms(world)
    assert AttemptRecord.parse(item).checkpoint_seen_ms is None
    # As older code reads what this code has written: an attribute that its record does not know.
    assert AttemptRecord.parse({**item, "unknownToIt": 1}) == AttemptRecord.parse(item)
