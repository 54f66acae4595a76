"""Advances the arrays that are not over: one step after the other, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from headway import reasons
from headway.dependencies import Ending
from headway.lifecycle import ACTIVE, TERMINAL, WAITING
from headway.reasons import Reason
from headway.sweeps import member_name
from headway_service.arrays.comparing import ComparingMembers
from headway_service.arrays.room import largest_sizes, unlaunchable_members, wanted_members
from headway_service.arrays.turn import may_enter, may_rest, members_may_enter, next_turn, stops
from headway_service.config.document import Configuration
from headway_service.errors import Conflict, UnreadableRecord
from headway_service.observability.isolation import Isolation, Outcome
from headway_service.observability.logging import logger
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Item, Table, Write
from headway_service.reuse.entry import ReuseEntry
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.array import ArrayRecord, MembersRecord, OpenArrayRecord
from headway_service.store.records.capacity.attempt import StopCause
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job, find_job_items, find_live_attempt, find_reservation, find_team
from headway_service.store.turns import Turns

_T = TypeVar("_T")

MAX_SET_ASIDE_READS = 1000
"""Members that are set aside of which one step reads at most whether they may enter the queue. If there are more, the
second half are others in each minute, so that members that may not do not hide the rest."""

_READ_TOGETHER = 100

MAX_RESTING_LOOKS = 5
"""Arrays that rest of which one tick looks whether they still do, others in each minute: code of a time before arrays
rested does not wake them."""


class ArrayAdvancer:
    """Advances arrays.

    Args:
        clocks: training time and machine time.
        turns: whose turn it is, and how much time is left for arrays now.
        retention_s: how long an ended job is kept, s.
        configuration: the configuration in effect.
        metrics_of: gives the final metrics of an attempt, none if SageMaker gives none now.
        reuse: has members answered by equal jobs.
        isolation: does the work on each array, and on each member, by itself.
    """

    def __init__(
        self,
        table: Table,
        *,
        clocks: Clocks,
        turns: Turns,
        retention_s: int,
        configuration: Configuration,
        metrics_of: Callable[[str], Mapping[str, str]],
        reuse: ReuseEntry,
        isolation: Isolation,
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._turns = turns
        #: What the arrays after the present one are left of the time, ms.
        self._kept_ms = 0
        self._has_looked_at_resting = False
        self._retention_s = retention_s
        self._reserved_heads = configuration.policy().reserved_heads
        self._metrics_of = metrics_of
        self._isolation = isolation
        self._comparing = ComparingMembers(
            table,
            reuse,
            configuration.access_rules,
            clocks=clocks,
            has_time=self._has_time,
            retention_s=retention_s,
            metrics_of=metrics_of,
        )

    def advance(self, ledger: Ledger) -> bool:
        """Advance the arrays of the ledger, each as far as its part of the time goes.

        Args:
            ledger: the ledger, with the members that have ended.

        Returns:
            Whether anything has changed, so that the ledger has to be read again.
        """
        self._comparing.begin_round()
        self._forget_unknown(ledger)
        changed, sizes = False, largest_sizes(ledger)
        ended_of: dict[str, list[EndedJobRecord]] = {}
        for member in ledger.ended:
            ended_of.setdefault(member.member_of, []).append(member)
        arrays = self._turns.ordered("array", self._with_something_to_do(ledger), _name)
        items = _ItemsAhead(self._table, [each.job_name for each in arrays])
        for number, each in enumerate(self._turns.in_turn("array", arrays, _name)):
            left_ms = self._turns.left_ms()
            # One with many members to compare leaves time to the others.
            self._kept_ms = left_ms - -(-left_ms // (len(arrays) - number))
            # Jobs that depend on a member are notified first, which leaves its record without them.
            ended = [member for member in ended_of.get(each.job_name, ()) if not member.dependants]
            advance = partial(self._advance, each, items, ended, ledger, sizes)
            changed |= self._isolation.do("an array", each.job_name, advance).reads_again
        return changed

    def _forget_unknown(self, ledger: Ledger) -> None:
        """Forget what the ledger has of members whose array is over."""
        known = {each.job_name for each in ledger.arrays} | ledger.names_of_unreadable("array")
        unknown = [each.forget() for each in ledger.unlaunchable if each.array not in known]
        # Another tick has counted a member, and closed its array, since that one was written again.
        unknown += [each.forget() for each in ledger.ended if each.member_of and each.member_of not in known]
        for forget in unknown:
            if not self._turns.has_time():
                break
            self._table.write([forget])

    def _with_something_to_do(self, ledger: Ledger) -> list[OpenArrayRecord]:
        """The arrays that do not rest, or of which a member has ended; and once in a tick a few of the others."""
        due = {each.member_of for each in ledger.ended}
        found = [each for each in ledger.arrays if not each.rests or each.job_name in due]
        resting = [each for each in ledger.arrays if each.rests and each.job_name not in due]
        if not resting or self._has_looked_at_resting:
            return found
        self._has_looked_at_resting = True
        return [*found, *_some(resting, MAX_RESTING_LOOKS, self._clocks.machine_ms())]

    def _has_time(self) -> bool:
        """Whether there is time for another step of the present array."""
        return self._turns.left_ms() > self._kept_ms

    def _advance(
        self,
        open_array: OpenArrayRecord,
        items: _ItemsAhead,
        ended: Sequence[EndedJobRecord],
        ledger: Ledger,
        sizes: Mapping[str, int],
    ) -> bool:
        item = items.of(open_array.job_name)
        array = JobRecord.parse(item) if item is not None else None
        if array is None or array.is_over:
            self._table.write([open_array.close()])
            return False
        if self._rests(open_array, array, ended):
            return False
        ended = self._prepared(array, ended)
        unlaunchable = len(unlaunchable_members(array, ledger, self._clocks.training_ms()))
        wanted = wanted_members(array, sizes, self._reserved_heads, unlaunchable)
        version, follows, held = array.version, 0, 0
        if array.members is not None and array.members.set_aside:
            # These come before members that are not made, in the places of those that have ended.
            array, ended = self._advance_members(array, ended, wanted=0), []
            entering, held = self._entering(array, wanted)
            for member in entering:
                if self._has_time():
                    array = self._enter(array, member)
        if array.reuse is not None:
            array = self._comparing.make(self._advance_members(array, ended, wanted=0), wanted, held)
            # All that are left may have been answered: then the array ends.
            ended, wanted = [], 0
        array = self._advance_members(array, ended, wanted)
        if stops(array) or (array.array is not None and array.array.is_closed):
            follows = self._stop_members(array)
        else:
            if array.held:
                array = self._set_aside(array)
            if array.members is not None and array.members.is_reprioritized:
                array = self._pass_on_priority(array)
        return array.version != version or follows > 0

    def _rests(self, open_array: OpenArrayRecord, array: JobRecord, ended: Sequence[EndedJobRecord]) -> bool:
        """Whether there is nothing to do for an array. Then ticks leave it alone from now on, until there is again.

        Raises:
            Conflict: it was woken meanwhile.
        """
        rests = not ended and self._may_rest(array)
        if rests and not open_array.wakes:
            # Its wake-ups are counted from now on.
            self._table.write(transitions.wake_array(array))
        elif rests is not open_array.rests:
            self._table.write([open_array.rest()] if rests else transitions.wake_array(array))
        return rests

    def _may_rest(self, array: JobRecord) -> bool:
        """Whether there is nothing to do for an array, as far as there is time to read the members that are set aside.

        Those that are held stay so until they are released, which wakes the array.
        """
        if not may_rest(array) or not members_may_enter(array):
            return may_rest(array)
        names = [self._name_of(array, index) for index in (array.members or MembersRecord()).set_aside]
        while names:
            some, names = names[:_READ_TOGETHER], names[_READ_TOGETHER:]
            found = self._readable(some) if self._has_time() else []
            if len(found) < len(some) or not all(each.held for each in found):
                return False
        return True

    def _prepared(self, array: JobRecord, ended: Sequence[EndedJobRecord]) -> list[EndedJobRecord]:
        """The members that have ended with all that is kept of them, as many as there is time for."""
        prepared: list[EndedJobRecord] = []

        def prepare(each: EndedJobRecord) -> bool:
            if array.reuse is not None:
                self._comparing.note_outputs(each)
            prepared.append(self._with_metrics(each))
            return False

        for each in ended:
            if not self._has_time():
                break
            self._isolation.do("a member that has ended", each.job_name, partial(prepare, each))
        return prepared

    def _advance_members(self, array: JobRecord, ended: Sequence[EndedJobRecord], wanted: int) -> JobRecord:
        """Count members that have ended, and make further ones, until so many are in the queue or run."""
        # Those that are prepared are counted in any case: to prepare them may have taken all the time.
        while ended or self._has_time():
            now_ms, machine_ms = self._clocks.training_ms(), self._clocks.machine_ms()
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

    def _entering(self, array: JobRecord, wanted: int) -> tuple[list[JobRecord], int]:
        """The members that were set aside and enter the queue now, in rank order.

        Returns:
            These, and how many of those that are set aside wait for no equal job. If it matters, all of them are read.
        """
        members = array.members or MembersRecord()
        room = wanted - members.active
        if room <= 0 or not members_may_enter(array):
            return [], 0
        names = [
            self._name_of(array, index)
            for index in _some(members.set_aside, MAX_SET_ASIDE_READS, self._clocks.machine_ms())
        ]
        free: list[JobRecord] = []
        held = 0
        # Those that are held must not hide the others.
        while names and len(free) < room:
            some, names = names[:_READ_TOGETHER], names[_READ_TOGETHER:]
            found = self._readable(some)
            free += filter(may_enter, found)
            held += sum(each.held or not each.twin for each in found)
        return sorted(free, key=JobRecord.rank)[:room], held

    def _readable(self, names: Sequence[str]) -> list[JobRecord]:
        """The members of these names that exist, without those whose records cannot be read."""
        found: list[JobRecord] = []
        for name, item in find_job_items(self._table, names).items():
            try:
                found.append(JobRecord.parse(item))
            except UnreadableRecord as error:
                self._isolation.leave_alone("a member", name, error)
        return found

    def _enter(self, array: JobRecord, member: JobRecord) -> JobRecord:
        # One that has had an attempt computes by itself.
        if member.reuse is not None and not member.reuse.key and not member.attempt_count:
            return self._comparing.enter(array, member)
        team = find_team(self._table, array.team) if array.team else None
        moved, writes = transitions.enter_member(
            array, member, team, self._clocks.training_ms(), machine_ms=self._clocks.machine_ms()
        )
        self._table.write(writes)
        return moved

    def _stop_members(self, array: JobRecord) -> int:
        """Stop the members of an array that stops, or those that wait if too many have failed. Returns how many."""
        reason, stopped = self._why_stopped(array), 0

        def stop(member: JobRecord) -> bool:
            writes = self._stop(member, reason, only_waiting=not stops(array))
            if writes:
                self._table.write(writes)
            return bool(writes)

        for outcome in self._each_live(array, stop):
            stopped += outcome.reads_again
        return stopped

    def _set_aside(self, array: JobRecord) -> JobRecord:
        """Take the members of a held array out of the queue."""
        reason = reasons.set_aside(array.job_name)

        def leave(member: JobRecord) -> bool:
            nonlocal array
            if not member.is_queued:
                return False
            reservation = find_reservation(self._table, member.job_name)
            moved, _, writes = transitions.set_aside(array, member, reservation, reason, self._clocks.training_ms())
            self._table.write(writes)
            array = moved
            return True

        for outcome in self._each_live(array, leave):
            if outcome is Outcome.CONFLICT:
                # Perhaps the array has changed, which all further ones are conditional on.
                raise Conflict.stale()
        return array

    def _pass_on_priority(self, array: JobRecord) -> JobRecord:
        """Give the members the priority of the array."""
        all_done = True

        def reprioritize(member: JobRecord) -> bool:
            if member.priority == array.priority:
                return False
            self._table.write(self._reprioritize(array, member))
            return True

        for outcome in self._each_live(array, reprioritize):
            all_done &= outcome.is_done
        if not all_done or not self._has_time():
            return array
        array, writes = transitions.finish_priority_change(array)
        self._table.write(writes)
        return array

    def _each_live(self, array: JobRecord, work: Callable[[JobRecord], bool]) -> Iterator[Outcome]:
        """Do the work on the members that have been made and have not ended, as long as there is time."""

        def on_member(index: int) -> bool:
            member = self._member(array, index)
            return member is not None and member.job_state not in TERMINAL and work(member)

        for index in (array.members or MembersRecord()).live:
            if not self._has_time():
                return
            yield self._isolation.do("a member", f"{array.job_name} member {index}", partial(on_member, index))

    def _member(self, array: JobRecord, index: int) -> JobRecord | None:
        return find_job(self._table, self._name_of(array, index))

    def _name_of(self, array: JobRecord, index: int) -> str:
        return member_name(array.job_name, index, array.array.count if array.array is not None else 0)

    def _why_stopped(self, array: JobRecord) -> Reason:
        numbers = array.array or ArrayRecord(count=0)
        if stops(array):
            return reasons.stopped_with_array(array.job_name, array.reason.message)
        why = reasons.too_many_failures(numbers.failed, numbers.max_failures or 0)
        return reasons.stopped_with_array(array.job_name, why)

    def _stop(self, member: JobRecord, reason: Reason, *, only_waiting: bool) -> list[Write]:
        """The writes that stop a member; none if it is stopping already, or may run on."""
        now_ms = self._clocks.training_ms()
        if member.job_state in WAITING:
            reservation = find_reservation(self._table, member.job_name)
            expires_at = self._clocks.machine_ms() // 1000 + self._retention_s
            return transitions.stop_waiting(member, reservation, reason, now_ms, expires_at)
        attempt = None if only_waiting else find_live_attempt(self._table, member)
        if attempt is None or attempt.stop_cause is StopCause.REQUEST:
            return []
        return transitions.stop_active(member, attempt, reason, now_ms, given=reason.message)

    def _reprioritize(self, array: JobRecord, member: JobRecord) -> list[Write]:
        attempt = find_live_attempt(self._table, member)
        if attempt is None and member.job_state in ACTIVE:
            raise Conflict.stale()
        reason = reasons.priority_follows(member.priority, array.priority, array.job_name)
        return transitions.change_priority(member, attempt, array.priority, reason, self._clocks.training_ms())[1]


def _name(array: OpenArrayRecord) -> str:
    return array.job_name


def _some(found: Sequence[_T], most: int, machine_ms: int) -> Sequence[_T]:
    """As many of these as one step may read; of more, others in each minute."""
    if len(found) <= most:
        return found
    first = machine_ms // 60_000 * most % len(found)
    return [*found[first:], *found[:first]][:most]


class _ItemsAhead:
    """The items of jobs, many of which are read with one call. One may have changed when its turn comes.

    Args:
        names: the jobs, in the order in which they are asked for.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self._table = table
        self._names = names
        self._next = 0
        self._read: dict[str, Item | None] = {}

    def of(self, name: str) -> Item | None:
        """The item of the next job, or of a later one; None if there is none.

        Args:
            name: the job.

        Raises:
            RetryLater: the table does not answer. The job after it is asked for again.
        """
        if name not in self._read:
            first = self._names.index(name, self._next)
            ahead = self._names[first : first + _READ_TOGETHER]
            self._read = dict.fromkeys(ahead) | find_job_items(self._table, ahead)
            self._next = first + 1
        return self._read[name]
