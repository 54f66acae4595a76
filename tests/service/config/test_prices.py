"""Prices in the configuration document."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from headway.accounting.prices import Price
from headway_service.config import document as configuration
from headway_service.config.prices import MAX_PRICE
from headway_service.errors import InvalidConfiguration

P5 = "ml.p5.48xlarge"
MAY = {"from": "2026-05-10", "onDemandPerHour": 98.32}


def document(**changes: Any) -> dict[str, Any]:
    return {"pools": {P5: {"size": 2}}, **changes}


def test_a_price_has_its_day_and_is_kept_as_it_was_written() -> None:
    prices = {P5: [MAY, {"from": "2026-06-01", "onDemandPerHour": 90, "spotPerHour": 40.5}]}
    text = configuration.text_to_keep(document(prices=prices, currency="EUR"))
    known = configuration.parse(text).dated_prices()
    assert known.currency == "EUR"
    assert known.by_type == {
        P5: (
            Price(first=date(2026, 5, 10), on_demand=98.32),
            Price(first=date(2026, 6, 1), on_demand=90.0, spot=40.5),
        )
    }
    assert '"from":"2026-05-10"' in text


def test_without_prices_nothing_has_one() -> None:
    known = configuration.validate(document()).dated_prices()
    assert (known.by_type, known.currency) == ({}, "USD")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"prices": {P5: [{"onDemandPerHour": 1}]}}, "prices.ml.p5.48xlarge.0.from"),
        ({"prices": {P5: []}}, "prices.ml.p5.48xlarge"),
        ({"prices": {P5: [MAY | {"from": "2026-02-30"}]}}, "prices.ml.p5.48xlarge.0.from"),
        ({"prices": {P5: [MAY | {"from": "May"}]}}, "prices.ml.p5.48xlarge.0.from"),
        ({"prices": {P5: [MAY, MAY]}}, "prices.ml.p5.48xlarge"),
        ({"prices": {P5: [MAY | {"onDemandPerHour": -1}]}}, "prices.ml.p5.48xlarge.0.onDemandPerHour"),
        ({"prices": {P5: [MAY | {"onDemandPerHour": MAX_PRICE + 1}]}}, "prices.ml.p5.48xlarge.0.onDemandPerHour"),
        ({"prices": {P5 + ".spot": [MAY]}}, "prices.ml.p5.48xlarge.spot"),
        ({"prices": {P5: [MAY | {"perHour": 1}]}}, "prices.ml.p5.48xlarge.0.perHour"),
        ({"currency": "$"}, "currency"),
        ({"usageTags": ["a", "a"]}, "usageTags"),
        ({"usageTags": ["a b"]}, "usageTags.0"),
        ({"usageTags": [*"abcdef"]}, "usageTags"),
    ],
)
def test_a_wrong_price_or_tag_is_refused_at_its_place(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidConfiguration) as raised:
        configuration.validate(document(**changes))
    assert raised.value.fields[0].field.startswith(field)
