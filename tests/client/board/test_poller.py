"""One poller reads the queue for all screens, seldom."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.board.poller import MAX_BACKOFF_S, Poller
from headway_client.errors import BusyError, ClientError, NotReachableError
from headway_client.models import Summary
from tests.client.board.builders import ScriptedQueue


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def minutes(poller: Poller, clock: Clock, count: int, *, hidden: bool = False) -> None:
    """Poll once a second."""
    for _ in range(count * 60):
        poller.poll(hidden=hidden)
        clock.now_s += 1


@pytest.mark.parametrize(("hidden", "calls"), [(False, 12), (True, 2)], ids=["open", "hidden"])
def test_an_open_board_makes_few_calls_a_minute_and_a_hidden_one_fewer(hidden: bool, calls: int) -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock)
    minutes(poller, clock, 1)
    for _ in range(5):
        before = len(queue.calls)
        minutes(poller, clock, 1, hidden=hidden)
        assert 1 <= len(queue.calls) - before <= calls


def test_many_screens_make_no_more_calls_than_one() -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock)
    threads = [threading.Thread(target=poller.poll) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert queue.calls.count("summary") == 1


def test_a_call_that_hangs_holds_up_no_other_screen() -> None:
    clock, begun, may_end = Clock(), threading.Event(), threading.Event()

    class Hanging(ScriptedQueue):
        def summary(self, known: str | None = None) -> Summary | None:
            if known is not None:
                begun.set()
                may_end.wait()
            return super().summary(known)

    poller = Poller(Hanging(), clock=clock)
    first = poller.poll().summary
    clock.now_s += 10
    seen: list[Summary | None] = []
    hanging = threading.Thread(target=poller.poll)
    other = threading.Thread(target=lambda: seen.append(poller.poll().summary))
    hanging.start()
    begun.wait()
    other.start()
    # It ends at once, unless it waits for the one that hangs.
    other.join(timeout=10)
    known = list(seen)
    may_end.set()
    hanging.join()
    other.join()
    assert known == [first]


@given(st.lists(st.sampled_from(["wait", "refresh", "hide", "fail", "work"]), max_size=150))
def test_whatever_happens_a_minute_has_no_more_than_twelve_calls(steps: Sequence[str]) -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock)
    times: list[float] = []
    for step in steps:
        clock.now_s += 1
        queue.error = {"fail": NotReachableError("gone"), "work": None}.get(step, queue.error)
        if step == "refresh":
            poller.refresh()
        before = len(queue.calls)
        poller.poll(hidden=step == "hide")
        times += [clock.now_s] * (len(queue.calls) - before)
    for start in times:
        assert sum(start <= each < start + 60 for each in times) <= 12


def test_a_summary_that_is_known_is_kept_and_a_new_one_is_handed_on() -> None:
    queue, clock = ScriptedQueue(), Clock()
    handed: list[Summary] = []
    poller = Poller(queue, clock=clock, on_summary=lambda summary, _: handed.append(summary))
    first = poller.poll().summary
    clock.now_s += 10
    assert poller.poll().summary is first
    assert len(handed) == 1
    queue.queue.add("third")
    clock.now_s += 10
    assert poller.poll().summary is not first
    assert len(handed) == 2


def test_after_an_error_the_last_picture_stays_and_the_intervals_grow() -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock, jitter=lambda: 1.0)
    known = poller.poll().summary
    queue.error = NotReachableError("gone")
    times: list[float] = []
    view = poller.poll()
    for _ in range(400):
        clock.now_s += 1
        before = len(queue.calls)
        view = poller.poll()
        times += [clock.now_s] * (len(queue.calls) - before)
        assert view.summary is known
    assert view.error == "gone"
    assert view.age_s == 400
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert gaps == sorted(gaps)
    assert gaps[-1] == MAX_BACKOFF_S
    queue.error = None
    clock.now_s += MAX_BACKOFF_S
    assert (poller.poll().error, poller.poll().age_s) == ("", 0)


@pytest.mark.parametrize(("jitter", "pauses"), [(0, [10, 20, 30, 30]), (0.5, [15, 30, 45, 45]), (1, [20, 40, 60, 60])])
def test_boards_that_fail_together_call_again_at_different_times(jitter: float, pauses: list[float]) -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock, jitter=lambda: jitter)
    queue.error = NotReachableError("gone")
    times: list[float] = []
    while len(times) <= len(pauses):
        before = len(queue.calls)
        poller.poll()
        times += [clock.now_s] * (len(queue.calls) - before)
        clock.now_s += 1
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == pauses


@pytest.mark.parametrize(("jitter", "pause_s"), [(0.0, 60), (0.5, 90), (1.0, 120)])
def test_forecasts_that_are_refused_together_are_asked_for_at_different_times(jitter: float, pause_s: float) -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock, jitter=lambda: jitter)
    poller.poll()
    queue.error = BusyError("too many", status=429)
    poller.poll()
    queue.error = None
    while queue.calls.count("forecast") < 2:
        clock.now_s += 1
        poller.poll()
    # A second later, as a summary is due then, too.
    assert clock.now_s == pause_s + 1


def test_a_board_survives_an_outage_of_days() -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock)
    queue.error = NotReachableError("gone")
    for _ in range(1100):
        poller.poll()
        clock.now_s += MAX_BACKOFF_S
    assert len(queue.calls) == 1100
    queue.error = None
    assert poller.poll().error == ""


def test_a_change_makes_the_next_summary_due() -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock)
    poller.poll()
    clock.now_s += 1
    poller.refresh()
    poller.poll()
    assert queue.calls == ["summary", "summary"]


def test_a_forecast_that_is_refused_does_not_hide_the_summary() -> None:
    queue, clock = ScriptedQueue(), Clock()
    poller = Poller(queue, clock=clock)
    poller.poll()
    queue.error = ClientError("not allowed")
    view = poller.poll()
    assert queue.calls == ["summary", "forecast"]
    assert (view.error, view.summary is not None) == ("", True)


def test_no_forecast_is_made_while_nobody_waits() -> None:
    queue, clock = ScriptedQueue(), Clock()
    queue.queue.jobs.clear()
    minutes(Poller(queue, clock=clock), clock, 2)
    assert "forecast" not in queue.calls
