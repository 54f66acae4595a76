"""A month of a real trace with budgets of 80 % of what each team used: who exceeds theirs, and by how much?

    python -m bench.scenarios.budgets --traces FOLDER --rows 3000     simulates the first jobs of msr-itp twice

Without --rows it simulates all jobs of the month, which takes more than ten minutes.

The simulation is the one of `headway simulate`, with the real decisions: 1,280 GPUs, a team for each virtual cluster,
first in, first out with backfill, limits as long as the run times. Without budgets it tells what each team uses in the
first month; then each has 80 % of that. The bound of decision 118 is checked for each team: beyond the amount there is
no more than what ran at the moment at which it was used up took from the budget in the rest of the month.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headway.budgets.budget import HOUR_MS, Budget, spent
from headway.budgets.periods import Every
from headway.forecasting.simulation import Arrival, Event, EventKind, Simulation
from headway.job_terms import JobTerms
from headway.model import Snapshot, WaitingJob
from headway.plan import Plan
from headway.policy import Policy, Team
from headway.scheduling.scheduler import schedule
from headway_sandbox.simulator.trace import Trace, read_trace

POOL, GPUS = "gpu", 1280
MONTH_MS = 31 * 86_400_000
"""The trace begins at 0, so that its first month is January 1970."""
PART = 0.8
TOLERANCE = 1e-3
"""GPU hours: sums of many numbers."""


@dataclass
class Course:
    """What becomes of the jobs of a trace in its first month.

    Attributes:
        rules: the budgets.
        used: GPU hours by team.
        bound: GPU hours by team that jobs used after its budget was spent, all of which ran then already.
        waits: jobs that wait at the end of the month for a budget that is spent, by team.
    """

    rules: Sequence[Budget]
    used: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    bound: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    waits: Counter[str] = field(default_factory=Counter)
    _running: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    _spent_ms: dict[str, int] = field(default_factory=dict)

    def started(self, job: str, team: str, count: int, now_ms: int) -> None:
        """A job holds instances from now on."""
        self._running[job] = (team, count, now_ms)

    def ended(self, job: str, now_ms: int) -> None:
        """It holds none any more."""
        team, count, begin_ms = self._running.pop(job)
        self.used[team] += (now_ms - begin_ms) * count / HOUR_MS
        if team in self._spent_ms:
            self.bound[team] += max(0, now_ms - max(begin_ms, self._spent_ms[team])) * count / HOUR_MS

    def look(self, snapshot: Snapshot) -> None:
        """Note which budgets are spent now; since the last look only what ran then has taken from them."""
        for each in spent(self.rules, snapshot.budget_use, snapshot.now_ms):
            if each.budget.name not in self._spent_ms:
                self._spent_ms[each.budget.name] = snapshot.now_ms
                self.bound[each.budget.name] += each.used - each.amount

    def end(self, waiting: Iterable[WaitingJob]) -> None:
        """The month is over."""
        for job in [*self._running]:
            self.ended(job, MONTH_MS)
        self.waits = Counter(job.terms.team for job in waiting if job.terms.team in self._spent_ms)


def simulate(trace: Trace, budgets: Mapping[str, float]) -> Course:
    """Return the course of the first month.

    Args:
        trace: the jobs.
        budgets: GPU hours by team; of others without a limit.
    """
    rules = tuple(
        Budget(name=team, amount=amount, period=Every.MONTH, charges={POOL: 1.0}, team=team)
        for team, amount in budgets.items()
    )
    team_of = {job.name: job.team for job in trace.jobs}
    policy = Policy(teams={team: Team() for team in sorted({*team_of.values()})}, budgets=rules)
    course = Course(rules)

    def decide(snapshot: Snapshot) -> Plan:
        course.look(snapshot)
        return schedule(snapshot, explain=False)

    def note(event: Event) -> None:
        if event.kind is EventKind.STARTED:
            course.started(event.job, team_of[event.job], event.demand[POOL], simulation.now_ms)
        elif event.kind is not EventKind.ARRIVED:
            course.ended(event.job, simulation.now_ms)

    begin = Snapshot(now_ms=0, pools={POOL: GPUS}, policy=policy)
    simulation = Simulation(begin, decide, arrivals=_arrivals(trace), record=note)
    while (next_ms := simulation.next_ms) is not None and next_ms < MONTH_MS:
        simulation.step()
    course.end(simulation.waiting)
    return course


def _arrivals(trace: Trace) -> Iterator[Arrival]:
    for job in trace.jobs:
        if job.submit_ms < MONTH_MS:
            terms = JobTerms(priority=0, entry_time_ms=job.submit_ms, team=job.team, limit_ms=job.run_ms)
            waiting = WaitingJob(name=job.name, demand={job.pool: job.count}, terms=terms)
            yield Arrival(time_ms=job.submit_ms, job=waiting, run_ms=job.run_ms)


def main() -> int:
    """Print a row for each team; exit with 1 if one exceeds its budget by more than the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--rows", type=int)
    asked = parser.parse_args()
    trace = read_trace(asked.traces / "msr-itp.csv.gz", {POOL: GPUS}, rows=asked.rows)
    began_s = time.monotonic()
    without = simulate(trace, {})
    budgets = {team: used * PART for team, used in without.used.items() if used}
    course = simulate(trace, budgets)
    faults = 0
    print(f"{'team':<12} {'used':>9} {'budget':>9} {'with it':>9} {'beyond':>8} {'bound':>8} {'waiting':>8}")
    for team, amount in sorted(budgets.items()):
        beyond = max(0.0, course.used[team] - amount)
        print(
            f"{team:<12} {without.used[team]:>9.0f} {amount:>9.0f} {course.used[team]:>9.0f} {beyond:>8.1f} "
            f"{course.bound[team]:>8.1f} {course.waits[team]:>8}"
        )
        faults += beyond > course.bound[team] + TOLERANCE
    print(f"{time.monotonic() - began_s:.0f} s; {faults} teams beyond the bound")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
