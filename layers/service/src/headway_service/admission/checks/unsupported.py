"""Parts of a CreateTrainingJob request that the queue does not run: SageMaker would accept them.

Without a refusal such a job would wait for days, and then fail at its launch or use capacity that no pool counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headway_service.admission.checks.draft import Draft
from headway_service.errors import FieldError

_RESOURCES: Mapping[str, str] = {
    "InstancePlacementConfig": "which does not start jobs on UltraServers: remove it",
}
_SESSION_TAGS = "it would pass on the session tags of the scheduler, not of the job's submitter: remove it"


def errors(draft: Draft) -> Iterator[FieldError]:
    """What this version of the queue does not run. Members of a wrong shape are skipped: another check refuses them."""
    resources = draft.raw.get("ResourceConfig")
    for member, why in _RESOURCES.items():
        if isinstance(resources, dict) and member in resources:
            yield _unsupported(f"ResourceConfig.{member}", why)
    chaining = draft.raw.get("SessionChainingConfig")
    if isinstance(chaining, dict) and chaining.get("EnableSessionTagChaining"):
        yield FieldError(
            field="SessionChainingConfig.EnableSessionTagChaining", message=f"is not possible: {_SESSION_TAGS}"
        )


def _unsupported(field: str, why: str) -> FieldError:
    return FieldError(field=field, message=f"is not supported by this version of the queue, {why}")
