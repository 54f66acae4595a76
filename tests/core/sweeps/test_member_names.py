"""The names of the members of an array."""

from __future__ import annotations

import pytest

from headway.sweeps import member_name, parse_member


@pytest.mark.parametrize(
    ("index", "count", "name"),
    [
        (0, 1, "sweep_0"),
        (9, 10, "sweep_9"),
        (9, 11, "sweep_09"),
        (17, 10_000, "sweep_0017"),
        (9999, 10_000, "sweep_9999"),
    ],
)
def test_an_index_is_as_wide_as_the_largest_one(index: int, count: int, name: str) -> None:
    assert member_name("sweep", index, count) == name


@pytest.mark.parametrize("index", [-1, 3])
def test_a_member_that_does_not_exist_has_no_name(index: int) -> None:
    with pytest.raises(IndexError, match=f"there is no member {index} of 3"):
        member_name("sweep", index, 3)


@pytest.mark.parametrize(
    "name",
    [
        "sweep",
        "sweep_",
        "_1",
        "sweep_1_2",
        "sweep_x",
        "sweep_-1",
        "sweep_10000",
        "sweep_1 ",
        "sweep_\u0661",
        "s w_1",
        "",
    ],
)
def test_another_name_is_of_no_member(name: str) -> None:
    assert parse_member(name) is None
