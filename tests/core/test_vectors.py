"""Arithmetic on demands."""

from __future__ import annotations

from headway.vectors import describe, free, minus, overlap, plus, positive, shortfall, total
from tests.core.builders import G5, P5, held, job, reserved, snapshot


def test_vectors_add_and_subtract_pool_by_pool() -> None:
    assert plus({P5: 1}, {P5: 2, G5: 3}) == {G5: 3, P5: 3}
    assert minus({P5: 1}, {P5: 2, G5: 3}) == {G5: -3, P5: -1}
    assert total([{P5: 1}, {G5: 1}, {P5: 1}]) == {G5: 1, P5: 2}


def test_a_shortfall_names_only_what_is_lacking() -> None:
    assert shortfall({P5: 2, G5: 1}, {P5: 1, G5: 5}) == {P5: 1}
    assert shortfall({P5: 2}, {P5: 2}) == {}
    assert shortfall({P5: 1}, {P5: -1}) == {P5: 2}


def test_an_overlap_is_what_both_have() -> None:
    assert overlap({P5: 2, G5: 1}, {P5: 1}) == {P5: 1}
    assert overlap({P5: 2}, {P5: -1}) == {}


def test_positive_drops_what_is_not() -> None:
    assert positive({P5: 1, G5: 0, "x": -1}) == {P5: 1}


def test_free_is_the_size_less_what_is_held_and_reserved() -> None:
    assert free(snapshot(held("a"), reserved("b"), job("b"), size=5)) == {P5: 3}


def test_free_is_negative_in_a_pool_shrunk_below_its_use() -> None:
    assert free(snapshot(held("a", count=3), size=2)) == {P5: -1}


def test_a_demand_reads_as_words() -> None:
    assert describe({P5: 2, "ml.c5.large": 1}) == "1 ml.c5.large and 2 ml.p5.48xlarge"
