"""What can be wrong with the input of a simulation. Each message says what to change."""

from __future__ import annotations

from headway_sandbox.errors import SandboxError


class InvalidInput(SandboxError):
    """An option or a file of a simulation makes no sense."""


class InvalidTrace(InvalidInput):
    """A trace can't be read, or a row of it can't be a job."""


class InvalidCapacity(InvalidInput):
    """The pools that were asked for make no sense, or a job belongs to none of them."""


class UnknownPolicy(InvalidInput):
    """There is no policy of that name."""
