"""From the event that instances are free to the call that starts the next job: our own handlers, warm and cold.

    python -m bench.scenarios.reaction           measures, prints, and writes bench/results/reaction.json

Warm (`bench.queues.warm`): one process, the real handlers, adapters and boto3 clients, without the network and AWS's
own time. It is CPU time, so that other work of the machine does not count. Cold (`bench.runs.cold_start`): a
fresh interpreter each time, with only the function and its layers on its path. Lambda gives a function its share of a
core by its memory, and a whole core and more while it starts; here each function has a core of this machine, and its
CPU time (CPU ms) shows whether it had the core to itself.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.metering import build_sizes
from bench.metering.machine import describe_machine
from bench.queues import warm
from bench.runs import cold_start

RESULT = Path(__file__).resolve().parents[1] / "results" / "reaction.json"
WAITING = (1, 100, 10_000)
"""Waiting jobs, including the one that is started."""
GOAL_REACTION_MS, GOAL_SUBMISSION_MS = 150.0, 5.0
GOAL_COLD_MS = {"bytecode": 500.0, "sources": 1000.0}
SLOWEST_PACKAGES = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write; a quick run writes only with --json. A missed goal is no failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a short line, a few times each; writes nothing")
    parser.add_argument("--json", type=Path, help=f"where the figures go ({RESULT.name}; nowhere with --quick)")
    args = parser.parse_args(arguments)
    result = measured(quick=args.quick)
    print("\n".join(lines_of(result)))
    for problem in problems(result["figures"]):
        print(f"MISSED: {problem}")
    path = args.json or (None if args.quick else RESULT)
    if path:
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def measured(*, quick: bool) -> dict[str, Any]:
    """All figures, with their machine."""
    lengths, runs, times, starts = (WAITING[:-1], 2, 20, 1) if quick else (WAITING, 3, 150, 9)
    functions = tuple(cold_start.FIRST_EVENTS) if quick else cold_start.FUNCTIONS
    return {
        "machine": describe_machine(),
        "versions": {"python": platform.python_version(), **cold_start.versions()},
        "runs": {"warm": runs, "eachTimes": times, "cold": starts},
        "figures": {
            "warm": [warm.measure(waiting, runs=runs, times=times) for waiting in lengths],
            "cold": cold_start.measure(starts, functions),
            "sizes": build_sizes.measure(),
        },
    }


def problems(figures: Mapping[str, Any]) -> list[str]:
    """The goals that are missed, in words."""
    found = []
    for each in figures["warm"]:
        p99_ms = each["reaction"]["p99Ms"]["all"]
        if p99_ms >= GOAL_REACTION_MS:
            found.append(
                f"with {each['waiting']} waiting the slowest hundredth of reactions takes {p99_ms:.0f} ms of our own "
                f"time, boto3's included; the goal is less than {GOAL_REACTION_MS:.0f} ms"
            )
        p50_ms = each["submission"]["p50Ms"]["all"]
        if p50_ms >= GOAL_SUBMISSION_MS:
            found.append(
                f"with {each['waiting']} waiting a submission takes {p50_ms:.1f} ms of our own time, boto3's included; "
                f"the goal is less than {GOAL_SUBMISSION_MS:.0f} ms"
            )
    for kind, cold in figures["cold"].items():
        ready_ms = cold["functions"]["api"]["ready"]["ms"]["median"]
        if ready_ms >= GOAL_COLD_MS[kind]:
            found.append(
                f"the API's function is ready after {ready_ms:.0f} ms ({kind}); the goal is less than "
                f"{GOAL_COLD_MS[kind]:.0f} ms"
            )
    return found


def lines_of(result: Mapping[str, Any]) -> Iterator[str]:
    """The figures, as tables."""
    figures = result["figures"]
    yield f"{result['machine']}; {result['runs']}"
    yield ""
    yield f"{'warm, ms':<44}{'p50':>8}{'boto3':>8}{'p99':>8}   least and greatest p99 of a run"
    for name, goal in (("reaction", f"p99 {GOAL_REACTION_MS:.0f}"), ("submission", f"p50 {GOAL_SUBMISSION_MS:.0f}")):
        for each in figures["warm"]:
            found = each[name]
            p50_ms, p99_ms, (least, greatest) = found["p50Ms"]["all"], found["p99Ms"]["all"], found["p99Ms"]["runs"]
            what = f"{name}, {each['waiting']:,} waiting (goal: {goal})"
            yield f"{what:<44}{p50_ms:>8.1f}{found['boto3P50Ms']:>8.1f}{p99_ms:>8.1f}   {least:.1f}, {greatest:.1f}"
    for kind, cold in figures["cold"].items():
        yield ""
        yield f"{f'cold, {kind}':<18}{'ready ms':>10}{'CPU ms':>8}{'MB':>6}{'answered ms':>13}{'CPU ms':>8}{'MB':>6}"
        for function, found in cold["functions"].items():
            yield _cold_line(function, found)
        yield _modules_line(cold["modules"])
    yield ""
    yield from _size_lines(figures["sizes"])


def _cold_line(function: str, found: Mapping[str, Any]) -> str:
    columns = [
        f"{found[when][name]['median']:>{width}.0f}"
        for when, widths in (("ready", (10, 8, 6)), ("answered", (13, 8, 6)))
        if when in found
        for name, width in zip(("ms", "cpuMs", "mb"), widths, strict=True)
    ]
    return f"{function:<18}{''.join(columns)}"


def _modules_line(found: Mapping[str, Any]) -> str:
    slowest = list(found["packagesMs"].items())[:SLOWEST_PACKAGES]
    told = ", ".join(f"{package} {ms:.0f}" for package, ms in slowest)
    return f"{found['function']} imports {found['imported']} modules; ms by package, each timed: {told}"


def _size_lines(found: Mapping[str, Any]) -> Iterator[str]:
    if not found:
        yield "no sizes: run `make build`"
        return
    yield f"{'sizes, KB':<24}{'packed':>10}{'unpacked':>10}"
    for name, part in found["parts"].items():
        yield f"{name:<24}{part['packedBytes'] / 1000:>10.1f}{part['unpackedBytes'] / 1000:>10.1f}"
    if not found["ofTheseSources"]:
        yield "the build is of other sources than these: run `make build`"


if __name__ == "__main__":
    raise SystemExit(main())
