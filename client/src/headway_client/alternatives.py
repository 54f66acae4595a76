"""What else a job can run on than its request says: the body of a submission with alternatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway_client.errors import UsageError

DETAILS = "jobDetails"
"""The member with the request, where a body has more than that."""


def with_alternatives(
    request: Mapping[str, Any],
    alternatives: Sequence[Mapping[str, Any]],
    *,
    wait_at_most_s: int = 0,
    portable_checkpoint: bool = False,
) -> dict[str, Any]:
    """Return what to submit for a request and its alternatives; the request itself if it has none.

    Args:
        request: boto3's parameters of CreateTrainingJob: what the job prefers.
        alternatives: for each further alternative, in the order of preference, the members of the request that it
            replaces as a whole (ResourceConfig, EnableManagedSpotTraining, StoppingCondition, HyperParameters,
            Environment); None removes a member.
        wait_at_most_s: for how long after its entry the job waits for a better alternative, s.
        portable_checkpoint: whether a checkpoint that was written on one alternative can be read on the others.

    Raises:
        UsageError: there are no alternatives to wait for, or to read a checkpoint on.
    """
    if not alternatives:
        if wait_at_most_s or portable_checkpoint:
            raise UsageError(
                "A wait for a better alternative, and a portable checkpoint, are for jobs with alternatives; give some."
            )
        return dict(request)
    body: dict[str, Any] = {DETAILS: dict(request), "alternatives": [dict(each) for each in alternatives]}
    if wait_at_most_s:
        body["waitAtMostSeconds"] = wait_at_most_s
    if portable_checkpoint:
        body["portableCheckpoint"] = True
    return body


def is_item(body: Mapping[str, Any]) -> bool:
    """Return whether a body has a request and more: alternatives, dependencies, reuse, or a sweep."""
    return DETAILS in body


def name_in(body: Mapping[str, Any]) -> str:
    """Return the name of the job that a request, or the result of `with_alternatives`, submits; empty for none."""
    request = body.get(DETAILS, body)
    return str(request.get("TrainingJobName") or "")
