"""The positions of the jobs at the front of their queues, and why they wait, from the plan of a decision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from headway import reasons
from headway.forecasting.members import with_members
from headway.forecasting.members_ahead import MembersAhead
from headway.model import Snapshot, WaitingJob
from headway.plan import Plan, Start, StartWarm, Wait
from headway.policy import Policy
from headway.reasons import Reason
from headway.scheduling.scheduler import schedule
from headway_service.arrays.to_come import ToCome
from headway_service.jobs.queue_fronts import MAX_EXPLAINED
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.listed_job import ListedJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """Where a job is in the queue, and why it waits."""

    #: None if it demands more than it can ever get, or so many are ahead of it that they are not counted.
    place: int | None
    reason: ReasonRecord
    #: How many of those ahead of it are members of arrays that are in no queue yet.
    to_come: int = 0


class ComingMembers:
    """The members of arrays that will be ahead of jobs, and are in no queue yet.

    Args:
        to_come: the arrays.
        now_ms: the training time, ms.
        policy: the policy in effect.
    """

    def __init__(self, to_come: ToCome, now_ms: int, policy: Policy) -> None:
        self._ahead = MembersAhead(to_come.arrays, now_ms, policy)
        self._is_any = bool(to_come.arrays)
        self._is_whole = to_come.is_whole

    def ahead_of(self, job: WaitingJob | ListedJob) -> Mapping[str, int]:
        """How many are ahead of a job, by array."""
        if not self._is_any:
            return {}
        return self._ahead.of(job if isinstance(job, WaitingJob) else job.waiting())

    def text(self, ahead: Mapping[str, int]) -> str:
        """Those ahead of a job, as a part of a sentence."""
        return reasons.members_to_come(ahead, is_whole=self._is_whole)

    def place(self, in_queue: int | None, ahead: Mapping[str, int]) -> int | None:
        """The position of a job; None if it is not known.

        Args:
            in_queue: that among the jobs in the queue.
            ahead: the members ahead of it.
        """
        return None if in_queue is None or not self._is_whole else in_queue + sum(ahead.values())


def explain_next(
    snapshot: Snapshot, to_come: ToCome, names: Collection[str] | None = None
) -> tuple[Plan, dict[str, Position]]:
    """The decision that the next tick would make, and by it positions and reasons at the front of the queues.

    Args:
        to_come: the arrays whose members enter the queue, before that decision and later.
        names: the jobs of interest; None for all that are in the queue now.
    """
    decided, arrays, _ = with_members(snapshot, to_come.arrays)
    members = ComingMembers(replace(to_come, arrays=arrays), snapshot.now_ms, snapshot.policy)
    waiting = [job for job in snapshot.waiting if names is None or job.name in names]
    plan = schedule(decided)
    return plan, positions_from_plan(plan, waiting, members)


def positions_from_plan(plan: Plan, waiting: Iterable[WaitingJob], members: ComingMembers) -> dict[str, Position]:
    """Positions and reasons of the jobs at the front of their queues, from the plan of a decision.

    Args:
        waiting: the jobs of interest of those that it was made for.
        members: those that are in no queue at that decision.
    """
    jobs = {job.name: job for job in waiting}
    explained: dict[str, Position] = {}
    ahead: dict[str, int] = {}
    for action in plan.actions:
        if isinstance(action, Start):
            place = 1 + max(ahead.get(pool, 0) for pool in action.demand)
            warm = action.reason.jobs[0] if isinstance(action, StartWarm) else ""
            if action.job in jobs:
                starts = reasons.starts_now(jobs[action.job], action.demand, warm=warm)
                explained[action.job] = Position(place=place, reason=ReasonRecord.of(starts))
            for pool in action.demand:
                ahead[pool] = ahead.get(pool, 0) + 1
    for wait in plan.waits:
        # Jobs further back than the part that is always read may be missing from the snapshot.
        if wait.job in jobs and (wait.ahead is None or wait.ahead < MAX_EXPLAINED):
            explained[wait.job] = _waiting(wait, members, members.ahead_of(jobs[wait.job]))
    return explained


def _waiting(wait: Wait, members: ComingMembers, ahead: Mapping[str, int]) -> Position:
    # One without a place has nobody ahead.
    in_queue, to_come = (None, {}) if wait.ahead is None else (wait.ahead + 1, ahead)
    reason = Reason(code=wait.reason.code, message=wait.sentence_with(members.text(to_come)), jobs=wait.reason.jobs)
    place = members.place(in_queue, to_come)
    return Position(place=place, reason=ReasonRecord.of(reason), to_come=sum(to_come.values()))
