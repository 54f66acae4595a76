"""Errors of a rehearsal."""

from __future__ import annotations

from headway_sandbox.errors import SandboxError


class CannotRehearse(SandboxError):
    """The input cannot be rehearsed, or its undisturbed runs cannot be compared; the message says what to change."""
