"""Documents of jobs with costs: of what is billed, and of what of that was lost."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from headway.accounting.prices import Price, Prices
from headway.days import begin_ms
from headway_service.api.documents.usage import ended_job_document
from headway_service.store.records.listed_job import Usage
from tests.service.accounting.test_accountant import DAY, HOUR_MS, job
from tests.service.world import P5

SPOT = f"{P5}.spot"
PRICES = Prices(by_type={P5: (Price(first=date(2026, 1, 1), on_demand=10.0), Price(first=DAY, on_demand=20))})


@pytest.mark.parametrize(
    ("usage", "cost", "lost", "unpriced"),
    [
        ({"billed_ms": {P5: 4 * HOUR_MS}}, 80.0, 0.0, {}),
        ({"billed_ms": {P5: 4 * HOUR_MS}, "lost_billed_ms": {P5: HOUR_MS}}, 80.0, 20.0, {}),
        ({"billed_ms": {"ml.g5.xlarge": 4 * HOUR_MS}}, None, None, {}),
        (
            {
                "billed_ms": {P5: HOUR_MS, SPOT: HOUR_MS},
                "unbilled_ms": {SPOT: HOUR_MS},
                "lost_billed_ms": {P5: HOUR_MS, SPOT: HOUR_MS},
                "lost_unbilled_ms": {SPOT: HOUR_MS},
            },
            40.0,
            40.0,
            {SPOT: 3600},
        ),
        ({}, None, None, {}),
    ],
    ids=["nothing was lost", "a part was lost", "no price is known", "a part has no price", "nothing was used"],
)
def test_a_job_has_what_its_lost_work_cost_at_the_prices_of_the_day_of_its_end(
    usage: dict[str, Any], cost: float | None, lost: float | None, unpriced: dict[str, int]
) -> None:
    ended = job("a", usage=Usage(**usage), ended_ms=begin_ms(DAY))
    document = ended_job_document(ended, PRICES)
    assert (document.cost, document.lost_cost) == (cost, lost)
    assert document.lost_unpriced_seconds == unpriced


@pytest.mark.parametrize(
    ("usage", "saved"),
    [
        # 500 s of training of which 100 s are billed save 80 % (guide, "Managed Spot Training").
        ({"billed_ms": {SPOT: 100_000}, "saved_ms": {SPOT: 400_000}}, round(400 / 3600 * 20, 4)),
        ({"billed_ms": {P5: HOUR_MS}}, 0.0),
        ({"billed_ms": {"ml.g5.xlarge.spot": 1}, "saved_ms": {"ml.g5.xlarge.spot": 4}}, None),
        ({}, None),
    ],
    ids=["the example of AWS", "on demand", "no price is known", "nothing was used"],
)
def test_a_job_has_what_spot_saved_at_the_price_on_demand(usage: dict[str, Any], saved: float | None) -> None:
    document = ended_job_document(job("a", usage=Usage(**usage), ended_ms=begin_ms(DAY)), PRICES)
    assert document.saved_cost == saved
    assert document.saved_seconds == {pool: ms // 1000 for pool, ms in usage.get("saved_ms", {}).items()}
