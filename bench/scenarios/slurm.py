"""Headway beside Slurm, both on this machine: submitting, listing, preempting, draining, scheduling.

    make bench-slurm                   measures, prints, writes bench/results/slurm.json; takes root, to run Slurm

First Slurm alone, with its own commands; then Headway alone, through its HTTP API on a sandbox with the whole system
deployed; at last Headway's handlers with boto3, without what answers it (`bench.queues.warm`). Nodes are there at once
on both sides, and a job takes as long to stop. The goal is to be ahead in each figure; where the emulator is the
limit, the last column is Headway's own time.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.metering.machine import describe_machine
from bench.metering.submission_share import submission_share
from bench.part_process import end_by_signals
from bench.peers.headway import Headway
from bench.peers.side import FIRST, Figures, Sizes, advantage, behind, measure
from bench.peers.slurm import Slurm, SlurmMissing
from bench.queues.own_time import OwnTime
from bench.queues.warm import Took
from headway_sandbox.emulator.patches import VERSION

RESULT = Path(__file__).parents[1] / "results" / "slurm.json"
FULL = Sizes(nodes=16, jobs=100, members=10_000, drained=1_000, lengths=(1_000, 10_000), churn_s=15)
"""A quarter of an hour. --nodes and --jobs take more."""
QUICK = Sizes(nodes=4, jobs=16, members=10_000, drained=8, lengths=(50, 150), runs=1, listings=3, churn_s=4)
GRACE_S = 2
"""How long a job takes to stop: Slurm's KillWait, and SANDBOX_STOP_SECONDS of the training job."""
HANDLER, HANDLER_GOAL_MS = "handler of a warm submission, ms", 5.0
BOTO3 = "of it boto3's part, ms"
ALONE = "Headway's handlers alone"
LISTING, LISTING_GOAL_MS = "listing of 10,000: all, ms", 400.0
"""The goal is for the handler alone: the sandbox's emulator takes longer than DynamoDB."""
_WARM_UPS, _PROFILED = 5, 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; 2 if there is no Slurm. Missed goals are reported in words."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes and one run, about three minutes")
    parser.add_argument("--runs", type=int, help="repetitions (3; 1 with --quick)")
    parser.add_argument("--nodes", type=int, help=f"nodes, or instances ({FULL.nodes})")
    parser.add_argument("--jobs", type=int, help=f"jobs that are submitted, and drained ({FULL.jobs})")
    parser.add_argument("--slurm-parameters", default="", help="Slurm's SchedulerParameters; its defaults otherwise")
    parser.add_argument("--json", type=Path, help=f"where the figures go ({RESULT.name}; nowhere with --quick)")
    parser.add_argument(
        "--profile", action="store_true", help="only print where a submission's handler spends its time"
    )
    options = parser.parse_args(arguments)
    if options.profile:
        print_profile()
        return 0
    target = options.json or (None if options.quick else RESULT)
    try:
        result = measured(sizes_of(options), options.slurm_parameters)
    except SlurmMissing as error:
        print(error, file=sys.stderr)
        # What the set-up printed stays here: it names this machine's folders.
        _write(target, {"machine": describe_machine(), "skipped": str(error).partition("\n")[0].rstrip(":")})
        return 2
    print(table_of(result))
    _write(target, result)
    return 0


def sizes_of(options: argparse.Namespace) -> Sizes:
    """The requested sizes."""
    asked = {"nodes": options.nodes, "jobs": options.jobs, "drained": options.jobs, "runs": options.runs}
    return replace(QUICK if options.quick else FULL, **{name: size for name, size in asked.items() if size})


def _write(target: Path | None, result: Mapping[str, Any]) -> None:
    if target:
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measured(sizes: Sizes, slurm_parameters: str) -> dict[str, Any]:
    """All figures of both sides.

    Raises:
        SlurmMissing: it is not installed, or does not start.
    """
    with Slurm(sizes.nodes, grace_s=GRACE_S, parameters=slurm_parameters) as slurm:
        versions = {"Slurm": slurm.version}
        theirs = measure(slurm, sizes, lambda line: print(f"Slurm    {line}", flush=True))
    with Headway(sizes.nodes, grace_s=GRACE_S) as headway:
        versions |= {"Headway": headway.version, "emulator": f"ministack {VERSION}"}
        ours = measure(headway, sizes, lambda line: print(f"Headway  {line}", flush=True))
        share = submission_share(headway, sizes.jobs)
    return {
        "machine": describe_machine(),
        "versions": versions,
        "settings": {**asdict(sizes), "graceSeconds": GRACE_S, "slurmSchedulerParameters": slurm_parameters},
        **compared(ours, theirs, own_figures(sizes)),
        "submission on the sandbox, ms": {what: round(ms, 2) for what, ms in share.items()},
    }


def own_figures(sizes: Sizes) -> Figures:
    """Figures of Headway's handlers alone, under the names of those that they are part of."""
    figures: Figures = defaultdict(list)
    # The mean length of the queue during these submissions.
    queue = OwnTime(sizes.jobs // 2)
    submissions = submit(queue, _WARM_UPS + sizes.jobs)[_WARM_UPS:]
    figures[HANDLER] = [took.ms for took in submissions]
    figures[BOTO3] = [took.boto3_ms for took in submissions]
    figures["submissions, 1 client, jobs/s"] = [1000 / statistics.mean(figures[HANDLER])]
    for _ in range(sizes.runs):
        queue = OwnTime(sizes.drained)
        queue.empty()
        array_s = queue.array_ms(sizes.members) / 1000
        figures[f"an array of {sizes.members:,}, jobs/s"].append(sizes.members / array_s)
        taken_s = queue.together_ms(sizes.drained) / 1000
        figures["submissions together, jobs/s"].append(sizes.drained / taken_s)
        drained_s = taken_s + queue.drain_ms() / 1000
        figures[f"drain of {sizes.drained:,} jobs, jobs/s"].append(sizes.drained / drained_s)
    for waiting in sizes.lengths:
        queue = OwnTime(waiting)
        for _ in range(sizes.listings):
            figures[f"listing of {waiting:,}: the first {FIRST}, ms"].append(queue.listing_ms(FIRST))
        for _ in range(sizes.runs):
            figures[f"listing of {waiting:,}: all, ms"].append(queue.listing_ms(None))
    figures[f"cycle with {sizes.lengths[-1]:,} waiting, ms"] = [queue.cycle_ms() for _ in range(sizes.listings)]
    gc.unfreeze()  # each of these queues has frozen what there was
    return dict(figures)


def submit(queue: OwnTime, number: int) -> list[Took]:
    """Submit jobs one by one; a job starts after each, so that the queue keeps its length."""
    took = []
    for _ in range(number):
        took.append(queue.submission())
        queue.reaction()
    return took


def compared(ours: Figures, theirs: Figures, own: Figures) -> dict[str, Any]:
    """Each figure of both sides and of Headway's handlers alone, and which of the goals are missed."""
    medians = {name: statistics.median(values) for name, values in ours.items()}
    others = {name: statistics.median(values) for name, values in theirs.items()}
    figures = {
        name: {
            "Slurm": spread(theirs[name]),
            "Headway": spread(values),
            "timesAsGood": float(f"{advantage(name, medians[name], others[name]):.3g}"),
            **({ALONE: spread(own[name])} if name in own else {}),
        }
        for name, values in ours.items()
    }
    missed = [f"{name}: behind Slurm on the sandbox" for name in behind(medians, others)]
    handler_ms = statistics.median(own[HANDLER])
    if handler_ms >= HANDLER_GOAL_MS:
        missed.append(f"{HANDLER}: {handler_ms:.1f}; the goal is under {HANDLER_GOAL_MS:g}")
    listing_ms = statistics.median(own[LISTING]) if LISTING in own else 0.0
    if listing_ms >= LISTING_GOAL_MS:
        missed.append(f"{LISTING}, the handler alone: {listing_ms:.0f}; the goal is under {LISTING_GOAL_MS:g}")
    return {"figures": figures, **{name: spread(own[name]) for name in (HANDLER, BOTO3)}, "missed": missed}


def spread(values: Sequence[float]) -> dict[str, float]:
    """The median of some values, and from where to where they go."""
    found = {"median": statistics.median(values), "from": min(values), "to": max(values)}
    return {**{name: float(f"{value:.4g}") for name, value in found.items()}, "values": len(values)}


def table_of(result: Mapping[str, Any]) -> str:
    """The figures as text."""
    sides = ("Slurm", "Headway")
    lines = [f"{'':<46}{'Slurm':>24}{'Headway':>24}{'times':>8}{'handlers alone':>24}"]
    for name, figure in result["figures"].items():
        cells = [_cell(figure[side]) for side in sides]
        alone = _cell(figure.get(ALONE))
        lines.append(f"{name:<46}{cells[0]:>24}{cells[1]:>24}{figure['timesAsGood']:>8.3g}{alone:>24}")
    lines += [f"{name:<46}{'':>56}{_cell(result[name]):>24}" for name in (HANDLER, BOTO3)]
    lines.append("\nA submission on the sandbox, ms:")
    lines += [f"  {what:<70}{ms:>8.2f}" for what, ms in result["submission on the sandbox, ms"].items()]
    versions = ", ".join(result["versions"].values())
    lines.append(f"\nMedians (from..to). {result['machine']}; {versions}; a job takes {GRACE_S} s to stop.")
    lines += [f"Missed: {sentence}" for sentence in result["missed"]] or ["Ahead in each figure."]
    return "\n".join(lines)


def print_profile() -> None:
    """Print where the handler of a submission spends its time."""
    queue = OwnTime(QUICK.jobs)
    submit(queue, _WARM_UPS)
    profile = cProfile.Profile()
    for _ in range(_PROFILED):
        profile.runcall(queue.submission)
        queue.reaction()
    pstats.Stats(profile).sort_stats("cumulative").print_stats("headway|functions", 40)


def _cell(values: Mapping[str, float] | None) -> str:
    if values is None:
        return "-"
    if values["values"] == 1:
        return f"{values['median']:.3g}"
    return f"{values['median']:.3g} ({values['from']:.3g}..{values['to']:.3g})"


if __name__ == "__main__":
    end_by_signals()
    sys.exit(main())
