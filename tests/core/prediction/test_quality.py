"""How good predictions were."""

from __future__ import annotations

import pytest

from headway.accounting.histogram import RELATIVE_ERROR
from headway.prediction.quality import Quality
from headway.prediction.run_times import Prediction

EXPECTED = Prediction(low_ms=50_000, median_ms=60_000, expected_ms=70_000, high_ms=90_000, runs=9, shared=4)


@pytest.mark.parametrize(
    ("run_ms", "error", "covered"),
    [(60_000, 0.0, 1), (50_000, 0.2, 1), (90_000, 1 / 3, 1), (40_000, 0.5, 0), (120_000, 0.5, 0), (0, 60_000, 0)],
)
def test_a_prediction_has_the_error_of_its_median_and_is_right_if_its_interval_is(
    run_ms: int, error: float, covered: int
) -> None:
    found = Quality.of(EXPECTED, run_ms)
    assert found.median_error == pytest.approx(error, rel=RELATIVE_ERROR)
    assert (found.predicted, found.covered) == (1, covered)


def test_the_quality_of_several_is_their_median_and_their_share() -> None:
    found = sum((Quality.of(EXPECTED, run_ms) for run_ms in (60_000, 50_000, 40_000, 40_000)), Quality())
    assert found.predicted == 4
    assert found.coverage == 0.5
    assert found.median_error == pytest.approx(0.2, rel=RELATIVE_ERROR)


def test_without_predictions_nothing_is_known_of_them() -> None:
    assert (Quality().coverage, Quality().median_error) == (None, None)
