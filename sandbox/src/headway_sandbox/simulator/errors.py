"""Errors in the input of a simulation. Each message says what to change."""

from __future__ import annotations

from headway_sandbox.errors import SandboxError


class InvalidInput(SandboxError):
    """An option or a file of a simulation is invalid."""


class InvalidTrace(InvalidInput):
    """A trace cannot be read, or has an invalid row."""


class InvalidCapacity(InvalidInput):
    """The pools are invalid, or a job's pool is missing."""


class UnknownPolicy(InvalidInput):
    """The policy does not exist."""
