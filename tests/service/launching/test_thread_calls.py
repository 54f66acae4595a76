"""Calls in parallel: in threads, and one after the other in tests."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import Barrier, Event, active_count
from time import sleep

import pytest

from headway_service.launching.thread_calls import thread_calls
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.testing.inline_calls import InlineCalls

MAKERS: dict[str, Callable[[], AbstractContextManager[ParallelCalls]]] = {
    "threads": lambda: thread_calls(2),
    "inline": lambda: nullcontext(InlineCalls()),
}


@pytest.fixture(params=MAKERS)
def made(request: pytest.FixtureRequest) -> AbstractContextManager[ParallelCalls]:
    return MAKERS[request.param]()


def test_a_call_is_made_and_its_outcome_is_known_after_the_wait(made: AbstractContextManager[ParallelCalls]) -> None:
    called: list[str] = []

    def call() -> None:
        # So long that it has not ended yet when the wait begins.
        sleep(0.02)
        called.append("a")

    with made as calls:
        outcome = calls.submit(call)
        calls.wait([outcome])
        assert (called, outcome.done(), outcome.result()) == (["a"], True, None)


def test_the_error_of_a_call_is_its_outcome_and_ends_the_wait(made: AbstractContextManager[ParallelCalls]) -> None:
    def fail() -> None:
        raise LookupError("x")

    with made as calls:
        outcome = calls.submit(fail)
        calls.wait([outcome])
        with pytest.raises(LookupError, match="x"):
            outcome.result()


def test_calls_in_threads_are_made_in_parallel() -> None:
    meeting = Barrier(2)
    with thread_calls(2) as calls:
        outcomes = [calls.submit(partial(void, meeting.wait)) for _ in range(2)]
    assert [outcome.result() for outcome in outcomes] == [None, None]


def test_the_wait_ends_with_the_first_call() -> None:
    held = Event()
    with thread_calls(2) as calls:
        slow, quick = calls.submit(partial(void, held.wait)), calls.submit(lambda: None)
        calls.wait([slow, quick])
        assert (slow.done(), quick.done()) == (False, True)
        held.set()


@pytest.mark.parametrize("error", [None, RuntimeError("x")])
def test_no_call_and_no_thread_outlives_its_context(error: Exception | None) -> None:
    before, held, outcome = active_count(), Event(), Future[None]()

    def leave() -> None:
        nonlocal outcome
        with thread_calls(2) as calls:
            outcome = calls.submit(partial(void, held.wait))
            # Set by the other thread, as this one waits at the end of the context.
            calls.submit(held.set)
            if error is not None:
                raise error

    if error is None:
        leave()
    else:
        with pytest.raises(RuntimeError):
            leave()
    assert outcome.done()
    assert active_count() == before


def void(call: Callable[[], object]) -> None:
    """Make a call, and ignore what it returns."""
    call()
