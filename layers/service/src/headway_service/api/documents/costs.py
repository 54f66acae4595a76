"""What jobs cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from headway.accounting.days import day_of
from headway.accounting.prices import Cost, Prices
from headway.api_documents.jobs import JobDetails
from headway.api_documents.values import Price
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


def _priced_day(job: ListedJob) -> date:
    return day_of(job.ended_ms or job.usage.started_ms or 0)


def with_cost(document: JobDetails, job: ListedJob, prices: Callable[[], Prices]) -> JobDetails:
    """A job's document with what its ended attempts cost.

    Args:
        document: the document without it.
        prices: returns what instances cost; it is not asked for a job of which nothing has ended.
    """
    if not job.usage.billed_ms and not job.usage.unbilled_ms:
        return document
    known = prices()
    cost = cost_of(job, known)
    members = cost_members(cost, lost_cost_of(job, known), saved_cost_of(job, known))
    return replace(document, **members, **price_members([cost], known))


def price_members(costs: list[Cost], prices: Prices) -> dict[str, Any]:
    """The members on prices: none where nothing has one."""
    applied = {price for cost in costs for price in cost.prices}
    if not applied:
        return {}
    ordered = sorted(applied, key=lambda each: (each.pool, each.first))
    listed = tuple(Price(pool=each.pool, first=each.first.isoformat(), per_hour=each.per_hour) for each in ordered)
    return {"currency": prices.currency, "prices": listed}


def cost_members(cost: Cost, lost: Cost, saved: Cost) -> dict[str, Any]:
    """The members on the cost, on what of it was lost, and on what spot saved beside it."""
    return {
        "cost": amount(cost),
        "unpriced_seconds": seconds(cost.unpriced_ms),
        "lost_cost": amount(lost),
        "lost_unpriced_seconds": seconds(lost.unpriced_ms),
        "saved_cost": amount(saved),
    }


def amount(cost: Cost) -> float | None:
    """An amount as documents have it."""
    return None if cost.amount is None else round(cost.amount, 4)


def seconds(times_ms: Mapping[str, int]) -> dict[str, int]:
    """Times as documents have them."""
    return {pool: time_ms // 1000 for pool, time_ms in times_ms.items()}
