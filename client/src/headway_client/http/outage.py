"""Gets something that polls the queue over a time without responses."""

from __future__ import annotations

from collections.abc import Callable

from headway_client.errors import BusyError, NotReachableError, ServerFaultError

NO_RESPONSE = (BusyError, NotReachableError, ServerFaultError)
"""The errors of calls that the queue did not respond to: the next call may succeed."""

MAX_OUTAGE_S = 900.0
"""How long polling continues after the first call without a response, s: jobs take days, and networks fail for some
time."""


class Outage:
    """A time without responses.

    Args:
        clock: a monotonic clock, s.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began_at: float | None = None

    def over(self) -> None:
        """The queue has responded."""
        self._began_at = None

    def tolerate(self, error: Exception) -> bool:
        """The queue has not responded to a call.

        Args:
            error: the error of the call, one of `NO_RESPONSE`.

        Returns:
            Whether it responded to the call before.

        Raises:
            Exception: the error, if the first call without a response was longer than `MAX_OUTAGE_S` ago.
        """
        # Not since the last response: the calls of a slow poll are further apart than that.
        if self._began_at is None:
            self._began_at = self._clock()
            return True
        if self._clock() - self._began_at > MAX_OUTAGE_S:
            raise error
        return False
