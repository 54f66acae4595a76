"""Plots are SVG, the same each time, and nothing of them is outside."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report.svg import HEIGHT, NAMES_WIDTH, WIDTH, bar_plot, line_plot

NUMBERS = st.floats(min_value=1e-4, max_value=1e7)


def numbers(svg: str, attribute: str) -> list[float]:
    return [float(found) for found in re.findall(rf' {attribute}="([-\d.]+)"', svg)]


@given(points=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_all_points_are_inside_and_the_same_points_make_the_same_plot(points):
    svg = line_plot("a & b", {"one <1>": points, "two": points[:1]}, x="x", y="y")
    ElementTree.fromstring(svg)
    assert svg == line_plot("a & b", {"one <1>": points, "two": points[:1]}, x="x", y="y")
    assert len(numbers(svg, "cx")) == len(points) + 1
    assert all(0 <= right <= WIDTH for right in numbers(svg, "cx"))
    assert all(0 <= high <= HEIGHT for high in numbers(svg, "cy"))


def test_ten_times_as_much_is_as_far_each_time():
    svg = line_plot("t", {"s": [(1, 1), (10, 10), (100, 100)]}, x="x", y="y")
    right, high = numbers(svg, "cx"), numbers(svg, "cy")
    assert right[1] - right[0] == pytest.approx(right[2] - right[1], abs=0.2)
    assert high[1] - high[0] == pytest.approx(high[2] - high[1], abs=0.2)
    assert right[0] < right[1]
    assert high[0] > high[1]


@given(values=st.lists(NUMBERS, min_size=1, max_size=8))
def test_a_bar_goes_to_the_right_of_one_if_it_is_better_and_to_the_left_if_it_is_worse(values):
    svg = bar_plot("t", {f"row {number}": {"a": value} for number, value in enumerate(values)}, x="x")
    root = ElementTree.fromstring(svg)
    one = float(root.findall("{*}line")[-1].attrib["x1"])
    bars = [each.attrib for each in root.findall("{*}rect")][-len(values) :]
    for value, bar in zip(values, bars, strict=True):
        left, width = float(bar["x"]), float(bar["width"])
        assert NAMES_WIDTH <= left <= left + width <= WIDTH
        assert (left if value >= 1 else left + width) == pytest.approx(one, abs=0.11)
