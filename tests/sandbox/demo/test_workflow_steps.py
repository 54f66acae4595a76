"""The steps of the demonstrated workflow fit a line: a good learning rate does, and others are worse."""

from __future__ import annotations

import pytest

from headway_sandbox.demo import workflow_steps as steps


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return steps.prepare()


def test_a_good_learning_rate_finds_the_line(found: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    line = steps.train(found, 0.2)
    assert line["slope"] == pytest.approx(steps.SLOPE, abs=0.1)
    assert line["offset"] == pytest.approx(steps.OFFSET, abs=0.1)
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"step={steps.STEPS} loss=0.0")
    assert steps.evaluate(line)["unseen"] == pytest.approx(steps.NOISE**2, abs=0.005)


@pytest.mark.parametrize("rate", [0.001, 1.5])
def test_a_learning_rate_that_is_too_small_or_too_large_does_not(found: dict[str, object], rate: float) -> None:
    line = steps.train(found, rate)
    assert steps.loss(line["slope"], line["offset"], steps.points(seed=2)) > 1
