"""What an operator has done to the whole queue, as it is recorded: nobody changes such a record.

It is written in the transaction that does it, so that neither is without the other. That it is in the table has it
published, by the table's stream. What was done to single jobs is in their histories.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Key, Put
from headway_service.store.records.base import Record

ACTIONS = "actions"
"""The partition of all records, the newest one first."""

KEPT_S = 63_072_000
"""Two years."""

_LATEST_MS = 10**15 - 1


class ActionKind(StrEnum):
    """The kinds of actions. Further ones may come at any time."""

    PAUSE = "pause"
    DRAIN = "drain"
    RESUME = "resume"
    #: The configuration was set.
    CONFIGURE = "configure"
    #: The stop of a training job that did not come through the queue.
    STOP_ROGUE = "stop rogue"
    REDRIVE = "redrive"
    #: The record does not say whose name was forgotten.
    FORGET = "forget"


_SENTENCES = {
    ActionKind.PAUSE: "paused {}",
    ActionKind.DRAIN: "drained {}, and had running jobs stopped",
    ActionKind.RESUME: "resumed {}",
    ActionKind.CONFIGURE: "set version {} of the configuration",
    ActionKind.STOP_ROGUE: "requested the stop of the training job `{}`, which did not come through the queue",
    ActionKind.REDRIVE: "redrove {}",
    ActionKind.FORGET: "took {} out of the table",
}


@dataclass(frozen=True, slots=True)
class Author:
    """Who acts through the API.

    Attributes:
        name: the caller, as in ``user/ada``, or that of :data:`DEPLOYMENT`; empty if AWS's own records name who.
        address: the IP address of the call; empty if it is not known.
        reason: the reason given; empty for none.
    """

    name: str
    address: str = ""
    reason: str = ""


DEPLOYMENT = Author(name="the deployment")
"""Who has set the first configuration, in place of a caller. No caller has a name with a space."""


class ActionRecord(Record):
    """An action."""

    kind: ActionKind
    #: What it was done to: a pool, a version, a training job, or words for it.
    target: str
    #: When, training time, ms.
    time_ms: int
    #: See :class:`Author`.
    by: str
    address: str
    reason: str
    expires_at: int

    @classmethod
    def of(cls, kind: ActionKind, target: str, author: Author, clocks: Clocks) -> ActionRecord:
        """The record of an action that is done now.

        Args:
            target: what it is done to: a pool, a version, a training job.
            clocks: the two times: what is shown is in training time, and the table forgets it by machine time.
        """
        return cls(
            kind=kind,
            target=target,
            time_ms=clocks.training_ms(),
            by=author.name,
            address=author.address,
            reason=author.reason,
            expires_at=clocks.machine_ms() // 1000 + KEPT_S,
        )

    @property
    def id(self) -> str:
        """No other action has it."""
        return f"{self.time_ms}/{self.kind}/{self.target}"

    @property
    def message(self) -> str:
        """Who did what, and why, in a sentence."""
        done = f"{self.by or 'somebody'} {_SENTENCES[self.kind].format(self.target)}"
        return f"{done}: {self.reason}" if self.reason else done

    def key(self) -> Key:
        """Where it is kept."""
        return Key(ACTIONS, f"{_LATEST_MS - self.time_ms:015d}#{self.kind}#{self.target}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key()
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})
