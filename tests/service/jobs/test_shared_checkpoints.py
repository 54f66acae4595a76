"""Two jobs in the queue on one location for checkpoints: the later one is warned, or refused by a rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from headway_service.admission.submission import Submission
from headway_service.errors import RequestError, RetryLater, RuleViolation
from headway_service.jobs import shared_checkpoints
from headway_service.jobs.shared_checkpoints import MAX_LOCATION_BYTES, MAX_LOCATIONS, MAX_WRITERS, find_shared
from headway_service.jobs.submit_batch import Accepted
from headway_service.ports.objects import Location
from headway_service.ports.table import Key
from headway_service.store.records.checkpoints import CheckpointsRecord
from headway_service.store.repository import MAX_TRIES
from headway_service.testing.memory_table import MemoryTable
from tests.service.jobs.test_submit_batch import submit
from tests.service.world import ADA, BOB, P5, ROOT, World, request

AT = "s3://b/team/run"
LONG = {"SANDBOX_RUN_SECONDS": "36000"}


def job(name: str, uri: str = AT, **changes: Any) -> dict[str, Any]:
    return request(name, CheckpointConfig={"S3Uri": uri}, Environment=LONG, **changes)


def warned(world: World, name: str) -> tuple[str, ...]:
    """The jobs that the warning of a job's entry names."""
    entry = world.seen(name).job.history[0].reason
    named = re.search("; warning: CheckpointConfig.S3Uri is where checkpoints of (.*) are: use", entry.message)
    return tuple(re.findall("`([^`]+)`", named[1])) if named else ()


@pytest.mark.parametrize(
    ("uri", "shared"),
    [
        (AT, True),
        (f"{AT}/", True),
        (f"{AT}/deeper/still", True),
        ("s3://b/team", True),
        ("s3://b", True),
        ("s3://b/team/run-1", False),
        ("s3://b/team/ru", False),
        ("s3://other/team/run", False),
        ("https://b.s3.amazonaws.com/team/run", False),
    ],
)
def test_a_job_on_or_above_or_below_the_location_of_another_one_is_warned_and_accepted(uri: str, shared: bool) -> None:
    world = World(pools={P5: 1})
    world.submitter.submit(job("first"), ROOT)
    view, created = world.submitter.submit(job("second", uri), ROOT)
    assert (created, warned(world, "first")) == (True, ())
    assert warned(world, "second") == (("first",) if shared else ())
    assert ("; warning: " in view.reason.message) is shared


def test_jobs_that_end_or_are_being_stopped_have_given_their_location_up() -> None:
    world = World(pools={P5: 1})
    world.submitter.submit(job("waits"), ROOT)
    world.commands.stop("waits", ROOT)
    world.submitter.submit(job("runs"), ROOT)
    assert warned(world, "runs") == ()
    world.tick()
    world.commands.stop("runs", ROOT)
    assert world.states("runs") == {"runs": "stopping"}
    world.submitter.submit(job("replaces"), ROOT)
    assert warned(world, "replaces") == ()


def test_all_jobs_of_a_location_are_named_also_after_the_last_one_has_ended() -> None:
    world = World(pools={P5: 1})
    for name in ("a", "b", "c"):
        world.submitter.submit(job(name), ROOT)
    assert set(warned(world, "c")) == {"a", "b"}
    world.commands.stop("c", ROOT)
    world.submitter.submit(job("d"), ROOT)
    assert set(warned(world, "d")) == {"a", "b"}


def test_a_job_that_waits_for_another_one_may_continue_from_its_checkpoints() -> None:
    world = World(pools={P5: 1})
    world.submitter.submit(job("a"), ROOT)
    for name, before in (("b", "a"), ("c", "b")):
        world.submitter.submit(Submission(request=job(name), depends_on=[{"job": before}]), ROOT)
        assert warned(world, name) == ()


def test_the_same_submission_again_is_the_same_job_and_a_job_of_an_old_name_is_another_one() -> None:
    world = World(pools={P5: 1})
    world.submitter.submit(job("a"), ROOT)
    view, created = world.submitter.submit(job("a"), ROOT)
    assert (created, view.job.job_name, warned(world, "a")) == (False, "a", ())


def test_members_of_an_array_have_locations_of_their_own_below_that_of_the_array() -> None:
    world = World(pools={P5: 2})
    sweep = {"grid": {"lr": ["1", "2"]}}
    world.submitter.submit(Submission(request=job("sweep"), sweep=sweep), ROOT)
    world.tick()
    assert warned(world, "sweep") == warned(world, "sweep_0") == ()
    world.submitter.submit(job("other", f"{AT}/sweep_0"), ROOT)
    assert warned(world, "other") == ("sweep",)


def test_jobs_of_a_batch_are_compared_with_each_other() -> None:
    world = World(pools={P5: 1})
    found = submit(world, job("a"), job("b", "s3://b/elsewhere"), job("c"), job("d", f"{AT}/d"))
    assert all(isinstance(each, Accepted) for each in found)
    assert [warned(world, name) for name in ("a", "b")] == [(), ()]
    assert (warned(world, "c"), set(warned(world, "d"))) == (("a",), {"a", "c"})


@pytest.mark.parametrize(
    ("details", "named"), [("everyone", "`hers`"), ("owner", "a job whose details you may not see")]
)
def test_a_job_whose_details_the_caller_may_not_see_is_not_named(details: str, named: str) -> None:
    world = World(pools={P5: 1})
    world.configuration.write({"pools": {P5: {"size": 1}}, "access": {"details": details}})
    world.submitter.submit(job("hers"), ADA)
    view, _ = world.submitter.submit(job("his"), BOB)
    assert f"is where checkpoints of {named} are" in view.reason.message


def with_rule() -> World:
    world = World(pools={P5: 1})
    rules = {"alone": {"require": {"uniqueCheckpoints": True}, "message": "ask ada"}}
    world.configuration.write({"pools": {P5: {"size": 1}}, "rules": rules})
    return world


def test_a_rule_refuses_jobs_on_one_location_and_a_repeated_call_gets_the_same_job() -> None:
    world = with_rule()
    world.submitter.submit(job("a"), ROOT)
    with pytest.raises(RuleViolation) as refusal:
        world.submitter.submit(job("b"), ROOT)
    (field,) = refusal.value.fields
    assert field.field == "CheckpointConfig.S3Uri"
    assert field.message.startswith("is where checkpoints of `a` are: use another location")
    assert field.message.endswith("(rule `alone`: ask ada)")
    assert world.submitter.submit(job("a"), ROOT)[1] is False
    results = submit(world, job("c"), job("d", "s3://b/elsewhere"), job("a"))
    assert [isinstance(each, RequestError) for each in results] == [True, False, True]


def test_of_two_submissions_at_once_one_sees_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    world = with_rule()
    write, raced = world.table.write, list[bool]()

    def overtaken(writes: Any) -> None:
        if not raced:
            raced.append(True)
            world.submitter.submit(job("faster"), ROOT)
        write(writes)

    monkeypatch.setattr(world.table, "write", overtaken)
    with pytest.raises(RuleViolation, match="checkpoints of `faster`"):
        world.submitter.submit(job("slower"), ROOT)


def test_jobs_that_others_overtake_on_their_location_are_accepted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(pools={P5: 1})
    write, faster = world.table.write, iter(range(2 * MAX_TRIES))

    def overtaken(writes: Any) -> None:
        if (number := next(faster, None)) is not None:
            world.submitter.submit(job(f"faster{number}"), ROOT)
        write(writes)

    monkeypatch.setattr(world.table, "write", overtaken)
    world.submitter.submit(job("slower"), ROOT)
    assert world.seen("slower").job.job_state == "pending"


def test_a_location_that_cannot_be_noted_costs_warnings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(pools={P5: 1})
    write = world.table.write

    def busy(writes: Sequence[Any]) -> None:
        if writes[0].key.pk.startswith("checkpoints#"):
            raise RetryLater("busy")
        write(writes)

    monkeypatch.setattr(world.table, "write", busy)
    world.submitter.submit(job("a"), ROOT)
    world.submitter.submit(job("b"), ROOT)
    assert world.seen("b").job.job_state == "pending"


def test_a_job_is_known_at_its_location_after_one_that_waited_for_it_was_stopped() -> None:
    world = with_rule()
    world.submitter.submit(job("a"), ROOT)
    world.tick()
    world.submitter.submit(Submission(request=job("b"), depends_on=[{"job": "a"}]), ROOT)
    world.commands.stop("b", ROOT)
    with pytest.raises(RuleViolation, match="checkpoints of `a`"):
        world.submitter.submit(job("c"), ROOT)


def test_of_two_jobs_of_one_name_the_later_one_is_known() -> None:
    world = with_rule()
    world.submitter.submit(job("a", "s3://b/x"), ROOT)
    world.commands.stop("a", ROOT)
    assert isinstance(world.table, MemoryTable)
    world.table._store(Key("job#a", "job"), None)
    world.now_s += 60
    world.submitter.submit(job("a", "s3://b/x/y"), ROOT)
    with pytest.raises(RuleViolation, match="checkpoints of `a`"):
        world.submitter.submit(job("c", "s3://b/x/y"), ROOT)


def test_a_rule_looks_further_than_a_warning() -> None:
    world = with_rule()
    for number in range(MAX_LOCATIONS + 1):
        world.submitter.submit(job(f"old{number}", f"s3://b/p/{number:02}"), ROOT)
        world.commands.stop(f"old{number}", ROOT)
    world.submitter.submit(job("live", "s3://b/p/z"), ROOT)
    with pytest.raises(RuleViolation, match="checkpoints of `live`"):
        world.submitter.submit(job("new", "s3://b/p"), ROOT)


def test_a_damaged_record_costs_the_warning_only() -> None:
    world = World(pools={P5: 1})
    world.submitter.submit(job("a"), ROOT)
    assert isinstance(world.table, MemoryTable)
    key = CheckpointsRecord.key(Location(bucket="b", key="team/run/"))
    world.table._store(key, {**(world.table.get(key) or {}), "beside": "damaged"})
    world.submitter.submit(job("b"), ROOT)
    assert warned(world, "b") == ()


def test_what_is_read_and_kept_of_a_location_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_checkpoints, "MAX_WRITERS", 2)
    monkeypatch.setattr(shared_checkpoints, "MAX_LOCATIONS", 3)
    world = World(pools={P5: 1})
    for name in ("a", "b", "c", "d"):
        world.submitter.submit(job(name), ROOT)
    assert len(warned(world, "d")) == 2
    item = world.table.get(CheckpointsRecord.key(Location(bucket="b", key="team/run/")))
    assert len(CheckpointsRecord.parse(item or {}).writers) <= 3
    deep = Location(bucket="b", key="/".join(map(str, range(30))) + "/")
    assert find_shared(world.table, deep, "x", ()).writers == []
    world.submitter.submit(job("long", "s3://b/" + "x" * (MAX_LOCATION_BYTES + 1)), ROOT)
    assert MAX_WRITERS == 10
