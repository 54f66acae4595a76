"""How long ``headway --help`` takes, beside an interpreter that does nothing: what each command costs at least."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.metering.machine import describe_machine

GOAL_S = 0.3
HEADWAY = Path(sys.executable).with_name("headway")


def seconds(command: Sequence[str]) -> float:
    """How long a command takes, s."""
    # With compiled modules, as an installed program has them: the run before the first measured one writes them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began_s = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)  # noqa: S603  its own commands
    return time.perf_counter() - began_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 if the goal is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each, in turn (default 20)")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    runs = options.runs
    nothing, help_ = [], []
    # In turn, so that whatever else the machine does falls on both; once before, so that files are in memory.
    for _ in range(runs + 1):
        nothing.append(seconds([sys.executable, "-c", "pass"]))
        help_.append(seconds([str(HEADWAY), "--help"]))
    least_s, helped_s = statistics.median(nothing[1:]), statistics.median(help_[1:])
    print(f"python -c pass  {least_s * 1000:6.0f} ms")
    print(f"headway --help  {helped_s * 1000:6.0f} ms, {helped_s / least_s:.1f} times as long")
    print(f"medians of {runs} runs; {describe_machine()}; the goal is {GOAL_S * 1000:.0f} ms")
    if options.json:
        found = {"python -c pass": nothing[1:], "headway --help": help_[1:]}
        ms = {name: [round(took_s * 1000, 1) for took_s in times] for name, times in found.items()}
        options.json.write_text(json.dumps({"machine": describe_machine(), "ms": ms}, indent=2) + "\n")
    if helped_s > GOAL_S:
        print(f"FAILED: headway --help takes {helped_s * 1000:.0f} ms; the goal is {GOAL_S * 1000:.0f} ms")
    return int(helped_s > GOAL_S)


if __name__ == "__main__":
    sys.exit(main())
