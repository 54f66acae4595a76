"""A reason in a few words, for the tables of jobs: what their other columns do not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.reasons.codes import ReasonCode

_JOBS = "{jobs}"

_FORMS: Mapping[str, tuple[str, str]] = {
    ReasonCode.ENTERED: ("entered the queue", f"after {_JOBS}"),
    ReasonCode.WAITS_FOR_CAPACITY: ("waits for instances", f"waits for {_JOBS}"),
    ReasonCode.WAITS_FOR_FREED: ("starts in a moment", f"starts after {_JOBS}"),
    ReasonCode.WAITS_FOR_CHECKPOINT: ("preempts soon", f"preempts {_JOBS} soon"),
    ReasonCode.WAITS_FOR_BETTER: ("waits for a better alternative", ""),
    ReasonCode.WAITS_FOR_LIMIT: ("team at its limit", f"team at its limit: {_JOBS}"),
    ReasonCode.WOULD_DELAY: ("would delay others", f"would delay {_JOBS}"),
    ReasonCode.WAITS_BEHIND: ("behind others", f"behind {_JOBS}"),
    ReasonCode.BACKS_OFF: ("launch postponed", ""),
    ReasonCode.UNLAUNCHABLE: ("AWS does not launch it", ""),
    ReasonCode.PAUSED: ("paused", ""),
    ReasonCode.WAITS_FOR_JOBS: ("after other jobs", f"after {_JOBS}"),
    ReasonCode.WAITS_FOR_TIME: ("not before its time", ""),
    ReasonCode.WAITS_FOR_ARRAY: ("waits for its turn", f"its turn in {_JOBS}"),
    ReasonCode.MEMBERS_LEFT: ("", ""),
    ReasonCode.WAITS_FOR_SIZE: ("pool too small now", ""),
    ReasonCode.EXCEEDS_POOL: ("larger than its pool", ""),
    ReasonCode.EXCEEDS_LIMIT: ("larger than its team's limit", ""),
    ReasonCode.BUDGET_SPENT: ("its budget is spent", ""),
    ReasonCode.UNKNOWN_POOL: ("its pool was removed", ""),
    ReasonCode.STARTS_NOW: ("starts in a moment", ""),
    ReasonCode.STARTED: ("", f"in the warm pool of {_JOBS}"),
    ReasonCode.PREEMPTED: ("preempted", f"preempted for {_JOBS}"),
    ReasonCode.RECLAIMED: ("reclaimed by a team", f"reclaimed for {_JOBS}"),
    ReasonCode.COMPLETED: ("", ""),
    ReasonCode.REUSED: ("outputs of an equal job", f"outputs of {_JOBS}"),
}
"""Why a job is in its state, without other jobs and with them; the second is empty where the first says it all.

Reasons that quote AWS or a person have no form: their sentence is what the reader looks for.
"""


def short_form(code: str, jobs: Sequence[str]) -> str | None:
    """Return a reason in a few words.

    Args:
        code: its code; it may be one of a later release.
        jobs: the jobs that it names.

    Returns:
        The words; empty where the job's state says it all; None if only the sentence says it.
    """
    forms = _FORMS.get(code)
    if forms is None:
        return None
    alone, with_jobs = forms
    return with_jobs.replace(_JOBS, ", ".join(jobs)) if jobs and with_jobs else alone
