"""Open arrays are counted and limited, and those with nothing to do cost a tick nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headway.lifecycle import JobState
from headway_service.admission.queues import limits as queue_limits
from headway_service.admission.queues import open_arrays
from headway_service.admission.submission import Submission
from headway_service.arrays import advance
from headway_service.arrays.advance import MAX_RESTING_LOOKS
from headway_service.config.authorization import Caller
from headway_service.errors import QueueFull, RetryLater
from headway_service.ports.table import Item, Key, Put, Write
from headway_service.scheduling.chores import SHARE_MS
from headway_service.store.ledger import read_ledger
from headway_service.store.records.array import OpenArrayRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job, get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ADA, BOB, P5, World, on, request

PER_TEAM, PER_OWNER = 5, 3
TEAMS: dict[str, Any] = {"research": {}, "products": {}}
G5 = "ml.g5.xlarge"
JOB_S = 1000


class CountedTable(MemoryTable):
    """A table that counts its calls, and lets something happen before one."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.before: Callable[[str], None] = lambda _: None

    def get(self, key: Key) -> Item | None:
        self._called(f"get {key.pk}")
        return super().get(key)

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        self._called("get_all")
        return super().get_all(keys)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        self._called(f"query {pk}")
        return super().query(pk, prefix=prefix, after=after, limit=limit)

    def write(self, writes: Sequence[Write]) -> None:
        self._called("write")
        super().write(writes)

    def _called(self, what: str) -> None:
        self.calls.append(what)
        self.before(what)


@pytest.fixture
def table() -> CountedTable:
    return CountedTable()


@pytest.fixture
def world(table: CountedTable) -> World:
    world = World(table=table)
    configure(world)
    return world


def configure(world: World, per_team: int = PER_TEAM, per_owner: int = PER_OWNER, **more: Any) -> None:
    limits = {"arraysPerTeam": per_team, "arraysPerOwner": per_owner}
    world.configuration.write({"pools": {P5: {"size": 4}, G5: {"size": 4}}, "limits": limits, **more})


def sweep(world: World, name: str, owner: Caller = ADA, members: int = 1, **changes: Any) -> JobRecord:
    """Submit an array of members that are alike but for a seed."""
    own = {key: changes.pop(key) for key in ("depends_on", "at_once", "max_failures") if key in changes}
    submission = Submission(
        request=request(name, **changes), sweep={"list": [{"seed": i} for i in range(members)]}, **own
    )
    return world.submitter.submit(submission, owner)[0].job


def at_rest(world: World, name: str, owner: Caller = ADA, **changes: Any) -> None:
    """Submit an array of one member, and hold that."""
    sweep(world, name, owner, **changes)
    world.commands.hold(f"{name}_0", owner)


def copies(world: World, of: str, count: int) -> list[str]:
    """Add copies of an array and its member, as other submissions and holds would have made them."""
    names = [f"copy-{number:05}" for number in range(count)]
    assert of == "swept"  # So that no attribute has that name.
    kept = [world.table.get(key) for key in (JobRecord.key(of), JobRecord.key(f"{of}_0"), OpenArrayRecord.key(of))]
    text = json.dumps(kept)
    for name in names:
        world.table.write([Put(item=item) for item in json.loads(text.replace(of, name))])
    return names


def of_team(team: str) -> dict[str, Any]:
    return {"Tags": [{"Key": "team", "Value": team}]}


def refused(world: World, name: str, owner: Caller = ADA, **changes: Any) -> str:
    with pytest.raises(QueueFull) as refusal:
        sweep(world, name, owner, **changes)
    assert find_job(world.table, name) is None
    return str(refusal.value)


def resting(world: World) -> list[str]:
    return [each.job_name for each in read_ledger(world.table).arrays if each.rests]


def of_older_code(world: World, name: str) -> None:
    key = OpenArrayRecord.key(name)
    world.table.write([Put(item={"pk": key.pk, "sk": key.sk, "jobName": name, "schemaVersion": 1})])


@pytest.fixture
def patrolled() -> bool:
    """Whether ticks look at some of the arrays that rest."""
    return False


@pytest.fixture(autouse=True)
def _looks(monkeypatch: pytest.MonkeyPatch, *, patrolled: bool) -> None:
    if not patrolled:
        monkeypatch.setattr(advance, "MAX_RESTING_LOOKS", 0)


# --- limits ---


def test_open_arrays_of_an_owner_are_limited_although_nothing_of_them_waits(world: World) -> None:
    for number in range(PER_OWNER):
        at_rest(world, f"array-{number}")
    assert refused(world, "late") == (
        f"{PER_OWNER} of your arrays have members left, and {PER_OWNER} may (limits.arraysPerOwner): try again when "
        "some have ended, stop some that are not needed, or have the limit raised"
    )
    at_rest(world, "other", BOB)
    # Jobs that are no arrays are not counted.
    world.submitter.submit(request("job"), ADA)


def test_open_arrays_of_a_team_are_limited_for_all_owners(world: World) -> None:
    configure(world, teams=TEAMS)
    for number in range(PER_TEAM):
        at_rest(world, f"array-{number}", ADA if number % 2 else BOB, **of_team("research"))
    assert refused(world, "late", BOB, **of_team("research")).startswith(
        f"{PER_TEAM} arrays of the team research have members left, and {PER_TEAM} may (limits.arraysPerTeam)"
    )
    at_rest(world, "array", ADA, **of_team("products"))


def test_an_array_that_has_ended_makes_room_at_once(world: World) -> None:
    for number in range(PER_OWNER):
        sweep(world, f"array-{number}")
    refused(world, "late")
    world.commands.stop("array-0", ADA)
    sweep(world, "late")


def test_an_array_that_cannot_be_read_is_counted(world: World) -> None:
    for number in range(PER_OWNER):
        at_rest(world, f"array-{number}")
    item = world.table.get(JobRecord.key("array-0"))
    world.table.write([Put(item={**(item or {}), "schemaVersion": 99})])
    assert "arraysPerOwner" in refused(world, "late")


def test_a_batch_is_limited_as_single_submissions_are(world: World) -> None:
    context = world.submitter.context(ADA, jobs=PER_OWNER + 1)
    for number in range(PER_OWNER):
        submission = Submission(request=request(f"array-{number}"), sweep={"list": [{"seed": 1}]})
        world.submitter.enqueue(submission, context)
    late = Submission(request=request("late"), sweep={"list": [{"seed": 1}]})
    with pytest.raises(QueueFull, match="arraysPerOwner"):
        world.submitter.enqueue(late, context)


def test_a_repeated_submission_of_the_last_array_that_fits_is_answered(world: World) -> None:
    for number in range(PER_OWNER):
        sweep(world, f"array-{number}")
    assert sweep(world, f"array-{PER_OWNER - 1}").job_name == f"array-{PER_OWNER - 1}"


def test_a_held_array_is_released_although_the_limit_was_lowered(world: World) -> None:
    for number in range(PER_OWNER):
        sweep(world, f"array-{number}")
    world.commands.hold("array-0", ADA)
    configure(world, per_owner=1)
    assert not world.commands.release("array-0", ADA).job.held


def test_members_count_against_the_limits_of_queues_however_many_arrays_are_open(world: World, table: Any) -> None:
    """They were not counted behind the first thousand arrays: one owner got 16,000 members accepted."""
    limits = {"arraysPerTeam": 10_000, "arraysPerOwner": 10_000, "waitingPerTeam": 100, "waitingPerOwner": 100}
    world.configuration.write({"pools": {P5: {"size": 4}}, "limits": limits})
    at_rest(world, "swept")
    copies(world, "swept", 1100)
    sweep(world, "z-1", members=80, depends_on=[{"job": "swept"}])
    table.calls.clear()
    with pytest.raises(QueueFull, match="80 jobs wait"):
        sweep(world, "z-2", members=80, depends_on=[{"job": "swept"}])
    # Arrays are read by the hundred.
    assert len(table.calls) < 30


def test_members_that_are_released_count_although_they_are_set_aside(world: World) -> None:
    limits = {"waitingPerTeam": 100, "waitingPerOwner": 5}
    world.configuration.write({"pools": {P5: {"size": 4}}, "limits": limits})
    for name in ("a", "b"):
        sweep(world, name, members=5, at_once=1)
        for index in range(5):
            world.commands.hold(f"{name}_{index}", ADA)
    for index in range(5):
        world.commands.release(f"a_{index}", ADA)
    with pytest.raises(QueueFull, match="5 of your jobs wait"):
        world.commands.release("b_0", ADA)
    # A place of one that has started is free again.
    world.tick()
    world.commands.release("b_0", ADA)


def test_what_cannot_be_counted_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(world, per_team=100, per_owner=100)
    at_rest(world, "swept")
    copies(world, "swept", 9)
    for module in (queue_limits, open_arrays):
        monkeypatch.setattr(module, "MAX_OPEN_ARRAYS", 10)
    assert refused(world, "late", BOB) == (
        "10 arrays of all teams have members left, the most that are counted: try again when some have ended, or stop "
        "some that are not needed"
    )


def test_arrays_of_older_code_are_counted(world: World) -> None:
    configure(world, teams=TEAMS)
    at_rest(world, "other", ADA, **of_team("products"))
    for number in range(PER_OWNER):
        at_rest(world, f"array-{number}", **of_team("research"))
    for each in read_ledger(world.table).arrays:
        of_older_code(world, each.job_name)
    assert "arraysPerOwner" in refused(world, "late", **of_team("research"))
    sweep(world, "late", **of_team("products"))
    world.tick()
    assert "arraysPerOwner" in refused(world, "late-2", **of_team("research"))
    sweep(world, "late-2", **of_team("products"))


# --- arrays with nothing to do ---


@pytest.mark.parametrize("patrolled", [True])
def test_arrays_with_nothing_to_do_cost_a_tick_nothing(world: World, table: CountedTable) -> None:
    configure(world, per_team=10_000, per_owner=10_000)
    at_rest(world, "swept")
    world.tick()
    assert resting(world) == ["swept"]
    copies(world, "swept", MAX_RESTING_LOOKS - 1)
    table.calls.clear()
    world.tick()
    with_few = len(table.calls)
    copies(world, "swept", 2000)
    table.calls.clear()
    report = world.tick()
    assert report.decisions == 1
    assert len(table.calls) == with_few
    # Further rounds of a tick do not look again.
    world.submit("job")
    world.commands.release("copy-00000_0", ADA)
    table.calls.clear()
    assert world.tick().rounds > 1
    assert table.calls.count("get_all") < 3 * MAX_RESTING_LOOKS


def held(world: World) -> None:
    """An array with a member that runs, one that waits, and none that is made for the others yet; then it is held."""
    sweep(world, "swept", members=3, at_once=1)
    world.tick()
    world.pass_time(JOB_S)
    world.tick()
    world.commands.hold("swept", ADA)


def members_held(world: World) -> None:
    """An array of which people hold each member."""
    sweep(world, "swept", members=3)
    for index in range(3):
        world.commands.hold(f"swept_{index}", ADA)


def awaits(world: World) -> None:
    """An array that waits for another job."""
    world.submit("first", ResourceConfig=on(1, G5))
    sweep(world, "swept", members=3, depends_on=[{"job": "first"}])
    world.tick()


RESTS: dict[str, tuple[Callable[[World], None], Sequence[Callable[[World], object]]]] = {
    "a-held-array": (held, [lambda world: world.commands.release("swept", ADA)]),
    "held-members": (
        members_held,
        [lambda world, index=index: world.commands.release(f"swept_{index}", ADA) for index in range(3)],  # type: ignore[misc]
    ),
    "a-dependency": (awaits, [lambda world: world.pass_time(JOB_S)]),
}


@pytest.mark.parametrize("state", RESTS)
def test_an_array_rests_until_there_is_something_to_do(world: World, state: str) -> None:
    prepare, wakes = RESTS[state]
    prepare(world)
    for _ in range(4):
        world.pass_time(JOB_S if state == "a-held-array" else 1)
        world.tick()
    assert resting(world) == ["swept"]
    for wake in wakes:
        wake(world)
        world.tick()
    for _ in range(8):
        world.pass_time(JOB_S)
        world.tick()
    assert get_job(world.table, "swept").job_state is JobState.COMPLETED
    assert not read_ledger(world.table).arrays


@pytest.mark.parametrize("state", RESTS)
def test_an_array_that_rests_is_stopped_and_closed(world: World, state: str) -> None:
    RESTS[state][0](world)
    for _ in range(4):
        world.pass_time(JOB_S if state == "a-held-array" else 1)
        world.tick()
    assert resting(world) == ["swept"]
    world.commands.stop("swept", ADA)
    for _ in range(3):
        world.tick()
    assert get_job(world.table, "swept").job_state is JobState.STOPPED
    assert not read_ledger(world.table).arrays


@pytest.mark.parametrize("state", ["a-held-array", "held-members"])
def test_an_array_that_rests_ends_with_its_last_member(world: World, state: str) -> None:
    RESTS[state][0](world)
    for _ in range(4):
        world.pass_time(JOB_S if state == "a-held-array" else 1)
        world.tick()
    for index in range(3):
        if get_job(world.table, f"swept_{index}").ending is None:
            world.commands.stop(f"swept_{index}", ADA)
    for _ in range(3):
        world.tick()
    assert get_job(world.table, "swept").job_state is JobState.STOPPED
    assert not read_ledger(world.table).arrays


def test_the_members_of_an_array_that_rests_get_its_priority(world: World) -> None:
    members_held(world)
    world.tick()
    assert resting(world) == ["swept"]
    world.commands.set_priority("swept", 7, ADA)
    world.tick()
    assert [get_job(world.table, f"swept_{index}").priority for index in range(3)] == [7, 7, 7]


def test_an_array_does_not_rest_by_what_was_read_before_a_member_was_released(
    world: World, table: CountedTable
) -> None:
    at_rest(world, "swept")
    released: list[str] = []

    def release(what: str) -> None:
        if what == "write" and not released:
            released.append("swept_0")
            world.commands.release("swept_0", ADA)

    table.before = release
    world.tick()
    assert released
    world.tick()
    assert not resting(world)
    assert len(world.called("CreateTrainingJob")) == 1


@pytest.mark.parametrize("patrolled", [True])
@pytest.mark.parametrize("of", ["swept", "swept_0"])
def test_an_array_that_older_code_has_released_is_found_by_and_by(world: World, of: str) -> None:
    """That does not wake arrays."""
    configure(world, per_team=100, per_owner=100)
    at_rest(world, "swept")
    copies(world, "swept", 3 * MAX_RESTING_LOOKS)
    world.commands.release("swept_0", ADA)
    world.commands.hold(of, ADA)
    for _ in range(2):
        world.tick()
    assert "swept" in resting(world)
    item = world.table.get(OpenArrayRecord.key("swept"))
    world.commands.release(of, ADA)
    world.table.write([Put(item=item or {})])
    for _ in range(4):
        world.now_s += 60
        world.tick()
    assert len(world.called("CreateTrainingJob")) == 1


def test_an_array_of_older_code_rests_from_the_second_tick_on(world: World) -> None:
    at_rest(world, "swept")
    of_older_code(world, "swept")
    for _ in range(2):
        world.tick()
    assert resting(world) == ["swept"]


def test_an_array_that_is_woken_after_it_was_closed_is_closed_again(world: World) -> None:
    sweep(world, "swept")
    world.commands.stop("swept", ADA)
    world.tick()
    world.table.write([OpenArrayRecord.wake("swept")])
    assert world.tick().failed == []
    assert not read_ledger(world.table).arrays


def slow_once(world: World, monkeypatch: pytest.MonkeyPatch, work: str) -> None:
    """Let a step of an array take the whole share of chores, once."""
    whole, left = getattr(advance.ArrayAdvancer, work), [SHARE_MS / 1000]

    def slowly(*args: Any, **options: Any) -> Any:
        world.now_s += left.pop() if left else 0
        return whole(*args, **options)

    monkeypatch.setattr(advance.ArrayAdvancer, work, slowly)


def test_an_array_does_not_rest_before_its_members_have_its_priority(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    members_held(world)
    world.commands.hold("swept", ADA)
    world.commands.set_priority("swept", 7, ADA)
    slow_once(world, monkeypatch, "_advance_members")
    world.tick()
    assert [get_job(world.table, f"swept_{index}").priority for index in range(3)] == [7, 7, 7]
    assert resting(world) == ["swept"]


def test_an_array_does_not_rest_before_members_are_stopped_as_too_many_have_failed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = {"SANDBOX_RUN_SECONDS": "60", "SANDBOX_OUTCOME": "AlgorithmError: broken"}
    sweep(world, "swept", members=3, at_once=1, max_failures=0, Environment=fails)
    for index in (1, 2):
        world.commands.hold(f"swept_{index}", ADA)
    world.tick()
    world.pass_time(JOB_S, tick=False)
    slow_once(world, monkeypatch, "_advance_members")
    for _ in range(2):
        world.tick()
    assert get_job(world.table, "swept").job_state is JobState.FAILED
    assert not read_ledger(world.table).arrays


def test_an_array_does_not_rest_before_its_members_are_made(world: World, table: CountedTable) -> None:
    sweep(world, "swept")

    def take_time(what: str) -> None:
        if what == "get_all":
            world.now_s += SHARE_MS / 1000
            table.before = lambda _: None

    table.before = take_time
    world.tick()
    assert len(world.called("CreateTrainingJob")) == 1


def test_arrays_that_the_table_does_not_give_are_not_closed(world: World, table: CountedTable) -> None:
    for name in ("a", "b", "c"):
        sweep(world, name)
    refusals = ["no answer", "no answer"]

    def refuse(what: str) -> None:
        if what == "get_all" and refusals:
            raise RetryLater(refusals.pop())

    table.before = refuse
    world.tick()
    assert not refusals
    assert len(world.called("CreateTrainingJob")) == 3
