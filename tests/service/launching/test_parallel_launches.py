"""Launches of one tick whose calls wait for SageMaker in parallel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.lifecycle import AttemptState
from headway_sandbox.errors import AwsError
from headway_service.errors import Conflict, RetryLater
from headway_service.launching.backoff import FIRST_BACK_OFF_S, MAX_BACK_OFF_S
from headway_service.launching.executor import RESERVED_MS
from headway_service.launching.launcher import ONE_AT_A_TIME_S
from headway_service.launching.thread_calls import thread_calls
from headway_service.ports.table import Write
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.store.ledger import read_ledger
from headway_service.store.repository import MAX_TRIES
from headway_service.testing.inline_calls import InlineCalls, make_call
from tests.service.world import DAY_S, INVOCATION_S, P5, ROOT, World, on

G5 = "ml.g5.xlarge"
AT_ONCE = 3
NAMES = ("a", "b", "c", "d", "e", "f")

THROTTLED = AwsError("ThrottlingException", "Rate exceeded")
NO_ANSWER = AwsError("ServiceUnavailable", "?", status=503)


class HeldCalls:
    """Calls that take effect while they are waited for, in a chosen order.

    Args:
        world: its log gets the calls.
        order: gives the index of the call that ends next, among those in flight.
    """

    def __init__(self, world: World, order: Callable[[int], int] = lambda _: 0) -> None:
        self._order = order
        self._held: list[tuple[Callable[[], None], Future[None]]] = []
        self.most = 0
        self.before_answer: Callable[[], None] = lambda: None
        world.parallel_calls = self

    def submit(self, call: Callable[[], None]) -> Future[None]:
        outcome = Future[None]()
        self._held.append((call, outcome))
        self.most = max(self.most, len(self._held))
        return outcome

    def wait(self, calls: Collection[Future[None]]) -> None:
        assert set(calls) == {outcome for _, outcome in self._held}, "what has ended is settled before"
        self.before_answer()
        make_call(*self._held.pop(self._order(len(self._held))))


class CallsAtOnce:
    """Calls that take effect together, when the first of them is waited for.

    Args:
        world: its log gets the calls.
    """

    def __init__(self, world: World) -> None:
        self._held: list[tuple[Callable[[], None], Future[None]]] = []
        world.parallel_calls = self

    def submit(self, call: Callable[[], None]) -> Future[None]:
        outcome = Future[None]()
        self._held.append((call, outcome))
        return outcome

    def wait(self, calls: Collection[Future[None]]) -> None:
        if not any(call.done() for call in calls):
            while self._held:
                make_call(*self._held.pop(0))


@pytest.fixture
def world() -> World:
    world = World(pools={P5: 6, G5: 2})
    world.launches_at_once = AT_ONCE
    return world


def submit_all(world: World, names: Sequence[str] = NAMES) -> None:
    """Submit jobs that start in this order."""
    for number, name in enumerate(names):
        world.submit(name, len(names) - number, Environment={"SANDBOX_RUN_SECONDS": str(DAY_S)})


def log_of(world: World) -> list[str]:
    """The intents, calls and other changes of attempts, as they come."""
    log: list[str] = []
    write, call = world.table.write, world.fleet.call

    def log_write(writes: Sequence[Write]) -> None:
        write(writes)
        if any(each.key.sk == "job" for each in writes):
            log.append("intent")
        elif any(each.key.sk.startswith("attempt#") for each in writes):
            log.append("attempt")

    def log_call(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        log.append(name)
        return call(name, body, now=now)

    world.table.write = log_write  # type: ignore[method-assign]
    world.fleet.call = log_call  # type: ignore[method-assign,assignment]
    return log


def answer(world: World, answers: Mapping[str, tuple[AwsError, bool]]) -> None:
    """Let the first launches of these jobs fail, and whether they take effect nevertheless."""
    call, left = world.fleet.call, dict(answers)

    def fail(name: str, body: Mapping[str, Any], *, now: float) -> Any:
        error, after = left.pop(body["TrainingJobName"], (None, True)) if name == "CreateTrainingJob" else (None, True)
        answered = call(name, body, now=now) if after else None
        if error is not None:
            raise error
        return answered

    world.fleet.call = fail  # type: ignore[method-assign,assignment]


def attempt_states(world: World) -> dict[str, AttemptState]:
    return {each.job_name: each.attempt_state for each in read_ledger(world.table).attempts}


def test_a_plan_has_as_many_launches_in_flight_as_it_may_and_settles_each(world: World) -> None:
    submit_all(world)
    calls = HeldCalls(world, lambda held: held - 1)
    report = world.tick()
    assert (calls.most, report.started, report.rounds) == (AT_ONCE, list(NAMES), 1)
    assert world.called("CreateTrainingJob") == ["c", "d", "e", "f", "b", "a"]
    assert set(attempt_states(world).values()) == {AttemptState.LIVE}
    world.check()


def test_a_tick_of_a_deployment_has_as_many_in_flight_as_its_setting_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_all(world)
    calls = HeldCalls(world)
    monkeypatch.setattr(world, "make_parallel_calls", lambda: nullcontext(calls))
    world.container.settings = replace(world.container.settings, launches_at_once=2)
    world.container.tick(INVOCATION_S * 1000)
    assert (calls.most, world.states(*NAMES)) == (2, dict.fromkeys(NAMES, "running"))


def test_the_intent_of_each_launch_is_written_just_before_its_call_begins(world: World) -> None:
    submit_all(world, NAMES[:5])
    log = log_of(world)
    HeldCalls(world)
    world.tick()
    begun = ["intent"] * AT_ONCE
    settled = ["CreateTrainingJob", "attempt"]
    assert log == [*begun, *settled, "intent", *settled, "intent", *settled, *settled, *settled]


def test_a_launch_begins_once_one_of_those_that_were_accepted_together_is_settled(world: World) -> None:
    submit_all(world)
    log = log_of(world)
    CallsAtOnce(world)
    world.tick()
    together = ["CreateTrainingJob"] * AT_ONCE
    assert log == [
        *["intent"] * AT_ONCE,
        *together,
        *["attempt", "intent"] * AT_ONCE,
        *together,
        *["attempt"] * AT_ONCE,
    ]


def test_launches_that_end_together_without_an_answer_are_settled_before_another_one_begins(world: World) -> None:
    submit_all(world)
    answer(world, dict.fromkeys("abc", (NO_ANSWER, False)))
    CallsAtOnce(world)
    assert world.tick().started == list(NAMES[:AT_ONCE])


def test_accepted_launches_are_settled_before_a_preemption(world: World) -> None:
    world.submit("x", 0, ResourceConfig=on(2, G5), Environment={"SANDBOX_RUN_SECONDS": str(DAY_S)})
    world.tick()
    submit_all(world, ["a", "b"])
    world.submit("y", 1, ResourceConfig=on(2, G5))
    log = log_of(world)
    world.parallel_calls = InlineCalls()
    assert world.tick().preempted == ["x"]
    launch = ["intent", "CreateTrainingJob"]
    assert log[:7] == [*launch, *launch, "attempt", "attempt", "intent"]
    assert log[7] == "StopTrainingJob"


def test_accepted_launches_are_settled_before_a_stop_that_was_left(world: World) -> None:
    world.submit("x", 0, ResourceConfig=on(2, G5), Environment={"SANDBOX_RUN_SECONDS": str(DAY_S)})
    world.tick()
    submit_all(world, ["a", "b"])
    calls = HeldCalls(world)

    def crash() -> None:
        raise KeyboardInterrupt

    calls.before_answer = crash
    with pytest.raises(KeyboardInterrupt):
        world.tick()
    world.now_s += INVOCATION_S + 10
    world.commands.stop("x", ROOT)
    log = log_of(world)
    world.parallel_calls = InlineCalls()
    world.tick()
    lease_and_call = ["attempt", "CreateTrainingJob"]
    assert log[:7] == [*lease_and_call, *lease_and_call, "attempt", "attempt", "StopTrainingJob"]


def test_no_launch_begins_after_two_that_have_ended_without_an_answer_while_there_is_room(world: World) -> None:
    submit_all(world)
    answer(world, dict.fromkeys("ab", (NO_ANSWER, False)))
    world.parallel_calls = InlineCalls()
    assert world.tick().started == ["a", "b"]


def test_with_one_at_once_each_launch_waits_for_the_answer_of_the_one_before(world: World) -> None:
    world.launches_at_once = 1
    submit_all(world, NAMES[:3])
    log = log_of(world)
    HeldCalls(world)
    world.tick()
    assert log == ["intent", "CreateTrainingJob", "attempt"] * 3


def test_after_missing_answers_launches_in_flight_end_and_no_further_one_begins(world: World) -> None:
    submit_all(world)
    answer(world, dict.fromkeys("abcd", (NO_ANSWER, False)))
    HeldCalls(world)
    report = world.tick()
    assert world.called("CreateTrainingJob") == ["a", "b", "c", "d"]
    assert (report.started, report.unclear) == (["a", "b", "c", "d"], 4)
    assert attempt_states(world) == dict.fromkeys("abcd", "launching")
    assert world.states("e", "f") == dict.fromkeys("ef", "pending")
    world.check()


@pytest.mark.parametrize("size", [AT_ONCE, len(NAMES)], ids=["at the end of the plan", "in the middle of it"])
def test_instances_that_a_refused_launch_gives_back_are_used_by_the_same_tick(size: int) -> None:
    world = World(pools={P5: size})
    world.launches_at_once = AT_ONCE
    names = [*NAMES[:size], "next"]
    submit_all(world, names)
    answer(world, {"a": (AwsError("ValidationException", "no such role"), False)})
    HeldCalls(world)
    report = world.tick()
    assert (report.started, report.rounds) == (names, 2)
    assert world.states("a", "next") == {"a": "failed", "next": "running"}


def test_throttled_launches_are_tried_again_one_at_a_time_by_the_same_tick(world: World) -> None:
    submit_all(world)
    answer(world, dict.fromkeys("ab", (THROTTLED, False)))
    calls, in_flight = HeldCalls(world), list[int]()
    calls.before_answer = lambda: in_flight.append(len(calls._held))
    report = world.tick()
    assert (report.unclear, world.states(*NAMES)) == (0, dict.fromkeys(NAMES, "running"))
    assert in_flight == [3, 2, 1, *[1] * 5]
    assert {pool.backoffs for pool in read_ledger(world.table).pools} == {0}
    world.check()


def test_a_launch_that_is_throttled_by_itself_is_not_tried_again_by_its_tick(world: World) -> None:
    submit_all(world, ["a"])
    answer(world, {"a": (THROTTLED, False)})
    HeldCalls(world)
    assert world.tick().unclear == 1
    assert world.called("CreateTrainingJob") == ["a"]
    assert {pool.pool for pool in read_ledger(world.table).pools if pool.backoffs} == {P5}


def test_launches_that_are_throttled_again_one_at_a_time_are_one_back_off_of_their_pool(world: World) -> None:
    submit_all(world)
    for _ in range(2):
        answer(world, dict.fromkeys("abc", (THROTTLED, False)))
    HeldCalls(world)
    assert world.tick().unclear == 1
    (pool,) = [each for each in read_ledger(world.table).pools if each.pool == P5]
    assert pool.backoffs == 1
    assert world.called("CreateTrainingJob") == [*NAMES, "a"]


def test_after_a_back_off_of_any_pool_there_is_one_launch_at_a_time_until_it_would_be_the_first_one_again(
    world: World,
) -> None:
    world.submit("other", 9, ResourceConfig=on(1, G5))
    answer(world, {"other": (THROTTLED, False)})
    world.tick()
    submit_all(world, NAMES[:3])
    calls = HeldCalls(world)
    world.tick()
    assert (calls.most, world.called("CreateTrainingJob")) == (1, ["other", "a", "b", "c"])
    world.now_s += FIRST_BACK_OFF_S + MAX_BACK_OFF_S + 1
    submit_all(world, NAMES[3:])
    world.tick()
    assert calls.most == AT_ONCE


def test_launches_that_were_left_are_tried_one_at_a_time_until_one_has_no_answer(world: World) -> None:
    submit_all(world)
    for _ in range(2):
        answer(world, dict.fromkeys("abc", (THROTTLED, False)))
    HeldCalls(world)
    world.tick()
    world.now_s += FIRST_BACK_OFF_S + 1
    answer(world, {"b": (THROTTLED, False)})
    log = log_of(world)
    assert world.tick().unclear == 1
    assert log.count("CreateTrainingJob") == 2, "c waits for the end of the back-off"
    assert attempt_states(world) == {**dict.fromkeys("adef", "live"), "b": "launching", "c": "launching"}


def test_launches_that_were_left_without_a_back_off_are_in_flight_together(world: World) -> None:
    submit_all(world)
    calls = HeldCalls(world)

    def crash() -> None:
        raise KeyboardInterrupt

    calls.before_answer = crash
    with pytest.raises(KeyboardInterrupt):
        world.tick()
    assert attempt_states(world) == dict.fromkeys("abc", "launching")
    world.now_s += INVOCATION_S + 10
    again, log = HeldCalls(world), log_of(world)
    world.tick()
    assert again.most == AT_ONCE
    assert log[:4] == [*["attempt"] * AT_ONCE, "CreateTrainingJob"], "their leases are taken before their calls"
    assert world.states(*NAMES) == dict.fromkeys(NAMES, "running")


@pytest.mark.parametrize("size", [AT_ONCE, AT_ONCE + 1], ids=["at the end of the plan", "to make room for another one"])
def test_a_launch_that_could_not_be_recorded_is_not_called_again_by_its_tick(
    world: World, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_all(world, NAMES[:size])
    HeldCalls(world)
    write, left = world.table.write, iter(range(1 + MAX_TRIES))

    def conflict(writes: Sequence[Write]) -> None:
        if [each.key.sk for each in writes] == ["attempt#a"] and next(left, None) is not None:
            raise Conflict([0])
        write(writes)

    monkeypatch.setattr(world.table, "write", conflict)
    report = world.tick()
    assert (report.rejected, world.called("CreateTrainingJob")) == (1, [*NAMES[:size]])
    assert attempt_states(world) == dict.fromkeys(NAMES[:size], "live")


def test_an_error_of_one_launch_leaves_no_other_one_unsettled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    submit_all(world)
    HeldCalls(world)
    write = world.table.write

    def fail(writes: Sequence[Write]) -> None:
        if [each.key.sk for each in writes] == ["attempt#a"]:
            raise RetryLater("busy")
        write(writes)

    with monkeypatch.context() as patched:
        patched.setattr(world.table, "write", fail)
        with pytest.raises(RetryLater):
            world.tick()
    assert attempt_states(world) == {"a": "launching", "b": "live", "c": "live"}
    world.now_s += INVOCATION_S + VISIBLE_AFTER_S
    world.tick()
    assert world.states(*NAMES) == dict.fromkeys(NAMES, "running")
    assert sum(world.fleet.in_use().values()) == len(NAMES)


@pytest.mark.parametrize("jobs", [AT_ONCE, len(NAMES)], ids=["at the end of the plan", "in the middle of it"])
def test_errors_of_all_launches_are_one_error_of_the_tick(
    world: World, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    submit_all(world, NAMES[:jobs])
    HeldCalls(world)
    write, failed = world.table.write, []

    def fail(writes: Sequence[Write]) -> None:
        if len(writes) == 1 and writes[0].key.sk.startswith("attempt#"):
            failed.append(writes[0].key.sk)
            raise RetryLater(failed[-1])
        write(writes)

    monkeypatch.setattr(world.table, "write", fail)
    with pytest.raises(RetryLater):
        world.tick()
    assert failed == ["attempt#a", "attempt#b", "attempt#c"]


def test_no_launch_begins_when_waiting_for_another_has_left_too_little_time(world: World) -> None:
    submit_all(world)

    def take_long() -> None:
        world.now_s += INVOCATION_S - RESERVED_MS / 1000

    HeldCalls(world).before_answer = take_long
    report = world.tick()
    assert report.started == ["a", "b", "c"]
    assert attempt_states(world) == dict.fromkeys("abc", "live")


def test_launches_in_threads_are_all_in_flight_before_the_first_is_answered(world: World) -> None:
    submit_all(world)
    create, together = world.training_jobs.create, []

    def meet(request: Mapping[str, Any]) -> None:
        together.append(request["TrainingJobName"])
        if len(together) == AT_ONCE:
            all_wait.set_result(None)
        all_wait.result()
        create(request)

    all_wait: Future[None] = Future()
    world.training_jobs.create = meet  # type: ignore[method-assign]
    with thread_calls(AT_ONCE) as world.parallel_calls:
        assert world.tick().started == list(NAMES)
    assert sorted(together[:AT_ONCE]) == ["a", "b", "c"]
    assert set(attempt_states(world).values()) == {AttemptState.LIVE}


ANSWERS: Mapping[str, tuple[AwsError, bool] | None] = {
    "accepted": None,
    "throttled": (THROTTLED, False),
    "no answer, not launched": (NO_ANSWER, False),
    "no answer, launched": (NO_ANSWER, True),
    "postponed": (AwsError("ResourceLimitExceeded", "quota"), False),
    "refused": (AwsError("ValidationException", "no such role"), False),
}


@settings(max_examples=60, deadline=None)
@given(
    answers=st.lists(st.sampled_from(sorted(ANSWERS)), min_size=len(NAMES), max_size=len(NAMES)),
    order=st.lists(st.integers(0, AT_ONCE - 1), min_size=40, max_size=40),
    at_once=st.integers(1, AT_ONCE),
)
def test_whatever_the_answers_and_their_order_each_job_runs_once_or_fails_if_it_is_refused(
    answers: list[str], order: list[int], at_once: int
) -> None:
    world = World(pools={P5: 6, G5: 2})
    world.launches_at_once = at_once
    submit_all(world)
    given_to = dict(zip(NAMES, answers, strict=True))
    answer(world, {name: error for name, which in given_to.items() if (error := ANSWERS[which]) is not None})
    turns = iter(order * 10)
    calls = HeldCalls(world, lambda held: next(turns) % held)
    world.tick()
    world.check()
    assert calls.most <= at_once
    assert len(world.called("CreateTrainingJob")) <= len(NAMES) + answers.count("throttled")
    for _ in range(40):
        world.now_s += 60
        world.tick()
        world.check()
    expected = {name: "failed" if which == "refused" else "running" for name, which in given_to.items()}
    assert world.states(*NAMES) == expected
    assert sum(world.fleet.in_use().values()) == list(expected.values()).count("running")


def test_the_next_ticks_of_a_process_launch_one_at_a_time_for_some_minutes_after_one_of_several_was_throttled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_all(world, NAMES[:2])
    answer(world, {"a": (THROTTLED, False)})
    calls = HeldCalls(world)
    monkeypatch.setattr(world, "make_parallel_calls", lambda: nullcontext(calls))
    in_flight: list[int] = []
    calls.before_answer = lambda: in_flight.append(len(calls._held))
    world.container.tick(INVOCATION_S * 1000)
    submit_all(world, NAMES[2:4])
    world.container.tick(INVOCATION_S * 1000)
    world.now_s += ONE_AT_A_TIME_S + 1
    submit_all(world, NAMES[4:])
    world.container.tick(INVOCATION_S * 1000)
    assert in_flight == [2, 1, 1, 1, 1, 2, 1]
