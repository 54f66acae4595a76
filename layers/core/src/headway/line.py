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
        yield from sorted(snapshot.waiting, key=rank)
        return
    reserved = {reservation.job: reservation.demand for reservation in snapshot.reservations}
    by_team: dict[str, list[tuple[int, int, str, WaitingJob]]] = {}
    for job in snapshot.waiting:
        entry = (-effective_priority(job, now_ms, policy), job.entry_time_ms, job.name, job)
        by_team.setdefault(job.team, []).append(entry)
    heap: list[tuple[bool, int, float, int, str, str, int]] = []

    def push(team: str, index: int) -> None:
        minus_priority, entered_ms, name, job = by_team[team][index]
        entitled, held = policy.team(team), use.get(team, {})
        # What is reserved for the job counts as used by its team already.
        takes = minus(job.demand, reserved[name]) if name in reserved else job.demand
        borrows = not within_guarantee(held, takes, entitled.guaranteed)
        share = weighted_dominant_use(held, snapshot.pools, entitled.weight)
        heapq.heappush(heap, (borrows, minus_priority, share, entered_ms, name, team, index))

    for team, jobs in by_team.items():
        jobs.sort()
        push(team, 0)
    while heap:
        *_, team, index = heapq.heappop(heap)
        yield by_team[team][index][-1]
        if index + 1 < len(by_team[team]):
            push(team, index + 1)
