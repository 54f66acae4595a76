"""The snapshot that forecasts are made from: it has more of the queues than a decision needs, but not all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from headway.forecasting.forecast import Edit, Forecast, WhatIf, forecast, what_if, with_edits
from headway.forecasting.members import ArrayToCome, present_in, with_members
from headway.model import Snapshot, WaitingJob
from headway.policy import Policy
from headway.prediction.likely_times import FORECASTS, LikelyTime, predict_starts
from headway.prediction.run_times import RunTimes
from headway.reasons import clock_time
from headway.scheduling.alternatives import demands, pools_of
from headway.scheduling.ordering import effective_priority
from headway_service.arrays.to_come import MAX_ARRAYS_TO_COME, ToCome, read_to_come
from headway_service.jobs.front_positions import ComingMembers
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger, read_ledger_for_display
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.snapshot import read_snapshot

MAX_FORESEEN = 500
"""Waiting jobs in a forecast, of all queues together; jobs further back get no expected start."""

MAX_FORESEEN_TURNS = 30_000
"""How often a forecast considers a waiting job, at most; later starts are not forecast.

Each instant at which a job ends or starts costs one turn of each waiting job. A turn took 4 to 50 µs when measured (one
pool without teams; five pools with twenty teams), so a forecast takes about a second.
"""

_ASSUMES = (
    "Holds if every job runs until its limit (most end sooner), and no job of higher rank joins the queue: a new, "
    "released or retried one, or one whose dependencies end."
)

_ALL = (-(1 << 62), 0, "")
"""A turn before that of each job."""

_Turn = tuple[int, int, str]

_Queue = tuple[str, str]
"""A pool and a team."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastSnapshot:
    """The queue at one moment, to forecast from."""

    ledger: Ledger
    snapshot: Snapshot
    #: The arrays whose members enter the queue as others end.
    to_come: ToCome
    #: Jobs that rank behind this one may have jobs ahead that were not read; None if all were read.
    cut: _Turn | None

    def ahead_of(self, job: WaitingJob) -> list[WaitingJob]:
        """The jobs ahead of a job in any of its queues, the next one first."""
        last = _turn(job, self.snapshot)
        rivals = [each for each in self.snapshot.waiting if pools_of(each) & pools_of(job)]
        ahead = [each for each in rivals if _turn(each, self.snapshot) < last]
        return sorted(ahead, key=lambda each: _turn(each, self.snapshot))

    def covers(self, job: WaitingJob) -> bool:
        """Whether all jobs ahead of a job were read."""
        return self.cut is None or _turn(job, self.snapshot) <= self.cut

    def coming(self, arrays: tuple[ArrayToCome, ...] | None = None) -> ComingMembers:
        """The members of arrays that are in no queue yet.

        Args:
            arrays: other arrays than those that were read; None for these.
        """
        to_come = self.to_come if arrays is None else replace(self.to_come, arrays=arrays)
        return ComingMembers(to_come, self.snapshot.now_ms, self.snapshot.policy)

    @property
    def steps(self) -> int:
        """How many instants a forecast simulates."""
        waiting = with_members(self.snapshot, self.to_come.arrays)[0].waiting
        return MAX_FORESEEN_TURNS // max(1, len(waiting))

    def forecast(self, awaited: Collection[str] | None = None) -> Forecast:
        """When the waiting jobs start, as far as the forecast reaches.

        Args:
            awaited: the jobs of interest; by default all.
        """
        seen = forecast(self.snapshot, arrays=self.to_come.arrays, steps=self.steps, awaited=awaited)
        return self._only_covered(seen, self.snapshot, self.to_come.arrays)

    def predicted_starts(
        self, run_times: RunTimes | None, awaited: Collection[str] | None = None
    ) -> Mapping[str, LikelyTime]:
        """When waiting jobs are likely to start, as far as that can be predicted.

        Args:
            run_times: how long jobs have run; None if nothing is to be predicted.
            awaited: the jobs of interest; by default all.
        """
        if run_times is None:
            return {}
        # All its forecasts together take as long as one that rests on limits.
        found = predict_starts(
            self.snapshot, run_times, arrays=self.to_come.arrays, steps=self.steps // FORECASTS, awaited=awaited
        )
        beyond = {job.name for job in self.snapshot.waiting if not self.covers(job)}
        return {name: start for name, start in found.items() if name not in beyond}

    def what_if(self, changes: Sequence[Edit]) -> WhatIf:
        """The effect of changes, as far as the forecast reaches.

        Raises:
            UnknownEdit: see :func:`headway.forecasting.forecast.what_if`.
        """
        arrays = self.to_come.arrays
        result = what_if(self.snapshot, changes, arrays=arrays, steps=self.steps)
        before = self._only_covered(result.before, self.snapshot, arrays)
        after = self._only_covered(result.after, *with_edits(self.snapshot, changes, arrays))
        return replace(result, before=before, after=after)

    def note(self, seen: Forecast, job: WaitingJob | None = None) -> str:
        """What a forecast assumes and omits, in sentences.

        Args:
            seen: the forecast.
            job: the job that it is for, if it is for one.
        """
        sentences = [_ASSUMES]
        pauses = self.snapshot.pauses.keys()
        paused = sorted(pauses if job is None else pauses & pools_of(job))
        if paused and (job is None or all(pauses & demand.keys() for demand in demands(job))):
            sentences.append(
                f"Paused pools ({', '.join(paused)}) are assumed to stay paused: jobs that need them have no expected "
                "start."
            )
        if seen.until_ms is not None and (job is None or seen.starts.get(job.name) is None):
            until = clock_time(seen.until_ms, self.snapshot.now_ms)
            sentences.append(f"Simulated until {until}: jobs that start later have no expected start.")
        if not self.to_come.is_whole:
            sentences.append(
                f"More than {MAX_ARRAYS_TO_COME} arrays have members that are not in the queue yet: no job has an "
                "expected start."
            )
        elif self.cut is not None and (job is None or not self.covers(job)):
            sentences.append(
                f"Only the first {MAX_FORESEEN} jobs in the queue were simulated; the others have no expected start."
            )
        return " ".join(sentences)

    def _only_covered(self, seen: Forecast, of: Snapshot, arrays: Iterable[ArrayToCome]) -> Forecast:
        """A forecast without the starts of jobs that are not covered."""
        members = (job for each in arrays for job in (replace(each.member, name=each.name), *each.set_aside))
        beyond = {job.name for job in (*of.waiting, *_waiting_again(of), *members) if not self.covers(job)}
        starts = {name: None if name in beyond else start_ms for name, start_ms in seen.starts.items()}
        return Forecast(starts=starts, until_ms=seen.until_ms)


def build_snapshot(
    table: Table,
    now_ms: int,
    machine_ms: int,
    policy: Policy,
    also: Iterable[ListedJob] = (),
    heads: Callable[[Ledger], int] | None = None,
) -> ForecastSnapshot:
    """Read the queue to forecast from.

    Args:
        now_ms: the training time, ms.
        policy: the policy in effect.
        also: jobs to include if they are queued, however far back.
        heads: gives how many jobs of each queue to read, if no more are of interest than that.
    """
    ledger = read_ledger_for_display(table).in_training_time(now_ms, machine_ms)
    return snapshot_of(table, ledger, now_ms, policy, also, heads)


def snapshot_of(
    table: Table,
    ledger: Ledger,
    now_ms: int,
    policy: Policy,
    also: Iterable[ListedJob] = (),
    heads: Callable[[Ledger], int] | None = None,
) -> ForecastSnapshot:
    """Read the queues to forecast from, as they are on a ledger.

    Args:
        ledger: in training time; see :func:`build_snapshot` for all others.
    """
    queues = [(pool.pool, team) for pool in ledger.pools for team in ledger.queue_teams]

    def count(queue: _Queue, limit: int) -> int:
        return table.count_before(QueueEntry.partition(*queue), "~", limit=limit)

    to_come = read_to_come(table, ledger, now_ms)
    share, longer = even_share(queues, count) if heads is None else (heads(ledger), queues)
    snapshot = read_snapshot(table, ledger, now_ms, policy=policy, also=also, heads=share)
    # The next tick applies a size that is due, and the calendar has only later ones.
    due = {each.pool: each.size_at(now_ms) for each in ledger.calendars if each.pool in snapshot.pools}
    snapshot = replace(snapshot, pools={**snapshot.pools, **due})
    cut = _cut(snapshot, longer, share) if to_come.is_whole else _ALL
    if cut is not None:
        cut = min([cut, *_cuts_of_arrays(ledger, snapshot, to_come.arrays)])
    return ForecastSnapshot(ledger=ledger, snapshot=snapshot, to_come=to_come, cut=cut)


def even_share(queues: Sequence[_Queue], count: Callable[[_Queue, int], int]) -> tuple[int, Collection[_Queue]]:
    """How many jobs of each queue to read; long queues share what short ones leave.

    A queue is counted only as far as its share.

    Args:
        count: counts the jobs of a queue up to a limit.

    Returns:
        The share, which is at least 1, and the queues that are longer.
    """
    lengths: dict[_Queue, int] = {}
    longer, share = list(queues), 0
    while longer:
        left = MAX_FORESEEN - sum(length for queue, length in lengths.items() if queue not in longer)
        grown = max(1, left // len(longer))
        if grown <= share:
            break
        share = grown
        lengths |= {queue: count(queue, share + 1) for queue in longer}
        longer = [queue for queue in longer if lengths[queue] > share]
    return max(1, share), longer


def _cut(snapshot: Snapshot, longer: Collection[_Queue], heads: int) -> _Turn | None:
    """The last turn up to which every queue was read; ``longer`` are those that may not have been read to their end."""
    queues: dict[_Queue, list[_Turn]] = {queue: [] for queue in longer}
    for job in snapshot.waiting:
        for pool in pools_of(job):
            if (pool, job.terms.team) in queues:
                queues[pool, job.terms.team].append(_turn(job, snapshot))
    # Jobs beyond the first may have been read for another queue, so the last of the first ``heads`` jobs counts.
    return min((sorted(turns)[heads - 1] for turns in queues.values() if len(turns) >= heads), default=None)


def _cuts_of_arrays(ledger: Ledger, snapshot: Snapshot, arrays: Iterable[ArrayToCome]) -> Iterator[_Turn]:
    """The turns of arrays with members that were not read: it is not known when those end, and others are made."""
    known = {*present_in(snapshot), *(each.job_name for each in ledger.ended)}
    for array in arrays:
        if not array.active <= known:
            following = islice(array.unmade_names(), 1)
            to_come = (*array.set_aside, *(replace(array.member, name=name) for name in following))
            yield min(_turn(each, snapshot) for each in to_come)


def _turn(job: WaitingJob, snapshot: Snapshot) -> _Turn:
    """The order of jobs now, except for the use of teams."""
    return (-effective_priority(job, snapshot.now_ms, snapshot.policy), job.terms.turn_ms, job.name)


def _waiting_again(snapshot: Snapshot) -> Iterator[WaitingJob]:
    """The running jobs as they would wait again if they were preempted."""
    for each in snapshot.allocations:
        if not each.warm and not each.outside:
            yield WaitingJob(name=each.job, demand=each.demand, terms=each.terms)
