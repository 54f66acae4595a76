"""A decision is made in every tick."""

from __future__ import annotations

from headway_verification.soak.violations import require

MOST_IN_A_ROW = 3
"""Ticks in a row, none of which fails, that may end without a decision while faults are injected, as others change the
queue as fast; and that may fail, or be cut by the end of their invocations, while none are."""

MOST_DELAY_S = 10.0
"""For how long faults may delay the calls of a tick that has to make a decision: the rest of its time suffices."""


class DecisionInvariants:
    """Counts the ticks without a decision.

    Attributes:
        is_calm: whether no faults are injected, so that each tick that ends has to make a decision.
    """

    def __init__(self) -> None:
        self.is_calm = False
        self._undecided = self._failed = 0

    def ended(self, decisions: int, delay_s: float = 0.0) -> None:
        """Record the end of a tick.

        Args:
            decisions: how many decisions it has made.
            delay_s: for how long faults have delayed its calls, s.

        Raises:
            Violated: it has made none, or it is one of too many without any.
        """
        self._failed = 0
        if not decisions and delay_s > MOST_DELAY_S:
            return
        self._undecided = 0 if decisions else self._undecided + 1
        most = 0 if self.is_calm else MOST_IN_A_ROW
        require(self._undecided <= most, f"{self._undecided} ticks in a row ended without a decision")

    def failed(self) -> None:
        """Record a tick that failed, or was killed.

        Raises:
            Violated: it is one of too many in a row, and no faults are injected.
        """
        # It may have failed while it carried a decision out.
        self._undecided = 0
        self._failed += 1
        require(not self.is_calm or self._failed <= MOST_IN_A_ROW, f"{self._failed} ticks in a row failed")
