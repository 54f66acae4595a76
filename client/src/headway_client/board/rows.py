"""What a board in the terminal shows, as plain text: pure functions of a summary. No text has control characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headway.durations import in_words
from headway.sanitize import strip_control_characters
from headway_client.job_sentences import short_reason
from headway_client.models import PoolSummary, RunningJob, Summary, WaitingHead
from headway_client.principals import short_name

PARTS = ("busy", "stopping", "reserved", "warm", "outside", "free")
"""The parts of a pool's bar, from left to right."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table.

    Attributes:
        job: the name of its job.
        cells: its cells, as text that is safe to show.
    """

    job: str
    cells: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which rows are shown, and in which order.

    Attributes:
        text: only rows that contain it, in any case; empty for all.
        order: the name of the order; the first of the table's orders by default.
    """

    text: str = ""
    order: str = ""


WAITING_COLUMNS = ("#", "JOB", "PRI", "TEAM", "NEEDS", "START BY", "WHY")
RUNNING_COLUMNS = ("JOB", "PRI", "TEAM", "OWNER", "HOLDS", "RAN", "LEFT", "STATUS")

WAITING_ORDERS: Mapping[str, Callable[[WaitingHead], Any]] = {
    "rank": lambda _: 0,
    "priority": lambda job: -job.priority,
    "team": lambda job: job.team or "",
    "longest wait": lambda job: job.entry_time,
    "name": lambda job: job.job_name,
}
"""The orders of waiting jobs; jobs that are equal stay in rank order."""

RUNNING_ORDERS: Mapping[str, Callable[[RunningJob], Any]] = {
    "end": lambda _: 0,
    "priority": lambda job: -job.priority,
    "team": lambda job: job.team or "",
    "longest run": lambda job: job.started_time,
    "name": lambda job: job.job_name,
}
"""The orders of running jobs; jobs that are equal stay in the order of their ends."""


def waiting_rows(summary: Summary, selection: Selection, now_s: float) -> list[Row]:
    """Return the rows of the waiting jobs.

    Args:
        selection: which rows.
        now_s: the queue's time.
    """
    rows = [
        _row(
            job.job_name,
            "" if job.place is None else str(job.place),
            job.job_name,
            str(job.priority),
            job.team or "",
            instances(job.demand),
            _until(job.expected_start or job.start_by, now_s),
            short_reason(job.reason),
        )
        for job in sorted(summary.waiting, key=WAITING_ORDERS.get(selection.order, WAITING_ORDERS["rank"]))
    ]
    return _matching(rows, selection.text)


def running_rows(summary: Summary, selection: Selection, now_s: float) -> list[Row]:
    """Return the rows of the running jobs.

    Args:
        selection: which rows.
        now_s: the queue's time.
    """
    rows = [
        _row(
            job.job_name,
            job.job_name,
            str(job.priority),
            job.team or "",
            short_name(job.owner) or "",
            instances(job.demand),
            span(now_s - seconds_of(job.started_time)),
            "" if job.ends_by is None else span(seconds_of(job.ends_by) - now_s),
            _status(job),
        )
        for job in sorted(summary.running, key=RUNNING_ORDERS.get(selection.order, RUNNING_ORDERS["end"]))
    ]
    return _matching(rows, selection.text)


def event_lines(summary: Summary) -> list[str]:
    """Return the recent events, the newest first."""
    return [
        strip_control_characters(f"{each.time[11:19]}  {each.kind:<10} {each.job_name}: {each.message}")
        for each in summary.events
    ]


def pool_parts(pool: PoolSummary) -> dict[str, int]:
    """Return the instances of each part of a pool's bar; their sum is at least the pool's size."""
    # A warm pool that an attempt was started in counts as allocated as well.
    lent = max(0, pool.allocated + pool.reserved + pool.rogue + pool.warm + max(0, pool.free) - pool.size)
    return {
        "busy": pool.allocated - pool.stopping,
        "stopping": pool.stopping,
        "reserved": pool.reserved,
        "warm": max(0, pool.warm - lent) if pool.free >= 0 else pool.warm,
        "outside": pool.rogue,
        "free": max(0, pool.free),
    }


def bar_widths(parts: Mapping[str, int], width: int) -> dict[str, int]:
    """Return the cells of each part of a bar; a part that is not empty has at least one cell if there is room.

    Args:
        parts: the instances of each part.
        width: the cells of the bar.
    """
    total = sum(parts.values())
    if not total or width <= 0:
        return dict.fromkeys(parts, 0)
    exact = {name: count * width / total for name, count in parts.items()}
    found = {name: max(int(cells), 1 if parts[name] else 0) for name, cells in exact.items()}
    by_remainder = sorted(parts, key=lambda name: exact[name] - int(exact[name]), reverse=True)
    for name in by_remainder:
        if sum(found.values()) < width and parts[name]:
            found[name] += 1
    while sum(found.values()) > width:
        largest = max(found, key=lambda name: found[name])
        found[largest] -= 1
    return found


def pool_note(pool: PoolSummary) -> str:
    """Return the figures beside a pool's bar."""
    figures = [f"{pool.allocated}/{pool.size} busy", f"{pool.free} free"]
    figures += [
        f"{count} {name}"
        for name, count in (
            ("stopping", pool.stopping),
            ("reserved", pool.reserved),
            ("warm", pool.warm),
            ("outside", pool.rogue),
        )
        if count
    ]
    figures.append(f"{pool.waiting}{'+' if pool.waiting >= 1000 else ''} waiting")
    teams = [f"{team}:{count}" for team, count in pool.by_team.items() if team]
    if teams:
        figures.append(" ".join(teams))
    if pool.pause is not None:
        figures.insert(0, "PAUSED")
    return strip_control_characters(", ".join(figures))


def instances(demand: Mapping[str, int]) -> str:
    """Return a demand, such as ``2 p5.48xlarge``."""
    return " + ".join(f"{count} {pool.removeprefix('ml.')}" for pool, count in sorted(demand.items()))


def span(seconds: float) -> str:
    """Return a duration such as ``2 h 5 min``; a negative one is ``over``."""
    return "over" if seconds < 0 else in_words(seconds * 1000)


def _status(job: RunningJob) -> str:
    if job.stop_cause is None:
        return job.status or "launching"
    return f"stops for {job.stops_for}" if job.stops_for else f"stops ({job.stop_cause})"


def _until(time: str | None, now_s: float) -> str:
    if time is None:
        return ""
    left_s = seconds_of(time) - now_s
    return "now" if left_s <= 0 else f"in {span(left_s)}"


def seconds_of(time: str) -> float:
    """Return a time of a document, s since 1970."""
    return datetime.fromisoformat(time).timestamp()


def _row(job: str, *cells: str) -> Row:
    return Row(job=job, cells=tuple(map(strip_control_characters, cells)))


def _matching(rows: Iterable[Row], text: str) -> list[Row]:
    wanted = text.casefold()
    return [row for row in rows if not wanted or any(wanted in cell.casefold() for cell in row.cells)]


def next_order(orders: Sequence[str], order: str) -> str:
    """Return the order that follows one; the first after the last.

    Args:
        order: the current one; any other text counts as the first.
    """
    place = orders.index(order) if order in orders else 0
    return orders[(place + 1) % len(orders)]
