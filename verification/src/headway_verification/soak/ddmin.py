"""The minimal set of happenings with which a run violates an invariant.

The method is delta debugging (Zeller, Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from headway_verification.soak.random_run import Outcome

MAX_RUNS = 150
"""The maximum number of runs. The result found by then is returned, although it may not be minimal."""


def shrink(live: Callable[[Collection[int]], Outcome], broken: Outcome) -> tuple[Outcome, list[int]]:
    """Remove happenings as long as an invariant is still violated.

    Args:
        live: repeats the run with only these happenings (by number: faults, and user actions).
        broken: the outcome of the run with all of them.

    Returns:
        The shortest run found, and its happenings.
    """
    shortest, kept = broken, list(range(1, broken.happenings + 1))
    size, runs = len(kept), 0
    while size:
        for start in range(0, len(kept), size):
            if runs == MAX_RUNS:
                return shortest, kept
            runs += 1
            fewer = kept[:start] + kept[start + size :]
            outcome = live(fewer)
            if outcome.violation:
                shortest, kept = outcome, fewer
                break
        else:
            size //= 2
    return shortest, kept
