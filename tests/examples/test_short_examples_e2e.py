"""The examples that `make test` runs show what they are about."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.e2e

SHORT = ("checkpoints", "sweep")


@pytest.mark.parametrize("name", SHORT)
def test_the_example_shows_what_it_is_about(exit_code_of: Callable[[str], int], name: str):
    assert exit_code_of(name) == 0
