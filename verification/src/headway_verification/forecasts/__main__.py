"""`make forecasts`: asks random queues with arrays for forecasts, and counts the jobs that start later than told.

python -m headway_verification.forecasts [--count 1000] [--seed 1]     # so many, from the queue of this seed on

Exit code 1 if a job has started later than it was told.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence

from headway_service.observability.logging import logger
from headway_verification.forecasts.random_queues import Outcome, examine

MAX_SHOWN = 20
"""Jobs that started later than told, in the output."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print what became of the forecasts."""
    parser = argparse.ArgumentParser(description="Whether forecasts behind arrays come true.")
    parser.add_argument("--count", type=int, default=1000, help="how many forecasts")
    parser.add_argument("--seed", type=int, default=1, help="draws the first queue; the next number draws the next one")
    args = parser.parse_args(argv)
    logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="aws_lambda_powertools")
    outcome, seed = Outcome(), args.seed
    while outcome.forecasts < args.count:
        outcome.add(examine(seed))
        seed += 1
    print(
        f"seeds {args.seed} to {seed - 1}: {outcome.forecasts} forecasts told {outcome.starts} starts, of which "
        f"{outcome.exact} came at that moment and {len(outcome.late)} later; {outcome.unknown} jobs were told none"
    )
    for late in outcome.late[:MAX_SHOWN]:
        print(late)
    return 1 if outcome.late else 0


if __name__ == "__main__":
    sys.exit(main())
