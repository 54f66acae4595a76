"""Disables Python's garbage collector while a function loads. Import it first; :func:`freeze` enables the collector.

Modules, classes and models live as long as the process, so the collector finds nothing in them, but traverses them: a
fifth of a cold start, with bytecode.
"""

from __future__ import annotations

import gc

YOUNG_OBJECTS = 50_000
"""Objects made since the last collection at which the next one begins.

By default these are 700 (2,000 from Python 3.13): dozens of collections while 500 jobs are listed, a twelfth of the
time, which find next to nothing, as what a request makes has few cycles.
"""

# Runs at import, as no call may be placed between a function's imports.
gc.disable()


def freeze() -> None:
    """All modules are loaded: enable the collector, which leaves out what exists by now and runs less often."""
    if not gc.isenabled():  # the first of several functions in one process, as in tests, has loaded what all have
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        gc.enable()
