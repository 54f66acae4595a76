"""`make chaos`: a queue on a separate sandbox, while processes are killed, messages repeat, and calls fail.

python -m headway_verification.chaos --jobs 200 [--seed 17] [--minutes 10]

Exit code 1 if a job was lost or duplicated, or has not ended in time; the sandbox's files are then kept.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom

from headway_sandbox.local.sandbox import Sandbox
from headway_verification.chaos import report
from headway_verification.chaos.run import DURATIONS, PARAMETERS, SPEED, Run


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Check that no job is lost or duplicated while processes are killed and messages repeat."
    )
    parser.add_argument("--jobs", type=int, default=200, help="jobs to submit (%(default)d)")
    parser.add_argument("--seed", type=int, help="the random seed; a new one by default")
    parser.add_argument("--minutes", type=float, default=10.0, help="the time limit (%(default)g)")
    args = parser.parse_args(argv)
    if args.jobs < 1 or args.minutes <= 0:
        parser.error("--jobs must be at least 1, --minutes above 0")
    seed = SystemRandom().randrange(10**6) if args.seed is None else args.seed
    print(f"seed {seed}: {args.jobs} jobs", flush=True)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        return _play(jobs=args.jobs, seed=seed, minutes=args.minutes)
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _frame: object) -> None:
    """Exit by an exception, as Ctrl-C does, so that the sandbox is stopped."""
    sys.exit(128 + number)


def _play(*, jobs: int, seed: int, minutes: float) -> int:
    folder = Path(tempfile.mkdtemp(prefix="headway-chaos-"))
    kept = True
    try:
        with Sandbox(state_dir=folder, speed=SPEED, durations=DURATIONS, parameters=PARAMETERS) as sandbox:
            outcome = Run(sandbox, jobs=jobs, seed=seed, minutes=minutes).play()
            kept = bool(outcome.violations)
            print(report.summary(outcome))
            if kept:
                print(*report.evidence(outcome, sandbox), sep="\n")
    except (KeyboardInterrupt, SystemExit):
        kept = False
        raise
    finally:
        if kept:
            print(f"The sandbox's files are in {folder}.")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if kept else 0


if __name__ == "__main__":
    sys.exit(main())
