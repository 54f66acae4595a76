"""What jobs cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from headway.accounting.prices import Cost, Prices
from headway.api_documents.jobs import JobDetails
from headway.api_documents.values import Price
from headway.days import day_of, split
from headway.lifecycle import AttemptState
from headway.pool_names import billed_pool
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.listed_job import ListedJob


def cost_of(job: ListedJob, prices: Prices) -> Cost:
    """The cost of the ended attempts of a job, at the prices of the day of its end, or of its first start before that.

    Args:
        prices: what instances cost.
    """
    return prices.cost([(_priced_day(job), job.usage.billed_ms)], job.usage.unbilled_ms)


def lost_cost_of(job: ListedJob, prices: Prices) -> Cost:
    """What of the cost of a job is for what its attempts have lost.

    Args:
        prices: what instances cost.
    """
    usage = job.usage
    part = prices.cost([(_priced_day(job), usage.lost_billed_ms)], usage.lost_unbilled_ms)
    return cost_of(job, prices).with_part(part)


def saved_cost_of(job: ListedJob, prices: Prices) -> Cost:
    """What spot saved its ended attempts, of what the same time costs on demand.

    Args:
        prices: what instances cost.
    """
    return cost_of(job, prices).with_part(prices.cost([(_priced_day(job), job.usage.saved_ms)], {}))


def estimated_cost_of(job: ListedJob, prices: Prices) -> Cost:
    """About what its ended attempts cost beside its cost: spot instances whose billable time is not known.

    Args:
        prices: what instances cost.
    """
    return prices.estimate([(_priced_day(job), job.usage.unbilled_ms)])


def _priced_day(job: ListedJob) -> date:
    return day_of(job.ended_ms or job.usage.started_ms or 0)


def with_cost(
    document: JobDetails, job: ListedJob, live: AttemptRecord | None, prices: Callable[[], Prices], now_ms: int
) -> JobDetails:
    """A job's document with what its ended attempts cost, and an estimate of what spot instances cost beside that.

    Args:
        document: the document without it.
        live: its live attempt; None for none.
        prices: returns what instances cost; it is not asked for a job that has none of these.
        now_ms: the training time, ms.
    """
    running = _running_spot(live, now_ms)
    if not job.usage.billed_ms and not job.usage.unbilled_ms and not running:
        return document
    known = prices()
    cost = cost_of(job, known)
    estimated = known.estimate([(_priced_day(job), job.usage.unbilled_ms), *running])
    members = cost_members(cost, lost_cost_of(job, known), saved_cost_of(job, known), estimated)
    return replace(document, **members, **price_members([cost, estimated], known))


def _running_spot(live: AttemptRecord | None, now_ms: int) -> list[tuple[date, Mapping[str, int]]]:
    """What the spot instances of a live attempt have been held until now, by day and pool: instances times ms."""
    # One that is never launched will have used nothing.
    if live is None or not live.spot or live.attempt_state is AttemptState.LAUNCHING:
        return []
    pools = {billed_pool(pool, spot=True): count for pool, count in live.demand.items()}
    return [
        (day, {pool: count * time_ms for pool, count in pools.items()})
        for day, time_ms in split(live.since_ms, now_ms).items()
    ]


def price_members(costs: list[Cost], prices: Prices) -> dict[str, Any]:
    """The members on prices: none where nothing has one."""
    applied = {price for cost in costs for price in cost.prices}
    if not applied:
        return {}
    ordered = sorted(applied, key=lambda each: (each.pool, each.first))
    listed = tuple(Price(pool=each.pool, first=each.first.isoformat(), per_hour=each.per_hour) for each in ordered)
    return {"currency": prices.currency, "prices": listed}


def cost_members(cost: Cost, lost: Cost, saved: Cost, estimated: Cost) -> dict[str, Any]:
    """The members on the cost, on what of it was lost, on what spot saved, and on what it is about beside the cost."""
    return {
        "cost": amount(cost),
        "unpriced_seconds": seconds(cost.unpriced_ms),
        "lost_cost": amount(lost),
        "lost_unpriced_seconds": seconds(lost.unpriced_ms),
        "saved_cost": amount(saved),
        "estimated_cost": amount(estimated),
    }


def amount(cost: Cost) -> float | None:
    """An amount as documents have it."""
    return None if cost.amount is None else round(cost.amount, 4)


def seconds(times_ms: Mapping[str, int]) -> dict[str, int]:
    """Times as documents have them."""
    return {pool: time_ms // 1000 for pool, time_ms in times_ms.items()}
