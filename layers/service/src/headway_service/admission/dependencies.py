"""The jobs that a submission depends on, as far as they can be checked without the queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headway.dependencies import Condition
from headway_service.errors import FieldError
from headway_service.sagemaker_api.names import MAX_JOB_NAME_CHARS
from headway_service.store.records.dependency import DependencyRecord

MAX_DEPENDENCIES = 20
"""The most jobs that one job may depend on: each is a write of the transaction that accepts it."""

_CONDITIONS = [str(each) for each in Condition]


def dependencies(depends_on: Any) -> tuple[DependencyRecord, ...]:
    """The dependencies of a submission without errors.

    Args:
        depends_on: ``dependsOn`` as decoded from JSON; None for none.
    """
    return tuple(
        DependencyRecord(job_name=each["job"], condition=Condition(each.get("condition", Condition.OK)))
        for each in depends_on or ()
    )


def completing(depends_on: Any) -> set[str]:
    """The jobs that have to complete before a job starts, as far as its dependencies have the right shape."""
    listed = depends_on if isinstance(depends_on, list) else ()
    return {
        each["job"]
        for each in listed
        if isinstance(each, Mapping) and isinstance(each.get("job"), str) and each.get("condition", "ok") == "ok"
    }


def errors(depends_on: Any, request: Any) -> Iterator[FieldError]:
    """What is wrong with the dependencies of a submission.

    Args:
        depends_on: ``dependsOn`` as decoded from JSON; None for none.
        request: the CreateTrainingJob request, unchecked.
    """
    if depends_on is None:
        return
    if not isinstance(depends_on, list) or not 1 <= len(depends_on) <= MAX_DEPENDENCIES:
        message = f"has to be a list of 1 to {MAX_DEPENDENCIES} objects; a job that depends on no other has none"
        yield FieldError(field="dependsOn", message=message)
        return
    own = request.get("TrainingJobName") if isinstance(request, Mapping) else None
    seen: set[str] = set()
    for i, each in enumerate(depends_on):
        field = f"dependsOn[{i}]"
        if not isinstance(each, Mapping) or not {"job"} <= each.keys() <= {"job", "condition"}:
            message = 'has to be an object with a "job" and, unless it is "ok", a "condition", and with nothing else'
            yield FieldError(field=field, message=message)
            continue
        job = each["job"]
        if not isinstance(job, str) or not job:
            yield FieldError(field=f"{field}.job", message="has to be the name of a job in the queue")
        elif len(job) > MAX_JOB_NAME_CHARS:
            # No job has such a name, and the table refuses to look for one with a key that is too long.
            message = f"has {len(job)} characters; the name of a job has at most {MAX_JOB_NAME_CHARS}"
            yield FieldError(field=f"{field}.job", message=message)
        elif job == own:
            yield FieldError(field=f"{field}.job", message="is this job itself: name another one")
        elif job in seen:
            message = f"names `{job}` again: a job may depend on another one once, so keep one condition"
            yield FieldError(field=f"{field}.job", message=message)
        else:
            seen.add(job)
        condition = each.get("condition", Condition.OK)
        if condition not in _CONDITIONS:
            message = f"is {condition!r:.40}; a condition is one of {', '.join(_CONDITIONS)}"
            yield FieldError(field=f"{field}.condition", message=message)
