"""The names of attempts: deterministic, so that launching twice is seen, and unique within SageMaker's rules."""

from __future__ import annotations

import hashlib

from headway_service.validation_messages import explained

MAX_NAME_CHARS = 63
"""TrainingJobName's maximum (service model of CreateTrainingJob)."""

NAME_PATTERN = explained(
    r"^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$",
    "a name of up to 63 letters, digits and hyphens, with a letter or a digit at both ends",
)
"""TrainingJobName's pattern (service model of CreateTrainingJob)."""


def attempt_name(job: str, number: int) -> str:
    """The name of a job's n-th attempt.

    The first has the job's own name, so that it is found in SageMaker as before. A later one
    carries a suffix ``-<hash of the job's name>-<n>``. Generated names are often as long as allowed and end in a
    timestamp; a name that would get too long loses its beginning, which is the least distinctive part, and the
    hash keeps it unique.

    Args:
        job: the name of the job.
        number: the number of the attempt, from 1.
    """
    if number == 1:
        return job
    digest = hashlib.sha256(job.encode()).hexdigest()[:8]
    suffix = f"-{digest}-{number}"
    kept = job if len(job) + len(suffix) <= MAX_NAME_CHARS else job[len(suffix) - MAX_NAME_CHARS :].lstrip("-")
    return f"{kept}{suffix}"
