"""Loads a function without Python's collector of garbage. To be imported before anything else; ended by :func:`over`.

Modules, classes and models stay as long as the process, so the collector finds nothing in them, and the more there are
the longer it looks: a fifth of a cold start, with bytecode.
"""

from __future__ import annotations

import gc

# Imported, not called: nothing may stand between a function's imports.
gc.disable()


def freeze() -> None:
    """All is loaded: the collector works from now on, and leaves alone what is there by now."""
    if not gc.isenabled():  # the first of several functions in one process, as in tests, has loaded what all have
        gc.freeze()
        gc.enable()
