"""Cuts an input down whose call hangs: Hypothesis cannot, as its process is killed with the call.

The method is delta debugging, as of the soak's happenings (``headway_verification.soak.ddmin``).
"""

from __future__ import annotations

from collections.abc import Callable

MAX_TRIES = 6
"""Each try takes as long as a hang does."""


def cut_down(content: bytes, still_hangs: Callable[[bytes], bool]) -> bytes:
    """Remove parts of an input as long as its call still hangs.

    Args:
        content: the input.
        still_hangs: tries another one.
    """
    size, tries = len(content) // 2, 0
    while size and tries < MAX_TRIES:
        for first in range(0, len(content), size):
            tries += 1
            fewer = content[:first] + content[first + size :]
            if still_hangs(fewer):
                content = fewer
                break
            if tries == MAX_TRIES:
                break
        else:
            size //= 2
    return content
