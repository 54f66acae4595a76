"""Dated prices of instances, and the cost of billed time by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from headway.days import month_of
from headway.pool_names import SPOT_SUFFIX

_HOUR_MS = 3_600_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What an instance costs from a day on.

    Attributes:
        first: the first day, UTC.
        on_demand: of an on-demand instance, for an hour.
        spot: about what a spot instance costs for an hour, for estimates; None if that is not known.
    """

    first: date
    on_demand: float
    spot: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AppliedPrice:
    """A price that a cost has been computed with.

    Attributes:
        pool: the instance type that is priced; of an estimate, the pool of its spot instances.
        first: the first day of the price.
        per_hour: the price for an hour.
    """

    pool: str
    first: date
    per_hour: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """The cost of billed time.

    Attributes:
        amount: the cost of what has a price; None if nothing has.
        unpriced_ms: instances times ms without a price, by pool.
        prices: the prices that were applied, in order.
    """

    amount: float | None
    unpriced_ms: Mapping[str, int]
    prices: tuple[AppliedPrice, ...]

    def with_part(self, part: Cost) -> Cost:
        """The cost of a part of this: 0 rather than unknown if there is no such part, and this has a cost.

        Args:
            part: the cost of what is billed for the part.
        """
        is_none = part.amount is None and not part.unpriced_ms
        return replace(part, amount=0.0) if is_none and self.amount is not None else part


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """The prices of instances.

    Attributes:
        currency: of all of them.
        by_type: by instance type, in any order.
    """

    currency: str = "USD"
    by_type: Mapping[str, Sequence[Price]] = field(default_factory=dict)

    def of(self, pool: str, day: date) -> AppliedPrice | None:
        """The price of an instance of a pool on a day; None if it is not known, or is paid for in another way.

        The billed time of spot instances has the discount in it already, so it has the price of on-demand instances:
        what spot saves is 1 - BillableTimeInSeconds / TrainingTimeInSeconds (API reference, DescribeTrainingJob).

        Args:
            pool: the pool, by :func:`headway.pool_names.billed_pool`.
        """
        # The pool of a training plan, which is paid for in advance, has no price: it is not named by its type alone.
        kind = pool.removesuffix(SPOT_SUFFIX)
        price = self._newest(kind, day)
        return None if price is None else AppliedPrice(pool=kind, first=price.first, per_hour=price.on_demand)

    def estimated(self, pool: str, day: date) -> AppliedPrice | None:
        """About what a spot instance of a pool costs on a day; None of other instances, and if it is not known.

        Args:
            pool: see :meth:`of`.
        """
        price = self._newest(pool.removesuffix(SPOT_SUFFIX), day) if pool.endswith(SPOT_SUFFIX) else None
        if price is None or price.spot is None:
            return None
        return AppliedPrice(pool=pool, first=price.first, per_hour=price.spot)

    def _newest(self, kind: str, day: date) -> Price | None:
        known = [price for price in self.by_type.get(kind, ()) if price.first <= day]
        return max(known, key=lambda each: each.first) if known else None

    def changing_months(self) -> frozenset[str]:
        """The months in which a price changes after the first day, so that not all their days have one price."""
        days = [price.first for prices in self.by_type.values() for price in prices]
        return frozenset(month_of(day) for day in days if day.day > 1)

    def cost(self, billed: Iterable[tuple[date, Mapping[str, int]]], unbilled_ms: Mapping[str, int]) -> Cost:
        """The cost of billed time.

        Args:
            billed: days, each with instances times ms by pool, at the prices of that day.
            unbilled_ms: what is not billed by a known time, so that it has no price.
        """
        return _cost(billed, unbilled_ms, self.of)

    def estimate(self, held: Iterable[tuple[date, Mapping[str, int]]]) -> Cost:
        """About what spot instances cost whose billable time is not known: what they were held, at their price.

        Args:
            held: days, each with instances times ms by pool, at the prices of that day.
        """
        return _cost(held, {}, self.estimated)


def _cost(
    times: Iterable[tuple[date, Mapping[str, int]]],
    unpriced_ms: Mapping[str, int],
    price_of: Callable[[str, date], AppliedPrice | None],
) -> Cost:
    amount: float | None = None
    unpriced, applied = Counter(unpriced_ms), set[AppliedPrice]()
    for day, times_ms in times:
        for pool, time_ms in times_ms.items():
            price = price_of(pool, day)
            if price is None:
                unpriced[pool] += time_ms
            else:
                applied.add(price)
                amount = (amount or 0.0) + time_ms / _HOUR_MS * price.per_hour
    ordered = tuple(sorted(applied, key=lambda each: (each.pool, each.first)))
    return Cost(amount=amount, unpriced_ms={pool: ms for pool, ms in unpriced.items() if ms}, prices=ordered)
