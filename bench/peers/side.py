"""What is measured of a scheduler, whichever it is: the same figures, in the same order, for each side."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

ALL_OFTEN = 1_000
"""Lines up to this length are listed whole in each run, longer ones once."""
FIRST = 100
"""Jobs that somebody who looks at the line sees on a screen or two; a page of Headway's listing."""

PREEMPTION_LOOK_S = 0.05
"""Between two looks whether the job that preempts runs, s."""

Figures = dict[str, list[float]]
"""The values of each figure, by its name, which ends in its unit."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is measured.

    Attributes:
        nodes: nodes, or instances; each job takes one whole.
        jobs: how many are submitted in one go.
        drained: how many short jobs are drained.
        drains: how often.
        lengths: of the line when it is listed, growing; with the last one the cycles are measured.
        runs: repetitions.
        listings: repetitions of the listing of the first, which is quick.
        churn_s: for how long cycles are measured, s.
    """

    nodes: int
    jobs: int
    drained: int
    lengths: tuple[int, ...]
    drains: int = 1
    runs: int = 3
    listings: int = 11
    churn_s: int = 30


class Side(Protocol):
    """A scheduler with its nodes, used as its users use it. Times are seconds of the wall clock."""

    def clear(self) -> None:
        """Have no job and no work left over."""

    def fill(self) -> None:
        """Have a job of low priority on each node. It does not end by itself, and takes all of its grace to stop."""

    def submit(self, jobs: int, clients: int) -> float:
        """How long so many clients take to submit so many jobs, one job a call."""

    def submit_together(self, jobs: int) -> float:
        """How long one client takes to submit so many jobs, with as few calls as there can be."""

    def lengthen(self, waiting: int) -> None:
        """Have so many jobs wait, as if each had been submitted by itself."""

    def list_jobs(self, first: int | None) -> float:
        """How long it takes to list the first so many jobs, or all (None)."""

    def preempt(self) -> float:
        """How long it takes from the submission of a job of high priority, with all nodes taken, until it runs."""

    def drain(self, jobs: int) -> float:
        """How long it takes from the submission of so many jobs, which do nothing, until all have ended."""

    def cycle_ms(self, churn_s: int) -> float:
        """How long a cycle of the scheduler takes on average, ms, while a running job ends each second."""


def measure(side: Side, sizes: Sizes, tell: Callable[[str], None]) -> Figures:
    """All figures of one side.

    Args:
        side: a new one.
        sizes: how much is measured.
        tell: told each value as soon as there is one.
    """
    figures: Figures = defaultdict(list)

    def note(name: str, value: float) -> None:
        figures[name].append(value)
        tell(f"{name}: {value:.4g}")

    for _ in range(sizes.runs):
        for clients in (1, 4):
            anew(side)
            note(f"submissions, {_count(clients, 'client')}, jobs/s", sizes.jobs / side.submit(sizes.jobs, clients))
        anew(side)
        note("submissions together, jobs/s", sizes.jobs / side.submit_together(sizes.jobs))
    for _ in range(sizes.runs):
        anew(side)
        note("start by preemption, s", side.preempt())
    for _ in range(sizes.drains):
        side.clear()
        note(f"drain of {sizes.drained:,} jobs, jobs/s", sizes.drained / side.drain(sizes.drained))
    anew(side)
    for waiting in sizes.lengths:
        side.lengthen(waiting)
        for _ in range(sizes.listings):
            note(f"listing of {waiting:,}: the first {FIRST}, ms", side.list_jobs(FIRST) * 1000)
        # All of a long line takes the sandbox some ten seconds: once tells enough.
        for _ in range(sizes.runs if waiting <= ALL_OFTEN else 1):
            note(f"listing of {waiting:,}: all, ms", side.list_jobs(None) * 1000)
    for _ in range(sizes.runs):
        note(f"cycle with {sizes.lengths[-1]:,} waiting, ms", side.cycle_ms(sizes.churn_s))
    return dict(figures)


def anew(side: Side) -> None:
    """Have a job on each node and nothing else."""
    side.clear()
    side.fill()


def is_rate(figure: str) -> bool:
    """Whether more of a figure is better."""
    return figure.endswith("/s")


def advantage(figure: str, ours: float, theirs: float) -> float:
    """How many times as good ours is: over 1 is ahead."""
    return ours / theirs if is_rate(figure) else theirs / ours


def until(holds: Callable[[], bool], what: str, *, timeout_s: float, every_s: float = 0.1) -> None:
    """Wait until something holds.

    Raises:
        TimeoutError: it does not.
    """
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"not within {timeout_s:g} s: {what}")
        time.sleep(every_s)


def seconds(act: Callable[[], object]) -> float:
    """How long something takes, s."""
    began_s = time.perf_counter()
    act()
    return time.perf_counter() - began_s


def behind(figures: Mapping[str, float], others: Mapping[str, float]) -> list[str]:
    """The figures in which the first is not ahead of the second."""
    return [name for name in figures if advantage(name, figures[name], others[name]) <= 1]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
