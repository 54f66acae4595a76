"""Runs all measurements, one after the other, each in a separate process.

    make bench                         full sizes: writes bench/results/*.json, the page performance.md and its plots
    make bench BENCH=--quick           small sizes: writes build/bench/*.json, and no page
    make bench BENCH="--only kueue schedule"

A failure is reported, and does not stop the others. Their outputs are in build/bench/<name>.log. The noise of the
machine is measured before each, so that figures from a busy machine are recognized.
Interrupted (Ctrl-C, SIGTERM, SIGHUP) it stops its processes, and keeps the figures of the parts that were not
done as they were.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import part_process
from bench.metering.machine import machine
from bench.metering.noise import is_busy, noise
from bench.outcome import Outcome, outcomes_table
from bench.report import page
from bench.report.page import MACHINE, PAGE, RESULTS, ROOT

LOGS = QUICK_RESULTS = ROOT / "build" / "bench"
SKIPPED_KEY = "skipped"
"""The key under which a part reports why it cannot be measured here."""
TOLD_LINES, TOLD_WIDTH = 20, 160
"""The part of a failed part's output that is printed again."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A measurement.

    Attributes:
        name: of its figures.
        module: the module.
        full: options for the sizes that the page has.
        quick: options for small sizes.
        takes_path: whether it has ``--json``. The cost has not: it writes its
            own page too, which a quick run must not.
        timeout_s: the time limit, which bounds the whole run.
    """

    name: str
    module: str
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--quick",)
    takes_path: bool = True
    timeout_s: float = 1200.0


PARTS = (
    Part(name="help", module="bench.scenarios.cli_help", quick=("--runs", "5"), timeout_s=120),
    Part(name="schedule", module="bench.scenarios.decision", timeout_s=300),
    # Three, so that one sees how they differ.
    Part(name="kueue", module="bench.scenarios.kueue", full=("--runs", "3"), timeout_s=600),
    Part(name="reaction", module="bench.scenarios.reaction", timeout_s=900),
    Part(name="article", module="bench.scenarios.article", timeout_s=1200),
    Part(name="board", module="bench.scenarios.board", timeout_s=300),
    Part(name="training", module="bench.scenarios.training", timeout_s=1200),
    Part(name="cost", module="bench.scenarios.cost", quick=("--print",), takes_path=False, timeout_s=300),
    Part(name="launches", module="bench.scenarios.launches", timeout_s=900),
    Part(name="scale", module="bench.scenarios.scale", timeout_s=1800),
    Part(name="slurm", module="bench.scenarios.slurm", timeout_s=2100),
)

Run = Callable[[Sequence[str], float, Path], int]
"""Runs a command with a time limit, s, writes its output to a file, and returns its exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write; 1 if a part failed, 130 and the like if it was broken off."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes; the page stays as it is")
    parser.add_argument("--only", nargs="+", choices=[part.name for part in PARTS], metavar="NAME", help="only these")
    parser.add_argument("--results", type=Path, help="the folder of the figures")
    options = parser.parse_args(arguments)
    results = (options.results or (QUICK_RESULTS if options.quick else RESULTS)).resolve()
    parts = [part for part in PARTS if not options.only or part.name in options.only]
    try:
        failed = measure(parts, results, quick=options.quick)
    except (KeyboardInterrupt, SystemExit) as ended:
        print("broken off; nothing of it is left running")
        if not options.quick:
            print(f"{_told(PAGE)} is as it was; `make bench-page` writes it from the figures that there are now")
        return int(ended.code or 0) if isinstance(ended, SystemExit) else 128 + signal.SIGINT
    if not options.quick:
        page.write(results)
        print(f"page:            {_told(PAGE)}")
    return int(bool(failed))


def measure(parts: Sequence[Part], results: Path, *, quick: bool, run: Run | None = None) -> list[str]:
    """Run the parts, and write their figures and their machine.

    Args:
        parts: which.
        results: the folder of the figures.
        quick: whether sizes are small.
        run: see :data:`Run`; a process by default.

    Returns:
        The names of those that failed.

    Raises:
        BaseException: the one by which it is broken off.
    """
    run = run or process
    results.mkdir(parents=True, exist_ok=True)
    began_s, before = time.monotonic(), noise()
    if is_busy(before):
        print(f"THE MACHINE IS BUSY: its load is {before['load']}. Times are not to be relied upon.", flush=True)
    outcomes: dict[str, Outcome] = {}
    try:
        for part in parts:
            print(f"{part.name:<10}", end="", flush=True)
            outcomes[part.name] = run_part(part, results, quick=quick, run=run)
            print(outcomes[part.name], flush=True)
            if outcomes[part.name].failed:
                print(_last_lines(log_of(part)))
    finally:
        print(f"\n\n{outcomes_table([part.name for part in parts], outcomes)}\n")
        print(f"figures:         {_told(results)}/*.json\nwhat they print: {_told(LOGS)}/*.log", flush=True)
    took_s = time.monotonic() - began_s
    found = {
        **machine(),
        "date": _today(),
        "quick": quick,
        "busy": is_busy(before),
        "before": before,
        "after": noise(),
        "tookSeconds": round(took_s),
        "exitCodes": {name: outcome.code for name, outcome in outcomes.items()},
    }
    _write(results / f"{MACHINE}.json", found)
    return [name for name, outcome in outcomes.items() if outcome.failed]


def run_part(part: Part, results: Path, *, quick: bool, run: Run) -> Outcome:
    """Run one, and add to its figures when and among how much noise they were made.

    A part without figures must not keep those of an earlier run either, which would count as today's. Only where
    all is broken off they stay, as nothing was found in their place.
    """
    path = results / f"{part.name}.json"
    where = ("--json", str(path)) if part.takes_path else ()
    log = log_of(part)
    log.parent.mkdir(parents=True, exist_ok=True)
    before, began_s = noise(), time.monotonic()
    options = part.quick if quick else part.full
    with _without_earlier(path) if part.takes_path else nullcontext():
        code = run((sys.executable, "-m", part.module, *options, *where), part.timeout_s, log)
    took_s = time.monotonic() - began_s
    figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if part.takes_path:
        stamp = {"date": _today(), "quick": quick, "exitCode": code, "tookSeconds": round(took_s, 1), "noise": before}
        _write(path, {**figures, "run": stamp})
    return Outcome(code=code, skipped=figures.get(SKIPPED_KEY, ""), said=_last_line(log), took_s=took_s)


@contextmanager
def _without_earlier(path: Path) -> Iterator[None]:
    """Without the figures of an earlier run, which come back if this one is broken off."""
    earlier = path.read_bytes() if path.exists() else None
    path.unlink(missing_ok=True)
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        if earlier is not None:
            path.write_bytes(earlier)
        raise


def process(command: Sequence[str], timeout_s: float, log: Path) -> int:
    """See :data:`Run`: in a separate process, from the repository's root."""
    return part_process.run(command, timeout_s, log, folder=ROOT)


def log_of(part: Part) -> Path:
    """The file of its output."""
    return LOGS / f"{part.name}.log"


def _last_lines(log: Path) -> str:
    return "\n".join(f"    {line[:TOLD_WIDTH]}" for line in _lines(log)[-TOLD_LINES:])


def _last_line(log: Path) -> str:
    """The lines with missed goals, or with an exception."""
    own = (line.strip() for line in reversed(_lines(log)) if not line.startswith(part_process.LEFT))
    return next(filter(None, own), "")


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []


def _told(path: Path) -> str:
    """As one names it in the repository, if it is there."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _write(path: Path, figures: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    part_process.end_by_signals()
    sys.exit(main())
