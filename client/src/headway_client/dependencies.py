"""What a job has to wait for: the body of a submission that depends on other jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headway.dependencies import Condition
from headway_client.alternatives import DETAILS
from headway_client.errors import UsageError


def with_dependencies(body: Mapping[str, Any], after: str | Iterable[str]) -> dict[str, Any]:
    """Return what to submit for a job that enters the queue after others; the body itself if there are none.

    Args:
        body: boto3's parameters of CreateTrainingJob, or the result of
            `headway_client.alternatives.with_alternatives`.
        after: the other jobs, each as ``NAME`` if it has to complete, ``NAME:any`` if it has to end, or
            ``NAME:failed`` if it has to fail or to reach its time limit.

    Raises:
        UsageError: a condition does not exist, or a name is missing.
    """
    depends_on = [_dependency(each) for each in ([after] if isinstance(after, str) else after)]
    if not depends_on:
        return dict(body)
    item = dict(body) if DETAILS in body else {DETAILS: dict(body)}
    return {**item, "dependsOn": depends_on}


def _dependency(text: str) -> dict[str, str]:
    name, colon, condition = text.partition(":")
    known = [str(each) for each in Condition]
    if not name or (colon and condition not in known):
        raise UsageError(
            f"{text!r} is not a job to wait for; write NAME, or NAME:CONDITION with one of {', '.join(known)}."
        )
    return {"job": name, "condition": condition or str(Condition.OK)}
