"""Extract the examples of the docs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def example(page: str, heading: str) -> Any:
    """Return the only Python example below a heading of a page, compiled."""
    _, _, rest = (ROOT / page).read_text().partition(f"\n## {heading}\n")
    (code,) = (found["code"] for found in _EXAMPLE.finditer(rest.partition("\n## ")[0]))
    return compile(code, f"{page}, {heading}", "exec")


def headings(page: str) -> list[str]:
    """Return the headings of a page that have Python examples."""
    parts = re.split(r"^## ", (ROOT / page).read_text(), flags=re.MULTILINE)[1:]
    return [part.partition("\n")[0] for part in parts if _EXAMPLE.search(part)]
