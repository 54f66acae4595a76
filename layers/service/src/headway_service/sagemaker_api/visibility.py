"""What "there is no such training job" proves: nothing, until SageMaker has had time to show one.

AWS does not document how soon Describe, List and ListTags show a new training job, nor that they agree. So an answer
that a training job is missing frees no instances until :data:`VISIBLE_AFTER_S` have passed.
"""

from __future__ import annotations

VISIBLE_AFTER_S = 120
"""Time after which a training job that Describe, Stop or ListTags do not show is taken for missing."""


def is_proven(since_ms: int, now_ms: int) -> bool:
    """Whether SageMaker has had enough time since ``since_ms`` to show a training job.

    Args:
        since_ms: the time of the launch, ms.
    """
    return now_ms >= since_ms + VISIBLE_AFTER_S * 1000
