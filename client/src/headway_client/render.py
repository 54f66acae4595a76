"""The queue as people read it: tables and sentences."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway_client.documents import Attempt, Capacity, DeadLetter, HistoryEntry, Job, JobDetails, Redrive, RogueJob
from headway_client.text import neutralise, shorten

_MIN_LAST_COLUMN = 24
"""The last column, a sentence, is not cut below this, however narrow the terminal."""

_NONE = "-"


def jobs_table(
    jobs: Iterable[Job], rogues: Iterable[RogueJob] = (), *, wide: bool = False, width: int | None = None
) -> str:
    """Return jobs as a table in the given order.

    Args:
        jobs: the jobs.
        rogues: training jobs that did not come through the queue; they stand below the jobs.
        wide: also show demand, entry time, owner and attempt.
        width: cut the last column so that lines are at most so long; None to cut nothing.
    """
    headers = ["Job Name", "State", "Priority"]
    if wide:
        headers += ["Place", "Demand", "Entered", "Owner", "Attempt"]
    rows = [_job_row(job, wide=wide) for job in jobs] + [_rogue_row(rogue, wide=wide) for rogue in rogues]
    return _table(rows, [*headers, "Why"], width=width)


def job_sheet(details: JobDetails, *, width: int | None = None) -> str:
    """Return all about one job: what it is, its attempts, and its history."""
    job = details.job
    lines = [
        ("Job Name", job.name),
        ("State", job.state),
        ("Why", job.reason.message),
        ("Priority", str(job.priority)),
        ("Place", _NONE if job.place is None else str(job.place)),
        ("Demand", _demand(job.demand)),
        ("Owner", job.owner or _NONE),
        ("Entered", _time(job.entry_time)),
        ("Ended", _time(job.ended_time)),
    ]
    parts = ["\n".join(f"{name:<10}{neutralise(value)}" for name, value in lines)]
    if details.attempts:
        headers = ["Attempt", "Training Job", "State", "SageMaker", "Started", "Ended", "Why"]
        rows = [_attempt_row(attempt) for attempt in details.attempts]
        parts.append("Attempts\n" + _table(rows, headers, width=width))
    if details.watches:
        rows = [[each.watch, str(each.hosts), each.note or _NONE] for each in details.watches]
        parts.append("Watches\n" + _table(rows, ["Watch", "Hosts", "Not Watched"], width=width))
    if details.history:
        rows = [_history_row(entry) for entry in details.history]
        parts.append("History\n" + _table(rows, ["Time", "State", "Training Job", "Why"], width=width))
    return "\n\n".join(parts)


def capacity_table(capacity: Capacity, *, width: int | None = None) -> str:
    """Return the pools and how their instances are used."""
    headers = ["Pool", "Size", "Allocated", "Stopping", "Reserved", "Rogue", "Free", "Waiting Jobs"]
    rows = [
        [
            pool.pool,
            *map(str, (pool.size, pool.allocated, pool.stopping, pool.reserved, pool.rogue, pool.free, pool.waiting)),
        ]
        for pool in capacity.pools
    ]
    return _table(rows, headers, width=width)


def letters_table(letters: Iterable[DeadLetter], *, wide: bool = False, width: int | None = None) -> str:
    """Return dead letters as a table in the given order.

    Args:
        letters: the letters.
        wide: also show their ids and how often they were received.
        width: cut the last column so that lines are at most so long; None to cut nothing.
    """
    headers = ["Queue", "Sent", "About"]
    if wide:
        headers += ["Id", "Received"]
    return _table([_letter_row(letter, wide=wide) for letter in letters], [*headers, "Why"], width=width)


def redrive_sentence(done: Redrive) -> str:
    """Return one line on what a redrive did."""
    dropped = f"{done.dropped} dropped (one wake-up does for all)" if done.dropped else "0 dropped"
    return f"{done.redriven} redriven, {dropped}, {done.failed} failed, {done.left} left."


def rehearsal_sheet(rehearsal: Mapping[str, Any], *, width: int | None = None) -> str:
    """Return what a policy would say to a request, rule by rule, and in sum."""
    rows = [row for verdict in rehearsal["rules"] for row in _verdict_rows(verdict)]
    rows += [[_NONE, "invalid", problem["field"], problem["message"]] for problem in rehearsal["problems"]]
    table = _table(rows, ["Rule", "Result", "Field", "What to change"], width=width) + "\n" if rows else ""
    team = f" of team {rehearsal['team']}" if rehearsal["team"] else ""
    verb = "refuse" if rehearsal["refused"] else "take"
    return table + neutralise(f"The queue would {verb} this job{team}.")


def job_sentence(job: Job) -> str:
    """Return one line on where a job stands."""
    place = f", place {job.place} in line" if job.place is not None else ""
    return neutralise(f"{job.name} is {job.state} (priority {job.priority}{place}): {job.reason.message}")


def output_width() -> int | None:
    """Return the terminal's width in characters, or None where the output goes elsewhere, uncut."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    return shutil.get_terminal_size().columns


def _job_row(job: Job, *, wide: bool) -> list[str]:
    row = [job.name, job.state, str(job.priority)]
    if wide:
        row += [
            _NONE if job.place is None else str(job.place),
            _demand(job.demand),
            _time(job.entry_time),
            job.owner or _NONE,
            job.live_attempt or _NONE,
        ]
    return [*row, job.reason.message]


def _rogue_row(rogue: RogueJob, *, wide: bool) -> list[str]:
    row = [rogue.name, "rogue", _NONE]
    if wide:
        row += [_NONE, _demand(rogue.demand), _time(rogue.created_time), _NONE, rogue.name]
    return [*row, rogue.reason.message]


def _attempt_row(attempt: Attempt) -> list[str]:
    why = [attempt.reason.message if attempt.reason else None, attempt.failure_reason]
    seen = " / ".join(dict.fromkeys(part for part in (attempt.status, attempt.secondary_status) if part))
    return [
        str(attempt.number),
        attempt.name,
        attempt.state,
        seen or _NONE,
        _time(attempt.started_time),
        _time(attempt.ended_time),
        " ".join(part for part in why if part) or _NONE,
    ]


def _history_row(entry: HistoryEntry) -> list[str]:
    why = entry.reason.message if entry.reason else _NONE
    return [_time(entry.time), entry.state, entry.attempt_name or _NONE, why]


def _letter_row(letter: DeadLetter, *, wide: bool) -> list[str]:
    row = [letter.queue, _time(letter.sent_time), letter.about or _NONE]
    if wide:
        row += [letter.id, str(letter.receive_count)]
    stuck = f"can't be redriven: {letter.problem}" if letter.problem else None
    told = [text for text in (stuck, letter.error_type, letter.error_message) if text]
    return [*row, ": ".join(told) or _NONE]


def _verdict_rows(verdict: Mapping[str, Any]) -> list[list[str]]:
    broken = [[verdict["rule"], "broken", each["field"], each["message"]] for each in verdict["violations"]]
    return broken or [[verdict["rule"], "kept" if verdict["applies"] else "doesn't apply", _NONE, _NONE]]


def _demand(demand: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {pool}" for pool, count in sorted(demand.items())) or _NONE


def _time(value: str | None) -> str:
    # 2026-01-02T03:04:05.678Z reads better as 2026-01-02 03:04:05Z; anything else is shown as it is.
    if value is None:
        return _NONE
    if len(value) == 24 and value[10] == "T" and value.endswith("Z"):
        return f"{value[:10]} {value[11:19]}Z"
    return value


def _table(rows: Sequence[Sequence[str]], headers: Sequence[str], *, width: int | None) -> str:
    from tabulate import tabulate

    safe = [[neutralise(cell) for cell in row] for row in rows]
    if width is not None and safe:
        # tabulate makes a column at least two wider than its header, and puts two spaces between columns.
        columns = list(zip([header + "  " for header in headers], *safe, strict=True))
        taken = sum(max(len(cell) for cell in column) + 2 for column in columns[:-1])
        room = max(width - taken, _MIN_LAST_COLUMN)
        safe = [[*row[:-1], shorten(row[-1], room)] for row in safe]
    # Names such as 1e5 or 007 are names, not numbers.
    return tabulate(safe, headers=headers, tablefmt="simple", disable_numparse=True)
