"""The names of the tags that the queue reads from requests and puts on training jobs."""

from __future__ import annotations

PRIORITY_TAGS = ("priority", "headway:priority")
"""Tags that carry the priority. The first is the founding article's; the second names its owner."""

TEAM_TAGS = ("team", "headway:team")
"""Tags that name the team. They are read only if teams are configured."""

PREEMPTIBLE_TAG = "headway:preemptible"
"""Tag of whether the job may be preempted: ``true`` or ``false``."""

STOP_AT_PLAN_END_TAG = "headway:stop-at-plan-end"
"""Tag of whether the job may start in a training plan although it may have to be stopped at its end: ``true`` or
``false``. A job that writes checkpoints may without it."""

CHECKPOINT_INTERVAL_TAG = "headway:checkpoint-interval-s"
"""Tag of how often the job writes a checkpoint, in whole seconds."""

PREEMPTIONS_TAG = "headway:max-preemptions"
"""Tag of how often the job may be preempted, if that is less often than the policy says."""

RETRIES_TAG = "headway:max-retries"
"""Tag of how often the job is retried after failures of one kind, if that is less often than the policy says."""

NOT_BEFORE_TAG = "headway:not-before"
"""Tag of the time at which the job enters the queue, such as ``2026-12-01T08:00Z``."""

START_BY_TAG = "headway:start-by"
"""Tag of the time by which the job has to have started."""

READ_TAGS = (
    *PRIORITY_TAGS,
    *TEAM_TAGS,
    PREEMPTIBLE_TAG,
    PREEMPTIONS_TAG,
    RETRIES_TAG,
    STOP_AT_PLAN_END_TAG,
    CHECKPOINT_INTERVAL_TAG,
    NOT_BEFORE_TAG,
    START_BY_TAG,
)
"""All tags that the queue reads from a request."""

OWN_PREFIX = "headway:"
"""What begins so, in whichever case, is a tag of the queue, or is mistaken for one."""

MAX_CHECKPOINT_INTERVAL_S = 30 * 86_400
"""The longest interval between checkpoints, s. No training job runs longer (API reference, StoppingCondition)."""

JOB_TAG = "headway:job"
"""Tag on every training job that the queue launches: the name of the job."""

ATTEMPT_TAG = "headway:attempt"
"""Tag on every training job that the queue launches: the attempt's random mark."""

MAX_TAGS = 48
"""SageMaker allows 50 tags on a training job. The queue adds two."""
