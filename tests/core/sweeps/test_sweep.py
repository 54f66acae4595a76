"""Sweeps: the members that a document describes, and what is said about documents that describe none."""

from __future__ import annotations

from typing import Any

import pytest

from headway.sweeps import MAX_MEMBERS, InvalidSweep, Sweep

GRID: dict[Any, Any] = {"grid": {"lr": [0.1, 0.01], "layers": [2, 4]}}
RANDOM = {
    "random": {
        "lr": {"logUniform": [0.0001, 0.1]},
        "dropout": {"uniform": [0, 0.5]},
        "units": {"integer": [16, 256]},
        "opt": {"choice": ["adam", "sgd"]},
    },
    "count": 3,
    "seed": 7,
}
LIST = {"list": [{"lr": 0.1, "layers": 2}, {"layers": 3, "lr": 0.2}]}


def members(document: Any) -> list[dict[str, str]]:
    sweep = Sweep.parse(document)
    return [sweep.values(index) for index in range(sweep.count)]


def problems(document: Any) -> list[str]:
    with pytest.raises(InvalidSweep) as caught:
        Sweep.parse(document)
    return [str(each) for each in caught.value.problems]


def random_of(distribution: Any) -> dict[str, Any]:
    return {"random": {"lr": distribution}, "count": 1, "seed": 0}


def test_the_last_name_of_a_grid_varies_fastest() -> None:
    assert members(GRID) == [
        {"lr": "0.1", "layers": "2"},
        {"lr": "0.1", "layers": "4"},
        {"lr": "0.01", "layers": "2"},
        {"lr": "0.01", "layers": "4"},
    ]


def test_the_members_of_a_list_are_those_that_it_lists() -> None:
    assert members(LIST) == [{"lr": "0.1", "layers": "2"}, {"lr": "0.2", "layers": "3"}]


def test_the_values_of_a_random_search_are_the_same_on_each_version_of_python_and_each_machine() -> None:
    assert members(RANDOM) == [
        {"lr": "0.004266710297862781", "dropout": "0.10518292052098858", "units": "31", "opt": "adam"},
        {"lr": "0.0014261486912716067", "dropout": "0.4674654099795793", "units": "76", "opt": "sgd"},
        {"lr": "0.0003832658912691037", "dropout": "0.3141351523955936", "units": "42", "opt": "adam"},
    ]


def test_another_seed_gives_other_values() -> None:
    assert members({**RANDOM, "seed": 8}) != members(RANDOM)


def test_a_random_value_stays_as_it_is_if_a_hyperparameter_is_added_or_there_are_more_members() -> None:
    alone = members({"random": {"units": {"integer": [16, 256]}}, "count": 2, "seed": 7})
    assert alone == [{"units": "31"}, {"units": "76"}]


def test_values_become_text_as_json_writes_them() -> None:
    values = ["", "a b", 1, -2, 0.5, 1e-7, 1e22, True, False, 10**400]
    assert [each["x"] for each in members({"grid": {"x": values}})] == [
        "", "a b", "1", "-2", "0.5", "1e-07", "1e+22", "true", "false", f"1{'0' * 400}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "names"),
    [(GRID, ("lr", "layers")), (RANDOM, ("lr", "dropout", "units", "opt")), (LIST, ("lr", "layers"))],
)
def test_a_sweep_has_its_names_in_the_order_of_the_document(document: Any, names: tuple[str, ...]) -> None:
    assert Sweep.parse(document).members.names == names


@pytest.mark.parametrize("document", [GRID, RANDOM, LIST])
def test_a_sweep_gives_its_document_back(document: Any) -> None:
    assert Sweep.parse(document).document() == document


@pytest.mark.parametrize("index", [-1, 4])
def test_there_are_no_members_beyond_the_last(index: int) -> None:
    with pytest.raises(IndexError, match=f"there is no member {index} of 4"):
        Sweep.parse(GRID).values(index)


def test_an_array_has_up_to_10000_members() -> None:
    axis = list(range(100))
    largest = Sweep.parse({"grid": {"a": axis, "b": axis}})
    assert largest.count == MAX_MEMBERS == 10_000
    assert largest.values(9_999) == {"a": "99", "b": "99"}
    assert Sweep.parse({"list": [{"a": each} for each in range(10_000)]}).count == MAX_MEMBERS
    assert problems({"grid": {"a": axis, "b": axis, "c": axis}}) == [
        "grid has 1,000,000 members; use fewer values, for up to 10,000"
    ]
    assert problems({"list": [{"a": each} for each in range(10_001)]}) == ["list has 10,001 members; use up to 10,000"]
    assert problems({**RANDOM, "count": 10_001}) == [
        "count is 10001; use a whole number of 1 to 10,000, the number of members"
    ]


def test_all_problems_are_reported() -> None:
    document = {"grid": {"a": [1, None], "b": [], "": [1]}, "seed": 1, "members": 2}
    assert problems(document) == [
        "seed belongs to random only; remove it",
        "the sweep has 'members'; use grid, random, list, count, seed",
        "grid has a hyperparameter without a name; give it one",
        "grid.a[1] is null; use text, a number or a boolean",
        "grid.b is empty; add a value, or remove it",
    ]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (None, "the sweep is null; write an object with one of grid, random, list"),
        ([GRID], "the sweep is a list; write an object with one of grid, random, list"),
        ({}, "the sweep has none of grid, random, list; use one of them"),
        ({**GRID, **LIST}, "the sweep has grid and list; use one of them"),
        ({**GRID, "count": 1}, "count belongs to random only; remove it"),
        ({1: 2, **GRID}, "the sweep has 1; use grid, random, list, count, seed"),
        ({"grid": []}, "grid is a list; write an object with a member for each hyperparameter"),
        ({"grid": {}}, "grid is empty; add a hyperparameter"),
        ({"grid": {1: [1]}}, "grid has 1 as a name; write names of hyperparameters in quotes"),
        ({"grid": {"a\nb": [1]}}, "grid has the name 'a\\nb', which has a line break; SageMaker takes one line"),
        ({"grid": {"a": "b"}}, "grid.a is text; write a list of values"),
        ({"grid": {"a": {"b": 1}}}, "grid.a is an object; write a list of values"),
        ({"grid": {"a": [[1]]}}, "grid.a[0] is a list; use text, a number or a boolean"),
        ({"grid": {"a": [{}]}}, "grid.a[0] is an object; use text, a number or a boolean"),
        ({"grid": {"a": [float("nan")]}}, "grid.a[0] is nan; use a finite number"),
        ({"grid": {"a": [1, float("-inf")]}}, "grid.a[1] is -inf; use a finite number"),
        ({"grid": {"a": [1, 2, "1"]}}, "grid.a[2] is '1' again, as grid.a[0] is; remove one of them"),
        ({"grid": {"a": ["true", True]}}, "grid.a[1] is 'true' again, as grid.a[0] is; remove one of them"),
        ({"grid": {"a": ["x" * 2501]}}, "grid.a[0] has 2,501 characters; SageMaker takes up to 2,500"),
        ({"grid": {"a": [10**2500]}}, "grid.a[0] is a number of more than 2,500 digits; use a smaller one"),
        ({"grid": {"a": ["x\n"]}}, "grid.a[0] has a line break; SageMaker takes one line"),
        ({"grid": {"a": ["\ud800"]}}, "grid.a[0] has half of a surrogate pair; write the character itself"),
        ({"list": {}}, "list is an object; write a list with an object for each member"),
        ({"list": []}, "list is empty; add an object with the hyperparameters of a member"),
        ({"list": [{}]}, "list[0] is empty; add a hyperparameter"),
        ({"list": [{"a": 1}, 2]}, "list[1] is a number; write an object with a member for each hyperparameter"),
        ({"list": [{"a": None}]}, "list[0].a is null; use text, a number or a boolean"),
        ({"list": [{"a": 1, "b": 1}, {"a": 2}]}, "list[1] has no 'b', which list[0] has; add it"),
        (
            {"list": [{"a": 1}, {"a": 2, "b": 1}]},
            "list[1].b is not in list[0]; give each member the same hyperparameters",
        ),
        (
            {"list": [{"a": 1}, {"a": 2}, {"a": "1"}]},
            "list[2] is the same as list[0]; remove one, or add a hyperparameter that tells them apart",
        ),
        (
            {"random": RANDOM["random"], "count": 3},
            "seed is missing; add a whole number of 0 to 4,294,967,295, so that the same values are drawn again",
        ),
        (
            {**RANDOM, "seed": 1.0},
            "seed is 1.0; use a whole number of 0 to 4,294,967,295, so that the same values are drawn again",
        ),
        (
            {"random": RANDOM["random"], "seed": 3},
            "count is missing; add a whole number of 1 to 10,000, the number of members",
        ),
        ({**RANDOM, "count": True}, "count is a boolean; use a whole number of 1 to 10,000, the number of members"),
        (random_of([0, 1]), "random.lr is a list; write an object with one of uniform, logUniform, integer, choice"),
        (random_of({}), "random.lr has nothing; use one of uniform, logUniform, integer, choice"),
        (random_of({"normal": [0, 1]}), "random.lr has 'normal'; use one of uniform, logUniform, integer, choice"),
        (
            random_of({"uniform": [0, 1], "choice": [1]}),
            "random.lr has uniform and choice; use one of uniform, logUniform, integer, choice",
        ),
        (
            random_of({"uniform": [1]}),
            "random.lr.uniform has to be a list of two numbers, the lowest and the highest",
        ),
        (random_of({"uniform": ["0", 1]}), "random.lr.uniform[0] is '0'; use a finite number"),
        (random_of({"uniform": [0, float("inf")]}), "random.lr.uniform[1] is inf; use a finite number"),
        (random_of({"uniform": [0, True]}), "random.lr.uniform[1] is a boolean; use a finite number"),
        (random_of({"uniform": [1, 0]}), "random.lr.uniform is from 1 to 0; write the lower number first"),
        (
            random_of({"uniform": [0, 10**5000]}),
            "random.lr.uniform[1] is a number of over 300 digits; use a finite number",
        ),
        (random_of({"integer": [1, 1]}), "random.lr.integer is from 1 to 1; write the lower number first"),
        (random_of({"integer": [1, 2.5]}), "random.lr.integer[1] is 2.5; use a whole number below 2^63"),
        (
            random_of({"integer": [0, 2**63]}),
            "random.lr.integer[1] is 9223372036854775808; use a whole number below 2^63",
        ),
        (random_of({"logUniform": [0, 1]}), "random.lr.logUniform[0] is 0; a logarithm needs numbers above 0"),
        (random_of({"choice": []}), "random.lr.choice is empty; add a value, or remove it"),
        (random_of({"choice": "ab"}), "random.lr.choice is text; write a list of values"),
        (
            random_of({"choice": [1, 1]}),
            "random.lr.choice[1] is '1' again, as random.lr.choice[0] is; remove one of them",
        ),
    ],
)
def test_a_problem_says_where_it_is_and_what_to_change(document: Any, said: str) -> None:
    assert problems(document) == [said]


def test_no_more_hyperparameters_than_a_training_job_takes() -> None:
    most: dict[str, list[int]] = {f"p{number}": [1] for number in range(100)}
    assert len(Sweep.parse({"grid": most}).values(0)) == 100
    assert problems({"grid": {**most, "more": [1]}}) == ["grid has 101 hyperparameters; a training job has up to 100"]


def test_a_name_is_no_longer_than_sagemaker_takes() -> None:
    assert Sweep.parse({"grid": {"n" * 256: [1]}}).count == 1
    (said,) = problems({"grid": {"n" * 257: [1]}})
    assert said.startswith("grid has a name of 257 characters, 'nnn")
    assert said.endswith("; a name has up to 256")
