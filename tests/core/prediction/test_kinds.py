"""Which jobs are alike."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.prediction.kinds import MAX_STEM_CHARS, RunKind, instances_of, stem_of


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("bert", "bert"),
        ("bert-2026-11-26-06-09-52-123", "bert"),
        ("bert-large-20261126060952", "bert-large"),
        ("sweep_0012", "sweep"),
        ("run7", "run"),
        ("resnet50-batch64-3", "resnet50-batch64"),
        ("42", "42"),
        ("a-1-b-2", "a-1-b"),
        ("x" * 80, "x" * MAX_STEM_CHARS),
    ],
)
def test_the_stem_of_a_name_has_no_numbers_at_its_end(name: str, stem: str) -> None:
    assert stem_of(name) == stem


@given(st.from_regex(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,50}", fullmatch=True), st.integers(0, 10**9))
def test_a_counter_does_not_change_the_stem(name: str, number: int) -> None:
    assert stem_of(f"{name}-{number}") == stem_of(f"{name}-1")
    assert stem_of(name)


def test_instances_are_the_same_in_any_order_and_differ_by_number() -> None:
    assert instances_of({"b": 1, "a": 2}) == instances_of({"a": 2, "b": 1}) == "a*2+b*1"
    assert instances_of({"a": 1}) != instances_of({"a": 2})


def test_each_class_of_a_kind_contains_the_one_before_and_the_last_all_jobs() -> None:
    classes = RunKind(owner="o", source="s", instances="i", stem="n").classes()
    for narrow, wide in pairwise(classes):
        assert narrow[: len(wide)] == wide
        assert len(narrow) > len(wide)
    assert classes[-1] == ()
