"""What a submission says of an array: what its members differ in, and how many run and fail."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headway.early_stopping import EarlyStopping, InvalidEarlyStopping
from headway.sweeps import MAX_MEMBERS, InvalidSweep, Problem, Sweep, member_name
from headway_service.admission.submission import Submission
from headway_service.errors import FieldError, InvalidRequest
from headway_service.sagemaker_api.sweeps import member_alternative, member_request
from headway_service.sagemaker_api.tags import START_BY_TAG
from headway_service.sagemaker_api.training_request import TrainingRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class AdmittedArray:
    """An array that may enter the queue.

    Attributes:
        sweep: what its members differ in, as JSON.
        count: how many members it has.
        at_once: how many of them may be in the queue or run at once; None for any number.
        max_failures: how many may fail before no further one starts; None for any number.
        early_stopping: when members are stopped early; None for never.
    """

    sweep: str
    count: int
    at_once: int | None
    max_failures: int | None
    early_stopping: EarlyStopping | None = None


def sweep_of(submission: Submission) -> Sweep | None:
    """The sweep of a submission; None if it is no array.

    Raises:
        InvalidRequest: it is no sweep.
    """
    if submission.sweep is None:
        return None
    try:
        return Sweep.parse(submission.sweep)
    except InvalidSweep as error:
        raise _invalid("sweep", error.problems) from None


def _invalid(member: str, problems: Iterable[Problem]) -> InvalidRequest:
    fields = [FieldError(field=f"{member}.{each.path}".rstrip("."), message=each.message) for each in problems]
    return InvalidRequest(f"{fields[0].field} {fields[0].message}", fields)


def early_stopping_of(submission: Submission) -> EarlyStopping | None:
    """The early stopping of a submission; None for none.

    Raises:
        InvalidRequest: it is none.
    """
    if submission.early_stopping is None:
        return None
    try:
        return EarlyStopping.parse(submission.early_stopping)
    except InvalidEarlyStopping as error:
        raise _invalid("earlyStopping", error.problems) from None


def array_of(submission: Submission, sweep: Sweep) -> AdmittedArray:
    """The array of a submission without errors.

    Args:
        sweep: what the members differ in.

    Raises:
        InvalidRequest: its early stopping is none.
    """
    return AdmittedArray(
        # The order of the names is part of a grid.
        sweep=json.dumps(sweep.document(), separators=(",", ":"), ensure_ascii=False),
        count=sweep.count,
        at_once=submission.at_once,
        max_failures=submission.max_failures,
        early_stopping=early_stopping_of(submission),
    )


def errors(submission: Submission) -> Iterator[FieldError]:
    """What is wrong with what comes with a sweep, or is given for a job without one."""
    for field, value, least in (("atOnce", submission.at_once, 1), ("maxFailures", submission.max_failures, 0)):
        if value is None:
            continue
        if submission.sweep is None:
            yield FieldError(field=field, message="is for arrays: add a sweep, or remove it")
        elif isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_MEMBERS:
            message = f"is {value!r:.40}; it is a whole number from {least} to {MAX_MEMBERS}"
            yield FieldError(field=field, message=message)
    if submission.sweep is not None and TrainingRequest.parse(submission.request).start_by_ms is not None:
        message = f"has {START_BY_TAG}, which is for one job: members of an array wait for their turns. Remove the tag"
        yield FieldError(field="Tags", message=message)
    yield from _early_stopping_errors(submission)


def _early_stopping_errors(submission: Submission) -> Iterator[FieldError]:
    if submission.early_stopping is None:
        return
    if submission.sweep is None:
        yield FieldError(field="earlyStopping", message="is for arrays: add a sweep, or remove it")
        return
    settings = EarlyStopping.parse(submission.early_stopping)
    # Images of SageMaker's own algorithms define their metrics themselves, so none in a request proves nothing.
    defined = _metrics_of(submission.request)
    for member, metric in (("metric", settings.metric), ("stepMetric", settings.step_metric)):
        if metric and defined and metric not in defined:
            message = f"is {metric!r:.40}; MetricDefinitions has {', '.join(sorted(defined))}"
            yield FieldError(field=f"earlyStopping.{member}", message=message)


def _metrics_of(request: Any) -> set[str]:
    """The names in the MetricDefinitions of a request, as far as it has the shape for them."""
    specification = request.get("AlgorithmSpecification") if isinstance(request, Mapping) else None
    defined = specification.get("MetricDefinitions") if isinstance(specification, Mapping) else None
    listed = defined if isinstance(defined, list) else []
    return {str(each.get("Name")) for each in listed if isinstance(each, Mapping)}


def as_member(submission: Submission, sweep: Sweep) -> Submission:
    """The submission as that of the last member, to check what all members have in common.

    Members differ in the values of their hyperparameters only, which the sweep has checked.

    Args:
        sweep: what the members differ in.
    """
    request, alternatives, index = submission.request, submission.alternatives, sweep.count - 1
    parameters = sweep.values(index)
    if not _has_shape(request):
        # Refused as what it is.
        return submission
    name = member_name(str(request.get("TrainingJobName", "")), index, sweep.count)
    if isinstance(alternatives, list) and all(map(_has_parameters, alternatives)):
        alternatives = [member_alternative(each, parameters) for each in alternatives]
    return replace(submission, request=member_request(request, parameters, name), alternatives=alternatives)


def _has_shape(request: Any) -> bool:
    """Whether the parts of a request that differ between members have the shape that they need."""
    checkpoints = request.get("CheckpointConfig") if isinstance(request, Mapping) else None
    located = checkpoints is None or (isinstance(checkpoints, Mapping) and isinstance(checkpoints.get("S3Uri"), str))
    return located and _has_parameters(request)


def _has_parameters(members: Any) -> bool:
    return isinstance(members, Mapping) and isinstance(members.get("HyperParameters", {}), Mapping | None)
