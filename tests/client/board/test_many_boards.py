"""Many boards on one queue stay within the rates of its API, and back off where they meet them."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headway_client.board.budget import MAX_POLLS
from headway_client.board.poller import Poller
from headway_client.errors import BusyError, NotReachableError
from headway_client.models import Forecast, Summary
from tests.client.board.builders import ScriptedQueue

ROOT = Path(__file__).parents[3]
BOARDS = 60
MINUTE_S = 60


def default_of(parameter: str) -> float:
    """The default of a parameter of the deployment."""
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    found = re.search(rf"^  {parameter}:\n    Type: Number\n    Default: (\d+)$", template, re.MULTILINE)
    assert found is not None
    return float(found[1])


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Bucket:
    """A method's rate, as API Gateway counts it: tokens that come back (API Gateway guide, "Throttle requests")."""

    rate: float
    burst: float
    clock: Clock
    tokens: float = field(init=False)
    counted_s: float = 0.0
    accepted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def spend(self) -> None:
        self.tokens = min(self.burst, self.tokens + self.rate * (self.clock.now_s - self.counted_s))
        self.counted_s = self.clock.now_s
        if self.tokens < 1:
            self.refused.append(self.clock.now_s)
            raise BusyError("The queue receives too many requests.", status=429)
        self.tokens -= 1
        self.accepted.append(self.clock.now_s)


class Limited(ScriptedQueue):
    """The queue behind the default rates of `GET /summary` and `GET /forecast`."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.summaries = Bucket(default_of("ListRateLimit"), default_of("ListBurstLimit"), clock)
        self.forecasts = Bucket(default_of("HeavyRateLimit"), default_of("HeavyBurstLimit"), clock)
        self.methods = (self.summaries, self.forecasts)

    def ask(self) -> None:
        """Call each method once."""
        for method in self.methods:
            method.spend()

    def refused(self, since_s: float) -> int:
        """Calls that were refused since a time."""
        return sum(each >= since_s for method in self.methods for each in method.refused)

    def summary(self, known: str | None = None) -> Summary | None:
        self.summaries.spend()
        return super().summary(known)

    def forecast(self) -> Forecast:
        self.forecasts.spend()
        return super().forecast()


class Boards:
    """Boards that all begin in the same second, each with a page that asks once a second."""

    def __init__(self, seed: int) -> None:
        self.clock = Clock()
        self.queue = Limited(self.clock)
        jitter = random.Random(seed).random
        self.pollers = [Poller(self.queue, clock=self.clock, jitter=jitter) for _ in range(BOARDS)]

    def pass_minutes(self, minutes: int) -> None:
        self.pass_seconds(minutes * MINUTE_S)

    def pass_seconds(self, seconds: int) -> None:
        for _ in range(seconds):
            for poller in self.pollers:
                poller.poll()
            self.clock.now_s += 1

    def assert_all_show_the_queue(self) -> None:
        for poller in self.pollers:
            assert poller.view.summary is not None
            assert poller.view.forecast is not None
            assert poller.view.error == ""


@pytest.mark.parametrize("seed", range(5))
def test_boards_that_begin_together_are_refused_for_minutes_only_and_leave_room_for_others(seed: int) -> None:
    boards = Boards(seed)
    boards.pass_minutes(1)
    # More of them call at once than the methods take.
    assert boards.queue.refused(0) > 0
    boards.pass_minutes(5)
    begun_s = boards.clock.now_s
    boards.assert_all_show_the_queue()
    # Somebody else asks now and then. The client tries again if boards have called just then.
    for _ in range(10 * MINUTE_S // 5):
        boards.pass_seconds(4)
        asked_s = boards.clock.now_s
        with suppress(BusyError):
            boards.queue.ask()
        boards.pass_seconds(1)
        if boards.queue.refused(asked_s):
            boards.queue.ask()
    assert boards.queue.refused(begun_s) <= 5
    boards.assert_all_show_the_queue()
    calls = sum(each >= begun_s for method in boards.queue.methods for each in method.accepted)
    # Nobody backs off any more: six summaries and a forecast a minute of each board, and what the other one asks.
    assert BOARDS * MAX_POLLS * 9 < calls <= 10 * (BOARDS * MAX_POLLS + 2 * 2 * 12)


@pytest.mark.parametrize("seed", range(5))
def test_after_an_outage_they_come_back_one_after_the_other(seed: int) -> None:
    boards = Boards(seed)
    boards.pass_minutes(2)
    boards.queue.error = NotReachableError("gone")
    boards.pass_minutes(10)
    asked = len(boards.queue.summaries.accepted)
    boards.pass_minutes(10)
    # While nothing answers, each board asks about once in 30 to 60 s.
    assert len(boards.queue.summaries.accepted) - asked <= 10 * BOARDS * 2
    boards.queue.error = None
    back_s = boards.clock.now_s
    boards.pass_minutes(5)
    boards.assert_all_show_the_queue()
    assert not [each for each in boards.queue.summaries.refused if each >= back_s]
    boards.pass_minutes(5)
    assert boards.queue.refused(back_s + 5 * MINUTE_S) == 0
