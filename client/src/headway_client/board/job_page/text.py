"""The page of a job as plain text, for the terminal: a pure function. No text has control characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from headway.sanitize import strip_control_characters
from headway_client.board.job_page.figures import Figures
from headway_client.board.rows import instances, seconds_of, span
from headway_client.job_figures.curves import Curve, Curves
from headway_client.job_sentences import (
    cost_sentence,
    estimate_sentence,
    lost_sentence,
    price_sentences,
    saved_sentence,
)
from headway_client.models import Attempt, JobDetails
from headway_client.text import shorten

MAX_STEPS = 20
"""Steps of the history that are shown, the newest."""

_LEVELS = "▁▂▃▄▅▆▇█"
_NO_VALUE = "·"
_LABEL = 11


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page.

    Attributes:
        title: its title; empty for the first one.
        lines: its lines; at least one.
    """

    title: str
    lines: tuple[str, ...]


def page_sections(job: JobDetails, figures: Figures | None, *, now_s: float, width: int) -> list[Section]:
    """Return the parts of the page; no title and no line is longer than the width.

    Args:
        figures: its figures; None while they are read.
        now_s: the queue's time, s since 1970.
        width: the columns of the screen.
    """
    sections = [
        ("", list(_facts(job))),
        ("ATTEMPTS (UTC)", [line for each in job.attempts for line in _attempt_lines(each, now_s)]),
        *_figure_sections(figures, width),
        ("HISTORY (UTC)", list(_steps(job))),
    ]
    return [
        Section(title=_shown(title, width), lines=tuple(_shown(line, width) for line in lines))
        for title, lines in sections
        if lines
    ]


def _shown(line: str, width: int) -> str:
    return shorten(strip_control_characters(line), width)


def sparkline(values: Sequence[float | None], cells: int) -> str:
    """Return a curve as one line of text, 100 being the highest level.

    Args:
        values: the values; None where there is none.
        cells: maximum number of characters; of more values, neighbours are averaged.
    """
    each = -(-len(values) // cells) if values and cells > 0 else 1
    groups = [values[start : start + each] for start in range(0, len(values), each)] if cells > 0 else []
    return "".join(_level(group) for group in groups)


def _level(group: Sequence[float | None]) -> str:
    known = [value for value in group if value is not None]
    if not known:
        return _NO_VALUE
    level = int(sum(known) / len(known) / 100 * len(_LEVELS))
    return _LEVELS[max(0, min(len(_LEVELS) - 1, level))]


def curve_note(curve: Curve) -> str:
    """Return the newest and the average value of a curve."""
    known = [value for value in curve.percent if value is not None]
    return f"last {known[-1]:.0f} %, average {sum(known) / len(known):.0f} %"


def _facts(job: JobDetails) -> Iterator[str]:
    state = f"{job.state} (held)" if job.held else str(job.state)
    yield _line("state", f"{state}: {job.reason.message}")
    yield _line("priority", f"{job.priority}" + (f", position {job.place}" if job.place is not None else ""))
    yield _line("needs", instances(job.demand))
    yield _line("team", job.team or "none")
    yield _line("owner", job.owner or "unknown")
    yield _line("limit", "none" if job.run_limit_seconds is None else span(job.run_limit_seconds))
    if (run := job.expected_run) is not None:
        yield _line("expected", f"{span(run.seconds)}, by {run.runs} earlier jobs")
    yield _line("preempted", f"{job.preemptions} time{'' if job.preemptions == 1 else 's'}")
    if job.comment:
        yield _line("comment", job.comment)
    if (lost := lost_sentence(job)) is not None:
        yield _line("lost", lost)
    if (cost := cost_sentence(job)) is not None:
        yield _line("cost", cost)
        yield from (_line("", price) for price in price_sentences(job))
    if (estimate := estimate_sentence(job)) is not None:
        yield _line("estimate", estimate)
    if (saved := saved_sentence(job)) is not None:
        yield _line("saved", saved)


def _attempt_lines(attempt: Attempt, now_s: float) -> Iterator[str]:
    start, end = attempt.started_time, attempt.ended_time
    ran = "" if start is None else span((now_s if end is None else seconds_of(end)) - seconds_of(start))
    status = attempt.secondary_status or attempt.status or attempt.state
    times = f"{_clock(start)} to {_clock(end) if end else 'now'}, {ran}" if start else "not started"
    yield f"{attempt.number:>2}  {instances(attempt.demand) or attempt.name}  {status}  {times}"
    why = attempt.failure_reason or (attempt.reason.message if attempt.reason else "")
    if why:
        yield f"    {why}"


def _figure_sections(figures: Figures | None, width: int) -> Iterator[tuple[str, list[str]]]:
    if figures is None:
        yield "UTILIZATION AND LOG", ["are read …"]
        return
    if figures.curves is not None:
        yield "UTILIZATION", list(_curve_lines(figures.curves, width))
    if figures.lines:
        several = len({line.host for line in figures.lines}) > 1
        yield (
            f"LAST LINES OF THE LOG OF {figures.attempt} (UTC)",
            [f"{_time(line.time_ms)} {f'algo-{line.host} | ' if several else ''}{line.text}" for line in figures.lines],
        )
    yield "NOT SHOWN", list(figures.notes)


def _curve_lines(curves: Curves, width: int) -> Iterator[str]:
    if not curves.curves:
        yield "CloudWatch has no values yet."
        return
    for curve in curves.curves:
        note = curve_note(curve)
        yield f"{curve.name:<{_LABEL}}{sparkline(curve.percent, max(10, width - _LABEL - len(note) - 2))}  {note}"
    of = "" if curves.hosts == curves.of_hosts else f" of {curves.of_hosts}"
    hosts = f"{curves.hosts}{of} host{'' if curves.of_hosts == 1 else 's'}"
    yield f"from {_time(int(curves.start_s * 1000))} UTC, a value each {span(curves.period_s)}, {hosts}"


def _steps(job: JobDetails) -> Iterator[str]:
    for step in reversed(job.history[-MAX_STEPS:]):
        yield f"{_clock(step.time)}  {step.state:<9}  {step.reason.message}"


def _line(name: str, value: str) -> str:
    return f"{name:<{_LABEL}}{value}"


def _clock(time: str | None) -> str:
    return "" if time is None else time[5:19].replace("T", " ")


def _time(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%m-%d %H:%M:%S}"
