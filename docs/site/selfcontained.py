"""Checks that a built site loads nothing from third parties.

python -m docs.site.selfcontained build/docs
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# Links that a reader follows (<a href>) load nothing. All other addresses are loaded with the page.
_LOADS = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object|use)\b[^>]*?\b(?:src|data|href)=[\"']((?:https?:)?//[^\"']+)"
    r"|<link\b(?=[^>]*rel=[\"'][^\"']*(?:stylesheet|icon|preload|preconnect|prefetch))[^>]*href=[\"']((?:https?:)?//[^\"']+)"
    r"|@import\s+(?:url\()?[\"']?((?:https?:)?//[^\"')]+)"
    r"|url\([\"']?((?:https?:)?//[^\"')]+)",
    re.IGNORECASE,
)


def loaded(text: str) -> list[str]:
    """The addresses of other hosts that a page or a style sheet loads."""
    return [next(filter(None, found)) for found in _LOADS.findall(text)]


def violations(site: Path) -> Iterator[str]:
    """What the files of a site load from other hosts."""
    for path in sorted(site.rglob("*")):
        if path.suffix in {".html", ".css", ".svg"}:
            for address in loaded(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(site)} loads {address}"


def main(arguments: Sequence[str]) -> int:
    """Print what is loaded; the exit code is 1 if anything is."""
    found = list(violations(Path(arguments[0])))
    print("\n".join(found) or "The site loads nothing from third parties.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
