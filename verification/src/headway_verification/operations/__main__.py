"""`make test-operations`: plays each state, and says whether the alarms ring as they should.

python -m headway_verification.operations [--only TEXT]     # the states that have it in their alarm or their text

Exit code 1 if an alarm is silent or late, rings for another state, or rings while all is well.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor

from tabulate import tabulate

from headway_service.observability.logging import logger
from headway_verification.operations.healthy import HEALTHY
from headway_verification.operations.play import Outcome, play, play_healthy, stack_alarms
from headway_verification.operations.states import STATES

WIDTHS = (24, 60, 12, 60)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Whether each alarm rings when it should, and at no other time.")
    parser.add_argument("--only", default="", help="the states that have this in their alarm or their text")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args(argv)
    breaking = [number for number, each in enumerate(STATES) if args.only in f"{each.alarm} {each.what}"]
    healthy = [number for number, each in enumerate(HEALTHY) if args.only in each.what]
    if not breaking and not healthy:
        parser.error(f"no state has {args.only}")
    began = time.perf_counter()
    with ProcessPoolExecutor(max_workers=args.processes, initializer=_quiet) as pool:
        calm = [pool.submit(_played_healthy, number) for number in healthy]
        broken = [pool.submit(_played, number) for number in breaking]
        rows = [_row(each) for each in (*broken, *calm)]
    print(tabulate(rows, headers=("alarm", "state", "rings after", "others"), tablefmt="grid", maxcolwidths=[*WIDTHS]))
    faults = [row for row in rows if row[-1].startswith("WRONG")]
    print(f"{len(rows)} states in {time.perf_counter() - began:.0f} s; {len(faults)} are not as they should be")
    return 1 if faults else 0


def _quiet() -> None:
    """Suppress the logs and warnings of the handlers."""
    logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="aws_lambda_powertools")


def _row(played: Future[tuple[str, ...]]) -> tuple[str, ...]:
    error = played.exception()
    return played.result() if error is None else ("?", "?", "-", f"WRONG: {error!r}")


def _played(number: int) -> tuple[str, ...]:
    state = STATES[number]
    outcome = play(state, stack_alarms())
    own = outcome.rang.get(state.alarm)
    others = {alarm: minutes for alarm, minutes in outcome.rang.items() if alarm != state.alarm}
    return (state.alarm, state.what, "never" if own is None else f"{own:.0f} min", _told(others, outcome))


def _played_healthy(number: int) -> tuple[str, ...]:
    state = HEALTHY[number]
    return ("none", f"{state.what} ({state.hours:g} h)", "-", _told({}, play_healthy(state, stack_alarms())))


def _told(others: Mapping[str, float], outcome: Outcome) -> str:
    if outcome.faults:
        return f"WRONG: {'; '.join(outcome.faults)}"
    return ", ".join(f"{alarm} {minutes:.0f}" for alarm, minutes in others.items()) or "-"


if __name__ == "__main__":
    sys.exit(main())
