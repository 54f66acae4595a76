"""Whether a request may enter the queue, and what it demands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headway.sweeps import Sweep
from headway_service.admission import arrays, dependencies, reuse
from headway_service.admission.admitted import Admitted, admitted
from headway_service.admission.checks.draft import Draft
from headway_service.admission.checks.team_access import default_team
from headway_service.admission.kept import keep
from headway_service.admission.review import review_all
from headway_service.admission.submission import Submission, as_alternatives
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration
from headway_service.errors import InvalidRequest
from headway_service.sagemaker_api import outputs
from headway_service.sagemaker_api.training_request import TrainingRequest


def admit(
    submitted: Any,
    configuration: Configuration,
    caller: Caller,
    home: str | None = None,
    *,
    left_spot: bool = False,
    priority: int | None = None,
) -> Admitted:
    """Check a CreateTrainingJob request. A refusal names each field that is wrong, for whatever reason.

    Each alternative is checked as a request of its own.

    Args:
        submitted: the request as decoded from JSON, or a :class:`Submission` with its alternatives.
        configuration: the pools and the rules in force.
        home: the team if the tags name none; None for that of the caller's jobs.
        left_spot: whether the job has moved to on-demand instances, so that their pools count.
        priority: the priority that the job has, which counts in place of that of its tags; None for a new job.

    Raises:
        InvalidRequest: it is not a request that SageMaker would take, or the queue cannot run it.
        NotAllowed: the team does not accept the caller's jobs, or they may not run with that role.
        RequestTooLarge: it is larger than :data:`headway_service.admission.kept.MAX_REQUEST_BYTES`.
        RuleViolation: it breaks rules of the configuration.
        ImpossibleDemand: the pools, or the limit of its team, could never satisfy its demand.
    """
    submission = Submission.of(submitted)
    if not isinstance(submission.request, dict):
        raise InvalidRequest("the body must be a JSON object: the parameters of CreateTrainingJob")
    sweep = arrays.sweep_of(submission)
    array = arrays.array_of(submission, sweep) if sweep is not None else None
    kept = keep(submission, array)
    sample = _sample(submission, sweep, has_templates=outputs.has_templates(kept.request))
    draft = Draft(
        request=TrainingRequest.parse(sample.request),
        configuration=configuration,
        caller=caller,
        home=default_team(caller, configuration) if home is None else home,
        left_spot=left_spot,
        priority=priority,
    )
    expanded = as_alternatives(sample)
    review_all(
        _drafts(draft, sample.further_requests()),
        beside=[
            *dependencies.errors(submission.depends_on, sample.request),
            *outputs.errors(submission.request, dependencies.completing(submission.depends_on)),
            *arrays.errors(sample),
            *reuse.errors(submission.reuse, submission.reuse_unpinned),
        ],
        after=list(expanded.errors()),
    ).require_nothing()
    # What SageMaker may choose from is reviewed as it was written, and kept as alternatives.
    first = replace(draft, request=TrainingRequest.parse(expanded.request))
    return admitted(expanded, kept, _drafts(first, expanded.further_requests()), array)


def _sample(submission: Submission, sweep: Sweep | None, *, has_templates: bool) -> Submission:
    """The submission as it is checked: with samples in place of templates, and as one member of an array."""
    if has_templates:
        submission = replace(submission, request=outputs.with_samples(submission.request))
    return arrays.as_member(submission, sweep) if sweep is not None else submission


def _drafts(first: Draft, others: Iterable[dict[str, Any]]) -> list[Draft]:
    return [first, *(replace(first, request=TrainingRequest.parse(each)) for each in others)]
