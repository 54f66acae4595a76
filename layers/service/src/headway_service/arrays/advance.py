"""Advances the arrays that are not over: one step after the other, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from headway import reasons
from headway.dependencies import Ending
from headway.errors import InvalidTransition
from headway.lifecycle import ACTIVE, TERMINAL, WAITING
from headway.reasons import Reason
from headway.sweeps import member_name
from headway_service.arrays.comparing import ComparingMembers
from headway_service.arrays.room import largest_sizes, wanted_members
from headway_service.arrays.turn import is_over, may_take_in, next_turn, stops
from headway_service.config.authorization import Access
from headway_service.errors import Conflict
from headway_service.observability.logging import logger
from headway_service.ports.table import Table, Write
from headway_service.reuse.entry import ReuseEntry
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.array import ArrayRecord, MembersRecord, OpenArrayRecord
from headway_service.store.records.capacity.attempt import StopCause
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job, find_jobs, find_live_attempt, find_reservation, find_team

MAX_SET_ASIDE_READS = 1000
"""Members that are set aside of which one step reads at most whether they may enter the queue. If there are more, the
second half are others in each minute, so that members that may not do not hide the rest."""

_READ_TOGETHER = 100


class ArrayAdvancer:
    """Advances arrays.

    Args:
        table: the table.
        clock: the training time, ms.
        machine_clock: the machine time, ms.
        has_time: whether the invocation has time for another step.
        retention_s: how long an ended job is kept, s.
        reserved_heads: how many blocked jobs of a queue get a reserved start.
        metrics_of: gives the final metrics of an attempt, none if SageMaker gives none now.
        reuse: has members answered by equal jobs.
        access: the rules on callers in effect.
        note_failed: notes the name of an array that cannot be advanced.
    """

    def __init__(
        self,
        table: Table,
        *,
        clock: Callable[[], int],
        machine_clock: Callable[[], int],
        has_time: Callable[[], bool],
        retention_s: int,
        reserved_heads: int,
        metrics_of: Callable[[str], Mapping[str, str]],
        reuse: ReuseEntry,
        access: Callable[[], Access],
        note_failed: Callable[[str], None],
    ) -> None:
        self._table = table
        self._clock = clock
        self._machine_clock = machine_clock
        self._has_time = has_time
        self._retention_s = retention_s
        self._reserved_heads = reserved_heads
        self._metrics_of = metrics_of
        self._note_failed = note_failed
        self._comparing = ComparingMembers(
            table,
            reuse,
            access,
            clock=clock,
            machine_clock=machine_clock,
            has_time=has_time,
            retention_s=retention_s,
            metrics_of=metrics_of,
        )

    def advance(self, ledger: Ledger) -> bool:
        """Advance all arrays of the ledger as far as there is time.

        Args:
            ledger: the ledger, with the members that have ended.

        Returns:
            Whether anything has changed, so that the ledger has to be read again.
        """
        changed, sizes = False, largest_sizes(ledger)
        self._comparing.begin_round()
        known = {each.job_name for each in ledger.arrays}
        for ended in ledger.ended:
            if ended.member_of and ended.member_of not in known:
                # Another tick has counted it, and closed the array, since this one was written again.
                self._table.write([ended.forget()])
        for each in ledger.arrays:
            try:
                changed |= self._advance(each, ledger, sizes)
            except Conflict:
                # Somebody changed the array or a member meanwhile; the next round reads them again.
                logger.info("an array changed while it was advanced", extra={"job": each.job_name})
                changed = True
            except InvalidTransition:
                # No other job may wait for this array.
                self._note_failed(each.job_name)
                logger.exception("an array is not advanced", extra={"job": each.job_name})
        return changed

    def _advance(self, open_array: OpenArrayRecord, ledger: Ledger, sizes: Mapping[str, int]) -> bool:
        array = find_job(self._table, open_array.job_name)
        if array is None or is_over(array):
            self._table.write([open_array.close()])
            return False
        # Jobs that depend on a member are notified first, which leaves its record without them.
        ended = [each for each in ledger.ended if each.member_of == array.job_name and not each.dependants]
        if array.reuse is not None:
            ended = self._comparing.settle(ended)
        ended = [self._with_metrics(each) for each in ended]
        wanted = wanted_members(array, sizes, self._reserved_heads)
        version, follows = array.version, 0
        if array.members is not None and array.members.set_aside:
            # These come before members that are not made, in the places of those that have ended.
            array, ended = self._take_turns(array, ended, wanted=0), []
            for member in self._to_take_in(array, wanted):
                if self._has_time():
                    array = self._take_in(array, member)
        if array.reuse is not None:
            array = self._comparing.make(self._take_turns(array, ended, wanted=0), wanted)
            # All that are left may have been answered: then the array ends.
            ended, wanted = [], 0
        array = self._take_turns(array, ended, wanted)
        if stops(array) or (array.array is not None and array.array.is_closed):
            follows = self._stop_members(array)
        else:
            if array.held:
                array = self._set_aside(array)
            if array.members is not None and array.members.is_reprioritized:
                array = self._pass_on_priority(array)
        return array.version != version or follows > 0

    def _take_turns(self, array: JobRecord, ended: Sequence[EndedJobRecord], wanted: int) -> JobRecord:
        """Count members that have ended, and make further ones, until so many are in the queue or run."""
        while self._has_time():
            now_ms, machine_ms = self._clock(), self._machine_clock()
            expires_at = machine_ms // 1000 + self._retention_s
            turn = next_turn(array, ended, wanted, now_ms, expires_at=expires_at)
            if turn is None:
                break
            team = find_team(self._table, array.team) if array.team and turn.made else None
            writes = transitions.advance(
                array,
                turn.array,
                ended=turn.ended,
                results=turn.results,
                made=turn.made,
                team=team,
                machine_ms=machine_ms,
            )
            self._table.write(writes)
            counts = {"made": len(turn.made), "ended": len(turn.ended)}
            logger.info("an array advanced", extra={"job": array.job_name, "state": turn.array.job_state, **counts})
            ended, array = ended[len(turn.ended) :], turn.array
        return array

    def _with_metrics(self, ended: EndedJobRecord) -> EndedJobRecord:
        """A member that has ended, with its final metrics, if these can be known now."""
        if ended.ending is not Ending.COMPLETED or ended.metrics is not None or ended.attempt_name is None:
            return ended
        return ended.model_copy(update={"metrics": self._metrics_of(ended.attempt_name)})

    def _to_take_in(self, array: JobRecord, wanted: int) -> list[JobRecord]:
        """The members that were set aside and enter the queue now, in rank order."""
        members = array.members or MembersRecord()
        room = wanted - members.active
        if room <= 0 or not may_take_in(array):
            return []
        count = array.array.count if array.array is not None else 0
        part = _part_of(members.set_aside, self._machine_clock())
        names = [member_name(array.job_name, index, count) for index in part]
        free: list[JobRecord] = []
        # Those that are held must not hide the others.
        while names and len(free) < room:
            some, names = names[:_READ_TOGETHER], names[_READ_TOGETHER:]
            free += filter(_may_enter, find_jobs(self._table, some).values())
        return sorted(free, key=JobRecord.rank)[:room]

    def _take_in(self, array: JobRecord, member: JobRecord) -> JobRecord:
        # One that has had an attempt computes by itself.
        if member.reuse is not None and not member.reuse.key and not member.attempt_count:
            return self._comparing.take_in(array, member)
        team = find_team(self._table, array.team) if array.team else None
        moved, writes = transitions.take_in(array, member, team, self._clock(), machine_ms=self._machine_clock())
        self._table.write(writes)
        return moved

    def _stop_members(self, array: JobRecord) -> int:
        """Stop the members of an array that stops, or those that wait if too many have failed. Returns how many."""
        reason, stopped = self._why_stopped(array), 0
        for member in self._live(array):
            if writes := self._stop(member, reason, only_waiting=not stops(array)):
                self._table.write(writes)
                stopped += 1
        return stopped

    def _set_aside(self, array: JobRecord) -> JobRecord:
        """Take the members of a held array out of the queue."""
        reason = reasons.set_aside(array.job_name)
        for member in self._live(array):
            if member.is_queued:
                reservation = find_reservation(self._table, member.job_name)
                array, _, writes = transitions.set_aside(array, member, reservation, reason, self._clock())
                self._table.write(writes)
        return array

    def _pass_on_priority(self, array: JobRecord) -> JobRecord:
        """Give the members the priority of the array."""
        for member in self._live(array):
            if member.priority != array.priority:
                self._table.write(self._reprioritize(array, member))
        if not self._has_time():
            return array
        array, writes = transitions.settle_priorities(array)
        self._table.write(writes)
        return array

    def _live(self, array: JobRecord) -> Iterator[JobRecord]:
        """The members that have been made and have not ended, as long as there is time."""
        for index in (array.members or MembersRecord()).live:
            if not self._has_time():
                return
            member = self._member(array, index)
            if member is not None and member.job_state not in TERMINAL:
                yield member

    def _member(self, array: JobRecord, index: int) -> JobRecord | None:
        count = array.array.count if array.array is not None else 0
        return find_job(self._table, member_name(array.job_name, index, count))

    def _why_stopped(self, array: JobRecord) -> Reason:
        numbers = array.array or ArrayRecord(count=0)
        if stops(array):
            return reasons.stopped_with_array(array.job_name, array.reason.message)
        why = reasons.too_many_failures(numbers.failed, numbers.max_failures or 0)
        return reasons.stopped_with_array(array.job_name, why)

    def _stop(self, member: JobRecord, reason: Reason, *, only_waiting: bool) -> list[Write]:
        """The writes that stop a member; none if it is stopping already, or may run on."""
        now_ms = self._clock()
        if member.job_state in WAITING:
            reservation = find_reservation(self._table, member.job_name)
            expires_at = self._machine_clock() // 1000 + self._retention_s
            return transitions.stop_waiting(member, reservation, reason, now_ms, expires_at)
        attempt = None if only_waiting else find_live_attempt(self._table, member)
        if attempt is None or attempt.stop_cause is StopCause.REQUEST:
            return []
        return transitions.stop_active(member, attempt, reason, now_ms, given=reason.message)

    def _reprioritize(self, array: JobRecord, member: JobRecord) -> list[Write]:
        attempt = find_live_attempt(self._table, member)
        if attempt is None and member.job_state in ACTIVE:
            raise Conflict([0])
        reason = reasons.priority_follows(member.priority, array.priority, array.job_name)
        return transitions.change_priority(member, attempt, array.priority, reason, self._clock())[1]


def _part_of(set_aside: Sequence[int], machine_ms: int) -> list[int]:
    """The members of which a step reads in this minute whether they may enter the queue, the first ones first.

    Args:
        set_aside: the members that are set aside.
        machine_ms: the machine time, ms.
    """
    if len(set_aside) <= MAX_SET_ASIDE_READS:
        return [*set_aside]
    half = MAX_SET_ASIDE_READS // 2
    first, others = set_aside[:half], set_aside[half:]
    begin = machine_ms // 60_000 % -(-len(others) // half) * half
    return [*first, *others[begin : begin + half]]


def _may_enter(member: JobRecord) -> bool:
    """Whether a member is set aside, unless another tick has taken it in meanwhile, and nothing else keeps it back."""
    return member.is_set_aside and member.job_state in WAITING and not member.held and not member.awaited
