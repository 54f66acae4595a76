"""Violations of invariants."""

from __future__ import annotations


class Violated(AssertionError):
    """An invariant is violated."""


def require(holds: object, message: str) -> None:
    """Require that an invariant holds.

    Args:
        holds: whether it holds.
        message: describes the violation.

    Raises:
        Violated: it does not hold.
    """
    if not holds:
        raise Violated(message)
