"""One invocation of a function: who it is, and how long it lives."""

from __future__ import annotations

from dataclasses import dataclass

from headway_service.ports.clocks import Clocks

LEASE_MARGIN_MS = 5_000
"""A lease outlives its invocation by this much, for clocks that differ."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """An invocation that takes leases."""

    #: Training time and machine time.
    clocks: Clocks
    #: Names this invocation, and no other: it holds its leases by this name.
    holder: str
    #: When it ends at the latest, machine time, ms.
    deadline_ms: int

    @property
    def lease_until_ms(self) -> int:
        """When the leases end that it takes, machine time, ms: nobody else acts on what they cover while it may run."""
        return self.deadline_ms + LEASE_MARGIN_MS

    def has_time(self, reserved_ms: int) -> bool:
        """Whether more than this is left of it, ms."""
        return self.clocks.machine_ms() < self.deadline_ms - reserved_ms
