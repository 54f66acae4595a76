"""What is written before an action is carried out: its intent, from the action and from what was read.

It calls nothing, but that the first mark of a process reads the key of the marks. A crash after the write leaves an
intent that the next tick finds, so recovery needs no path of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from headway.lifecycle import AttemptState
from headway.plan import Action, Preempt, Release, ReleaseWarm, Start, StartWarm, StopForSize
from headway.policy import Policy
from headway.scheduling.limits import limited_pools
from headway.scheduling.lost_work.lost import work_lost_ms
from headway_service.errors import Conflict
from headway_service.invocation import Invocation
from headway_service.launching.decision import Decision
from headway_service.observability import metrics
from headway_service.observability.metrics import MetricValue
from headway_service.ports.table import Item, Write
from headway_service.sagemaker_api.names import next_attempt
from headway_service.store import transitions
from headway_service.store.ledger import Entries
from headway_service.store.marks import Marks
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.job import JobRecord

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """What one action changes.

    Attributes:
        writes: the writes of one transaction; none if there is nothing to change.
        attempt: the attempt to launch or to stop now; None if there is none.
        figures: what is published when it is carried out: of a start, once SageMaker has accepted it.
    """

    writes: list[Write]
    attempt: AttemptRecord | None = None
    figures: tuple[MetricValue, ...] = ()


class Intents:
    """Makes the intents of one invocation.

    Args:
        marks: makes the marks of attempts.
        invocation: this invocation, which holds the leases of the launches that it intends.
        policy: the policy in force.
        has_rules: whether the configuration has rules on jobs, which each new attempt is checked against.
    """

    def __init__(
        self,
        *,
        marks: Marks,
        invocation: Invocation,
        policy: Policy,
        has_rules: bool,
    ) -> None:
        self._marks = marks
        self._invocation = invocation
        self._clocks = invocation.clocks
        self._policy = policy
        self._limited_pools = limited_pools(policy)
        self._has_rules = has_rules

    def of(self, action: Action, item: Item | None, decision: Decision, now_ms: int) -> Intent:
        """The intent of an action.

        Args:
            item: its job as it is stored now; None if it is not.
            decision: the decision to do it.
            now_ms: the training time, ms.

        Raises:
            Conflict: what it is about is gone, or is no longer what was decided on.
            InvalidTransition: the state of the job does not allow it any more.
            UnreadableRecord: the job cannot be read, and the action needs it.
        """
        held = decision.ledger.entries_of(action.job, warm=_left_warm_by(action))
        match action:
            case Release():
                return Intent(writes=transitions.free(held.reservation) if held.reservation is not None else [])
            case StopForSize() if held.warm_pool is not None:
                return Intent(writes=transitions.release_warm_pool(held.warm_pool, now_ms))
            case StopForSize():
                shrunk = next((each for each in decision.ledger.pools if each.pool == action.pool), None)
                attempt, writes = transitions.stop_for_size(
                    JobRecord.parse(_existing(item)), _existing(held.attempt), _existing(shrunk), action, now_ms
                )
                return Intent(writes=writes, attempt=attempt)
            case ReleaseWarm():
                pool, job = _existing(held.warm_pool), None if item is None else JobRecord.parse(item)
                return Intent(
                    writes=transitions.release_warm_pool_for(
                        pool, job, action.for_job, action.freed, action.reason, now_ms
                    )
                )
            case Preempt():
                return self._preempt(action, JobRecord.parse(_existing(item)), held, decision, now_ms)
            case Start():
                return self._start(action, JobRecord.parse(_existing(item)), held, decision, now_ms)

    def _preempt(self, action: Preempt, job: JobRecord, held: Entries, decision: Decision, now_ms: int) -> Intent:
        attempt, writes = transitions.preempt(
            job,
            _existing(held.attempt),
            decision.waiting[action.for_job],
            action.freed,
            action.reason,
            now_ms,
        )
        if attempt.lacks_instances:
            return Intent(writes=writes, attempt=attempt)
        lost_ms = work_lost_ms(attempt.allocation(), now_ms, self._policy)
        return Intent(writes=writes, attempt=attempt, figures=(metrics.WORK_LOST.of(lost_ms / 1000),))

    def _start(self, action: Start, job: JobRecord, held: Entries, decision: Decision, now_ms: int) -> Intent:
        ledger = decision.ledger
        calendars = ledger.calendars_of(action.demand)
        pauses = ledger.pauses_counted(action.demand, self._clocks.machine_ms())
        limited = self._limited(job, ledger.teams)
        warm = _existing(held.warm_pool) if isinstance(action, StartWarm) else None
        taken = {each.attempt_name for each in ledger.attempts}
        number, name = next_attempt(job.job_name, after=job.attempt_count, taken=taken)
        attempt = AttemptRecord.next_of(
            job.in_pools(action.demand),
            attempt_name=name,
            number=number,
            attempt_state=AttemptState.LAUNCHING,
            mark=self._marks.of(job.job_name, name, job.accepted_time),
            ruled=not self._has_rules,
            on_leftovers=action.on_leftovers,
            opportunistic=action.opportunistic,
            beyond_budget=action.beyond_budget,
            since_ms=now_ms,
            lease_holder=self._invocation.holder,
            lease_until_ms=self._invocation.lease_until_ms,
            seen_ms=self._clocks.machine_ms(),
        )
        decision.require_start(attempt, action, calendars, now_ms)
        writes = transitions.start(
            job,
            attempt,
            held.reservation,
            action.reason,
            now_ms,
            limited=limited,
            calendars=calendars,
            counts=[ledger.start_count_of(pool) for pool in sorted(action.demand) if pool in self._limited_pools],
            warm=warm,
            pauses=pauses,
        )
        figures = metrics.time_to_start(job.on(attempt.alternative), now_ms)
        return Intent(writes=writes, attempt=attempt, figures=tuple(figures))

    def _limited(self, job: JobRecord, teams: tuple[TeamRecord, ...]) -> TeamRecord | None:
        """The team of a job if it has a limit: its other starts are counted."""
        if not self._policy.team(job.team).limit:
            return None
        return _existing(next((each for each in teams if each.team == job.team), None))


def _left_warm_by(action: Action) -> str:
    """The attempt whose warm pool an action may be about; empty if there can be none."""
    match action:
        case StartWarm():
            return action.warm
        case StopForSize() | ReleaseWarm():
            return action.attempt
        case _:
            return ""


def _existing(found: _T | None) -> _T:
    """What a decision has seen.

    Raises:
        Conflict: it is gone.
    """
    if found is None:
        raise Conflict.stale()
    return found
