"""The sandbox's training time: it runs faster than the time of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Converts the time of the machine into training time, and back. All times are s since the epoch.

    At `speed` 60 an hour of training time takes a minute, and all times of training jobs are in training time. The
    functions of the queue use the same clock for it (`headway_sandbox.emulator.training_time`).
    """

    speed: float = 1.0
    machine_s: float = 0.0
    """A moment in machine time, ..."""
    training_s: float = 0.0
    """... and the same moment in training time."""

    def __post_init__(self) -> None:
        if not 0 < self.speed < math.inf:
            raise ValueError(f"The sandbox's speed must be a number above 0, not {self.speed}.")
        if not (math.isfinite(self.machine_s) and math.isfinite(self.training_s)):
            raise ValueError("The moments of the sandbox's clock must be numbers.")

    @classmethod
    def starting(cls, speed: float, now_s: float) -> Self:
        """Return a clock whose training time is the machine's time now.

        Args:
            speed: how much faster training time runs.
            now_s: the machine time.
        """
        return cls(speed=speed, machine_s=now_s, training_s=now_s)

    def at_speed(self, speed: float, now_s: float) -> Self:
        """Return a clock that continues from this one's training time with another speed.

        Args:
            speed: how much faster training time runs from now on.
            now_s: the machine time.
        """
        if speed == self.speed:
            return self
        return type(self)(speed=speed, machine_s=now_s, training_s=self.training_time(now_s))

    def training_time(self, machine_s: float) -> float:
        """Convert machine time into training time."""
        return self.training_s + (machine_s - self.machine_s) * self.speed

    def machine_time(self, training_s: float) -> float:
        """Convert training time into machine time."""
        return self.machine_s + (training_s - self.training_s) / self.speed

    def interval_s(self, usual_s: float, *, shortest_s: float) -> float:
        """Return an interval of training time that is not too short for the machine.

        Args:
            usual_s: the usual interval, in training time.
            shortest_s: the shortest interval, in machine time.
        """
        return max(usual_s, shortest_s * self.speed)
