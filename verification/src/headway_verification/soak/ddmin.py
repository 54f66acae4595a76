"""The least that has to happen in a life for it to break a promise.

The method is delta debugging (Zeller, Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from headway_verification.soak.random_run import Outcome

MAX_LIVES = 150
"""The most runs to find a smaller case. The smallest one so far is printed then."""


def shrink(live: Callable[[Collection[int]], Outcome], broken: Outcome) -> tuple[Outcome, list[int]]:
    """Leave out what happens, as long as a promise is still broken.

    Args:
        live: lives the life again, with only these happenings (by number: accidents, and what people do).
        broken: how it went with all of them.

    Returns:
        The shortest life found, and its happenings.
    """
    shortest, kept = broken, list(range(1, broken.happenings + 1))
    size, lives = len(kept), 0
    while size:
        for start in range(0, len(kept), size):
            if lives == MAX_LIVES:
                return shortest, kept
            lives += 1
            fewer = kept[:start] + kept[start + size :]
            outcome = live(fewer)
            if outcome.violation:
                shortest, kept = outcome, fewer
                break
        else:
            size //= 2
    return shortest, kept
