"""When a blocked job starts at the latest, and what may run until then without delaying it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from headway.model import Demand, WaitingJob


@dataclass(kw_only=True, slots=True)
class Claim:
    """Instances that are taken at a time to come."""

    #: When they are taken at the latest, ms; None if that may be at any moment.
    start_ms: int | None
    #: When they are free again at the latest, ms; None if that is not known.
    end_ms: int | None
    #: The instances.
    need: Demand
    #: Instances left beside them at that time, per pool. A job that runs into the time uses these.
    slack: dict[str, int]

    def is_delayed_by(self, need: Demand, from_ms: int, until_ms: int | None) -> bool:
        """Whether using ``need`` from one time to another (None: forever) would delay this claim.

        A job that ends by its start cannot delay it. An unknown start may be at any moment.

        Args:
            need: instances per pool.
            from_ms: the start of the use, ms.
            until_ms: its end, ms; None for an unknown end.
        """
        if self.start_ms is not None and not self.runs_into(from_ms, until_ms):
            return False
        slack = self.slack
        return any(pool in slack and count > slack[pool] for pool, count in need.items())

    def share(self, need: Demand, from_ms: int, until_ms: int | None) -> None:
        """Subtract the need of a job that runs into the start from the slack.

        Args:
            need: instances per pool.
            from_ms: the start of that job, ms.
            until_ms: its latest end, ms; None if unknown.
        """
        if self.start_ms is None or self.runs_into(from_ms, until_ms):
            for pool, count in need.items():
                if pool in self.slack:
                    self.slack[pool] -= count

    def runs_into(self, from_ms: int, until_ms: int | None) -> bool:
        """Whether a use from one time to another (None: forever) runs into the start, which is known."""
        assert self.start_ms is not None  # noqa: S101 - called for known starts only
        return from_ms <= self.start_ms and (until_ms is None or until_ms > self.start_ms)


@dataclass(kw_only=True, slots=True)
class ReservedStart(Claim):
    """The start that is kept for a blocked job.

    Its ``need`` is beyond its reservation and the instances being freed for it.
    """

    job: WaitingJob
    #: Its place among the reserved starts.
    number: int = 0
    #: When it is said to start at the latest, ms: what is being freed is not free yet.
    told_ms: int | None = None
    #: The part of its need that preemption has to free when it starts.
    lacking: Demand = field(default_factory=dict)
    #: Whether attempts may be stopped for it.
    stops_others: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundStart:
    """A start that could be reserved. Nothing is changed by finding it."""

    start: ReservedStart
    #: The claims that it may run into, whose slack it shares once it is reserved.
    beside: tuple[Claim, ...] = ()

    def share_slack(self) -> None:
        """The start is reserved: it takes its part of the slack of those."""
        for claim in self.beside:
            if self.start.start_ms is not None:
                claim.share(self.start.need, self.start.start_ms, self.start.end_ms)


CapacityChange = tuple[int, Demand, int]
"""At this time, ms, these instances are freed (+1) or allocated (-1)."""


def _claims(others: Sequence[Claim]) -> Iterator[CapacityChange]:
    """The instances that claims allocate and free."""
    for other in others:
        if other.start_ms is not None:
            yield other.start_ms, other.need, -1
            if other.end_ms is not None:
                yield other.end_ms, other.need, 1


def reserve_start(
    job: WaitingJob,
    need: Demand,
    available: Demand,
    changes: Iterable[CapacityChange],
    others: Sequence[Claim],
    not_before_ms: int,
    preemptible: Sequence[CapacityChange] = (),
    in_gap: Sequence[CapacityChange] = (),
) -> FoundStart:
    """The earliest start at which the job has all it needs and delays no other reserved start.

    A preemptor waits for its victims to stop, so its limit does not prove when it ends. What is in a gap has stopped by
    then.

    Args:
        job: the blocked job.
        need: its need beyond its reservation and the instances being freed for it.
        available: instances without a claim now.
        changes: instances freed by the limits of running attempts, in any order.
        others: claims on some of the same: starts reserved for jobs of higher rank, and changes of sizes.
        not_before_ms: the earliest moment.
        preemptible: instances of attempts that the job may preempt (+1), until they end or may no longer be preempted
            (-1), in any order.
        in_gap: the same of attempts that are stopped in time for the start.
    """
    have = {pool: available.get(pool, 0) for pool in need}
    from_gap, by_preemption = dict.fromkeys(need, 0), dict.fromkeys(need, 0)
    events = sorted(
        (
            *((*change, have) for change in (*changes, *_claims(others))),
            *((*change, from_gap) for change in in_gap),
            *((*change, by_preemption) for change in preemptible),
        ),
        key=lambda event: event[0],
    )
    closed = [other for other in others if other.start_ms is None]
    at_ms, i = not_before_ms, 0
    # A start that is not known may be any moment, so whether this one delays it is the same whenever this one is.
    possible = not any(other.is_delayed_by(need, at_ms, None) for other in closed)
    while possible:
        while i < len(events) and events[i][0] <= at_ms:
            _, vector, sign, to = events[i]
            for pool, count in vector.items():
                if pool in to:
                    to[pool] += sign * count
            i += 1
        lacking = {pool: count - have[pool] for pool, count in need.items() if count > have[pool]}
        if all(by_preemption[pool] + from_gap[pool] >= count for pool, count in lacking.items()):
            is_after_stops = any(count > from_gap[pool] for pool, count in lacking.items())
            end_ms = None if job.terms.limit_ms is None or is_after_stops else at_ms + job.terms.limit_ms
            # Starts at this moment have already been subtracted.
            later = [other for other in others if other.start_ms is not None and other.start_ms > at_ms]
            if not any(other.is_delayed_by(need, at_ms, end_ms) for other in later):
                slack = {
                    pool: have[pool] + by_preemption[pool] + from_gap[pool] - count for pool, count in need.items()
                }
                start = ReservedStart(job=job, start_ms=at_ms, end_ms=end_ms, need=need, slack=slack, lacking=lacking)
                return FoundStart(start=start, beside=(*later, *closed))
        if i == len(events):
            break
        at_ms = events[i][0]
    # Its instances may be freed at any moment or never, so the instances that it lacks are kept for it from now on.
    slack = {pool: max(0, available.get(pool, 0) - count) for pool, count in need.items()}
    return FoundStart(start=ReservedStart(job=job, start_ms=None, end_ms=None, need=need, slack=slack))
