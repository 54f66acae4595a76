"""Whether an equal job may answer a submission: the body that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_client.alternatives import DETAILS
from headway_client.errors import UsageError


def with_reuse(body: Mapping[str, Any], *, reuse: bool = True, unpinned: bool = False) -> dict[str, Any]:
    """Return what to submit for a job that gets the outputs of an equal one, if there is one; else the body itself.

    Args:
        body: boto3's parameters of CreateTrainingJob, or the result of
            `headway_client.alternatives.with_alternatives` or `headway_client.dependencies.with_dependencies`.
        reuse: whether the outputs of an equal job may be used.
        unpinned: whether an image without a digest (``@sha256:``) counts as the same.

    Raises:
        UsageError: an unpinned image is to count, and no outputs are to be used.
    """
    if not reuse:
        if unpinned:
            raise UsageError("That an image without a digest counts as the same is for jobs with reuse; add reuse.")
        return dict(body)
    item = dict(body) if DETAILS in body else {DETAILS: dict(body)}
    return {**item, "reuse": True, **({"reuseUnpinned": True} if unpinned else {})}
