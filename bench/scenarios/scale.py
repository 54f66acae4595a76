"""Headway with a hundred thousand waiting jobs, and bursts of submissions.

    python -m bench.scenarios.scale              measures, prints, writes bench/results/scale.json
    python -m bench.scenarios.scale --quick      small sizes; writes nothing without --json

Four parts. *Long queues* in memory, with units and calls (`long_queues`), and in a sandbox's table over HTTP
(`long_sandbox_queues`). *A burst* of submissions on a sandbox (`burst`). *Bounds*: what DynamoDB's partitions allow
with the units of each step (`bench.metering.partitions`); docs/explanation/scale.md is based on them. *A large queue*
for some minutes, with open boards, in memory (`large_queue`). The exit code is
1 if an accepted job is lost.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.metering.machine import describe_machine
from bench.metering.partitions import bounds, units_of_steps
from bench.part_process import end_by_signals
from bench.runs import burst, large_queue, long_sandbox_queues
from bench.runs.long_queues import CALLS, OPERATIONS, READS, measured_apart, ratios
from headway_sandbox.emulator.patches import VERSION
from headway_service.observability.logging import logger

RESULT = Path(__file__).parents[1] / "results" / "scale.json"
BASE = 100
"""The number of waiting jobs that long queues are compared with."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is measured.

    Attributes:
        in_memory: waiting jobs, with the number of pools over which they are spread.
        in_sandbox: waiting jobs in the sandbox's table.
        submissions, clients: of the burst.
        rounds: the number of rounds of each operation on the sandbox, and of each counted step.
        large: of the large queue: how many jobs run and wait, how many boards are open, and for how many minutes.
    """

    in_memory: Mapping[int, int]
    in_sandbox: int
    submissions: int
    clients: int
    rounds: int
    large: tuple[int, int, int, int]


FULL = Sizes(in_memory={100_000: 1, 1_000_000: 10}, in_sandbox=100_000, submissions=1_000, clients=50, rounds=5,
             large=(5_000, 100_000, 60, 2))  # fmt: skip
QUICK = Sizes(in_memory={5_000: 1}, in_sandbox=1_000, submissions=60, clients=10, rounds=2,
              large=(200, 1_000, 6, 1))  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the figures; 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--no-sandbox", action="store_true", help="only what runs in memory")
    parser.add_argument("--json", type=Path, help="where the figures go, if not to bench/results/scale.json")
    chosen = parser.parse_args(arguments)
    logger.setLevel(logging.WARNING)
    sizes = QUICK if chosen.quick else FULL
    result: dict[str, Any] = {
        "machine": describe_machine(),
        "versions": {**{name: version(name) for name in ("headway", "boto3")}, "emulator": VERSION},
        "settings": asdict(sizes),
        **measured(sizes, sandbox=not chosen.no_sandbox, tell=print),
    }
    path = chosen.json or (None if chosen.quick or chosen.no_sandbox else RESULT)
    if path:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    problems = lost(result)
    for problem in problems:
        print(f"LOST: {problem}")
    return 1 if problems else 0


def measured(sizes: Sizes, *, sandbox: bool, tell: Callable[[str], object]) -> dict[str, Any]:
    """All parts, each printed as soon as it is known."""
    tell(f"machine: {describe_machine()}\n")
    parts: dict[str, Any] = {"in memory": [], "in the sandbox": [], "burst": None}
    for waiting, pools in sizes.in_memory.items():
        short, long = (measured_apart(number, pools=pools) for number in (BASE, waiting))
        part = {"short": short, "long": long, "ratios": ratios(long, short)}
        parts["in memory"].append(part)
        tell(table_of("in memory", part))
    parts["units"] = units_of_steps(BASE, sizes.rounds)
    parts["bounds"] = {step: [asdict(bound) for bound in bounds(units)] for step, units in parts["units"].items()}
    tell(bounds_table(parts["bounds"]))
    parts["large"] = large_queue.measured_apart(*sizes.large)
    tell(large_queue.lines(parts["large"]))
    if sandbox:
        short, long = long_sandbox_queues.measure((BASE, sizes.in_sandbox), rounds=sizes.rounds)
        part = {"short": short, "long": long, "ratios": ratios(long, short)}
        parts["in the sandbox"].append(part)
        tell(table_of("in the sandbox's table, over HTTP", part))
        parts["burst"] = burst.measure(sizes.submissions, sizes.clients)
        tell(f"{sizes.submissions} submissions from {sizes.clients} clients:\n{_lines(parts['burst'])}")
    return parts


def lost(result: Mapping[str, Any]) -> list[str]:
    """Accepted jobs that are missing, or were done twice, in words."""
    submitted = result["burst"]
    if submitted is None:
        return []
    return [
        *(f"{name} was submitted and is not there" for name in submitted["lost"]),
        *(f"{name} was refused and is there" for name in submitted["kept though refused"]),
    ]


def table_of(where: str, part: Mapping[str, Any]) -> str:
    """The figures of long lines beside short ones, for people."""
    short, long, times = part["short"], part["long"], part["ratios"]
    memory = f", peak {long['peakMemoryMB']:,} MB" if "peakMemoryMB" in long else ""
    lines = [
        f"{long['waiting']:,} waiting {where} beside {short['waiting']:,} (filled in {long['fillS']:g} s{memory}):"
    ]
    for operation in OPERATIONS:
        told = [
            f"{short[operation][kind]:>9,.1f} → {long[operation][kind]:>9,.1f} {unit} ({times[operation][kind]:g}x)"
            for kind, unit in (("ms", "ms"), (READS, "read units"), (CALLS, "calls"))
            if kind in times[operation]
        ]
        lines.append(f"  {operation:<14}" + "".join(f"{each:<46}" for each in told).rstrip())
    return "\n".join(lines) + "\n"


def bounds_table(steps: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """What each step uses at the place that bears it least often, for people."""
    lines = ["at DynamoDB's limits:"]
    for step, places in steps.items():
        for bound in places[:3]:
            units = f"{bound['write_units']:g} written, {bound['read_units']:g} read"
            lines.append(f"  {step:<28}{bound['place']:<18}{units:<26}{bound['a_second']:>8,.0f} a second")
    return "\n".join(lines) + "\n"


def _lines(figures: Mapping[str, Any]) -> str:
    return "\n".join(f"  {name:<26}{value}" for name, value in figures.items())


if __name__ == "__main__":
    end_by_signals()
    raise SystemExit(main())
