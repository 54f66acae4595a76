"""The advice on the example of a heterogeneous cluster, against the ratio that its page has measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from examples.heterogeneous import run

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/examples/heterogeneous.md"


def measured() -> tuple[float, float]:
    """Return the share of time that the trainer alone waits, and the ratio, from the page."""
    text = PAGE.read_text(encoding="utf-8")
    row = re.search(r"^\| 1 ml\.g5\.xlarge \| 4 \| \d+ \| ([\d.]+) \|$", text, re.MULTILINE)
    ratio = re.search(r"The ratio is \*\*([\d.]+)\*\*", text)
    assert row is not None
    assert ratio is not None
    return float(row[1]), float(ratio[1])


def test_the_estimate_of_the_advice_is_the_ratio_of_the_page(capsys: pytest.CaptureFixture[str]):
    waiting, ratio = measured()
    run.compare_advice(waiting, ratio)
    assert f"estimated by the advice: {ratio:.1f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("waiting", "ratio", "message"),
    [
        (0.76, 2.0, "the advice estimates 4.0, and 2.0 was measured"),
        (0.76, 6.0, "the advice estimates 4.0, and 6.0 was measured"),
        (0.1, 1.1, "does not name ml.c5.2xlarge"),
    ],
)
def test_the_example_fails_if_the_advice_is_wrong(waiting: float, ratio: float, message: str):
    with pytest.raises(SystemExit, match=message):
        run.compare_advice(waiting, ratio)
