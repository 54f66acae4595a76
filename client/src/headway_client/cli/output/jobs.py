"""Format jobs, rogue training jobs, and the details of a job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headway.durations import in_words
from headway.sanitize import strip_control_characters
from headway_client import job_sentences as sentences
from headway_client.cli.output import columns, times, values
from headway_client.cli.output.arrays.details import array_lines
from headway_client.cli.output.expectations import expectation_lines
from headway_client.cli.output.sheet import sheet
from headway_client.cli.output.table import NONE, Table
from headway_client.models import Attempt, Explanation, HistoryEntry, Job, JobDetails, RogueJob


def job_rows(
    jobs: Iterable[Job], rogues: Iterable[RogueJob] = (), *, wide: bool = False, names: Sequence[str] = ()
) -> Table:
    """Return jobs as a table in the given order.

    Args:
        rogues: rogue training jobs, which follow the jobs.
        wide: also show place, times, team, owner and attempt.
        names: the columns, in place of these.
    """
    if names or wide:
        return columns.job_table(names or columns.QUEUE_WIDE, jobs, rogues, wide=wide)
    return replace(columns.job_table(columns.QUEUE, jobs, rogues, wide=False), spare=("Age",))


def jobs_table(
    jobs: Iterable[Job], rogues: Iterable[RogueJob] = (), *, wide: bool = False, width: int | None = None
) -> str:
    """Return `job_rows` as lines of text.

    Args:
        jobs: as for `job_rows`.
        rogues: as for `job_rows`.
        wide: as for `job_rows`.
        width: maximum length of a line; None for no limit.
    """
    return job_rows(jobs, rogues, wide=wide).text(width=width)


def history_rows(jobs: Iterable[Job], *, wide: bool = False, names: Sequence[str] = ()) -> Table:
    """Return ended jobs with their times and usage as a table in the given order.

    Args:
        wide: also show all times, the use by pool, priority, team, owner and the reason of the end.
        names: the columns, in place of these.
    """
    return columns.job_table(names or (columns.HISTORY_WIDE if wide else columns.HISTORY), jobs, wide=wide)


def job_sheet(
    details: JobDetails, explanation: Explanation | None = None, *, width: int | None = None, colour: bool = False
) -> str:
    """Return the details of one job with its attempts and its history.

    Args:
        details: the job.
        explanation: its explanation, if that is to say when it is likely to start or to end.
        width: maximum length of a line; None for no limit.
        colour: color the states.
    """
    job = details.job
    others = values.other_choices(job.choices, job.alternative)
    lines = [
        ("Job Name", job.name),
        ("State", _state(job)),
        ("Why", job.reason.message),
        ("Priority", str(job.priority)),
        ("Place", values.optional(job.place)),
        ("Demand", values.demand(job.demand)),
        *([("Otherwise", others)] if others is not None else []),
        ("Team", values.optional(job.team)),
        ("Owner", values.optional(job.owner)),
        ("Entered", times.both(job.entry_time)),
        ("Started", times.both(job.started_time)),
        ("Ended", times.both(job.ended_time)),
        _time_spent(details),
        *([("Expected", times.expected_run(details.expected_run))] if details.expected_run is not None else []),
        *(expectation_lines(explanation) if explanation is not None else []),
        ("Preempted", f"{job.preemptions} time{'' if job.preemptions == 1 else 's'}"),
        ("Used", f"{values.instance_hours(job.instance_seconds)} (instance-hours)" if job.instance_seconds else NONE),
    ]
    if (seen := _checkpoint_time(details)) is not None:
        lines.append(("Checkpoint", f"{times.both(seen)}, as seen in S3"))
    money = {
        "Lost": sentences.lost_sentence(details),
        "Cost": sentences.cost_sentence(details),
        "Estimate": sentences.estimate_sentence(details),
        "Saved": sentences.saved_sentence(details),
    }
    lines += [(name, sentence) for name, sentence in money.items() if sentence is not None]
    lines[3:3] = array_lines(details)
    if job.comment:
        lines.insert(3, ("Comment", job.comment))
    if details.expires is not None:
        lines.insert(3, ("Start By", times.both(details.expires)))
    if job.not_before is not None:
        lines.insert(3, ("Not Before", times.both(job.not_before)))
    if job.reused_from is not None:
        lines.insert(3, ("Reused", f"the outputs of {job.reused_from}"))
    if details.withheld:
        lines.append(("Withheld", f"{' and '.join(details.withheld)} of the request"))
    parts = [sheet(lines, width=width)]
    if details.attempts:
        # An older server does not say what an attempt held.
        held = any(attempt.demand for attempt in details.attempts)
        headers = ["#", "Training Job", "State", "SageMaker", *(["Demand"] if held else [])]
        headers += ["Started", "Ended", "Why"]
        rows = [_attempt_row(attempt, held=held) for attempt in details.attempts]
        parts.append("Attempts\n" + Table(headers=headers, rows=rows).folded(width=width, colour=colour))
    if details.watches:
        rows = [[each.watch, str(each.hosts), values.optional(each.note)] for each in details.watches]
        parts.append("Watches\n" + Table(headers=["Watch", "Hosts", "Not Monitored"], rows=rows).folded(width=width))
    if details.history:
        rows = [_step_row(entry) for entry in details.history]
        headers = ["Time", "State", "Training Job", "Why"]
        parts.append("History\n" + Table(headers=headers, rows=rows).folded(width=width, colour=colour))
    return "\n\n".join(parts)


def job_sentence(job: Job) -> str:
    """Return one line about the state of a job."""
    return strip_control_characters(sentences.job_sentence(job))


def rogue_sentence(rogue: RogueJob) -> str:
    """Return one line about a rogue training job, with the operator who requested its stop."""
    asked = f", to be stopped for {rogue.stop_asked_by}" if rogue.stop_asked_by else ""
    return strip_control_characters(f"{rogue.name} is rogue ({rogue.status}{asked}): {rogue.reason.message}")


def _state(job: Job) -> str:
    return f"{job.state} (held)" if job.held else job.state


def _live_attempt(details: JobDetails) -> Attempt | None:
    return next((each for each in details.attempts if each.name == details.job.live_attempt), None)


def _checkpoint_time(details: JobDetails) -> str | None:
    live = _live_attempt(details)
    return None if live is None else live.checkpoint_time


def _time_spent(details: JobDetails) -> tuple[str, str]:
    """Return for how long the live attempt runs, of its limit; or the limit if there is none."""
    limit = _limit(details.job)
    live = _live_attempt(details)
    seconds = times.since(live.started_time) if live else None
    if seconds is None:
        return "Limit", limit
    return "Elapsed", in_words(seconds * 1000) + ("" if limit == NONE else f" of {limit}")


def _limit(job: Job) -> str:
    """Return for how long an attempt may train, and for how long it may hold its instances if that is longer."""
    trains_s, holds_s = job.run_limit_seconds, job.limit_seconds
    if trains_s is None:
        return NONE
    trains = in_words(trains_s * 1000)
    if holds_s is None or holds_s <= trains_s:
        return trains
    return f"{trains} (holds its instances for {in_words(holds_s * 1000)} at most)"


def _attempt_row(attempt: Attempt, *, held: bool) -> list[str]:
    return [
        str(attempt.number),
        attempt.name,
        attempt.state,
        attempt.secondary_status or attempt.status or NONE,
        *([values.demand(attempt.demand)] if held else []),
        times.relative(attempt.started_time),
        times.relative(attempt.ended_time),
        _end_of(attempt) or NONE,
    ]


def _end_of(attempt: Attempt) -> str:
    """Return why an attempt has ended: the queue's reason, and SageMaker's unless the queue's quotes it."""
    own, said = attempt.reason.message if attempt.reason else "", attempt.failure_reason or ""
    return own if said in own else f"{own} {said}".lstrip()


def _step_row(entry: HistoryEntry) -> list[str]:
    return [times.local(entry.time), entry.state, values.optional(entry.attempt_name), entry.reason.message]
