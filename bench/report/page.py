"""Write the tables of docs/explanation/performance.md and the plots from the stored figures.

Run `python -m bench.report.page`: it reads bench/results and measures nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.report.cost_tables import filled
from bench.report.performance_tables import tables_of
from bench.report.plots import plots

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
PLOTS = ROOT / "docs" / "explanation" / "plots"
MACHINE = "machine"
BEFORE = "before"
"""The folder, among the figures, of those of an earlier version."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and its plots."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of the figures")
    parser.add_argument("--print", action="store_true", help="print the tables instead")
    options = parser.parse_args(arguments)
    if options.print:
        found = read(options.results)
        tables = tables_of(found, read(options.results / BEFORE), plots(found))
        print("\n\n".join(f"## {name}\n\n{table}" for name, table in tables.items()))
    else:
        write(options.results)
    return 0


def read(results: Path) -> dict[str, Mapping[str, Any]]:
    """The figures of a folder, by the name of the part."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))}


def write(results: Path = RESULTS) -> None:
    """Write the page and the plots again; a plot without figures is deleted."""
    found = read(results)
    drawn = plots(found)
    tables = tables_of(found, read(results / BEFORE), drawn)
    PLOTS.mkdir(exist_ok=True)
    for old in PLOTS.glob("*.svg"):
        old.unlink()
    for name, svg in drawn.items():
        (PLOTS / name).write_text(svg, encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
