"""The one base of every error that Headway raises on purpose, and the errors of the decision core."""

from __future__ import annotations


class HeadwayError(Exception):
    """Base of all errors raised by Headway. Its text is a sentence that says what to change."""


class InvalidTransition(HeadwayError):
    """A job's or an attempt's state does not allow a step.

    Attributes:
        state: the state it was in.
        trigger: the step.
    """

    def __init__(self, state: str, trigger: str) -> None:
        super().__init__(f"cannot {trigger} while {state}")
        self.state = state
        self.trigger = trigger


class InvariantViolation(HeadwayError):
    """A plan or a snapshot would break a promise of ``docs/reference/semantics.md``; nothing of it may be applied."""


class InvalidPolicy(HeadwayError):
    """A rule of a policy has a value that makes no sense."""
