"""The report of a run, and of the jobs that violated an invariant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from tabulate import tabulate

from headway_sandbox.local.sandbox import Sandbox
from headway_verification.chaos.raw_state import RawState, job_of
from headway_verification.chaos.run import Outcome

MAX_SHOWN = 10
"""The number of jobs whose history is shown."""

LOG_CHARS = 4000
"""The characters of the server's log that are shown."""


def summary(outcome: Outcome) -> str:
    """Return a summary of a run."""
    parts = [
        f"{len(outcome.observed.jobs)} jobs: {_listed(outcome.observed.states)}",
        f"{len(outcome.observed.training_jobs)} training jobs, {len(outcome.people.accepted)} names accepted",
        f"jobs when the sandbox was restarted: {_listed(outcome.at_restart) or 'not restarted'}",
        _table(outcome.people.asked, "people"),
        _table(outcome.faults.counted, "fault"),
        f"idle after the last fault while a waiting job fitted, at most: {_idle(outcome.idle_s)}",
        f"{outcome.observations} observations of the table and SageMaker, in {outcome.took_s:.0f} s",
    ]
    if outcome.people.unanswered:
        parts.append(f"not answered: {', '.join(outcome.people.unanswered)}")
    broken = [f"✗ {violation.sentence}" for violation in outcome.violations]
    return "\n\n".join([*parts, "\n".join(broken) or "✓ no job lost or duplicated"])


def evidence(outcome: Outcome, sandbox: Sandbox) -> Iterator[str]:
    """Return the history of the jobs that violated an invariant, and the end of the server's log.

    Args:
        outcome: the outcome of the run.
    """
    names = dict.fromkeys(violation.job for violation in outcome.violations if violation.job)
    for name in islice(names, MAX_SHOWN):
        yield f"\n{name}"
        yield from _history(outcome.observed, name)
        yield from _log_lines(sandbox, name)
    for log in sorted(sandbox.state_dir.glob("server*.log")):
        yield f"\n{log.name} ends with\n{log.read_text(errors='replace')[-LOG_CHARS:]}"


def _history(observed: RawState, name: str) -> Iterator[str]:
    for step in observed.jobs.get(name, {}).get("history", []):
        yield f"  {step['timeMs']} {step['jobState']} {step.get('attemptName', '')} {step['reason']['message']}"
    for job in observed.training_jobs:
        if job_of(job) == name:
            times = f"{job['CreationTime']:.3f} to {job['LastModifiedTime']:.3f}"
            yield f"  SageMaker: {job['TrainingJobName']} {job['SecondaryStatus']}, {times}"


def _log_lines(sandbox: Sandbox, name: str) -> Iterator[str]:
    logs = sandbox.client("logs")
    for group in logs.describe_log_groups()["logGroups"]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        for event in (event for page in pages for event in page["events"]):
            if name in event["message"]:
                yield f"  {event['message'].rstrip()}"


def _table(counted: Counter[str], title: str) -> str:
    return tabulate(sorted((+counted).items()), headers=[title, "count"])


def _idle(longest_s: Counter[str]) -> str:
    return ", ".join(f"{pool} {seconds} s" for pool, seconds in sorted(longest_s.items())) or "never"


def _listed(counted: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counted.most_common())
