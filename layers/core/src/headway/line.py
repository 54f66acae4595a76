"""The waiting jobs in rank order, the next one worked out when it is asked for."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping

from headway.capacity import minus
from headway.model import Snapshot, WaitingJob
from headway.ordering import effective_priority, rank
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
    policy, now_ms = snapshot.policy, snapshot.now_ms
    if not policy.teams and policy.ageing is None:
        # A decision seldom looks at all of a long line: a heap sorts no more of it than is asked for.
        line = [(*rank(job), job) for job in snapshot.waiting]
        heapq.heapify(line)
        while line:
            yield heapq.heappop(line)[-1]
        return
    reserved = {reservation.job: reservation.demand for reservation in snapshot.reservations}
    by_team: dict[str, list[tuple[int, int, str, WaitingJob]]] = {}
    for job in snapshot.waiting:
        entry = (-effective_priority(job, now_ms, policy), job.entry_time_ms, job.name, job)
        by_team.setdefault(job.team, []).append(entry)
    first_of_each: list[tuple[bool, int, float, int, str, str]] = []

    def push(team: str) -> None:
        minus_priority, entered_ms, name, job = by_team[team][0]
        entitled, held = policy.team(team), use.get(team, {})
        # What is reserved for the job counts as used by its team already.
        takes = minus(job.demand, reserved[name]) if name in reserved else job.demand
        borrows = not within_guarantee(held, takes, entitled.guaranteed)
        share = weighted_dominant_use(held, snapshot.pools, entitled.weight)
        heapq.heappush(first_of_each, (borrows, minus_priority, share, entered_ms, name, team))

    for team, jobs in by_team.items():
        heapq.heapify(jobs)
        push(team)
    while first_of_each:
        team = heapq.heappop(first_of_each)[-1]
        yield heapq.heappop(by_team[team])[-1]
        if by_team[team]:
            push(team)
