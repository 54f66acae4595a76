"""`python metric_matcher.py SECONDS`: finds metrics in the lines of a script, in a process of its own.

A MetricDefinition is a regular expression of a user's, and some of these take longer than the universe on a short
line (``(a+)+$``). Python's matcher stops for nobody but a signal in the main thread, and lets no other thread run: in
the supervisor it would be deaf to a stop. So it is here, with a limit of processor time for each pattern and line.

The first line of its input is a list of names and patterns, each further one a line of a script, all as JSON. For each
of these it prints one object: the values found, and the names of patterns that took too long and are not tried any
more. It needs the standard library only.
"""

from __future__ import annotations

import json
import math
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any


class TooSlow(Exception):
    """A pattern takes too long on a line."""


def values(name: str, pattern: re.Pattern[str], line: str) -> Iterator[tuple[str, float]]:
    """Return the name with each value in a line.

    Args:
        name: Name of the metric.
        pattern: Its first group is the value.
        line: A line of output.
    """
    for found in pattern.finditer(line):
        try:
            value = float(found[1])
        except (TypeError, ValueError):
            continue
        if math.isfinite(value):  # CloudWatch refuses others
            yield name, value


def main(limit_s: float) -> None:
    """Read lines until the input ends."""
    patterns = {number: (name, re.compile(regex)) for number, (name, regex) in enumerate(json.loads(_line()))}
    signal.signal(signal.SIGVTALRM, _interrupt)
    while line := _line():
        text = json.loads(line)
        found: list[tuple[str, float]] = []
        slow: list[str] = []
        for number, (name, pattern) in list(patterns.items()):
            try:
                found += _within(limit_s, name, pattern, text)
            except TooSlow:
                slow.append(name)
                del patterns[number]
        print(json.dumps({"values": found, "slow": slow}), flush=True)


def _line() -> str:
    return sys.stdin.readline()


def _within(limit_s: float, name: str, pattern: re.Pattern[str], text: str) -> list[tuple[str, float]]:
    # Processor time of this process: what else the machine does makes no pattern slow.
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        return list(values(name, pattern, text))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _interrupt(*_: Any) -> None:
    raise TooSlow


if __name__ == "__main__":
    main(float(sys.argv[1]))
