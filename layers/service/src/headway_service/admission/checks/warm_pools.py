"""Which requests may keep their instances warm (KeepAlivePeriodInSeconds)."""

from __future__ import annotations

from collections.abc import Iterator

from headway_service.admission.checks.draft import Draft
from headway_service.config.document import Configuration
from headway_service.config.warm_pools import KeptWarmPools, WarmPools
from headway_service.errors import FieldError
from headway_service.sagemaker_api.training_request import TrainingRequest
from headway_service.sagemaker_api.warm_pools import warm_key

_FIELD = "ResourceConfig.KeepAlivePeriodInSeconds"


def errors(draft: Draft) -> Iterator[FieldError]:
    """Why the instances of a request may not be kept, if it asks for that."""
    request, configuration = draft.request, draft.configuration
    if not request.warm_pool or "InstanceGroups" in draft.raw["ResourceConfig"]:
        return
    kept = configuration.kept_warm_pools
    if configuration.warm_pools is WarmPools.REFUSE:
        message = "asks for a warm pool, which would hold instances that others wait for (warmPools): remove it"
        yield FieldError(field=_FIELD, message=message)
    elif kept is not None:
        yield from (FieldError(field=_FIELD, message=message) for message in _beyond(request, draft.team, kept))


def _beyond(request: TrainingRequest, team: str, kept: KeptWarmPools) -> Iterator[str]:
    seconds = request.keep_alive_s
    if seconds > kept.max_seconds:
        yield f"is {seconds}; this queue keeps warm pools for at most {kept.max_seconds} s (warmPools.maxSeconds)"
    if kept.teams is not None and team not in kept.teams:
        whose = f"of the team {team}" if team else "without a team"
        yield f"asks for a warm pool, which jobs {whose} may not keep (warmPools.teams): remove it"
    if request.spot:
        yield "asks for a warm pool, which SageMaker keeps of no spot instances: remove it"
    elif not warm_key(request.raw):
        yield "asks for a warm pool, which is kept of one instance type without a plan only: remove it"


def key(request: TrainingRequest, configuration: Configuration) -> str:
    """What SageMaker matches a request and warm pools by; empty if the queue keeps none.

    Also a request that keeps nothing is launched in a warm pool that it matches.

    Args:
        configuration: the configuration in force.
    """
    return warm_key(request.raw) if configuration.kept_warm_pools is not None else ""
