"""Plots show all figures, are the same bytes each time, and refer to nothing outside."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from bench.report.svg import bar_plot, line_plot, svg


def test_all_points_are_inside_axes_that_end_at_powers_of_ten():
    points = [(1.5, 0.02), (80, 7), (3_000, 400)]
    (axes,) = line_plot("t", {"one": points, "two": points[:1]}, x="x", y="y").axes
    drawn = [line.get_xydata() for line in axes.lines]
    assert [np.asarray(each).tolist() for each in drawn] == [[list(at) for at in each] for each in (points, points[:1])]
    assert axes.get_xlim() == pytest.approx((1, 10_000))
    assert axes.get_ylim() == pytest.approx((0.01, 1_000))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_a_single_figure_is_plotted():
    (axes,) = line_plot("t", {"one": [(10, 10)]}, x="x", y="y").axes
    assert axes.get_xlim()[0] < axes.get_xlim()[1]


def test_a_bar_goes_to_the_right_of_one_if_it_is_better_and_to_the_left_if_it_is_worse():
    rows = {"first": {"a": 4.0, "b": 0.5}, "second": {"b": 20.0}}
    (axes,) = bar_plot("t", rows, x="x").axes
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
    assert ends == [(1, 4), (1, 0.5), (1, 20)]
    assert axes.get_xlim() == pytest.approx((0.1, 100))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second"]
    low, high = axes.get_ylim()
    assert low > high, "the first row is at the top"


def test_the_same_figures_make_the_same_bytes_that_name_nothing_outside():
    series = {"one <1>": [(1.0, 1.0), (10.0, 10.0), (100.0, 100.0)], "two": [(1.0, 2.0)]}
    made = {svg(line_plot("a & b", series, x="x", y="y")) for _ in range(2)}
    made_bars = {svg(bar_plot("a & b", {"row": {"a": 2.0}}, x="x")) for _ in range(2)}
    for (text,) in (made, made_bars):
        ElementTree.fromstring(text)
        assert "a &amp; b" in text
        assert not re.search(r'(href|src)="(?!#)', text)
        assert "matplotlib.org" not in text


def test_numbers_are_written_out():
    text = svg(line_plot("t", {"one": [(0.001, 1), (100_000, 10)]}, x="x", y="y"))
    assert ">0.001<" in text
    assert ">100,000<" in text
