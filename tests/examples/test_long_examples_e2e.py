"""The other examples, which `make test-training` runs, show what they are about."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from examples.runner import EXAMPLES
from tests.examples.test_short_examples_e2e import SHORT

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - set(SHORT)))
def test_the_example_shows_what_it_is_about(exit_code_of: Callable[[str], int], name: str):
    assert exit_code_of(name) == 0
