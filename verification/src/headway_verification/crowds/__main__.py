"""`make crowds`: makes many of each thing that users may create, and prints whether each tick decides, and its time.

python -m headway_verification.crowds [--only TEXT] [--minutes 20]     # the crowds whose key begins with TEXT

Exit code 1 if a tick has made no decision, or has not started a job that nothing else keeps from starting.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence

from tabulate import tabulate

from headway_service.observability.logging import logger
from headway_verification.crowds.crowds import CROWDS, accepted, play
from headway_verification.crowds.deployment import Tick

HEADERS = ("crowd", "of what", "ticks", "decisions", "longest", "over 1 s", "the last one", "served", "at the end")
NOTES = """\
decisions: the fewest that a tick has made
longest, over 1 s: virtual time of a tick, of at most 20 s for all its rounds, and how many took more than a second
the last one: virtual time, reads and writes of the table, and processor time of this machine with the table in memory
served: jobs that were submitted before each tick, and started by it"""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Whether each tick decides, whatever users make many of.")
    parser.add_argument("--only", default="", help="the crowds whose key begins with this")
    parser.add_argument("--minutes", type=int, default=20, help="ticks of each")
    parser.add_argument("--percent", type=int, default=100, help="how much of each crowd is made")
    args = parser.parse_args(argv)
    logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="aws_lambda_powertools")
    keys = [key for key in CROWDS if key.startswith(args.only)]
    if not keys:
        parser.error(f"no crowd begins with {args.only}; there are {', '.join(CROWDS)}")
    rows, is_served = [], True
    for key in keys:
        crowd = CROWDS[key]
        count = max(1, crowd.count * args.percent // 100)
        ticks, become = play(crowd, count, args.minutes)
        rows.append(row_of(key, f"{count} {crowd.what}", ticks, become))
        is_served &= all(tick.decisions and tick.is_served for tick in ticks)
        print(f"{key}: played", file=sys.stderr)
    print(tabulate(rows, headers=HEADERS, tablefmt="grid", maxcolwidths=[12, 24, 5, 9, 8, 8, 26, 6, 26]))
    print(NOTES)
    print(f"arrays of one held member that one owner may have by default: {accepted({}, 2000)}")
    return 0 if is_served else 1


def row_of(key: str, what: str, ticks: Sequence[Tick], become: str) -> tuple[str, ...]:
    """The row of a crowd."""
    last = ticks[-1]
    return (
        key,
        what,
        str(len(ticks)),
        str(min(tick.decisions for tick in ticks)),
        f"{max(tick.took_s for tick in ticks):.1f} s",
        str(sum(tick.took_s > 1 for tick in ticks)),
        f"{last.took_s:.2f} s, {last.calls} calls, {last.own_s:.2f} s of our own",
        f"{sum(tick.is_served for tick in ticks)}",
        become,
    )


if __name__ == "__main__":
    sys.exit(main())
