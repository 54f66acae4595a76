"""Each one is the first in some minute."""

from __future__ import annotations

import pytest

from headway_service.tracking.turns import in_turn


@pytest.mark.parametrize(
    ("minute", "step", "turns"),
    [(0, 1, "abc"), (1, 1, "bca"), (2, 1, "cab"), (3, 1, "abc"), (1, 2, "cab"), (2, 2, "bca")],
)
def test_another_one_begins_each_minute(minute: int, step: int, turns: str) -> None:
    assert "".join(in_turn("abc", minute * 60_000 + 59_999, step=step)) == turns


def test_none_have_no_turn() -> None:
    assert in_turn([], 60_000) == []
