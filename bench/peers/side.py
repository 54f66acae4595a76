"""The measurements of any scheduler: the same figures, in the same order, for each side."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

ALL_OFTEN = 1_000
"""Lines up to this length are listed whole in each run, longer ones once."""
FIRST = 100
"""Jobs on a screen or two of a listing; a page of Headway's listing."""

PREEMPTION_LOOK_S = 0.05
"""The interval of checks whether the preemptor runs, s."""

Figures = dict[str, list[float]]
"""The values of each figure, by its name, which ends in its unit."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is measured.

    Attributes:
        nodes: nodes, or instances; each job takes one whole.
        jobs: how many are submitted in one go.
        members: how many jobs an array has; a multiple of 100.
        drained: how many short jobs are drained.
        drains: how often.
        lengths: the lengths of the queue when it is listed, growing; the cycles are measured with the last one.
        runs: repetitions.
        listings: repetitions of the listing of the first, which is quick.
        churn_s: for how long cycles are measured, s.
    """

    nodes: int
    jobs: int
    members: int
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
        """The time in which several clients submit a number of jobs, one job a call."""

    def submit_together(self, jobs: int) -> float:
        """The time in which one client submits a number of jobs, with as few calls as possible."""

    def submit_array(self, members: int) -> float:
        """The time in which one client submits an array with a number of members."""

    def lengthen(self, waiting: int) -> None:
        """Add waiting jobs, as if each had been submitted separately."""

    def list_jobs(self, first: int | None) -> float:
        """The time of a listing of the first jobs, or of all (None)."""

    def preempt(self) -> float:
        """How long it takes from the submission of a job of high priority, with all nodes taken, until it runs."""

    def drain(self, jobs: int) -> float:
        """The time from the submission of a number of empty jobs until all have ended."""

    def cycle_ms(self, churn_s: int) -> float:
        """How long a cycle of the scheduler takes on average, ms, while a running job ends each second."""


def measure(side: Side, sizes: Sizes, tell: Callable[[str], None]) -> Figures:
    """All figures of one side.

    Args:
        side: a new one.
        sizes: how much is measured.
        tell: called with each value as soon as it is known.
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
        anew(side)
        note(f"an array of {sizes.members:,}, jobs/s", sizes.members / side.submit_array(sizes.members))
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
        # Listing a whole long queue takes the sandbox some ten seconds: once is enough.
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
    """The factor by which Headway is better: over 1 is ahead."""
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
