"""The waiting jobs in rank order, the next one worked out when it is asked for."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping

from headway.capacity import minus
from headway.model import Snapshot, WaitingJob
from headway.ordering import effective_priority, rank
from headway.policy import Team
from headway.teams import weighted_dominant_use, within_guarantee


def in_rank_order(snapshot: Snapshot, use: Mapping[str, Mapping[str, int]]) -> Iterator[WaitingJob]:
    """The waiting jobs by rank.

    First those that their team's guarantee covers; then by effective priority, by weighted dominant use of the team,
    by entry time, by name. ``use`` is read anew before each job, so that a team that was just given instances comes
    later: this is how the teams take turns. Within a team the order does not depend on use.

    Args:
        snapshot: pools, policy, waiting jobs.
        use: instances per pool that each team holds, by team; may change while the jobs are gone through.
    """
    policy = snapshot.policy
    if not policy.teams and policy.ageing is None:
        line = _heap_of(snapshot.waiting, None, snapshot)
        while line:
            yield heapq.heappop(line)[-1]
        return
    reserved = {reservation.job: reservation.demand for reservation in snapshot.reservations}
    jobs_of: dict[str, list[WaitingJob]] = {}
    for job in snapshot.waiting:
        jobs_of.setdefault(job.team, []).append(job)
    by_team = {team: _heap_of(jobs, policy.team(team), snapshot) for team, jobs in jobs_of.items()}
    first_of_each: list[tuple[bool, int, float, int, str, str]] = []

    def push(team: str) -> None:
        minus_priority, entered_ms, name, job = by_team[team][0]
        entitled, held = policy.team(team), use.get(team, {})
        # What is reserved for the job counts as used by its team already.
        takes = minus(job.demand, reserved[name]) if name in reserved else job.demand
        borrows = not within_guarantee(held, takes, entitled.guaranteed)
        share = weighted_dominant_use(held, snapshot.pools, entitled.weight)
        heapq.heappush(first_of_each, (borrows, minus_priority, share, entered_ms, name, team))

    for team in by_team:
        push(team)
    while first_of_each:
        team = heapq.heappop(first_of_each)[-1]
        yield heapq.heappop(by_team[team])[-1]
        if by_team[team]:
            push(team)


def _heap_of(
    jobs: Iterable[WaitingJob], team: Team | None, snapshot: Snapshot
) -> list[tuple[int, int, str, WaitingJob]]:
    """The jobs of one team, or of all where there are none, as a heap: a decision seldom looks at all of them."""
    if snapshot.policy.ageing is None and (team is None or team.max_priority is None):
        heap = [(*rank(job), job) for job in jobs]
    else:
        heap = [
            (-effective_priority(job, snapshot.now_ms, snapshot.policy), job.entry_time_ms, job.name, job)
            for job in jobs
        ]
    heapq.heapify(heap)
    return heap
