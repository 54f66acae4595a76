"""The sandbox's speed: how durations of AWS are scaled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Converts real durations into durations in the sandbox, and back.

    At `speed` 60 the 120 seconds of a stopping job take 2 seconds. Points in time are never scaled: every timestamp is
    the time at which the event happened in the sandbox.
    """

    speed: float = 1.0

    def __post_init__(self) -> None:
        if not self.speed > 0:
            raise ValueError(f"The sandbox's speed must be above 0, not {self.speed}.")

    def wait_s(self, world_s: float) -> float:
        """Convert real seconds into seconds in the sandbox."""
        return world_s / self.speed

    def world_s(self, waited_s: float) -> float:
        """Convert seconds in the sandbox into real seconds."""
        return waited_s * self.speed
