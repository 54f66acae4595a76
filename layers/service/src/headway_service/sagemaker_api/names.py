"""The names of attempts: deterministic, so that launching twice is seen, and unique within SageMaker's rules."""

from __future__ import annotations

from collections.abc import Collection

from headway.attempt_digest import digest_of
from headway.sweeps import parse_member
from headway_service.validation_messages import explained

MAX_NAME_CHARS = 63
"""TrainingJobName's maximum (service model of CreateTrainingJob)."""

NAME_PATTERN = explained(
    r"^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$",
    "a name of up to 63 letters, digits and hyphens, with a letter or a digit at both ends",
)
"""TrainingJobName's pattern (service model of CreateTrainingJob)."""


JOB_NAME_PATTERN = explained(
    r"^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}(_[0-9]{1,4})?$",
    "the name of a job, or that of an array with an underscore and the index of a member",
)
"""The names of jobs: those that SageMaker takes, and those of members of arrays."""

MAX_JOB_NAME_CHARS = MAX_NAME_CHARS + len("_9999")
"""The longest name of a job."""


def attempt_name(job: str, number: int) -> str:
    """The name of a job's n-th attempt.

    The first has the job's own name, so that it is found in SageMaker as before. A later one carries a suffix
    ``-<hash of the job's name>-<n>``, as does each one of a member of an array, whose name SageMaker does not take.
    Generated names are often as long as allowed and end in a timestamp; a name that would get too long loses its
    beginning, which is the least distinctive part, and the hash keeps it unique.

    Args:
        job: the name of the job.
        number: the number of the attempt, from 1.
    """
    is_member = parse_member(job) is not None
    if number == 1 and not is_member:
        return job
    suffix = f"-{digest_of(job)}-{number}"
    kept = job.replace("_", "-") if is_member else job
    kept = kept if len(kept) + len(suffix) <= MAX_NAME_CHARS else kept[len(suffix) - MAX_NAME_CHARS :].lstrip("-")
    return f"{kept}{suffix}"


def next_attempt(job: str, *, after: int, taken: Collection[str] = ()) -> tuple[int, str]:
    """The number and the name of the next attempt of a job.

    Args:
        job: the name of the job.
        after: how many attempts it has had.
        taken: names that attempts of other jobs have, which may run for days.
    """
    number = after + 1
    while (name := attempt_name(job, number)) in taken:
        number += 1
    return number, name
