"""The notation of prices in the configuration document."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from headway.accounting import prices
from headway_service.config.base import ConfigModel
from headway_service.validation_messages import explained

MAX_PRICED_TYPES = 50
"""Instance types with prices."""

MAX_PRICES = 20
"""Prices of one instance type, each from another day on."""

MAX_PRICE = 100_000
"""The highest price of an instance for an hour."""


def _a_day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"there is no day {text}") from None
    return text


Day = Annotated[
    str,
    StringConstraints(pattern=explained(r"^\d{4}-\d\d-\d\d$", "a day such as 2026-11-25")),
    AfterValidator(_a_day),
]
InstanceType = Annotated[
    str,
    StringConstraints(
        pattern=explained(r"^ml\.[a-z0-9-]{1,40}\.[a-z0-9-]{1,20}$", "an instance type, such as ml.p5.48xlarge")
    ),
]
Currency = Annotated[str, StringConstraints(pattern=explained(r"^[A-Z]{3}$", "a currency such as USD"))]
_Amount = Annotated[float, Field(ge=0, le=MAX_PRICE, allow_inf_nan=False)]


class Price(ConfigModel):
    """What an instance costs from a day on, e.g. ``{"from": "2026-01-01", "onDemandPerHour": 98.32}``."""

    #: The first day, UTC.
    first: Day = Field(alias="from")
    on_demand_per_hour: _Amount
    #: For estimates: what is billed of spot instances is known only after their end.
    spot_per_hour: _Amount | None = None


Listed = Annotated[list[Price], Field(min_length=1, max_length=MAX_PRICES)]


def prices_of(listed: dict[str, list[Price]], currency: str) -> prices.Prices:
    """The prices as they are computed with.

    Args:
        listed: by instance type.
        currency: of all of them.
    """
    by_type = {
        kind: tuple(
            prices.Price(
                first=date.fromisoformat(each.first), on_demand=each.on_demand_per_hour, spot=each.spot_per_hour
            )
            for each in found
        )
        for kind, found in listed.items()
    }
    return prices.Prices(currency=currency, by_type=by_type)
