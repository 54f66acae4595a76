"""Makes the members of arrays that may be answered by equal jobs: each is compared when it would enter the queue.

So each has a transaction of its own. As many inputs are shared by all members, S3 is asked once for these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headway import reasons
from headway.reasons import Reason
from headway_service.arrays.turn import answered_result, next_member, with_answered, with_follower
from headway_service.config.authorization import Access
from headway_service.errors import UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table, Write
from headway_service.reuse.entry import ReuseEntry
from headway_service.reuse.fingerprint import KnownInputs
from headway_service.reuse.twins import Answered, Awaits, Computes
from headway_service.store import transitions
from headway_service.store.records.array import MemberResultRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.dependency import DependencyRecord, EndedJobRecord
from headway_service.store.records.job import JobRecord, StoredRequest
from headway_service.store.repository import find_stored_request, find_team

MAX_COMPARED = 100
"""Members that one tick compares with equal jobs: other jobs wait for its decision meanwhile."""


class ComparingMembers:
    """Makes members that may be answered by equal jobs, and takes them in. One for each tick.

    Args:
        reuse: has jobs answered by equal ones.
        access: the rules on callers in effect.
        clocks: training time and machine time.
        has_time: whether the invocation has time for another step.
        retention_s: how long an ended job is kept, s.
        metrics_of: gives the final metrics of an attempt, none if SageMaker gives none now.
    """

    def __init__(
        self,
        table: Table,
        reuse: ReuseEntry,
        access: Callable[[], Access],
        *,
        clocks: Clocks,
        has_time: Callable[[], bool],
        retention_s: int,
        metrics_of: Callable[[str], Mapping[str, str]],
    ) -> None:
        self._table = table
        self._reuse = reuse
        self._access = access
        self._clocks = clocks
        self._has_time = has_time
        self._retention_s = retention_s
        self._metrics_of = metrics_of
        self._left = MAX_COMPARED
        self._inputs = KnownInputs()

    def begin_round(self) -> None:
        """Forget what was read in S3: members may have ended since."""
        self._inputs = KnownInputs()

    def note_outputs(self, ended: EndedJobRecord) -> None:
        """Note the outputs of a member that has ended, for equal jobs, before its array counts it.

        Args:
            ended: the member, which had ended when the round began.
        """
        self._reuse.note_outputs(ended, self._inputs)

    def make(self, array: JobRecord, wanted: int, held: int) -> JobRecord:
        """Make members until so many are in the queue or run, or as many as one tick may compare.

        Args:
            wanted: how many of its members should be in the queue or run.
            held: how many of those that are set aside wait for no equal job.

        Returns:
            The array as it is then.

        Raises:
            Conflict: the array, or an equal job, has changed meanwhile.
            UnreadableRecord: the request of the array is missing, or cannot be read.
        """
        stored = None
        while self._may_compare():
            turn = next_member(array, wanted, self._clocks.training_ms(), held=held)
            if turn is None:
                break
            stored = stored or self._stored(array.job_name)
            array = self._make(array, turn.array, turn.made[0], stored)
        return array

    def enter(self, array: JobRecord, member: JobRecord) -> JobRecord:
        """Have a member that is set aside enter the queue, unless an equal job answers it.

        Args:
            member: the member; it waits and is not held.

        Returns:
            The array as it is then.

        Raises:
            Conflict: the array, the member, or an equal job has changed meanwhile.
        """
        if not self._may_compare():
            return array
        self._left -= 1
        now_ms = self._clocks.training_ms()
        found = self._reuse.find(member, self._stored(member.job_name), self._access(), self._inputs)
        if isinstance(found, Answered):
            reason = reasons.reused(found.reuse.job_name)
            moved, writes = transitions.answer(array, member, found.reuse, reason, now_ms, self._expires_at())
        elif isinstance(found, Awaits):
            reason = reasons.waits_for_twin(found.twin.job_name)
            moved, writes = array, transitions.follow(member, found.twin, reason, now_ms)
        else:
            moved, writes = transitions.enter_member(
                array,
                found.computing(member),
                find_team(self._table, array.team) if array.team else None,
                now_ms,
                machine_ms=self._clocks.machine_ms(),
                claim=found.claim,
                because=_because(found),
            )
        self._table.write(writes)
        return moved

    def _make(self, array: JobRecord, moved: JobRecord, member: JobRecord, stored: StoredRequest) -> JobRecord:
        self._left -= 1
        index = member.index or 0
        found = self._reuse.find(member, stored.of_member(member.job_name, index), self._access(), self._inputs)
        result, twin = None, None
        claim: Sequence[Write] = ()
        if isinstance(found, Answered):
            reason = reasons.reused(found.reuse.job_name)
            member = transitions.answered(member, found.reuse, reason, self._clocks.training_ms(), self._expires_at())
            moved = with_answered(moved, member)
            result = answered_result(array, member, self._metrics_of_job(found.source), self._expires_at())
        elif isinstance(found, Awaits):
            twin = found.twin
            depends_on = (DependencyRecord.on_twin(twin.job_name),)
            entered = {"is_set_aside": True, "depends_on": depends_on}
            member = _explained(member, reasons.entered_behind_twin(twin.job_name)).model_copy(update=entered)
            moved = with_follower(moved, member)
        else:
            because = _because(found)
            member = member if because is None else _explained(member, because)
            member, claim = found.computing(member), found.claim
        writes = transitions.make_comparing(
            array,
            moved,
            member,
            result=result,
            twin=twin,
            claim=claim,
            team=find_team(self._table, array.team) if array.team else None,
            machine_ms=self._clocks.machine_ms(),
        )
        self._table.write(writes)
        logger.info("a member was made", extra={"job": member.job_name, "state": member.job_state})
        return moved

    def _may_compare(self) -> bool:
        return self._left > 0 and self._has_time()

    def _stored(self, job: str) -> StoredRequest:
        stored = find_stored_request(self._table, job)
        if stored is None:
            raise UnreadableRecord(f"the request of `{job}` is missing")
        return stored

    def _metrics_of_job(self, source: JobRecord) -> Mapping[str, str]:
        """The final metrics of a job that has completed; those of a member may be kept beside its array only."""
        if source.metrics is not None:
            return source.metrics
        if source.member_of:
            item = self._table.get(MemberResultRecord.key(source.member_of, source.index or 0))
            if item is not None:
                return MemberResultRecord.parse(item).metrics
        return self._metrics_of(source.output_attempt)

    def _expires_at(self) -> int:
        return self._clocks.machine_ms() // 1000 + self._retention_s


def _because(found: Computes) -> Reason | None:
    """Why a member computes, if no equal job answers it although one might."""
    return reasons.not_reused(found.why) if found.why else None


def _explained(member: JobRecord, reason: Reason) -> JobRecord:
    """A new member with another reason for what it does."""
    noted = ReasonRecord.of(reason)
    step = member.history[0].model_copy(update={"reason": noted})
    return member.model_copy(update={"reason": noted, "history": (step,)})
