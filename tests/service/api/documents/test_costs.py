"""The costs of one job: what has ended, and an estimate of spot instances that run."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from headway.accounting.prices import Price, Prices
from headway.days import begin_ms
from headway.lifecycle import AttemptState
from headway_service.api.documents.costs import with_cost
from headway_service.api.documents.jobs import job_details_document
from headway_service.jobs.position import JobView
from headway_service.sagemaker_api.redaction import Shown
from headway_service.store.records.listed_job import Usage
from tests.service.accounting.test_accountant import DAY, HOUR_MS, attempt, job
from tests.service.accounting.test_running import holds
from tests.service.world import P5

PRICES = Prices(by_type={P5: (Price(first=date(2026, 1, 1), on_demand=10.0, spot=4.0),)})
SPOT = f"{P5}.spot"


@pytest.mark.parametrize(
    ("usage", "live", "cost", "estimate"),
    [
        ({}, {"spot": True}, None, 24.0),
        ({}, {"spot": True, "attempt_state": AttemptState.LAUNCHING}, None, None),
        ({}, {}, None, None),
        ({}, None, None, None),
        ({"billed_ms": {SPOT: HOUR_MS}, "unbilled_ms": {SPOT: HOUR_MS}}, {"spot": True}, 10.0, 28.0),
    ],
    ids=["spot", "spot that is not launched yet", "on demand", "nothing runs", "with ended attempts"],
)
def test_an_estimate_of_spot_instances_that_run_is_beside_the_cost(
    usage: dict[str, Any], live: dict[str, Any] | None, cost: float | None, estimate: float | None
) -> None:
    known = job("a", usage=Usage(started_ms=begin_ms(DAY), **usage))
    running = None if live is None else holds(attempt(1, since_ms=begin_ms(DAY)), **live)
    seen = JobView(job=known, place=None, reason=known.reason)
    shown = Shown(request={}, alternatives=(), withheld=())
    document = job_details_document(seen, running, shown, (), None)
    priced = with_cost(document, known, running, lambda: PRICES, begin_ms(DAY) + 3 * HOUR_MS)
    assert (priced.cost, priced.estimated_cost) == (cost, estimate)
