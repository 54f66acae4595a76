"""What holds for every sweep."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.sweeps import InvalidSweep, Sweep, member_name, parse_member
from headway.sweeps.parameters import text_of

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
VALUES = (
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=8)
    | st.integers()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
)
CHOICES = st.lists(VALUES, min_size=1, max_size=4, unique_by=text_of)
GRIDS = st.dictionaries(NAMES, CHOICES, min_size=1, max_size=4).map(lambda axes: {"grid": axes})
FINITE = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(min_value=-(2**63) + 1, max_value=2**63 - 1)
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def ranges(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(numbers, min_size=2, max_size=2, unique=True).map(sorted)


RANDOMS = st.fixed_dictionaries(
    {
        "random": st.dictionaries(
            NAMES,
            ranges(FINITE | WHOLE).map(lambda found: {"uniform": found})
            | ranges(POSITIVE).map(lambda found: {"logUniform": found})
            | ranges(WHOLE).map(lambda found: {"integer": found})
            | CHOICES.map(lambda found: {"choice": found}),
            min_size=1,
            max_size=4,
        ),
        "count": st.integers(1, 5),
        "seed": st.integers(0, 2**32 - 1),
    }
)


@st.composite
def lists(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    member = st.tuples(*[VALUES] * len(names))
    members = draw(st.lists(member, min_size=1, max_size=5, unique_by=lambda values: tuple(map(text_of, values))))
    return {"list": [dict(zip(names, values, strict=True)) for values in members]}


SWEEPS = GRIDS | RANDOMS | lists()


@given(GRIDS)
def test_a_grid_has_each_combination_once(document: dict[str, Any]) -> None:
    sweep = Sweep.parse(document)
    axes = document["grid"]
    expected = [dict(zip(axes, map(text_of, values), strict=True)) for values in product(*axes.values())]
    assert [sweep.values(index) for index in range(sweep.count)] == expected
    assert len({tuple(each.values()) for each in expected}) == sweep.count


@given(SWEEPS, st.data())
def test_a_member_that_is_computed_alone_equals_that_of_the_enumeration(
    document: dict[str, Any], data: st.DataObject
) -> None:
    sweep = Sweep.parse(document)
    members = [sweep.values(index) for index in range(sweep.count)]
    index = data.draw(st.integers(0, sweep.count - 1))
    assert Sweep.parse(document).values(index) == members[index]
    assert all(tuple(each) == sweep.members.names for each in members)


@given(SWEEPS)
def test_a_document_that_was_sent_as_json_describes_the_same_sweep(document: dict[str, Any]) -> None:
    sweep = Sweep.parse(document)
    received = Sweep.parse(json.loads(json.dumps(sweep.document())))
    assert received == sweep
    assert received.members.names == sweep.members.names
    assert [received.values(index) for index in range(sweep.count)] == [
        sweep.values(index) for index in range(sweep.count)
    ]


@given(RANDOMS)
def test_random_values_are_in_their_ranges(document: dict[str, Any]) -> None:
    sweep = Sweep.parse(document)
    for index in range(sweep.count):
        for name, text in sweep.values(index).items():
            ((kind, argument),) = document["random"][name].items()
            if kind == "choice":
                assert text in [text_of(value) for value in argument]
            else:
                value, number = json.loads(text), int if kind == "integer" else float
                assert type(value) is number
                assert number(argument[0]) <= value <= number(argument[1])


@given(st.integers(0, 2**32 - 1))
def test_random_values_spread_over_their_range(seed: int) -> None:
    sweep = Sweep.parse({"random": {"x": {"integer": [0, 3]}}, "count": 200, "seed": seed})
    drawn = [sweep.values(index)["x"] for index in range(sweep.count)]
    assert all(drawn.count(value) > 10 for value in "0123")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | NAMES, inner, max_size=3),
    max_leaves=10,
)
KINDS = st.sampled_from(["uniform", "logUniform", "integer", "choice"])


@given(
    JSON
    | st.dictionaries(
        st.sampled_from(["grid", "random", "list", "count", "seed"]),
        JSON | st.dictionaries(NAMES, st.dictionaries(KINDS, JSON), max_size=2),
        min_size=1,
    )
)
def test_any_document_describes_a_sweep_or_is_refused_with_problems(document: Any) -> None:
    try:
        sweep = Sweep.parse(document)
    except InvalidSweep as error:
        problems = error.problems
    else:
        assert sweep.values(sweep.count - 1)
        return
    assert problems


@given(st.from_regex(r"[a-zA-Z0-9](-?[a-zA-Z0-9]){0,20}", fullmatch=True), st.integers(1, 10_000), st.data())
def test_the_name_of_a_member_says_its_array_and_its_index(array: str, count: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, count - 1))
    name = member_name(array, index, count)
    assert parse_member(name) == parse_member(f"{array}_{index}") == (array, index)
    assert len(name) == len(member_name(array, 0, count))
