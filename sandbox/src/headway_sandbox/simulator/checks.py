"""`make sim`: compares the simulator with a reference simulator, and the queue with alternative schedulers.

    python -m headway_sandbox.simulator.checks --traces FOLDER [--out build/sim] [--rows N]

Exit code 1 if one of these conditions is false:

- FIFO and EASY agree with the reference simulator, with the same jobs and number of single instances;
- the queue's average JCT is no worse than EASY's with the same limits;
- with starts that take time, warm pools increase the average JCT by at most a hundredth, or two if a release takes two
  minutes, and all jobs end;
- with priorities, and small jobs first among equal priorities, jobs of priority 1 wait less than a tenth of the
  others' wait, and all jobs end;
- where all jobs are equals and preempt each other by what is left of their limits, the average JCT is at most 10 %
  longer than with known run times if limits are rounded up, and 20 % (on the longer trace, 25 %) if they are guessed,
  and all jobs end;
- where all jobs are equals with the same limit, and preempt each other by the service that they have attained, the
  average JCT is at most 60 % (on the longer trace, 75 %) of the published one of Tiresias-L, and all jobs end.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headway_client.text import to_json
from headway_sandbox.simulator.errors import InvalidInput
from headway_sandbox.simulator.limits import EQUAL, GUESSED, KINDS, ROUNDED
from headway_sandbox.simulator.metrics import Result
from headway_sandbox.simulator.oracle import oracle_jct_s
from headway_sandbox.simulator.plot import draw
from headway_sandbox.simulator.report import notes, table
from headway_sandbox.simulator.run import scenarios, simulate_all
from headway_sandbox.simulator.trace import GPUS_PER_NODE, Trace, read_trace, write_trace

POOL = "gpu"
ITP_GPUS = 1280
MURI_GPUS = 64
LIMITS = (1.0, 2.0, 5.0)
PROCESSES = 2

AGREEMENT = 0.01
"""Largest relative difference of the average JCT from the reference's."""

NO_WORSE = 0.001
"""Largest relative increase of an average JCT that counts as no worse, as ties are broken differently."""

COLD_START_MS, WARM_START_MS = 240_000, 20_000
KEPT_MS = (0, 600_000, 3_600_000)
RELEASE_MS = (120_000, 0)
"""How long a start takes, how long instances stay warm, and how long a release takes (AWS does not document it), in the
comparison of warm pools."""

RELEASE_COST = 0.02
"""Largest relative increase of the average JCT by warm pools whose release takes time: jobs of others wait for it."""

WAIT_RATIO = 0.1
"""Largest ratio of the average waits of important jobs and others."""

OFF_ORACLE = {"muri-trace1.csv.gz": {ROUNDED: 0.1, GUESSED: 0.2}, "muri-trace2.csv.gz": {ROUNDED: 0.1, GUESSED: 0.25}}
"""How much longer the average JCT is at most where jobs preempt equals by what is left of such limits, than where they
do by what is left of their run times times their instances, which no queue knows. By trace."""

OF_TIRESIAS = {"muri-trace1.csv.gz": 0.6, "muri-trace2.csv.gz": 0.75}
"""Largest part of the average JCT that was published for Tiresias-L, where jobs preempt equals by their service and all
limits are the same, so that they say nothing. By trace."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks and return the exit code."""
    parser = argparse.ArgumentParser(description="Check the simulator and the queue on real traces.")
    parser.add_argument("--traces", type=Path, required=True, help="the folder of the traces")
    parser.add_argument("--out", type=Path, default=Path("build/sim"), help="folder for results and plots")
    parser.add_argument("--rows", type=int, help="only this number of jobs of each trace, for a quick test")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        verdicts = _check_itp(args.traces, args.out, args.rows)
        verdicts += _check_warm(args.traces, args.out, args.rows)
        for name in ("muri-trace1", "muri-trace2"):
            verdicts += _check_muri(args.traces, name, args.out, args.rows)
            verdicts += _check_equals(args.traces, name, args.out, args.rows)
    except InvalidInput as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    print()
    for holds, sentence in verdicts:
        print(f"{'ok  ' if holds else 'FAIL'} {sentence}")
    return 0 if all(holds for holds, _ in verdicts) else 1


Verdict = tuple[bool, str]


def _check_itp(traces: Path, out: Path, rows: int | None) -> list[Verdict]:
    trace = read_trace(traces / "msr-itp.csv.gz", {POOL: ITP_GPUS}, rows=rows)
    planned = scenarios(trace, ["fifo", "sjf", "easy", "headway", "order-short"], LIMITS)
    results = simulate_all(planned, processes=PROCESSES, report=_report)
    _write_results(out, "msr-itp", trace, results)
    print()
    alike, placed = _reference(traces, trace)
    print("\nReference simulator on single instances, as here, and on 8-GPU nodes with placement (average JCT, s)")
    for policy, figures in alike.items():
        print(f"  {policy:<5} {figures['avg_jct_s']:>8} {placed[policy]['avg_jct_s']:>8}")
    (out / "reference.json").write_text(to_json({"singleInstances": alike, "nodes": placed}) + "\n", encoding="utf-8")
    by_label = {result.label: result for result in results}
    verdicts = [
        _agrees(by_label["fifo"], alike["fifo"]["avg_jct_s"]),
        _agrees(by_label["easy 1x"], alike["easy"]["avg_jct_s"]),
    ]
    verdicts += [
        _compares(by_label[f"headway {factor:g}x"], by_label[f"easy {factor:g}x"], factor) for factor in LIMITS
    ]
    return verdicts


def _check_warm(traces: Path, out: Path, rows: int | None) -> list[Verdict]:
    trace = read_trace(traces / "msr-itp.csv.gz", {POOL: ITP_GPUS}, rows=rows)
    planned = [
        each
        for keep_ms in KEPT_MS
        for release_ms in (RELEASE_MS if keep_ms else RELEASE_MS[:1])
        for each in scenarios(
            trace,
            ["headway"],
            cold_start_ms=COLD_START_MS,
            warm_start_ms=WARM_START_MS,
            keep_ms=keep_ms,
            release_ms=release_ms,
        )
    ]
    cold, *kept = simulate_all(planned, processes=PROCESSES, report=_report)
    _write_results(out, "msr-itp-warm", trace, [cold, *kept])
    return [_saves(warm, cold) for warm in kept]


def _check_muri(traces: Path, name: str, out: Path, rows: int | None) -> list[Verdict]:
    trace = read_trace(traces / f"{name}.csv.gz", {POOL: MURI_GPUS}, rows=rows)
    alone = replace(trace, jobs=tuple(job for job in trace.jobs if job.priority))
    ordered = ["order-short", "order-shortest-remaining", "order-shared"]
    planned = [
        *scenarios(alone, ["order-short"], checkpointing=1.0),
        *scenarios(trace, ordered, LIMITS, checkpointing=1.0),
        *scenarios(trace, ["headway", "fifo", "easy", "sjf", "article"], checkpointing=1.0),
    ]
    undisturbed, *results = simulate_all(planned, processes=PROCESSES, report=_report)
    _write_results(out, name, trace, results)
    return [verdict for ours in results[: len(ordered) * len(LIMITS)] for verdict in _orders(ours, undisturbed)]


def _check_equals(traces: Path, name: str, out: Path, rows: int | None) -> list[Verdict]:
    """All jobs are equals and write checkpoints; the bounds are those of the default policy, or none."""
    trace = read_trace(traces / f"{name}.csv.gz", {POOL: MURI_GPUS}, rows=rows)
    trace = replace(trace, jobs=tuple(replace(job, priority=0) for job in trace.jobs))
    bounded, unbounded = "order-shortest-remaining", "order-shortest-remaining-unbounded"
    planned = [
        *scenarios(trace, ["headway", "order-short", bounded, "order-shared"], [1.0, *KINDS], checkpointing=1.0),
        *scenarios(trace, [unbounded], [1.0, ROUNDED, GUESSED], checkpointing=1.0),
        *scenarios(trace, ["order-shared-unbounded"], [GUESSED, EQUAL], checkpointing=1.0),
    ]
    results = simulate_all(planned, processes=PROCESSES, report=_report)
    _write_results(out, f"{name}-equals", trace, results)
    oracle_s = oracle_jct_s(traces, trace)
    published_s = _published_s(traces, name, "Tiresias-L")
    return [
        *(
            _nears(ours, oracle_s)
            for ours in results
            if ours.policy == bounded and ours.limit_factor in (ROUNDED, GUESSED)
        ),
        *(_shares(ours, published_s) for ours in results if ours.policy == "order-shared"),
    ]


def _shares(ours: Result, published_s: float) -> Verdict:
    """Check that all jobs end and, where limits say nothing, that the average JCT is well below a published one."""
    part = ours.jct.avg_s / published_s
    sentence = (
        f"{ours.trace}, {ours.label}: average JCT {ours.jct.avg_s:.0f} s, published for Tiresias-L {published_s:.0f} s "
        f"({part:.1%}); p99 wait {ours.wait.p99_s:.0f} s, {ours.preemptions} preemptions"
    )
    return (part <= OF_TIRESIAS[ours.trace] or ours.limit_factor != EQUAL) and not ours.unfinished, sentence


def _published_s(traces: Path, name: str, policy: str) -> float:
    """Return the average JCT that the authors of a trace have published for a policy."""
    with (traces / "published-muri.csv").open(encoding="utf-8", newline="") as lines:
        rows = {(row["trace"], row["policy"]): row for row in csv.DictReader(lines)}
    return float(rows[name.removeprefix("muri-"), policy]["avg_jct_s"])


def _nears(ours: Result, oracle_s: float) -> Verdict:
    """Check that the average JCT is near that of an oracle."""
    off = ours.jct.avg_s / oracle_s - 1
    sentence = (
        f"{ours.trace}, {ours.label}: average JCT {ours.jct.avg_s:.0f} s, with known run times {oracle_s:.0f} s "
        f"({off:+.1%}); p99 wait {ours.wait.p99_s:.0f} s, {ours.preemptions} preemptions"
    )
    return off <= OFF_ORACLE[ours.trace][str(ours.limit_factor)] and not ours.unfinished, sentence


def _orders(ours: Result, undisturbed: Result) -> list[Verdict]:
    """Check that priorities have an effect and all jobs end."""
    high, low = ours.wait_by_priority_s.get("1", 0.0), ours.wait_by_priority_s.get("0", 0.0)
    least = undisturbed.wait.avg_s
    name = f"{ours.trace}, {ours.label}"
    waits = (
        f"{name}: jobs of priority 1 wait {high:.0f} s on average, those of priority 0 {low:.0f} s "
        f"({high / low if low else 0:.3f}); jobs of priority 1 alone would wait {least:.0f} s"
    )
    ends = f"{name}: {ours.jobs} of {ours.jobs + ours.unfinished} jobs end; the longest wait is {ours.wait.max_s:.0f} s"
    return [(high < WAIT_RATIO * low, waits), (not ours.unfinished, ends)]


def _compares(ours: Result, easy: Result, factor: float) -> Verdict:
    """Check that the queue is no worse than EASY backfill with the same limits."""
    sentence = (
        f"msr-itp, limits {factor:g}x: average JCT {ours.jct.avg_s:.0f} s, EASY {easy.jct.avg_s:.0f} s; "
        f"p99 wait {ours.wait.p99_s:.0f} s, EASY {easy.wait.p99_s:.0f} s"
    )
    return ours.jct.avg_s <= easy.jct.avg_s * (1 + NO_WORSE) and not ours.unfinished, sentence


def _saves(warm: Result, cold: Result) -> Verdict:
    """Compare a simulation with warm pools with the same without."""
    off = warm.jct.avg_s / cold.jct.avg_s - 1
    saved_h = warm.warm_starts * (COLD_START_MS - WARM_START_MS) / 3_600_000
    sentence = (
        f"msr-itp, instances kept warm for {warm.keep_s:g} s and released in {warm.release_s:g} s: average JCT "
        f"{warm.jct.avg_s:.0f} s, without warm pools {cold.jct.avg_s:.0f} s ({off:+.3%}); {warm.warm_starts} of "
        f"{warm.jobs} jobs start warm, which saves {saved_h:.0f} h of starts; warm pools are idle for "
        f"{warm.warm_idle_instance_h:.0f} instance hours"
    )
    return off <= (
        RELEASE_COST if warm.release_s else AGREEMENT
    ) and warm.warm_starts > 0 and not warm.unfinished, sentence


def _agrees(ours: Result, reference_s: float) -> Verdict:
    off = ours.jct.avg_s / reference_s - 1
    return (
        abs(off) <= AGREEMENT,
        f"msr-itp, {ours.label}: average JCT {ours.jct.avg_s:.0f} s, reference {reference_s:.0f} s ({off:+.3%})",
    )


def _reference(traces: Path, trace: Trace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the reference's results for the same jobs, with one GPU per node, and with real nodes.

    Its nodes have 8 GPUs each. A trace in which every job demands 8 times its GPUs, on as many nodes as there are GPUs,
    therefore has no fragmentation, like a pool of single instances.
    """
    script = traces / "sim" / "ref_sim.py"
    with tempfile.TemporaryDirectory() as folder:
        single, whole = Path(folder, "single.csv.gz"), Path(folder, "whole.csv.gz")
        write_trace(trace, single, times=GPUS_PER_NODE)
        write_trace(trace, whole, times=1)
        running = [
            (policies, _start(script, path, nodes, policies))
            for path, nodes, policies in (
                (single, ITP_GPUS, "fifo,easy"),
                (whole, ITP_GPUS // GPUS_PER_NODE, "fifo,easy"),
            )
        ]
        alike, placed = (_figures(process) for _, process in running)
    return alike, placed


def _start(script: Path, path: Path, nodes: int, policies: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(script), str(path), "--nodes", str(nodes), "--policy", policies]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _figures(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, _ = process.communicate()
    if process.returncode:
        raise InvalidInput(f"the reference simulator failed with exit code {process.returncode}")
    return {figures["policy"]: figures for figures in map(json.loads, output.splitlines())}


def _write_results(out: Path, name: str, trace: Trace, results: Sequence[Result]) -> None:
    print(f"\n{name}: {len(trace.jobs)} jobs on {sum(trace.pools.values())} GPUs (times in s)")
    print(table(results))
    for note in notes(results):
        print(note)
    document = {"trace": trace.source, "pools": dict(trace.pools), "results": [one.to_document() for one in results]}
    (out / f"{name}.json").write_text(to_json(document) + "\n", encoding="utf-8")
    (out / f"{name}.svg").write_text(draw(results, sum(trace.pools.values())), encoding="utf-8")


def _report(result: Result) -> None:
    print(f"simulate: {result.trace}, {result.label}: {result.wall_s:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
