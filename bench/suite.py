"""All measurements, one after the other, each alone in a process of its own.

    make bench                         full sizes: writes bench/results/*.json, the page on performance, its plots
    make bench BENCH=--quick           small sizes: writes build/bench/*.json, and no page
    make bench BENCH="--only kueue schedule"

One that fails is told, and does not stop the others. What each prints is in build/bench/<name>.log. The noise of the
machine is measured before each, so that figures which were made while it did something else can be told from others.
Broken off (Ctrl-C, SIGTERM, SIGHUP) it stops what it has started, and leaves the figures of the parts that were not
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

from bench import page, part_process
from bench.machine import machine
from bench.noise import is_busy, noise
from bench.outcome import Outcome, outcomes_table
from bench.page import MACHINE, PAGE, RESULTS, ROOT

LOGS = QUICK_RESULTS = ROOT / "build" / "bench"
SKIPPED_KEY = "skipped"
"""Under which a part says why it can't be measured here."""
TOLD_LINES, TOLD_WIDTH = 20, 160
"""So much of what a failed part printed is printed again."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A measurement.

    Attributes:
        name: of its figures.
        module: what is run.
        full: options for the sizes that the page has.
        quick: options for small sizes.
        takes_path: whether it can be told where its figures go (``--json``). The cost can't: it writes a page of its
            own too, which a quick run must not.
        timeout_s: it is broken off after so long, so that all together keep their time.
    """

    name: str
    module: str
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--quick",)
    takes_path: bool = True
    timeout_s: float = 1200.0


PARTS = (
    Part(name="help", module="bench.help_speed", quick=("--runs", "5"), timeout_s=120),
    Part(name="schedule", module="bench.schedule_speed", timeout_s=300),
    # Three, so that one sees how they differ.
    Part(name="kueue", module="bench.kueue", full=("--runs", "3"), timeout_s=600),
    Part(name="reaction", module="bench.reaction", timeout_s=900),
    Part(name="article", module="bench.article", timeout_s=1200),
    Part(name="cost", module="bench.cost", quick=("--print",), takes_path=False, timeout_s=300),
    Part(name="scale", module="bench.scale", timeout_s=1800),
    Part(name="slurm", module="bench.slurm", timeout_s=2100),
)

Run = Callable[[Sequence[str], float, Path], int]
"""Runs a command for so many seconds at most, puts what it prints into a file, and says its exit code."""


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
    """Run the parts, and write what they found and what they ran on.

    Args:
        parts: which.
        results: the folder of the figures.
        quick: whether sizes are small.
        run: see :data:`Run`; a process unless said otherwise.

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

    One that leaves no figures must not leave those of an earlier run either: they would pass for today's. Only where
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
    """See :data:`Run`: in a process of its own, from the repository's root."""
    return part_process.run(command, timeout_s, log, folder=ROOT)


def log_of(part: Part) -> Path:
    """Where what it prints goes."""
    return LOGS / f"{part.name}.log"


def _last_lines(log: Path) -> str:
    return "\n".join(f"    {line[:TOLD_WIDTH]}" for line in _lines(log)[-TOLD_LINES:])


def _last_line(log: Path) -> str:
    """Where parts say what was missed, and interpreters the exception."""
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
