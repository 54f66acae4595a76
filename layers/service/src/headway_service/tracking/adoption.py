"""Makes a training job that the queue has lost the live attempt of the job that waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway import reasons
from headway.lifecycle import AttemptState
from headway_service.admission.policy_view import allocation_limit_ms
from headway_service.config.document import Configuration
from headway_service.ports.table import Write
from headway_service.sagemaker_api.names import next_attempt
from headway_service.sagemaker_api.warm_pools import warm_key
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import NOBODY, AttemptRecord
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.job import JobRecord


def adoption(
    ledger: Ledger,
    configuration: Configuration,
    rogue: RogueJobRecord,
    document: Mapping[str, Any],
    job: JobRecord,
    mark: str,
    now_ms: int,
    machine_ms: int,
) -> list[Write] | None:
    """The writes that adopt a training job; None while its team is at its limit, or its instances are not known.

    The attempt has the instances and the limit of the training job. The request of the job may ask for others: it may
    have been changed after the state that the table was restored to, and before the training job was launched.

    Args:
        ledger: as read now.
        configuration: the configuration in force.
        rogue: the training job, as it is charged.
        document: the response of DescribeTrainingJob for it.
        job: the job that waits for exactly this attempt.
        mark: of the attempt.
        now_ms: the training time, ms.
    """
    if not rogue.demand:
        # An earlier version launched it with InstancePreferences, and SageMaker has not selected one of them yet.
        return None
    # It shows on which of its alternatives the job was launched.
    job = job.in_pools(rogue.demand)
    number, name = next_attempt(job.job_name, after=job.attempt_count)
    attempt = AttemptRecord.next_of(
        job,
        attempt_name=name,
        number=number,
        attempt_state=AttemptState.LIVE,
        mark=mark,
        since_ms=rogue.created_ms,
        lease_holder=NOBODY,
        lease_until_ms=0,
        seen_ms=machine_ms,
    )
    attempt = attempt.model_copy(
        update={
            "demand": rogue.demand,
            "limit_ms": allocation_limit_ms(document, configuration, pending_s=attempt.pending_limit_s),
            "warm_key": warm_key(document) if job.warm_key else "",
        }
    )
    limited = None
    if configuration.policy().team(job.team).limit:
        limited = _team_with_room(ledger, configuration, attempt)
        if limited is None:
            return None
    reason = reasons.adopted(attempt.attempt_name)
    reservation = ledger.reservation_of(job.job_name)
    return transitions.adopt(job, attempt, rogue, reservation, reason, now_ms, limited=limited)


def _team_with_room(ledger: Ledger, configuration: Configuration, attempt: AttemptRecord) -> TeamRecord | None:
    """The team of an attempt, if it keeps within its limit with it."""
    limit = configuration.policy().team(attempt.team).limit
    for pool, count in attempt.demand.items():
        held = sum(each.demand.get(pool, 0) for each in ledger.attempts if each.team == attempt.team)
        if held + count > limit.get(pool, held + count):
            return None
    return next((each for each in ledger.teams if each.team == attempt.team), None)
