"""The sweep tries all combinations, and its training is right."""

from __future__ import annotations

import numpy as np
import pytest

from examples.sweep import run, train


def test_every_combination_is_tried_once():
    assert run.combinations({"a": (1, 2), "b": (3, 4)}) == [
        {"a": 1, "b": 3}, {"a": 1, "b": 4}, {"a": 2, "b": 3}, {"a": 2, "b": 4},
    ]  # fmt: skip


def test_the_best_result_comes_first():
    assert run.ranked([({"a": 1}, 0.5), ({"a": 2}, 0.9)]) == [[2, 0.9], [1, 0.5]]


def part_of(network: train.Network, part: str) -> np.ndarray:
    weights: np.ndarray = getattr(network, part)
    return weights


def test_the_gradient_of_the_network_is_that_of_its_loss():
    points, labels = train.spirals(1)

    def loss(network: train.Network) -> float:
        right = np.where(labels == 1, network.probabilities(points), 1 - network.probabilities(points))
        return float(-np.log(right).mean())

    rate, step = 1e-3, 1e-6
    for part, where in (("inner", (1, 2)), ("inner", (2, 0)), ("outer", 3), ("outer", 4)):
        network = train.Network(hidden=4, seed=1)
        weights = part_of(network, part)
        before = loss(network)
        weights[where] += step
        slope = (loss(network) - before) / step
        weights[where] -= step
        network.train(points, labels, rate)
        first = part_of(train.Network(hidden=4, seed=1), part)
        assert weights[where] - first[where] == pytest.approx(-rate * slope, rel=1e-3)


def test_the_points_depend_on_the_seed_only():
    points, labels = train.spirals(5)
    again, _ = train.spirals(5)
    other, _ = train.spirals(6)
    assert np.array_equal(points, again)
    assert not np.array_equal(points, other)
    assert 0.4 < labels.mean() < 0.6
