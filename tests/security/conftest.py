"""One sandbox for the tests of this folder, as the end-to-end tests have one, and the same queue and command line."""

from __future__ import annotations

from tests.e2e.conftest import cli, queue, sb

__all__ = ["cli", "queue", "sb"]
