"""A person is forgotten: their ended jobs and the sums lose the name, and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from headway.days import Period, day_of
from headway_service.accounting.accountant import Accountant
from headway_service.accounting.compare import compare_day
from headway_service.accounting.reader import Step, read_usage_until
from headway_service.accounting.records import add_figures
from headway_service.admission.submission import Submission
from headway_service.config.authorization import Caller
from headway_service.errors import Conflict, InvalidRequest, OwnerHasJobs, RetryLater
from headway_service.events.job_events import job_event
from headway_service.forgetting import jobs as forgetting_jobs
from headway_service.forgetting import owner as forgetting
from headway_service.forgetting.jobs import forget_job, named_in_text
from headway_service.forgetting.owner import Forgotten, forget_owner
from headway_service.forgetting.sums import FORGOTTEN
from headway_service.ports.table import Key, Update
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.repository import get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, World, request

ACCOUNT = "123456789012"
ADA, BOB = (f"arn:aws:iam::{ACCOUNT}:user/{name}" for name in ("ada", "bob"))
DAY_S = 86_400
LONG = {"SANDBOX_RUN_SECONDS": "3000"}


def submit(world: World, name: str, owner: str) -> None:
    world.submitter.submit(request(name, Environment=LONG), Caller(arn=owner, account=ACCOUNT))


def queue(*owners: str) -> World:
    """A queue in which a job of each owner has ended, stopped by its owner."""
    world = World(pools={P5: 8})
    for number, owner in enumerate(owners):
        submit(world, f"job-{number}", owner)
    world.tick()
    world.pass_time(1200)
    for number, owner in enumerate(owners):
        world.commands.stop(f"job-{number}", Caller(arn=owner, account=ACCOUNT))
    world.tick()
    world.pass_time(600)
    return world


def accountant(world: World) -> Accountant:
    return Accountant(world.table, lambda: (), world.machine_clock)


def forget(world: World, owner: str = ADA, token: str | None = None) -> Forgotten:
    return forget_owner(world.table, lambda: accountant(world), owner, token, account=ACCOUNT, now_ms=world.clock())


def forget_all(world: World, owner: str = ADA) -> Forgotten:
    page = forget(world, owner)
    jobs, unreadable, sums = page.jobs, page.unreadable, page.sums
    while page.token is not None:
        page = forget(world, owner, page.token)
        jobs, unreadable, sums = jobs + page.jobs, unreadable + page.unreadable, sums + page.sums
    return Forgotten(jobs=jobs, unreadable=unreadable, sums=sums, token=None)


def usage(world: World, by: str) -> dict[str, dict[str, int]]:
    today = day_of(world.clock())
    rows = read_usage_until(
        world.table, by, today, today, Step.TOTAL,
        by_days=frozenset(), kept_since=today, now_ms=world.clock(), tags=tuple,
    )  # fmt: skip
    return {row.name: dict(row.figures) for row in rows}


def stored(world: World) -> str:
    assert isinstance(world.table, MemoryTable)
    return json.dumps([world.table._items[key] for key in sorted(world.table._items)], default=str)


def test_ended_jobs_lose_the_name_the_request_and_the_comment() -> None:
    world = queue(ADA, BOB)
    before = get_job(world.table, "job-0")
    world.table.write([before.model_copy(update={"comment": "of ada", "version": before.version + 1}).put()])
    assert "user/ada" in stored(world)
    assert forget_all(world).jobs == 1
    job = get_job(world.table, "job-0")
    assert (job.owner, job.comment, job.job_state) == (FORGOTTEN, "", before.job_state)
    assert len(job.history) == len(before.history)
    assert world.table.get(request_key("job-0")) is None
    assert "user/ada" not in stored(world)
    assert get_job(world.table, "job-1").owner == BOB
    assert world.table.get(request_key("job-1")) is not None


def test_the_sums_under_the_name_become_those_of_the_forgotten_and_all_others_stay() -> None:
    world = queue(ADA, BOB, ADA)
    accountant(world).account([get_job(world.table, f"job-{number}") for number in range(3)])
    of_owners, of_teams, of_pools = (usage(world, by) for by in ("owner", "team", "pool"))
    assert of_owners.keys() == {ADA, BOB}
    # A month and a day.
    assert forget_all(world).sums == 2
    assert usage(world, "owner") == {FORGOTTEN: of_owners[ADA], BOB: of_owners[BOB]}
    assert (usage(world, "team"), usage(world, "pool")) == (of_teams, of_pools)
    assert forget_all(world, BOB).sums == 2
    assert usage(world, "owner").keys() == {FORGOTTEN}


def test_a_job_that_was_not_in_the_sums_yet_is_added_before_it_loses_its_owner() -> None:
    world = queue(ADA)
    forget_all(world)
    assert usage(world, "owner")[FORGOTTEN]["jobs.stopped"] == 1


def test_the_sums_agree_with_the_jobs_afterwards() -> None:
    world = queue(ADA, BOB)
    forget_all(world)
    accountant(world).account([get_job(world.table, "job-1")])
    day = day_of(world.clock())
    world.now_s += 2 * DAY_S
    page = compare_day(
        world.table, "owner", day, None, now_ms=world.clock(), machine_ms=world.machine_clock(), retention_s=30 * DAY_S
    )
    computed: dict[str, Mapping[str, int]] = {}
    for each in page.jobs:
        computed |= each.sums
    assert page.stored == computed


def test_forgetting_may_be_repeated_and_goes_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "MAX_JOBS", 2)
    world = queue(*[ADA] * 5)
    token = None
    # In the first round the sums get what they lack; two of three pages of the second round, then, have been forgotten.
    for jobs in (0, 0, 0, 2, 2):
        page = forget(world, token=token)
        assert (page.jobs, page.sums) == (jobs, 0)
        token = page.token
    assert token is not None
    assert forget_all(world).jobs == 1
    assert forget_all(world) == Forgotten(jobs=0, unreadable=0, sums=0, token=None)
    assert "user/ada" not in stored(world)


@pytest.mark.parametrize("is_running", [False, True])
def test_an_owner_with_jobs_that_have_not_ended_is_not_forgotten(is_running: bool) -> None:
    world = queue(ADA)
    submit(world, "late", ADA)
    if is_running:
        world.tick()
    before = stored(world)
    with pytest.raises(OwnerHasJobs, match="`late`; stop them"):
        forget(world)
    assert stored(world) == before


def test_jobs_of_others_do_not_keep_an_owner_from_being_forgotten() -> None:
    world = queue(ADA)
    submit(world, "late", BOB)
    assert forget_all(world).jobs == 1


def test_no_event_tells_of_it() -> None:
    world = queue(ADA)
    before = get_job(world.table, "job-0")
    forget_all(world)
    after = get_job(world.table, "job-0")
    assert after.history != before.history
    assert job_event(after, before) is None


def test_a_job_that_is_another_ones_by_now_is_left_alone() -> None:
    world = queue(BOB)
    before = stored(world)
    forget_job(world.table, "job-0", ADA, "user/ada")
    forget_job(world.table, "none", ADA, "user/ada")
    assert stored(world) == before


def test_a_job_that_keeps_changing_is_forgotten_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def conflicts(*_: Any) -> JobRecord:
        raise Conflict.stale()

    world = queue(ADA)
    with monkeypatch.context() as busy:
        busy.setattr(forgetting_jobs, "find_job", conflicts)
        with pytest.raises(RetryLater):
            forget_all(world)
    assert forget_all(world).jobs == 1


@pytest.mark.parametrize("token", ["0", "count:0", "forget:x", ""])
def test_a_token_of_something_else_is_refused(token: str) -> None:
    world = queue(*[ADA] * 2)
    if token:
        with pytest.raises(InvalidRequest):
            forget(world, token=token)
    else:
        assert forget(world, token=token).token is not None


def test_a_job_whose_end_its_dependants_do_not_know_yet_keeps_its_request() -> None:
    world = World(pools={P5: 8})
    submit(world, "src", ADA)
    needs = request("dep", Environment={"FROM": "{{jobs.src.output}}"})
    dependent = Submission(request=needs, depends_on=[{"job": "src"}])
    world.submitter.submit(dependent, Caller(arn=BOB, account=ACCOUNT))
    world.tick()
    world.pass_time(6000, tick=False)
    assert get_job(world.table, "src").job_state == "completed"
    with pytest.raises(RetryLater, match="do not know yet"):
        forget_all(world)
    world.tick()
    assert forget_all(world).jobs == 1
    world.tick()
    assert get_job(world.table, "dep").job_state == "running"


def test_a_request_that_is_deleted_does_not_come_back_with_its_expiry(monkeypatch: pytest.MonkeyPatch) -> None:
    world = queue(ADA)
    late = accountant(world)
    missing = late._missing

    def forgotten_meanwhile(job: JobRecord) -> Any:
        found = missing(job)
        monkeypatch.setattr(late, "_missing", missing)
        forget_all(world)
        return found

    monkeypatch.setattr(late, "_missing", forgotten_meanwhile)
    late.account([get_job(world.table, "job-0")])
    assert world.table.get(request_key("job-0")) is None


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("stopped by user/ada", "stopped by forgotten"),
        ("stopped by user/ada.", "stopped by forgotten."),
        ("by user/ada, who", "by forgotten, who"),
        (f"by {ADA}: why", "by forgotten: why"),
        ("by `user/ada`", "by `forgotten`"),
        *[
            (text, text)
            for text in ("by user/adam", "by user/ada.b", "by user/ada@x", "by user/ada/1", "by myuser/ada")
        ],
    ],
)
def test_a_name_is_found_where_it_is_whole(text: str, after: str) -> None:
    assert named_in_text(ADA, "user/ada").sub(FORGOTTEN, text) == after


def test_a_damaged_job_is_told_of() -> None:
    world = queue(ADA, ADA)
    assert isinstance(world.table, MemoryTable)
    world.table._store(
        JobRecord.key("job-0"), {**(world.table.get(JobRecord.key("job-0")) or {}), "history": "damaged"}
    )
    found = forget_all(world)
    assert (found.jobs, found.unreadable) == (1, 1)


def test_two_calls_at_once_move_a_sum_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = queue(ADA)
    accountant(world).account([get_job(world.table, "job-0")])
    before = usage(world, "owner")[ADA]
    get, others = world.table.get, list[Forgotten]()

    def read_and_overtaken(key: Key) -> Any:
        found = get(key)
        if key.sk.endswith(ADA) and not others:
            others.append(Forgotten(jobs=0, unreadable=0, sums=0, token=None))
            others.append(forget_all(world))
        return found

    monkeypatch.setattr(world.table, "get", read_and_overtaken)
    forget_all(world)
    assert others[1].sums == 2, "the other call was in between"
    assert usage(world, "owner") == {FORGOTTEN: before}


def test_a_sum_of_hundreds_of_figures_goes_some_at_a_time_and_what_is_added_meanwhile_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = queue()
    today = day_of(world.clock())
    period = Period(month=f"{today:%Y-%m}", day=today)
    figures = {f"w.{bucket}": bucket + 1 for bucket in range(350)} | {"jobs.completed": 7}
    for each in (period, Period(month=period.month)):
        world.table.write([add_figures("owner", each, ADA, figures)])
    write, writes = world.table.write, list[int]()

    def also_added(some: Any) -> None:
        writes.append(max(len(each.adds) for each in some if isinstance(each, Update)) if len(some) > 1 else 0)
        write(some)
        if len(writes) == 2:
            write([add_figures("owner", period, ADA, {"attempts": 1, "used.x": 5})])

    monkeypatch.setattr(world.table, "write", also_added)
    forget_all(world)
    assert max(writes) == 100
    assert usage(world, "owner") == {FORGOTTEN: {**figures, "attempts": 1, "used.x": 5}}
