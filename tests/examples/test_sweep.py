"""The sweep ranks its members, and its training is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from examples.sweep import run, train
from headway.lifecycle import JobState
from headway_client import ArrayMember


def test_the_best_result_comes_first():
    members = [
        ArrayMember(
            index=index,
            name=f"sweep_{index}",
            state=JobState.COMPLETED,
            made=True,
            parameters={"learning-rate": "0.1", "hidden": str(index)},
            metrics={"accuracy": accuracy},
        )
        for index, accuracy in enumerate((0.5, 0.9))
    ]
    assert run.ranked(members) == [["0.1", "1", 0.9], ["0.1", "0", 0.5]]


def test_hyperparameters_of_the_training_job_are_the_defaults_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    given = tmp_path / "hyperparameters.json"
    given.write_text('{"learning-rate": "1.0", "hidden": "4", "epochs": "1"}')
    monkeypatch.setattr(train, "HYPERPARAMETERS", given)
    monkeypatch.setattr("sys.argv", ["train.py", "--hidden", "5", "--model-dir", str(tmp_path)])
    train.main()
    assert np.load(tmp_path / "model.npz")["outer"].shape == (6,)
    assert capsys.readouterr().out.startswith("accuracy=")


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
