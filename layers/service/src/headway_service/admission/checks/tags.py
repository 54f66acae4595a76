"""The tags of a request: SageMaker's limits on them, and what the queue reads from them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from headway.jobpolicy.retry import MAX_RETRIES
from headway_service.admission.checks.draft import Draft
from headway_service.errors import FieldError
from headway_service.sagemaker_api.tags import (
    ATTEMPT_TAG,
    CHECKPOINT_INTERVAL_TAG,
    JOB_TAG,
    MAX_CHECKPOINT_INTERVAL_S,
    MAX_TAGS,
    OWN_PREFIX,
    PREEMPTIBLE_TAG,
    PREEMPTIONS_TAG,
    READ_TAGS,
    RETRIES_TAG,
    STOP_AT_PLAN_END_TAG,
    TEAM_TAGS,
)
from headway_service.sagemaker_api.training_request import interval_s, whole_number

_NO_OPT_OUT = "this queue lets no job opt out of preemption (preemption.optOut): remove the tag"


def errors(draft: Draft) -> Iterator[FieldError]:
    """What is wrong with the tags."""
    tags = draft.request.listed_tags
    if len(tags) > MAX_TAGS:
        message = f"has {len(tags)} entries; the queue adds 2 to SageMaker's 50, so use at most {MAX_TAGS}"
        yield FieldError(field="Tags", message=message)
    keys = [key for _, key, _ in tags]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield FieldError(field="Tags", message=f"holds the key {key!r} twice; SageMaker takes a key once")
    for i, key in enumerate(keys):
        if key in {JOB_TAG, ATTEMPT_TAG}:
            yield FieldError(field=f"Tags[{i}].Key", message=f"is {key!r}, which the queue sets itself: remove it")
        if key.lower().startswith("aws:"):
            yield FieldError(field=f"Tags[{i}].Key", message=f"is {key!r}; keys that begin with 'aws:' are AWS's own")
    yield from _unread_errors(draft)
    yield from _priority_errors(draft)
    yield from _preemptible_errors(draft)
    yield from _max_preemptions_errors(draft)
    yield from _max_retries_errors(draft)
    yield from _plan_end_errors(draft)
    yield from _interval_errors(draft)


def _unread_errors(draft: Draft) -> Iterator[FieldError]:
    """Tags that look like those that the queue reads: it would not see a misspelt one, and do what nobody asked for."""
    if draft.priority is not None:
        # A job of an earlier release may have such a tag, and stays as it is.
        return
    read = [tag for tag in READ_TAGS if draft.configuration.teams or tag not in TEAM_TAGS]
    for i, key, _ in draft.request.listed_tags:
        lowered = key.lower()
        is_own = lowered.startswith(OWN_PREFIX) and lowered not in TEAM_TAGS
        if key in {*READ_TAGS, JOB_TAG, ATTEMPT_TAG} or not (is_own or lowered in read):
            continue
        (nearest,) = get_close_matches(lowered, read, n=1, cutoff=0.0)
        message = f"is {key!r:.60}, which the queue does not read: did you mean {nearest!r}?"
        yield FieldError(field=f"Tags[{i}].Key", message=message)


def _priority_errors(draft: Draft) -> Iterator[FieldError]:
    found = draft.request.priorities
    most = draft.configuration.max_priority(draft.team)
    of_team = f" for the team {draft.team}" if most < draft.configuration.priority.maximum else ""
    if draft.priority is not None:
        # The tags keep the priority of the submission, which nobody can change.
        if draft.priority > most:
            now = f"of the job is {draft.priority}, and the highest{of_team} is {most}"
            message = f"{now}: lower it first, then change the job"
            yield FieldError(field="priority", message=message)
        return
    for i, value in found:
        if not (value.isascii() and value.isdecimal() and int(value) <= most):
            message = f"is {value!r:.40}; a priority is a whole number from 0 to {most}{of_team}, higher goes first"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
    if len({value for _, value in found}) > 1:
        yield FieldError(
            field="Tags", message="gives two different priorities: keep one of 'priority', 'headway:priority'"
        )


def _preemptible_errors(draft: Draft) -> Iterator[FieldError]:
    for i, value in draft.request.tagged((PREEMPTIBLE_TAG,)):
        if value not in {"true", "false"}:
            message = f"is {value!r:.40}; {PREEMPTIBLE_TAG} is 'true' or 'false'"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
        elif value == "false" and not draft.configuration.preemption.opt_out:
            message = f"is {value!r}, but {_NO_OPT_OUT}"
            yield FieldError(field=f"Tags[{i}].Value", message=message)


def _max_preemptions_errors(draft: Draft) -> Iterator[FieldError]:
    rules = draft.configuration.preemption
    for i, value in draft.request.tagged((PREEMPTIONS_TAG,)):
        count = whole_number(value, rules.max_per_job)
        if count is None:
            message = f"is {value!r:.40}; it is a whole number from 0 to {rules.max_per_job} (preemption.maxPerJob)"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
        elif count < rules.max_per_job and not rules.opt_out:
            message = f"is {value!r}, but {_NO_OPT_OUT}"
            yield FieldError(field=f"Tags[{i}].Value", message=message)


def _max_retries_errors(draft: Draft) -> Iterator[FieldError]:
    for i, value in draft.request.tagged((RETRIES_TAG,)):
        if whole_number(value, MAX_RETRIES) is None:
            message = f"is {value!r:.40}; it is a whole number from 0 to {MAX_RETRIES}"
            yield FieldError(field=f"Tags[{i}].Value", message=message)


def _plan_end_errors(draft: Draft) -> Iterator[FieldError]:
    for i, value in draft.request.tagged((STOP_AT_PLAN_END_TAG,)):
        if value not in {"true", "false"}:
            message = f"is {value!r:.40}; {STOP_AT_PLAN_END_TAG} is 'true' or 'false'"
            yield FieldError(field=f"Tags[{i}].Value", message=message)


def _interval_errors(draft: Draft) -> Iterator[FieldError]:
    for i, value in draft.request.tagged((CHECKPOINT_INTERVAL_TAG,)):
        if interval_s(value) is None:
            message = f"is {value!r:.40}; it is a number of seconds, from 1 to {MAX_CHECKPOINT_INTERVAL_S}"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
        elif "CheckpointConfig" not in draft.raw:
            message = f"is {CHECKPOINT_INTERVAL_TAG!r}, which needs a CheckpointConfig: add one, or remove the tag"
            yield FieldError(field=f"Tags[{i}].Key", message=message)
