"""Makes a training job that the queue has lost the live attempt of the job that waits for it."""

from __future__ import annotations

from headway import reasons
from headway.lifecycle import AttemptState
from headway.policy import Policy
from headway_service.ports.table import Write
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import NOBODY, AttemptRecord
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.capacity.unmanaged_job import UnmanagedJobRecord
from headway_service.store.records.job import JobRecord


def adoption(
    ledger: Ledger, policy: Policy, rogue: UnmanagedJobRecord, job: JobRecord, mark: str, now_ms: int, machine_ms: int
) -> list[Write] | None:
    """The writes that adopt a training job; None while its team is at its limit.

    Args:
        ledger: as read now.
        policy: the policy in force.
        rogue: the training job, as it is charged.
        job: the job that waits for exactly this attempt.
        mark: of the attempt.
        now_ms: the training time, ms.
        machine_ms: the machine time, ms.
    """
    # It shows on which of its alternatives the job was launched.
    job = job.in_pools(rogue.demand)
    limited = None
    if policy.team(job.team).limit:
        limited = _team_with_room(ledger, policy, job)
        if limited is None:
            return None
    attempt = AttemptRecord.next_of(
        job,
        attempt_state=AttemptState.LIVE,
        mark=mark,
        since_ms=rogue.created_ms,
        lease_holder=NOBODY,
        lease_until_ms=0,
        seen_ms=machine_ms,
    )
    if job.one_of and (selected := rogue.demand.keys() & job.demand.keys()):
        attempt = attempt.in_pool(min(selected))
    reason = reasons.adopted(attempt.attempt_name)
    reservation = ledger.reservation_of(job.job_name)
    return transitions.adopt(job, attempt, rogue, reservation, reason, now_ms, limited=limited)


def _team_with_room(ledger: Ledger, policy: Policy, job: JobRecord) -> TeamRecord | None:
    """The team of a job, if the job keeps within its limit."""
    limit = policy.team(job.team).limit
    for pool, count in job.demand.items():
        held = sum(each.demand.get(pool, 0) for each in ledger.attempts if each.team == job.team)
        if held + count > limit.get(pool, held + count):
            return None
    return next((each for each in ledger.teams if each.team == job.team), None)
