"""`make soak`, `make trials` and `make safeguards`: random runs, trials, and the removal of safeguards.

python -m headway_verification.soak --seeds 2000 [--from 0] [--processes 2]
python -m headway_verification.soak --seed 17            # one run, with its log
python -m headway_verification.soak --seed 17 --only 3,8 # the same, with only these two happenings
python -m headway_verification.soak --order shared --seeds 200
python -m headway_verification.soak --trials             # a crash at each call, and others between each two
python -m headway_verification.soak --safeguards --seeds 300 [--only preempt]

Exit code 1 if an invariant is violated, or the removal of a safeguard is not detected.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from io import StringIO

from tabulate import tabulate

from headway.policy import PREDICTED_ORDERS, Order
from headway_service.observability.logging import logger
from headway_verification.soak.call_log import keep
from headway_verification.soak.ddmin import shrink
from headway_verification.soak.faults.plan import Fault
from headway_verification.soak.random_run import Outcome, make_run
from headway_verification.soak.safeguards.conditions import unreached
from headway_verification.soak.safeguards.removing import TRIALS, Removal, stale_reasons
from headway_verification.soak.trials.crash_points import Trial, Way, crash, interleave
from headway_verification.soak.trials.interleavings import INTERLEAVINGS
from headway_verification.soak.trials.scenarios import SITUATIONS

MAX_SHRUNK = 5
"""Failed runs that are minimized and shown."""

LOG_LINES = 60
"""Lines shown of the log of a failed run."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run a simulated queue many times with random faults.")
    parser.add_argument("--seeds", type=int, default=200, help="number of runs")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2, help="concurrent runs")
    parser.add_argument("--seed", type=int, help="make a single run and show its whole log")
    only = "the numbers of the happenings to keep; or, with --safeguards, a text that their titles contain"
    parser.add_argument("--only", help=only)
    orders = "the order among equals: " + ", ".join(Order) + "; by default the one that each seed gives"
    parser.add_argument("--order", type=Order, help=orders)
    parser.add_argument("--predictions", action="store_true", help="with --order: predicted run times count in it")
    parser.add_argument("--trials", action="store_true", help="try every situation in each of its ways")
    parser.add_argument("--safeguards", action="store_true", help="remove one safeguard at a time")
    args = parser.parse_args(argv)
    if args.seeds < 1 or args.processes < 1:
        parser.error("--seeds and --processes must be at least 1")
    if args.predictions and args.order not in PREDICTED_ORDERS:
        parser.error("--predictions needs an --order that compares run times: " + ", ".join(sorted(PREDICTED_ORDERS)))
    run = partial(quiet_run, order=args.order, predicts=args.predictions)
    if args.seed is not None:
        quiet()
        return _one(run(args.seed, None if args.only is None else _numbers(args.only)))
    seeds = range(args.first, args.first + args.seeds)
    with ProcessPoolExecutor(max_workers=args.processes, initializer=quiet) as pool:
        if args.trials:
            return _trials(pool)
        if args.safeguards:
            return _safeguards(pool, seeds, args.processes, args.only or "")
        return _soak(pool, seeds, run)


def quiet() -> None:
    """Suppress the logs and warnings of the handlers."""
    logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="aws_lambda_powertools")


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def quiet_run(
    seed: int, only: Collection[int] | None = None, order: Order | None = None, *, predicts: bool = False
) -> Outcome:
    """Make a run, discarding the metrics that the handlers print.

    Args:
        seed: the seed of the run.
        only: the numbers of the happenings to keep; None for all.
        order: the order among equals; None for the one that the seed gives.
        predicts: whether predictions count in the given order.
    """
    with redirect_stdout(StringIO()):
        return make_run(seed, only, order, predicts=predicts)


def _one(outcome: Outcome) -> int:
    _show(outcome, len(outcome.log))
    print(f"seed {outcome.seed}: {outcome.violation or 'all invariants hold'}")
    return 1 if outcome.violation else 0


def _show(outcome: Outcome, lines: int) -> None:
    for time_s, who, what in outcome.log[-lines:]:
        print(f"{time_s:10.1f}  {who:<22}  {what}")


def _soak(pool: ProcessPoolExecutor, seeds: range, run: partial[Outcome]) -> int:
    began = time.perf_counter()
    faults: Counter[tuple[str, Fault]] = Counter()
    calls: Counter[str] = Counter()
    acts: Counter[str] = Counter()
    failures: Counter[tuple[str, str]] = Counter()
    answers: Counter[int] = Counter()
    states: set[str] = set()
    jobs = refused = alarms = 0
    broken: list[Outcome] = []
    needed: list[Counter[tuple[str, str]]] = []
    for outcome in pool.map(run, seeds, chunksize=8):
        faults += outcome.faults
        calls += outcome.calls
        acts += outcome.acts
        failures += outcome.failures
        answers += outcome.answers
        states |= outcome.states
        jobs += outcome.jobs
        refused += outcome.refused_again
        alarms += outcome.alarms
        needed.append(outcome.needed)
        if outcome.violation:
            # At once: to shrink it may take longer than all runs.
            print(f"seed {outcome.seed}: {outcome.violation}", flush=True)
            broken.append(outcome)
    keep("soak", needed)
    took_s = time.perf_counter() - began
    kinds = [kind for kind in Fault if kind is not Fault.NONE]
    rows = [[name, calls[name], *(faults[name, kind] for kind in kinds)] for name in sorted(calls)]
    print(tabulate(rows, headers=["call", "calls", *kinds]))
    print(f"\nuser actions: {', '.join(f'{name} {count}' for name, count in acts.most_common())}")
    causes = (f"{kind} in {name} {count}" for (name, kind), count in failures.most_common())
    print(f"failures of invocations: {', '.join(causes)}")
    print(f"API responses: {', '.join(f'{status} {count}' for status, count in sorted(answers.items()))}")
    print(f"states: {', '.join(sorted(states))}")
    print(f"jobs accepted: {jobs}; of these SageMaker refused again and again: {refused}")
    print(f"alarms created: {calls['PutMetricAlarm']}; alarms at the end: {alarms}")
    print(
        f"{len(seeds)} runs (seeds {seeds.start} to {seeds.stop - 1}) in {took_s:.1f} s, "
        f"{len(seeds) / took_s:.1f} per second; {faults.total()} faults; {len(broken)} violations"
    )
    for outcome, (shortest, kept) in zip(broken, pool.map(partial(shrunk, run=run), broken[:MAX_SHRUNK]), strict=False):
        print(f"\nseed {outcome.seed} at {_commit()}: {outcome.violation}")
        print(f"minimized from {outcome.happenings} happenings: {shortest.violation}")
        _show(shortest, LOG_LINES)
        numbers = ",".join(map(str, kept))
        order, predicts = run.keywords["order"], " --predictions" if run.keywords["predicts"] else ""
        given = "" if order is None else f" --order {order}{predicts}"
        print(f"to repeat: python -m headway_verification.soak{given} --seed {outcome.seed} --only {numbers}")
    return 1 if broken else 0


def shrunk(broken: Outcome, run: Callable[..., Outcome] = quiet_run) -> tuple[Outcome, list[int]]:
    """Minimize a run that violates an invariant.

    Args:
        broken: the run.
        run: makes such a run.
    """
    return shrink(partial(run, broken.seed), broken)


def _trials(pool: ProcessPoolExecutor) -> int:
    broken = 0
    for title, kind, names in (("crashes", crash, SITUATIONS), ("interleavings", interleave, INTERLEAVINGS)):
        trials = list(pool.map(partial(quiet_trial, kind), names))
        rows = [[trial.name, trial.calls, trial.ways, len(trial.violations)] for trial in trials]
        print(tabulate(rows, headers=[title, "calls", "ways", "broken"]), end="\n\n")
        for trial in trials:
            for way, how in trial.violations.items():
                print(f"{trial.name}, {way}: {how}")
        broken += sum(len(trial.violations) for trial in trials)
        keep("trials", (trial.needed for trial in trials))
    return 1 if broken else 0


def quiet_trial(kind: Callable[[str], Trial], name: str) -> Trial:
    """Run a trial, discarding the metrics that the handlers print.

    Args:
        kind: runs the trial.
        name: the title of the situation or interleaving.
    """
    with redirect_stdout(StringIO()):
        return kind(name)


def _safeguards(pool: ProcessPoolExecutor, seeds: range, processes: int, only: str) -> int:
    began = time.perf_counter()
    removal = Removal(pool, partial(print, flush=True), only=only)
    all_noticed = removal.run(TRIALS, seeds, processes)
    unknown = [*unreached(removal.calls), *([] if only else stale_reasons(removal.rows))]
    for each in unknown:
        print(f"a condition that no trial reaches, or a reason without a condition: {each}")
    rows = removal.rows.values()
    by = Counter(
        "trials" if isinstance(row.detected_by, Way) else "runs" for row in rows if row.detected_by is not None
    )
    cpu_s = sum(row.cpu_s for row in rows)
    print(
        f"{len(rows)} safeguards in {time.perf_counter() - began:.0f} s, with {processes} processes: {by['trials']} "
        f"detected by trials, {by['runs']} by runs; {removal.survey_cpu_s:.0f} s of CPU for surveys, "
        f"{cpu_s:.0f} s without safeguards"
    )
    return 0 if all_noticed and not unknown else 1


def _commit() -> str:
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "an unknown commit"


if __name__ == "__main__":
    sys.exit(main())
