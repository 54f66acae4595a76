"""Who gets how much after a week in which one team was alone: Headway's memory beside Slurm's fair share.

    python -m bench.scenarios.fair_shares        simulates, and prints what the second team gets on each day

Two teams of equal weight share eight instances, and both have jobs of an instance and four hours without end. In the
first week only `a` submits. The simulation is the one of `headway simulate`, with the real decisions. Slurm's answer is
its published formula (Multifactor Priority Plugin, "classic" fair share: 2^(-usage/shares), where usage is a part of
all usage that fades with PriorityDecayHalfLife), written down here again with nothing of Headway.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headway.forecasting.simulation import Arrival, Event, EventKind, Simulation
from headway.job_terms import JobTerms
from headway.model import Snapshot, WaitingJob
from headway.policy import FairShare, Policy, Team
from headway.scheduling.scheduler import schedule

POOL = "ml.p5.48xlarge"
INSTANCES = 8
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
RUN_MS = 4 * HOUR_MS
ALONE_DAYS, DAYS = 7, 28
BACKLOG = 12
"""Jobs that a team has waiting at each time."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """An instance that a team held for a time, ms."""

    team: str
    begin_ms: int
    end_ms: int


def part_by_day(held: Sequence[Held], team: str) -> list[float]:
    """Return the part of the instances that a team held on each day.

    Args:
        held: all that was held.
        team: the team.
    """
    found: Counter[int] = Counter()
    for each in held:
        if each.team == team:
            for day in range(each.begin_ms // DAY_MS, -(-each.end_ms // DAY_MS)):
                found[day] += min(each.end_ms, (day + 1) * DAY_MS) - max(each.begin_ms, day * DAY_MS)
    return [found[day] / (INSTANCES * DAY_MS) for day in range(DAYS)]


def simulated(fair_share: FairShare | None) -> list[Held]:
    """Return what teams hold by Headway's decisions.

    Args:
        fair_share: how past use counts.
    """
    policy = Policy(fair_share=fair_share, teams={"a": Team(), "b": Team()})
    begun: dict[str, int] = {}
    held: list[Held] = []
    ms = [0]

    def note(event: Event) -> None:
        if event.kind is EventKind.STARTED:
            begun[event.job] = ms[0]
        elif event.kind is EventKind.COMPLETED:
            held.append(Held(team=event.job[0], begin_ms=begun.pop(event.job), end_ms=ms[0]))

    course = Simulation(
        Snapshot(now_ms=0, pools={POOL: INSTANCES}, policy=policy), schedule, arrivals=_arrivals(), record=note
    )
    while (now_ms := course.next_ms) is not None and now_ms < DAYS * DAY_MS:
        ms[0] = now_ms
        course.step()
    return held


def _arrivals() -> Iterator[Arrival]:
    """As many jobs as a team can run at most, half an hour apart, so that instances become free one after the other."""
    for team, first_day in (("a", 0), ("b", ALONE_DAYS)):
        for number in range(DAYS * DAY_MS // (HOUR_MS // 2)):
            time_ms = first_day * DAY_MS + number * HOUR_MS // 2
            terms = JobTerms(priority=0, entry_time_ms=time_ms, team=team)
            job = WaitingJob(name=f"{team}{number}", demand={POOL: 1}, terms=terms)
            yield Arrival(time_ms=time_ms, job=job, run_ms=RUN_MS)


def by_slurm(half_life_days: float) -> list[Held]:
    """Return what teams hold by Slurm's formula, which knows nothing of what runs beyond what it has used."""
    held: list[Held] = []
    running: list[Held] = []
    for now_ms in range(0, DAYS * DAY_MS, HOUR_MS // 2):
        held += [each for each in running if each.end_ms <= now_ms]
        running = [each for each in running if each.end_ms > now_ms]
        teams = ("a",) if now_ms < ALONE_DAYS * DAY_MS else ("a", "b")
        # Its own arrivals are one each half an hour and team, as above, so one or two may start.
        for _ in itertools.repeat(None, INSTANCES - len(running)):
            usage = {team: _faded(team, [*held, *running], now_ms, half_life_days) for team in teams}
            everything = sum(usage.values()) or 1.0
            team = max(teams, key=lambda name: 2 ** (-(usage[name] / everything) / 0.5))
            running.append(Held(team=team, begin_ms=now_ms, end_ms=now_ms + RUN_MS))
            if len(running) >= INSTANCES:
                break
    return [*held, *running]


def _faded(team: str, held: Sequence[Held], now_ms: int, half_life_days: float) -> float:
    return math.fsum(
        (min(each.end_ms, now_ms) - each.begin_ms) * 0.5 ** ((now_ms - each.begin_ms) / (half_life_days * DAY_MS))
        for each in held
        if each.team == team and each.begin_ms < now_ms
    )


def main() -> None:
    """Print a row for each way of sharing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half-life-days", type=int, default=7)
    days = parser.parse_args().half_life_days
    rows = {
        "what is held": simulated(None),
        f"Headway, {days} d": simulated(FairShare(half_life_ms=days * DAY_MS)),
        f"Slurm, {days} d": by_slurm(days),
    }
    shown = [*range(ALONE_DAYS, ALONE_DAYS + 7), 17, 20, 24, 27]
    print("part of the second team on day", *(f"{day - ALONE_DAYS + 1:>4}" for day in shown), "  week 1")
    for name, held in rows.items():
        parts = part_by_day(held, "b")
        week = sum(parts[ALONE_DAYS : ALONE_DAYS + 7]) / 7
        print(f"{name:<30}", *(f"{parts[day]:4.0%}" for day in shown), f"  {week:4.0%}")


if __name__ == "__main__":
    main()
