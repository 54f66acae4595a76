"""Fixtures for tests of the board. Those of the terminal and of the browser have an environment of their own."""

from __future__ import annotations

import importlib.util

collect_ignore = [
    *([] if importlib.util.find_spec("textual") else ["terminal"]),
    *([] if importlib.util.find_spec("playwright") else ["browser"]),
]
