"""The result of one check of the account, and which results keep a deployment from beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Result = Literal["ok", "note", "problem"]

BLOCKING = frozenset({"parameters", "policies", "stack", "table", "concurrency", "api logs", "endpoint", "subnets"})
"""Checks whose problems make a deployment fail, or lose the queue: `make deploy` refuses it then, before any change.

All other problems are solved in the account, without a new deployment. `make deploy` prints them as notes.
"""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check.

    Attributes:
        check: the name of the check.
        result: ``ok``; ``note`` if it may be intended or is not known; or ``problem``.
        asked: what AWS was asked about.
        said: what AWS said, and what follows from it.
        remedy: what to change; None if nothing has to be changed.
    """

    check: str
    result: Result
    asked: str
    said: str
    remedy: str | None = None

    @property
    def message(self) -> str:
        """What was asked, and what AWS said."""
        return f"{self.asked}: {self.said}"

    @property
    def sentence(self) -> str:
        """All that it says on one line."""
        return f"{self.message}. {self.remedy}" if self.remedy else f"{self.message}."

    @property
    def blocks_deployment(self) -> bool:
        """Whether `make deploy` refuses to begin."""
        return self.result == "problem" and self.check in BLOCKING


@dataclass(frozen=True, kw_only=True)
class Unread:
    """What could not be read of the account.

    Attributes:
        action: the permission that the call needs, such as ``iam:GetRole``.
        why: what AWS said instead.
    """

    action: str
    why: str

    def note(self, check: str, asked: str) -> Finding:
        """Return the finding of a check that could not be decided.

        Args:
            check: the name of the check.
            asked: what AWS was asked about.
        """
        return Finding(
            check=check,
            result="note",
            asked=asked,
            said=f"could not be read ({self.why})",
            remedy=f"It is not checked. If you are not allowed to: ask for {self.action}.",
        )
