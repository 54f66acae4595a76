"""`make gaps`: what do gaps before reserved starts give on real traces, if jobs that write checkpoints fill them?

    python -m headway_sandbox.simulator.gaps --traces FOLDER [--only TRACE] [--rows N]

All jobs are equals and write checkpoints. Each trace is simulated with each kind of limits and each order, with gaps
filled and not. Exit code 1 if a job does not end, if the first job of the queue starts later than it was told, if
filling makes the average JCT longer, or if that is farther from that of an oracle than :data:`OFF_ORACLE` allows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from tabulate import tabulate

from headway.model import Snapshot
from headway.plan import Plan, Start
from headway.scheduling.scheduler import schedule
from headway_sandbox.simulator.errors import InvalidInput
from headway_sandbox.simulator.limits import GUESSED, ROUNDED, described
from headway_sandbox.simulator.metrics import Result
from headway_sandbox.simulator.oracle import oracle_jct_s
from headway_sandbox.simulator.policies import filling
from headway_sandbox.simulator.run import Scenario, scenarios, simulate
from headway_sandbox.simulator.trace import Trace, read_trace

POOL = "gpu"
GPUS = {"msr-itp": 1280, "muri-trace1": 64, "muri-trace2": 64}
"""The traces, each with the GPUs that it is simulated on."""

ORDERS = ("headway", "order-short", "order-shortest-remaining")
LIMITS = (ROUNDED, GUESSED)

OFF_ORACLE = {"muri-trace1": 0.05, "muri-trace2": 0.08}
"""How much longer the average JCT is at most than with known run times, where gaps are filled, in the order
``shortest-remaining`` and with rounded limits."""

NO_LONGER = 0.01
"""By how much filling may make an average JCT longer: the course of a trace changes with each start."""

PROCESSES = 2


class FirstStarts:
    """The deployed scheduler, which also notes whether the first job of the queue starts when it was told.

    What it is told depends on no other job that waits. It counts until another job comes first.

    Attributes:
        told: how many starts were told.
        late: how many of them came later.
        latest_ms: by how much at most, ms.
    """

    def __init__(self) -> None:
        self.told = self.late = self.latest_ms = 0
        self._first = ""
        self._by_ms: int | None = None

    def __call__(self, snapshot: Snapshot) -> Plan:
        """Decide."""
        plan = schedule(snapshot, explain=False)
        started = {action.job for action in plan.actions if isinstance(action, Start)}
        ahead = takewhile(lambda job: job.name != self._first, snapshot.waiting)
        if self._first in started:
            self._starts(snapshot.now_ms)
        elif any(job.name in started for job in ahead):
            # A job that ranks before it has come, and starts at once.
            self._first, self._by_ms = "", None
        elif not plan.actions and snapshot.waiting:
            self._tell(snapshot)
        return plan

    def _tell(self, snapshot: Snapshot) -> None:
        """The job that ranks first keeps the earliest start that it was told while it did."""
        first = snapshot.waiting[0]
        if first.name != self._first:
            self._first, self._by_ms = first.name, None
        alone = schedule(replace(snapshot, waiting=(first,)))
        told = [wait.start_by_ms for wait in alone.waits if wait.start_by_ms is not None]
        if told:
            self._by_ms = told[0] if self._by_ms is None else min(told[0], self._by_ms)

    def _starts(self, now_ms: int) -> None:
        if self._by_ms is not None:
            self.told += 1
            self.late += now_ms > self._by_ms
            self.latest_ms = max(self.latest_ms, now_ms - self._by_ms)
        self._first, self._by_ms = "", None


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One simulation of a trace."""

    trace: str
    order: str
    fills: bool
    result: Result
    #: The average JCT with known run times, s.
    oracle_s: float
    #: Starts that were told to the first job of the queue, and how many of them came later.
    told: int
    late: int

    @property
    def off_oracle(self) -> float:
        """How much longer the average JCT is than with known run times, as a part of that."""
        return self.result.jct.avg_s / self.oracle_s - 1

    @property
    def name(self) -> str:
        """What was simulated."""
        limits = "" if self.result.limit_factor is None else f", limits {described(self.result.limit_factor)}"
        return f"{self.trace}, {self.order}{limits}, gaps {'filled' if self.fills else 'not filled'}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures and return the exit code."""
    parser = argparse.ArgumentParser(description="Compare gaps before reserved starts, filled and not.")
    parser.add_argument("--traces", type=Path, required=True, help="the folder of the traces")
    parser.add_argument("--only", choices=sorted(GPUS), help="only this trace")
    parser.add_argument("--rows", type=int, help="only this number of jobs of each trace, for a quick test")
    args = parser.parse_args(argv)
    names = [args.only] if args.only else list(GPUS)
    try:
        found: list[Compared] = []
        for name in names:
            trace = read_trace(args.traces / f"{name}.csv.gz", {POOL: GPUS[name]}, rows=args.rows)
            trace = replace(trace, jobs=tuple(replace(job, priority=0) for job in trace.jobs))
            found += compare(name, trace, oracle_jct_s(args.traces, trace))
    except InvalidInput as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    print(_table(found))
    wrong = list(faults(found))
    for sentence in wrong:
        print(f"FAIL {sentence}")
    return 1 if wrong else 0


def compare(name: str, trace: Trace, oracle_s: float) -> Iterator[Compared]:
    """Simulate a trace with each order and kind of limits, with gaps filled and not.

    Args:
        name: the name of the trace.
        oracle_s: the average JCT with known run times, s.
    """
    planned = scenarios(trace, [each for order in ORDERS for each in (order, filling(order))], LIMITS, checkpointing=1)
    with ProcessPoolExecutor(PROCESSES) as pool:
        for scenario, (result, told, late) in zip(planned, pool.map(_simulated, planned), strict=True):
            print(f"simulate: {result.trace}, {result.label}: {result.wall_s:.1f} s", file=sys.stderr)
            fills = scenario.policy.name not in ORDERS
            order = next(each for each in ORDERS if scenario.policy.name in (each, filling(each)))
            yield Compared(trace=name, order=order, fills=fills, result=result, oracle_s=oracle_s, told=told, late=late)


def _simulated(scenario: Scenario) -> tuple[Result, int, int]:
    watched = FirstStarts()
    result = simulate(replace(scenario, policy=replace(scenario.policy, scheduler=lambda: watched)))
    return result, watched.told, watched.late


def faults(found: Sequence[Compared]) -> Iterator[str]:
    """What the comparison is to show and does not, in sentences."""
    unfilled = {(each.trace, each.order, each.result.limit_factor): each for each in found if not each.fills}
    for each in found:
        jct_s = each.result.jct.avg_s
        if each.result.unfinished:
            yield f"{each.name}: {each.result.unfinished} jobs do not end"
        if each.late:
            yield f"{each.name}: {each.late} of {each.told} first jobs start later than they were told"
        if not each.fills:
            continue
        before_s = unfilled[each.trace, each.order, each.result.limit_factor].result.jct.avg_s
        if jct_s > before_s * (1 + NO_LONGER):
            yield f"{each.name}: the average JCT is {jct_s:.0f} s, otherwise {before_s:.0f} s"
        most = OFF_ORACLE.get(each.trace)
        is_goal = each.order == "order-shortest-remaining" and each.result.limit_factor == ROUNDED
        if is_goal and most is not None and each.off_oracle > most:
            yield f"{each.name}: the average JCT is {each.off_oracle:+.1%} off the oracle's, at most {most:+.0%}"


def _table(found: Sequence[Compared]) -> str:
    rows = [
        [
            each.trace,
            each.order,
            "" if each.result.limit_factor is None else described(each.result.limit_factor),
            "filled" if each.fills else "",
            f"{each.result.jct.avg_s:.0f}",
            f"{each.off_oracle:+.1%}",
            f"{each.result.jct.p99_s:.0f}",
            f"{each.result.utilisation:.1%}",
            each.result.preemptions,
            f"{each.result.work_lost_instance_h:.0f}",
            f"{each.late} of {each.told}",
        ]
        for each in found
    ]
    headers = ["Trace", "Policy", "Limits", "Gaps", "JCT s", "Oracle", "p99 s", "Used", "Preemptions", "Lost h", "Late"]
    return tabulate(rows, headers=headers, disable_numparse=True)


if __name__ == "__main__":
    sys.exit(main())
