"""One sandbox for the tests of this folder, with the queue and the command line of the end-to-end tests."""

from __future__ import annotations

from tests.e2e.conftest import cli, queue, sb

__all__ = ["cli", "queue", "sb"]
