"""Dated prices: each day has the newest price that began by then, and nothing has a price that is not known."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.accounting.prices import AppliedPrice, Price, Prices

P5 = "ml.p5.48xlarge"
HOUR_MS = 3_600_000
MAY, JUNE = date(2026, 5, 10), date(2026, 6, 1)
PRICES = Prices(
    by_type={P5: (Price(first=JUNE, on_demand=8.0), Price(first=MAY, on_demand=10.0))},
)


@pytest.mark.parametrize(
    ("pool", "day", "per_hour"),
    [
        (P5, date(2026, 5, 9), None),
        (P5, MAY, 10.0),
        (P5, date(2026, 5, 31), 10.0),
        (P5, JUNE, 8.0),
        (P5, date(2030, 1, 1), 8.0),
        (f"{P5}.spot", MAY, 10.0),
        (f"{P5}.spot", JUNE, 8.0),
        (f"{P5}.plan.summer", JUNE, None),
        ("ml.g5.xlarge", JUNE, None),
        ("serverless", JUNE, None),
    ],
)
def test_a_pool_has_the_price_of_the_day(pool: str, day: date, per_hour: float | None) -> None:
    found = PRICES.of(pool, day)
    assert (found.per_hour if found else None) == per_hour


def test_a_cost_has_what_is_priced_and_lists_the_rest_and_the_prices_with_their_days() -> None:
    billed = [(MAY, {P5: 2 * HOUR_MS, "ml.g5.xlarge": HOUR_MS}), (JUNE, {P5: HOUR_MS}), (JUNE, {P5: HOUR_MS})]
    cost = PRICES.cost(billed, {f"{P5}.spot": 7})
    assert cost.amount == 2 * 10.0 + 2 * 8.0
    assert cost.unpriced_ms == {"ml.g5.xlarge": HOUR_MS, f"{P5}.spot": 7}
    assert cost.prices == (
        AppliedPrice(pool=P5, first=MAY, per_hour=10.0),
        AppliedPrice(pool=P5, first=JUNE, per_hour=8.0),
    )


def test_billed_time_of_spot_instances_has_its_discount_already() -> None:
    # AWS's example: of 500 s of training 100 s are billed, which saves 80 % (API reference, DescribeTrainingJob).
    prices = Prices(by_type={P5: (Price(first=MAY, on_demand=98.32),)})
    cost = prices.cost([(MAY, {f"{P5}.spot": 100_000})], {}).amount
    whole = prices.cost([(MAY, {P5: 500_000})], {}).amount
    assert cost == pytest.approx(2.731, abs=5e-4)
    assert cost == pytest.approx(0.2 * (whole or 0.0))


def test_without_any_price_there_is_no_cost_rather_than_none_to_pay() -> None:
    assert Prices().cost([(MAY, {P5: HOUR_MS})], {}).amount is None
    free = Prices(by_type={P5: (Price(first=MAY, on_demand=0.0),)})
    assert free.cost([(MAY, {P5: HOUR_MS})], {}).amount == 0.0


@pytest.mark.parametrize(
    ("part", "unbilled", "amount"),
    [
        ({P5: HOUR_MS}, {}, 10.0),
        ({}, {}, 0.0),
        ({"ml.g5.xlarge": HOUR_MS}, {}, None),
        ({}, {f"{P5}.spot": HOUR_MS}, None),
        ({P5: HOUR_MS}, {f"{P5}.spot": HOUR_MS}, 10.0),
    ],
)
def test_a_part_of_a_cost_is_nothing_only_if_there_is_no_such_part(
    part: dict[str, int], unbilled: dict[str, int], amount: float | None
) -> None:
    whole = PRICES.cost([(MAY, {P5: 2 * HOUR_MS, "ml.g5.xlarge": HOUR_MS})], unbilled)
    assert whole.with_part(PRICES.cost([(MAY, part)], unbilled)).amount == amount


def test_a_part_of_what_has_no_cost_has_none() -> None:
    assert Prices().cost([(MAY, {P5: HOUR_MS})], {}).with_part(Prices().cost([], {})).amount is None


@given(st.lists(st.dates(date(2026, 1, 1), date(2026, 3, 31)), max_size=4, unique=True))
def test_in_a_month_without_a_change_each_day_has_the_price_of_the_first(days: list[date]) -> None:
    prices = Prices(by_type={P5: tuple(Price(first=day, on_demand=float(i)) for i, day in enumerate(days))})
    for month in (1, 2, 3):
        first = date(2026, month, 1)
        of_days = {prices.of(P5, first + timedelta(days=number)) for number in range(28)}
        changes = f"2026-{month:02d}" in prices.changing_months()
        late = any(day.month == month and day.day > 28 for day in days)
        assert changes or of_days == {prices.of(P5, first)}
        assert not changes or late or len(of_days) > 1


@pytest.mark.parametrize(
    ("pool", "day", "amount", "unpriced"),
    [
        (f"{P5}.spot", MAY, 4.0, {}),
        (f"{P5}.spot", JUNE, None, {f"{P5}.spot": HOUR_MS}),
        (P5, MAY, None, {P5: HOUR_MS}),
        ("ml.g5.xlarge.spot", MAY, None, {"ml.g5.xlarge.spot": HOUR_MS}),
    ],
    ids=["with a price of spot", "without one since", "on demand", "without any price"],
)
def test_only_spot_instances_have_an_estimate_and_only_by_their_own_price(
    pool: str, day: date, amount: float | None, unpriced: dict[str, int]
) -> None:
    prices = Prices(by_type={P5: (Price(first=MAY, on_demand=10.0, spot=4.0), Price(first=JUNE, on_demand=8.0))})
    estimate = prices.estimate([(day, {pool: HOUR_MS})])
    assert (estimate.amount, estimate.unpriced_ms) == (amount, unpriced)
    applied = (AppliedPrice(pool=pool, first=day, per_hour=4.0),)
    assert estimate.prices == (applied if amount else ())
    # What is billed has the price on demand all the same.
    assert prices.cost([(MAY, {f"{P5}.spot": HOUR_MS})], {}).amount == 10.0
