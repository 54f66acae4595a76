"""The prices in the queue's configuration, as advice compares them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from headway.accounting.prices import AppliedPrice, Price, Prices


class PriceList:
    """What instances cost on a day, as on-demand instances.

    Args:
        settings: the configuration document of the queue.
        day: the day, UTC.

    Attributes:
        currency: of all prices.
    """

    def __init__(self, settings: Mapping[str, Any], day: date) -> None:
        by_type = {
            kind: [Price(first=date.fromisoformat(each["from"]), on_demand=each["onDemandPerHour"]) for each in listed]
            for kind, listed in (settings.get("prices") or {}).items()
        }
        self._prices = Prices(by_type=by_type)
        self._day = day
        self.currency = str(settings.get("currency", "USD"))

    def of(self, instance_type: str) -> AppliedPrice | None:
        """Return the price of an instance with its first day; None if it is not known."""
        return self._prices.of(instance_type, self._day)

    def per_hour(self, instance_type: str) -> float | None:
        """Return the price of an instance for an hour; None if it is not known."""
        price = self.of(instance_type)
        return None if price is None else price.per_hour
