"""How fast the sandbox's world goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Turns durations of the real world into waiting time here, and back.

    At `speed` 60 the 120 seconds that a stopping job gets pass in 2. Points in time are never scaled: every
    timestamp that is handed out is the time at which something happened here.
    """

    speed: float = 1.0

    def __post_init__(self) -> None:
        if not self.speed > 0:
            raise ValueError(f"The sandbox's speed has to be above 0, not {self.speed}.")

    def wait_s(self, world_s: float) -> float:
        """How many seconds to wait here for `world_s` seconds of the real world."""
        return world_s / self.speed

    def world_s(self, waited_s: float) -> float:
        """How many seconds of the real world `waited_s` seconds here stand for."""
        return waited_s * self.speed
