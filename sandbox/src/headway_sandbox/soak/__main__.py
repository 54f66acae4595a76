"""`make soak`, `make trials` and `make safeguards`: lives, trials, and whether they notice what is missing.

    python -m headway_sandbox.soak --seeds 2000 [--from 0] [--processes 2]
    python -m headway_sandbox.soak --seed 17            # one life, with its log
    python -m headway_sandbox.soak --seed 17 --only 3,8 # the same, where no more than these two things happen
    python -m headway_sandbox.soak --trials             # a fault beside each call, and others between each two
    python -m headway_sandbox.soak --safeguards --seeds 300

Exit code 1 if a promise is broken, or a removed safeguard is not noticed.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from io import StringIO

from tabulate import tabulate

from headway_sandbox.soak.accidents import Accident
from headway_sandbox.soak.duels import DUELS
from headway_sandbox.soak.life import Outcome, live
from headway_sandbox.soak.record import keep
from headway_sandbox.soak.safeguards import SAFEGUARDS, switched_off
from headway_sandbox.soak.shrinking import shrink
from headway_sandbox.soak.situations import SITUATIONS
from headway_sandbox.soak.trials import Trial, crash, duel
from headway_service.log import logger

MAX_SHRUNK = 5
"""Lives that broke a promise of which the least is found and shown."""

LOG_LINES = 60
"""Lines of the log that are shown of a life that broke a promise."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Live many lives of a queue in which everything goes wrong.")
    parser.add_argument("--seeds", type=int, default=200, help="lives to live")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2, help="lives at once")
    parser.add_argument("--seed", type=int, help="live one life only, and show all of its log")
    parser.add_argument("--only", type=_numbers, help="of what happens in that life only these, as a soak prints them")
    parser.add_argument("--trials", action="store_true", help="try every situation in each of its ways")
    parser.add_argument("--safeguards", action="store_true", help="remove one safeguard after the other")
    args = parser.parse_args(argv)
    if args.seeds < 1 or args.processes < 1:
        parser.error("--seeds and --processes take numbers from 1 on")
    if args.seed is not None:
        return _one(args.seed, args.only)
    seeds = range(args.first, args.first + args.seeds)
    with ProcessPoolExecutor(max_workers=args.processes, initializer=quiet) as pool:
        if args.trials:
            return _trials(pool)
        return _safeguards(pool, seeds) if args.safeguards else _soak(pool, seeds)


def quiet() -> None:
    """Keep the handlers' logs and warnings to themselves."""
    logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="aws_lambda_powertools")


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def lived(seed: int, only: Collection[int] | None = None) -> Outcome:
    """A life without what the handlers print, which is their metrics."""
    with redirect_stdout(StringIO()):
        return live(seed, only)


def _one(seed: int, only: Collection[int] | None) -> int:
    quiet()
    outcome = lived(seed, only)
    _show(outcome, len(outcome.log))
    print(f"seed {seed}: {outcome.violation or 'all promises kept'}")
    return 1 if outcome.violation else 0


def _show(outcome: Outcome, lines: int) -> None:
    for time_s, who, what in outcome.log[-lines:]:
        print(f"{time_s:10.1f}  {who:<22}  {what}")


def _soak(pool: ProcessPoolExecutor, seeds: range) -> int:
    began = time.perf_counter()
    accidents: Counter[tuple[str, Accident]] = Counter()
    calls: Counter[str] = Counter()
    acts: Counter[str] = Counter()
    failures: Counter[tuple[str, str]] = Counter()
    answers: Counter[int] = Counter()
    states: set[str] = set()
    jobs = alarms = 0
    broken: list[Outcome] = []
    needed: list[Counter[tuple[str, str]]] = []
    for outcome in pool.map(lived, seeds, chunksize=8):
        accidents += outcome.accidents
        calls += outcome.calls
        acts += outcome.acts
        failures += outcome.failures
        answers += outcome.answers
        states |= outcome.states
        jobs += outcome.jobs
        alarms += outcome.alarms
        needed.append(outcome.needed)
        if outcome.violation:
            broken.append(outcome)
    keep("soak", needed)
    took_s = time.perf_counter() - began
    kinds = [kind for kind in Accident if kind is not Accident.NONE]
    rows = [[name, calls[name], *(accidents[name, kind] for kind in kinds)] for name in sorted(calls)]
    print(tabulate(rows, headers=["call", "calls", *kinds]))
    print(f"\npeople: {', '.join(f'{name} {count}' for name, count in acts.most_common())}")
    told = (f"{kind} in {name} {count}" for (name, kind), count in failures.most_common())
    print(f"what invocations failed with: {', '.join(told)}")
    print(f"the API's answers: {', '.join(f'{status} {count}' for status, count in sorted(answers.items()))}")
    print(f"states: {', '.join(sorted(states))}")
    print(f"jobs accepted: {jobs}; alarms put: {calls['PutMetricAlarm']}; alarms left in the end: {alarms}")
    print(
        f"{len(seeds)} lives (seeds {seeds.start} to {seeds.stop - 1}) in {took_s:.1f} s, "
        f"{len(seeds) / took_s:.1f} a second; {accidents.total()} accidents; {len(broken)} broken promises"
    )
    for outcome, (shortest, kept) in zip(broken, pool.map(shrunk, broken[:MAX_SHRUNK]), strict=False):
        print(f"\nseed {outcome.seed} at {_commit()}: {outcome.violation}")
        print(f"of {outcome.happenings} happenings these are enough: {shortest.violation}")
        _show(shortest, LOG_LINES)
        print(f"again: python -m headway_sandbox.soak --seed {outcome.seed} --only {','.join(map(str, kept))}")
    return 1 if broken else 0


def shrunk(broken: Outcome) -> tuple[Outcome, list[int]]:
    """The least of a life that breaks a promise."""
    return shrink(partial(lived, broken.seed), broken)


def _trials(pool: ProcessPoolExecutor) -> int:
    broken = 0
    for title, kind, names in (("a crash beside each call", crash, SITUATIONS), ("others meanwhile", duel, DUELS)):
        trials = list(pool.map(partial(tried, kind), names))
        rows = [[trial.name, trial.calls, trial.ways, len(trial.violations)] for trial in trials]
        print(tabulate(rows, headers=[title, "calls", "ways", "broken"]), end="\n\n")
        for trial in trials:
            for way, how in trial.violations.items():
                print(f"{trial.name}, {way}: {how}")
        broken += sum(len(trial.violations) for trial in trials)
        keep("trials", (trial.needed for trial in trials))
    return 1 if broken else 0


def tried(kind: Callable[[str], Trial], name: str) -> Trial:
    """A trial without what the handlers print."""
    with redirect_stdout(StringIO()):
        return kind(name)


def _safeguards(pool: ProcessPoolExecutor, seeds: range) -> int:
    rows = list(pool.map(partial(first_noticed, seeds=seeds), SAFEGUARDS))
    headers = ["without", "seed", "what is broken", "a trial", "what is broken"]
    print(tabulate(rows, headers=headers, missingval="-", maxcolwidths=[40, None, 44, 28, 44]))
    return 1 if any(seed is None and not trial for _, seed, _, trial, _ in rows) else 0


def first_noticed(name: str, seeds: Iterable[int]) -> tuple[str, int | None, str, str, str]:
    """What notices that a safeguard is missing: the first seed, and the first duel; each with what it says."""
    with switched_off(name):
        trial = next(((each, found) for each in DUELS if (found := tried(duel, each).violations)), None)
        seed = next(((seed, how) for seed in seeds if (how := lived(seed).violation)), None)
    return (name, *(seed or (None, "")), *((trial[0], next(iter(trial[1].values()))) if trial else ("", "")))


def _commit() -> str:
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "an unknown commit"


if __name__ == "__main__":
    sys.exit(main())
