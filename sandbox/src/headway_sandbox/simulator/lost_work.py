"""`make lost-work`: how much work do preemptions lose on real traces, and how long do important jobs wait for less?

    python -m headway_sandbox.simulator.lost_work --traces FOLDER [--rows N]

All jobs write checkpoints. Each trace is simulated with victims as without known intervals, with victims by the work
since their last checkpoint, and with preemptions that wait for the next one. Exit code 1 if the longest wait for
checkpoints does not lose less work than unknown intervals, or if with a wait jobs of priority 1 start noticeably later
than without one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tabulate import tabulate

from headway_sandbox.simulator.errors import InvalidInput
from headway_sandbox.simulator.metrics import Result
from headway_sandbox.simulator.policies import with_checkpoints
from headway_sandbox.simulator.run import scenarios, simulate_all
from headway_sandbox.simulator.trace import Trace, read_trace

POOL = "gpu"
GPUS = 64
PLANNED = (
    ("muri-trace1", "headway", (600, 3600)),
    ("muri-trace1", "order-shortest-remaining", (600, 3600)),
    ("muri-trace2", "headway", (3600,)),
)
"""The traces, each with a policy and the intervals between checkpoints, s. With equals that give way, the second trace
takes half an hour."""

LIMIT = 2.0
"""The jobs' limits as multiples of their run times."""

WAITS_S = (0, 60, 300, 600)
"""For how long preemptions wait for a checkpoint."""

LONGER = 0.05
"""How much longer important jobs may wait on average: the course of a trace changes with each victim."""

PROCESSES = 2


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One simulation of a trace, beside the other ones with the same policy and interval."""

    trace: str
    policy: str
    interval_s: int
    #: None if the queue does not know the interval.
    wait_s: int | None
    #: The part of all work that was lost.
    lost: float
    result: Result

    @property
    def important_s(self) -> float:
        """The average wait of the jobs of priority 1, s."""
        return self.result.wait_by_priority_s.get("1", 0.0)

    @property
    def name(self) -> str:
        """What the queue knows and waits for."""
        if self.wait_s is None:
            return "as if unknown"
        return f"waits up to {self.wait_s} s" if self.wait_s else "by work lost"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures and return the exit code."""
    parser = argparse.ArgumentParser(description="Compare the work that preemptions lose on real traces.")
    parser.add_argument("--traces", type=Path, required=True, help="the folder of the traces")
    parser.add_argument("--rows", type=int, help="only this number of jobs of each trace, for a quick test")
    args = parser.parse_args(argv)
    try:
        found: list[Compared] = []
        for name, policy, intervals_s in PLANNED:
            trace = read_trace(args.traces / f"{name}.csv.gz", {POOL: GPUS}, rows=args.rows)
            found += compare(name, trace, policy, intervals_s)
    except InvalidInput as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    print(_table(found))
    wrong = list(faults(found))
    for sentence in wrong:
        print(f"FAIL {sentence}")
    return 1 if wrong else 0


def compare(name: str, trace: Trace, policy: str, intervals_s: Sequence[int]) -> Iterator[Compared]:
    """Simulate a trace with each interval and wait.

    Args:
        name: the name of the trace.
        intervals_s: the intervals between checkpoints, s.
    """
    (base,) = scenarios(trace, [policy], [LIMIT], checkpointing=1.0)
    planned = [(interval_s, wait_s) for interval_s in intervals_s for wait_s in (None, *WAITS_S)]
    results = simulate_all(
        [replace(base, policy=with_checkpoints(base.policy, *each)) for each in planned],
        processes=PROCESSES,
        report=_report,
    )
    work_h = sum(job.run_ms * job.count for job in trace.jobs) / 3_600_000
    for (interval_s, known_wait_s), result in zip(planned, results, strict=True):
        yield Compared(
            trace=name,
            policy=policy,
            interval_s=interval_s,
            wait_s=known_wait_s,
            lost=result.work_lost_instance_h / work_h,
            result=result,
        )


def faults(found: Sequence[Compared]) -> Iterator[str]:
    """What the comparison is to show and does not, in sentences."""
    by_wait = {(each.trace, each.policy, each.interval_s, each.wait_s): each for each in found}
    for each in found:
        unknown = by_wait[each.trace, each.policy, each.interval_s, None]
        without = by_wait[each.trace, each.policy, each.interval_s, 0]
        where = f"{each.trace}, {each.policy}, a checkpoint each {each.interval_s} s, {each.name}"
        if each.result.unfinished:
            yield f"{where}: {each.result.unfinished} jobs do not end"
        if each.wait_s == max(WAITS_S) and each.lost >= unknown.lost:
            yield f"{where}: {each.lost:.4%} of all work is lost, {unknown.lost:.4%} if the interval is unknown"
        if each.wait_s and each.important_s > without.important_s * (1 + LONGER):
            yield f"{where}: jobs of priority 1 wait {each.important_s:.0f} s, otherwise {without.important_s:.0f} s"


def _table(found: Sequence[Compared]) -> str:
    rows = [
        [
            each.trace,
            each.policy,
            each.interval_s,
            each.name,
            each.result.preemptions,
            f"{each.result.work_lost_instance_h:.1f}",
            f"{each.lost:.4%}",
            f"{each.important_s:.0f}",
            f"{each.result.jct.avg_s:.0f}",
        ]
        for each in found
    ]
    headers = [
        "Trace",
        "Policy",
        "Interval s",
        "Victims",
        "Preemptions",
        "Lost h",
        "Lost",
        "Priority 1 waits s",
        "JCT s",
    ]
    return tabulate(rows, headers=headers, disable_numparse=True)


def _report(result: Result) -> None:
    print(f"simulate: {result.trace}, {result.label}: {result.wall_s:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
