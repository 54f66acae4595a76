"""What reconcile concludes from ListTrainingJobs: that an attempt is unchanged, at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.lifecycle import AttemptState
from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.request_builder import P5
from headway_service.errors import RetryLater
from headway_service.ports.training_jobs import TrainingJobSummary
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.tracking import attempt_checks, reconciler
from headway_service.tracking.reconciler import MAX_NOTED, is_unchanged
from headway_service.tracking.training_job_scan import MAX_PAGES, PAGE_INTERVAL_S
from headway_service.tracking.turns import in_turn
from tests.service.world import World, on, request

AFTER_S = 300
HOUR_S = 3600
LONG = {"SANDBOX_RUN_SECONDS": str(10 * HOUR_S)}


def training(*names: str, pool: int = 2) -> World:
    """Jobs that train for ten hours, with all events until then."""
    world = World(pools={P5: pool})
    for name in names:
        world.submit(name, Environment=LONG)
    world.tick()
    world.pass_time(240)
    world.calls.clear()
    return world


def minutes(world: World, number: int, *, deliver: bool = True) -> None:
    for _ in range(number):
        world.pass_time(60, deliver=deliver)
        world.reconcile(AFTER_S)


def refuse(world: World, operation: str) -> None:
    """SageMaker turns every such call away."""
    answered = world.fleet.call

    def call(asked: str, request: dict[str, object], *, now: float) -> dict[str, object]:
        if asked == operation:
            raise AwsError("ThrottlingException", "Rate exceeded", status=400)
        return answered(asked, request, now=now)

    world.fleet.call = call  # type: ignore[method-assign, assignment]


def most(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """A run describes so many attempts at most, one after the other."""
    monkeypatch.setattr(reconciler, "MAX_DESCRIBED", count)
    monkeypatch.setattr(attempt_checks, "DESCRIBED_AT_ONCE", 1)


def wait_for_turn(world: World, *, of_overdue: bool) -> None:
    """Until a minute in which overdue attempts are described first, or the others."""
    while in_turn((True, False), world.machine_clock())[0] is not of_overdue:
        world.pass_time(60, deliver=False)


def lists(world: World) -> int:
    return sum(operation == "ListTrainingJobs" for operation, _ in world.calls)


def freeze_list(world: World) -> Callable[[], None]:
    """From now on lists are as old as this moment. Returns what ends that."""
    answered, frozen_s = world.fleet.call, world.now_s
    page = answered("ListTrainingJobs", {"MaxResults": 100}, now=frozen_s)

    def call(asked: str, request: dict[str, object], *, now: float) -> dict[str, object]:
        return page if asked == "ListTrainingJobs" else answered(asked, request, now=now)

    world.fleet.call = call  # type: ignore[method-assign, assignment]

    def end() -> None:
        world.fleet.call = answered  # type: ignore[method-assign]

    return end


def test_an_attempt_with_an_unchanged_listing_is_not_described() -> None:
    world = training("a")
    minutes(world, 60)
    assert world.called("DescribeTrainingJob") == []
    assert 0 < lists(world) <= 60


def test_a_list_of_a_hundred_is_one_call_for_all_of_them() -> None:
    world = training(*(f"job-{number}" for number in range(50)), pool=50)
    minutes(world, 6)
    assert (lists(world), world.called("DescribeTrainingJob")) == (1, [])
    assert len({each.seen_ms for each in read_ledger(world.table).attempts}) == 1, "each was noted"


def test_a_listed_status_counts_as_confirmed_so_that_it_is_not_described_for_a_while() -> None:
    world = training("a")
    world.pass_time(400)
    world.reconcile(AFTER_S)
    world.pass_time(200)
    world.reconcile(AFTER_S)
    assert lists(world) == 1


@pytest.mark.parametrize(
    "happens",
    [
        lambda world: world.fleet.finish("a", now=world.now_s),
        lambda world: world.fleet.fail("a", "AlgorithmError: 1", now=world.now_s),
        lambda world: (world.fleet.stop("a", now=world.now_s), world.pass_time(200, deliver=False)),
    ],
    ids=["completed", "failed", "stopped"],
)
def test_an_end_without_an_event_is_found_within_the_delay_and_a_minute(happens: Callable[[World], object]) -> None:
    world = training("a")
    minutes(world, 30)
    happens(world)
    minutes(world, AFTER_S // 60 + 1, deliver=False)
    assert world.seen("a").job.live_attempt is None
    assert world.called("DescribeTrainingJob") == ["a"]
    world.check()


def test_an_unpublished_change_is_described_once() -> None:
    world = World()
    world.submit("a", Environment=LONG)
    world.tick()
    minutes(world, 30, deliver=False)
    (attempt,) = read_ledger(world.table).attempts
    assert (attempt.training_job_status, attempt.secondary_status) == ("InProgress", "Training")
    assert world.called("DescribeTrainingJob") == ["a"]


def test_a_job_missing_from_the_listing_continues() -> None:
    world = training("a")
    answered = world.fleet.call

    def call(asked: str, request: dict[str, object], *, now: float) -> dict[str, object]:
        return {"TrainingJobSummaries": []} if asked == "ListTrainingJobs" else answered(asked, request, now=now)

    world.fleet.call = call  # type: ignore[method-assign, assignment]
    minutes(world, 6)
    assert world.called("DescribeTrainingJob") == ["a"]
    assert world.states("a") == {"a": "running"}


def test_a_lagging_listing_delays_updates_by_its_lag() -> None:
    world = training("a")
    catch_up = freeze_list(world)
    world.fleet.finish("a", now=world.now_s)
    minutes(world, 5, deliver=False)
    assert world.states("a") == {"a": "running"}
    catch_up()
    minutes(world, AFTER_S // 60 + 1, deliver=False)
    assert world.states("a") == {"a": "completed"}


def test_each_attempt_is_described_if_the_listing_fails() -> None:
    world = training("a", "b")
    refuse(world, "ListTrainingJobs")
    minutes(world, 10)
    assert sorted(world.called("DescribeTrainingJob")) == ["a", "a", "b", "b"]


def test_no_listing_is_read_if_all_attempts_are_confirmed() -> None:
    world = World()
    world.submit("a")
    world.tick()
    minutes(world, 4)
    assert lists(world) == 0


def add_ended(world: World, count: int) -> None:
    """Training jobs that did not come through the queue, and have ended."""
    for number in range(count):
        world.fleet.create(request(f"done-{number}"), now=world.now_s)
        world.fleet.finish(f"done-{number}", now=world.now_s)
    world.fleet.advance(world.now_s)
    world.pauses.clear()


def test_attempts_are_described_while_the_pages_of_the_list_show_few_of_them() -> None:
    world = training("a", "b")
    add_ended(world, 100 * MAX_PAGES)
    minutes(world, 6)
    assert (lists(world), world.called("DescribeTrainingJob"), world.pauses) == (1, ["a", "b"], [])


def test_the_next_page_is_awaited_if_the_last_one_showed_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "WORTH_WAITING", 100)
    world = training(*(f"job-{number:03}" for number in range(150)), pool=150)
    minutes(world, 6)
    assert (lists(world), world.called("DescribeTrainingJob"), world.pauses) == (2, [], [PAGE_INTERVAL_S])


def test_a_run_lists_a_limited_number_of_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    most(monkeypatch, 2)
    world = training("a", "b", "c", pool=3)
    add_ended(world, 100 * MAX_PAGES)
    minutes(world, 5)
    assert (lists(world), world.called("DescribeTrainingJob")) == (MAX_PAGES, ["a", "b"])
    assert world.pauses == [PAGE_INTERVAL_S] * (MAX_PAGES - 1)
    # The next run begins with the oldest status.
    minutes(world, 1)
    assert world.called("DescribeTrainingJob")[2:] == ["c"]


def test_nothing_more_is_described_once_sagemaker_throttles() -> None:
    world = training(*(f"job-{number}" for number in range(9)), pool=9)
    refuse(world, "ListTrainingJobs")
    refuse(world, "DescribeTrainingJob")
    world.pass_time(AFTER_S + 60, deliver=False)
    world.reconcile(AFTER_S)
    assert len(world.called("DescribeTrainingJob")) == attempt_checks.DESCRIBED_AT_ONCE


def test_a_tick_is_requested_once_sagemaker_was_asked_about_an_attempt_and_only_then() -> None:
    world = training("a")
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(AFTER_S + 60, deliver=False)
    world.wakes.clear()
    world.reconcile(AFTER_S)
    world.reconcile(AFTER_S)
    assert world.wakes == ["reconcile", "reconcile has asked SageMaker", "reconcile"]


def test_a_tick_is_requested_for_an_end_of_which_the_write_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    world = training("a")
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(AFTER_S + 60, deliver=False)
    world.wakes.clear()
    written = world.observer.apply_answer

    def apply(*answer: Any) -> None:
        written(*answer)
        raise RetryLater("no answer")

    monkeypatch.setattr(world.observer, "apply_answer", apply)
    assert world.reconcile(AFTER_S) == 0
    assert world.wakes[-1] == "reconcile has asked SageMaker"


def test_a_run_without_time_asks_sagemaker_nothing() -> None:
    world = training("a")
    world.pass_time(AFTER_S + 60, deliver=False)
    world.reconcile(AFTER_S, left_ms=reconciler.NOTES_MS)
    assert (lists(world), world.called("DescribeTrainingJob")) == (0, [])
    world.reconcile(AFTER_S, left_ms=reconciler.NOTES_MS + 1)
    assert lists(world) == 1


@pytest.mark.parametrize(("attempts", "seconds"), [(0, 0), (1, 60), (300, 60), (301, 120), (5000, 1020)])
def test_a_round_takes_a_minute_for_as_many_attempts_as_one_run_describes(attempts: int, seconds: int) -> None:
    assert attempt_checks.round_s(attempts) == seconds


def test_paging_ends_when_all_are_found_and_begins_at_the_oldest() -> None:
    world = World(pools={P5: 2})
    for number in range(150):
        world.fleet.create(request(f"old-{number}"), now=world.now_s)
        world.fleet.finish(f"old-{number}", now=world.now_s)
    world.fleet.advance(world.now_s)
    world.now_s += HOUR_S
    world.submit("a", Environment=LONG)
    world.tick()
    world.pass_time(240)
    world.calls.clear()
    minutes(world, 6)
    ((_, asked),) = [call for call in world.calls if call[0] == "ListTrainingJobs"]
    assert float(asked["CreationTimeAfter"]) > world.now_s - HOUR_S


def test_attempts_that_are_overdue_in_each_run_hide_no_ends_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    most(monkeypatch, 4)
    monkeypatch.setattr(AttemptRecord, "is_pending_too_long", lambda attempt, _: attempt.job_name.startswith("slow"))
    ending = ("x1", "x2", "x3")
    world = training(*ending, *(f"slow{number}" for number in range(6)), pool=9)
    for name in ending:
        world.fleet.finish(name, now=world.now_s)
    world.pass_time(AFTER_S + 60, deliver=False)
    wait_for_turn(world, of_overdue=True)
    world.reconcile(AFTER_S)
    assert world.called("DescribeTrainingJob") == ["slow0", "slow1", "x1", "x2"]
    world.pass_time(60, deliver=False)
    world.reconcile(AFTER_S)
    # Those come first that were described the longest ago.
    assert world.called("DescribeTrainingJob")[4:] == ["x3", "slow2", "slow3", "slow4"]
    assert world.states(*ending) == dict.fromkeys(ending, "completed")


@pytest.mark.parametrize("refused", ["slow", "x"])
def test_neither_kind_takes_all_runs_if_sagemaker_throttles_what_it_asks(
    refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_checks, "DESCRIBED_AT_ONCE", 1)
    monkeypatch.setattr(AttemptRecord, "is_pending_too_long", lambda attempt, _: attempt.job_name.startswith("slow"))
    names = [f"{kind}{number}" for kind in ("slow", "x") for number in range(3)]
    world = training(*names, pool=10)
    answered = world.fleet.call

    def call(asked: str, request: dict[str, object], *, now: float) -> dict[str, object]:
        if asked == "DescribeTrainingJob" and str(request["TrainingJobName"]).startswith(refused):
            raise AwsError("ThrottlingException", "Rate exceeded", status=400)
        return answered(asked, request, now=now)

    world.fleet.call = call  # type: ignore[method-assign, assignment]
    for name in names:
        world.fleet.finish(name, now=world.now_s)
    world.pass_time(AFTER_S + 60, deliver=False)
    minutes(world, 2, deliver=False)
    ended = {name for name, state in world.states(*names).items() if state == "completed"}
    assert ended == {name for name in names if not name.startswith(refused)}


@pytest.mark.parametrize("overdue", [0, 1, 5])
@pytest.mark.parametrize("others", [0, 1, 5])
def test_as_many_attempts_are_described_as_may_be(overdue: int, others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    most(monkeypatch, 4)
    monkeypatch.setattr(AttemptRecord, "is_pending_too_long", lambda attempt, _: attempt.job_name.startswith("slow"))
    names = [*(f"slow{number}" for number in range(overdue)), *(f"x{number}" for number in range(others))]
    world = training(*names, pool=10)
    refuse(world, "ListTrainingJobs")
    world.pass_time(AFTER_S + 60, deliver=False)
    world.reconcile(AFTER_S)
    assert len(world.called("DescribeTrainingJob")) == min(4, overdue + others)


@pytest.mark.parametrize("step", ["WarmPoolTracker", "refresh_plans", "refresh_scores", "wake"])
def test_a_step_that_fails_skips_no_other_and_is_reported(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(pools={P5: 2})
    world.configuration.write({"pools": {P5: {"size": 2}}, "warmPools": {}})
    world.tick()
    world.submit("kept", ResourceConfig={**on(1), "KeepAlivePeriodInSeconds": 3600})
    world.tick()
    world.pass_time(1500)
    assert read_ledger(world.table).warm_pools
    world.wakes.clear()
    done = []

    def fail(*_: object, **__: object) -> None:
        raise RetryLater(step)

    def note(name: str) -> bool:
        done.append(name)
        return False

    for name in ("refresh_plans", "refresh_scores"):
        monkeypatch.setattr(reconciler, name, lambda *_, name=name, **__: note(name))
    if step == "wake":
        monkeypatch.setattr(world, "wakes", Failing())
    else:
        monkeypatch.setattr(reconciler, step, fail)
    with pytest.raises(RetryLater):
        world.reconcile(AFTER_S)
    assert done == [name for name in ("refresh_plans", "refresh_scores") if name != step]
    assert list(world.wakes) == ([] if step == "wake" else ["reconcile", "reconcile has asked SageMaker"])


class Failing(list[str]):
    """Wake-ups that cannot be sent."""

    def append(self, _: str) -> None:
        raise RetryLater("wake")


def test_an_attempt_not_recorded_in_one_run_is_recorded_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_NOTED > 1
    monkeypatch.setattr("headway_service.tracking.reconciler.MAX_NOTED", 1)
    world = training("a", "b")
    world.pass_time(400)
    world.reconcile(AFTER_S)
    world.reconcile(AFTER_S)
    world.reconcile(AFTER_S)
    assert (lists(world), world.called("DescribeTrainingJob")) == (2, [])


def test_an_event_during_the_listing_is_not_overwritten() -> None:
    world = training("a")
    world.pass_time(400)
    answered = world.fleet.call

    def call(asked: str, request: dict[str, object], *, now: float) -> dict[str, object]:
        answer = answered(asked, request, now=now)
        if asked == "ListTrainingJobs":
            world.fleet.finish("a", now=world.now_s)
            for detail in world.fleet.advance(world.now_s):
                world.on_event(detail)
        return answer

    world.fleet.call = call  # type: ignore[method-assign, assignment]
    world.reconcile(AFTER_S)
    assert world.states("a") == {"a": "completed"}
    assert read_ledger(world.table).attempts == ()
    world.check()


def attempt_of(status: str, secondary_status: str, modified_ms: int) -> AttemptRecord:
    return AttemptRecord.model_validate(
        {
            "attempt_name": "a", "job_name": "a", "number": 1, "attempt_state": AttemptState.LIVE, "mark": "m",
            "demand": {P5: 1}, "priority": 0, "entry_time": 0, "since_ms": 0, "lease_holder": "", "lease_until_ms": 0,
            "seen_ms": 0,
            "training_job_status": status, "secondary_status": secondary_status, "modified_ms": modified_ms,
        }
    )  # fmt: skip


STATUSES = st.sampled_from(["InProgress", "Stopping"])
SECONDARY = st.sampled_from(["Downloading", "Training", "Interrupted", "Stopping"])
TIMES_MS = st.integers(0, 3)


@given(STATUSES, SECONDARY, TIMES_MS, STATUSES, SECONDARY | st.none(), TIMES_MS)
def test_a_listing_with_a_later_time_or_another_status_counts_as_changed(
    status: str, secondary: str, known_ms: int, listed: str, listed_secondary: str | None, listed_ms: int
) -> None:
    line = TrainingJobSummary(name="a", status=listed, secondary_status=listed_secondary, modified_ms=listed_ms)
    told = is_unchanged(line, attempt_of(status, secondary, known_ms))
    differs = listed != status or (listed_secondary is not None and listed_secondary != secondary)
    assert told == (listed_ms <= known_ms and not differs)


def test_a_deleted_training_job_counts_as_gone_after_a_long_absence() -> None:
    world = training("a")
    minutes(world, 30)
    world.fleet.finish("a", now=world.now_s)
    world.fleet.delete("a", now=world.now_s)
    minutes(world, AFTER_S // 60 + 1, deliver=False)
    assert world.seen("a").job.live_attempt == "a"
    minutes(world, VISIBLE_AFTER_S // 60, deliver=False)
    assert world.seen("a").job.live_attempt is None
    world.check()
