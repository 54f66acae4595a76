"""Draws a terminal with real output.

    python -m docs.site.terminal                  runs the story of `make demo`, and draws its middle
    python -m docs.site.terminal demo.txt         draws it from the output of an earlier run, printed at COLUMNS=100

Nothing is written by hand: the lines are those that the run printed, from the submission of ``job4`` on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).resolve().parents[1] / "images" / "terminal.svg"
FIRST, LAST = "▶ submit job4", "job1 resumes in its place"
COLUMNS = 100
CHAR, LINE, PAD, BAR = 8.43, 19, 18, 34
COLORS = {"▶": "#7cc4ff", "✓": "#7ee787"}


def demo_output() -> str:
    """What the story of `make demo` prints. Takes about two minutes."""
    run = subprocess.run(
        [sys.executable, "-m", "headway_sandbox.demo.preemption"],
        capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": str(COLUMNS)},
    )  # fmt: skip
    return run.stdout


def excerpt(output: str) -> list[str]:
    """The lines from the submission of job4 until job1 resumes.

    Raises:
        ValueError: the output does not have them.
    """
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(FIRST)), None)
    last = next((i for i, line in enumerate(lines) if line.endswith(LAST)), None)
    if first is None or last is None:
        raise ValueError(f"the output lacks {FIRST!r} or {LAST!r}")
    return lines[first:last]


def svg(lines: Sequence[str]) -> str:
    """The lines in a terminal window."""
    width = round(2 * PAD + CHAR * COLUMNS)
    height = BAR + PAD + LINE * (len(lines) + 1)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        "<title>make demo: job4 preempts job1</title>",
        f'<rect width="{width}" height="{height}" rx="9" fill="#161b22"/>',
        *(
            f'<circle cx="{20 + 20 * i}" cy="18" r="6" fill="{c}"/>'
            for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))
        ),
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#d6deeb">',
    ]
    for i, line in enumerate(["$ make demo", *lines]):
        if not line.strip():
            continue
        color = next((c for sign, c in COLORS.items() if line.lstrip().startswith(sign)), "")
        fill = f' fill="{color}"' if color else ""
        indent = len(line) - len(line.lstrip())
        text = line.strip()
        drawn.append(
            f'<text x="{PAD + CHAR * indent:.2f}" y="{BAR + PAD + LINE * i}" xml:space="preserve" '
            f'textLength="{CHAR * len(text):.2f}"{fill}>{escape(text)}</text>'
        )
    return "\n".join([*drawn, "</g>", "</svg>"]) + "\n"


def main(arguments: Sequence[str]) -> None:
    """Draw the picture."""
    output = Path(arguments[0]).read_text(encoding="utf-8") if arguments else demo_output()
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(svg(excerpt(output)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
