"""All that is wrong with a submission: with its request, and with what its alternatives change about that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from headway.jobpolicy.rules import violations
from headway_service.admission.checks import (
    capacity,
    resources,
    sagemaker_rules,
    tags,
    team_access,
    times,
    training_plans,
    unsupported,
    warm_pools,
)
from headway_service.admission.checks.draft import Draft
from headway_service.admission.policy_view import job_for_rules
from headway_service.errors import FieldError, ImpossibleDemand, InvalidRequest, NotAllowed, RuleViolation
from headway_service.sagemaker_api import request_schema

MAX_REPORTED_FIELDS = 25
"""The most fields of a request, and of each alternative, that a refusal names as invalid."""

CHECKS: Sequence[tuple[Sequence[str], Callable[[Draft], Iterator[FieldError]]]] = (
    (["Tags"], team_access.named_errors),
    (["Tags"], tags.errors),
    (["Tags"], times.errors),
    (["ResourceConfig"], resources.errors),
    (["ResourceConfig"], training_plans.errors),
    (["ResourceConfig"], warm_pools.errors),
    ([], unsupported.errors),
    (["EnableManagedSpotTraining", "RetryStrategy", "StoppingCondition"], sagemaker_rules.wait_errors),
    (["AlgorithmSpecification"], sagemaker_rules.algorithm_errors),
    (["InputDataConfig"], sagemaker_rules.channel_errors),
    (["DebugRuleConfigurations", "ProfilerRuleConfigurations"], sagemaker_rules.rule_errors),
    (["ProfilerConfig"], sagemaker_rules.profiler_errors),
    (["ServerlessJobConfig"], sagemaker_rules.serverless_errors),
)
"""The rules on a request, each with the members that need the shape of SageMaker's model for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """All that is wrong with a request. One that nothing is wrong with may enter."""

    #: SageMaker would not take it, or the queue cannot run it; the first :data:`MAX_REPORTED_FIELDS` of a request.
    invalid: Sequence[FieldError]
    #: What the caller may not do. Not checked if the request is invalid.
    forbidden: Sequence[FieldError]
    #: It breaks rules of the configuration.
    violations: Sequence[FieldError]
    #: Why the pools could never satisfy its demand. Not checked if the request is invalid.
    impossible: Sequence[FieldError]

    def require_nothing(self) -> None:
        """Refuse the request if anything is wrong with it.

        Raises:
            InvalidRequest, NotAllowed, RuleViolation, ImpossibleDemand: by the first kind of what is wrong. It names
                all that is wrong, of whatever kind.
        """
        fields = [*self.invalid, *self.forbidden, *self.violations, *self.impossible]
        if not fields:
            return
        first = fields[0]
        more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
        if self.invalid:
            raise InvalidRequest(f"{first.field} {first.message}{more}", fields)
        if self.forbidden:
            raise NotAllowed(f"{first.field} {first.message}{more}", fields)
        if self.violations:
            raise RuleViolation(f"{first.field} {first.message}{more}", fields)
        where = f"{first.field}: " if first.field.startswith("alternatives") else ""
        raise ImpossibleDemand(f"{where}{first.message}{more}", fields)


def review(draft: Draft) -> Review:
    """All that is wrong with one request."""
    misshapen = request_schema.check(draft.raw)
    invalid = list(misshapen)
    for members, check in CHECKS:
        if not any(error.field.startswith(member) for error in misshapen for member in members):
            invalid += check(draft)
    job = job_for_rules(draft.raw, draft.request.tags, draft.configuration, draft.home)
    broken = violations(draft.configuration.job_rules(), job)
    return Review(
        invalid=invalid[:MAX_REPORTED_FIELDS],
        forbidden=[] if invalid else list(team_access.access_errors(draft)),
        violations=[FieldError(field=each.field, message=each.message) for each in broken],
        impossible=[] if invalid else list(capacity.errors(draft)),
    )


def review_all(drafts: Sequence[Draft], beside: Sequence[FieldError], after: Sequence[FieldError]) -> Review:
    """All that is wrong with a submission.

    Args:
        drafts: its request, and the request of each further alternative.
        beside: the errors in what comes with its request; a refusal names them first.
        after: the errors in its list of alternatives; a refusal names them after those of the request.
    """
    first = review(drafts[0])
    of_request = [*beside, *first.invalid]
    invalid, forbidden = [*of_request, *after], [*first.forbidden]
    broken, impossible = [*first.violations], [*first.impossible]
    for i, each in enumerate(drafts[1:]):
        found = review(each)
        invalid += _of_alternative(i, found.invalid, of_request)
        forbidden += _of_alternative(i, found.forbidden, first.forbidden)
        broken += _of_alternative(i, found.violations, first.violations)
        impossible += _of_alternative(i, found.impossible, first.impossible)
    if not invalid:
        invalid += _shared_pools(drafts)
    return Review(invalid=invalid, forbidden=forbidden, violations=broken, impossible=impossible)


def _of_alternative(i: int, found: Sequence[FieldError], of_request: Sequence[FieldError]) -> Iterator[FieldError]:
    """The errors that an alternative has and the request itself has not."""
    for error in found:
        if error not in of_request:
            yield FieldError(field=f"alternatives[{i}].{error.field}", message=error.message)


def _shared_pools(drafts: Sequence[Draft]) -> Iterator[FieldError]:
    demands = [each.demand for each in drafts]
    for i, demand in enumerate(demands):
        for earlier in range(i):
            for pool in sorted(demand.keys() & demands[earlier].keys()):
                other = f"alternatives[{earlier - 1}]" if earlier else "the request itself"
                message = f"needs the pool {pool}, as {other} does: each alternative needs pools of its own"
                yield FieldError(field=f"alternatives[{i - 1}]", message=message)
