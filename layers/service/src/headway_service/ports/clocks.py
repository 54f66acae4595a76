"""The two times of the service (:mod:`headway_service.bootstrap.clocks`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Clocks:
    """Both times, ms since the epoch."""

    #: The training time.
    training_ms: Callable[[], int]
    #: The machine time.
    machine_ms: Callable[[], int]
