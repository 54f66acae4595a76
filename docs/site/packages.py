"""Draws the packages of each distribution, and what they import, from the import graph.

    python -m docs.site.packages        (or `make docs-pictures`)

A package is drawn above all packages that it imports. An arrow is left out if a longer path shows the same dependency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import grimp

DISTRIBUTIONS = ("headway", "headway_service", "headway_client", "headway_sandbox", "headway_verification")
FOLDER = Path(__file__).resolve().parents[1] / "explanation" / "architecture"
WIDTH, HEIGHT, GAP, ROW, MARGIN = 150, 32, 22, 74, 16

Graph = Mapping[str, frozenset[str]]
"""The packages, and those that each imports."""


def pictures() -> dict[str, str]:
    """All pictures as SVG, by file name: one of the distributions, and one of the packages of each."""
    imports = grimp.build_graph(*DISTRIBUTIONS, exclude_type_checking_imports=False)
    pairs = {
        (module, imported)
        for module in imports.modules
        for imported in imports.find_modules_directly_imported_by(module)
    }
    drawn = {"distributions": _squashed(pairs, depth=1, names=DISTRIBUTIONS)}
    for distribution in DISTRIBUTIONS:
        inside = {(a, b) for a, b in pairs if _within(a, distribution) and _within(b, distribution)}
        children = sorted(imports.find_children(distribution))
        drawn[distribution] = _squashed(inside, depth=2, names=children)
    return {
        f"{name}.svg": svg({_short(k): frozenset(map(_short, v)) for k, v in g.items()}) for name, g in drawn.items()
    }


def levels(graph: Graph) -> dict[str, int]:
    """The height of each package: one more than the highest package that it imports.

    Raises:
        ValueError: there is a cycle.
    """
    heights: dict[str, int] = {}
    while len(heights) < len(graph):
        ready = [name for name, below in graph.items() if name not in heights and below <= heights.keys()]
        if not ready:
            raise ValueError(f"these packages import each other: {sorted(graph.keys() - heights.keys())}")
        heights |= {name: 1 + max((heights[each] for each in graph[name]), default=-1) for name in ready}
    return heights


def direct(graph: Graph) -> list[tuple[str, str]]:
    """The imports that no longer path implies, as (importing, imported)."""
    reach: dict[str, frozenset[str]] = {}
    for name in sorted(graph, key=levels(graph).__getitem__):
        reach[name] = graph[name].union(*(reach[each] for each in graph[name]))
    return sorted(
        (name, below)
        for name in graph
        for below in graph[name]
        if not any(below in reach[other] for other in graph[name])
    )


def svg(graph: Graph) -> str:
    """One picture: the packages in rows by height, with an arrow from each package to what it imports."""
    heights = levels(graph)
    top = max(heights.values(), default=0)
    rows = [sorted(name for name in graph if heights[name] == top - i) for i in range(top + 1)]
    widest = max(len(row) for row in rows)
    width = 2 * MARGIN + widest * (WIDTH + GAP) - GAP
    at: dict[str, tuple[float, float]] = {}
    for i, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        at |= {name: (left + j * (WIDTH + GAP), MARGIN + i * ROW) for j, name in enumerate(row)}
    height = 2 * MARGIN + top * ROW + HEIGHT
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="13">'
        ),
        (
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#8a94a6"/></marker></defs>'
        ),
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for name, below in direct(graph):
        (x1, y1), (x2, y2) = at[name], at[below]
        lines.append(
            f'<path d="M{x1 + WIDTH / 2:g} {y1 + HEIGHT:g}L{x2 + WIDTH / 2:g} {y2:g}" stroke="#8a94a6" fill="none" '
            'marker-end="url(#arrow)"/>'
        )
    for name, (x, y) in sorted(at.items()):
        lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="#e8eefc" stroke="#3b5bdb"/>'
            f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 4:g}" text-anchor="middle" fill="#1b2a4a">'
            f"{escape(name)}</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _squashed(pairs: set[tuple[str, str]], *, depth: int, names: Sequence[str]) -> Graph:
    """The graph of the packages at a depth, without what is above them."""
    graph: dict[str, set[str]] = {name: set() for name in names}
    for importing, imported in pairs:
        a, b = (".".join(each.split(".")[:depth]) for each in (importing, imported))
        if a != b and a in graph and b in graph:
            graph[a].add(b)
    return {name: frozenset(below) for name, below in graph.items()}


def _within(module: str, distribution: str) -> bool:
    return module.partition(".")[0] == distribution


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def main() -> None:
    """Write the pictures; remove those of packages that are gone."""
    drawn = pictures()
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.svg"):
        old.unlink()
    for name, text in drawn.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
