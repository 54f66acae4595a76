"""Advice as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway.accounting.prices import AppliedPrice
from headway.advice import Advice, Option, Report
from headway.sanitize import strip_control_characters
from headway.vectors import describe
from headway_client.cli.output.times import length


def advice_lines(name: str, attempt: str | None, report: Report, refused: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a report.

    Args:
        name: the job.
        attempt: the attempt whose utilization it rests on; None if the job was not launched.
        refused: the calls that AWS refused.
    """
    about = name if attempt in {None, name} else f"{name} ({attempt})"
    if not report.advice:
        yield strip_control_characters(f"{about}: there is no advice.")
    for number, advice in enumerate(report.advice, start=1):
        lines = _lines(advice)
        yield strip_control_characters(f"{number}. {next(lines)}")
        for line in lines:
            yield strip_control_characters(f"   {line}")
    missing = [*report.missing, *refused]
    if missing:
        yield strip_control_characters(f"Not enough data: {'; '.join(missing)}.")


def _lines(advice: Advice) -> Iterator[str]:
    yield advice.finding
    yield f"Do: {advice.remedy}"
    for option in advice.options:
        yield f"- {_option(option)}"
    if advice.saved_s is not None:
        yield f"Saves up to {length(int(advice.saved_s))}."
    yield f"Rests on: {'; '.join(advice.figures)}. Confidence: {advice.confidence}."


def _option(option: Option) -> str:
    parts = [describe(option.instances)]
    if option.speed is not None:
        # An estimate with two digits; more would be false precision.
        parts.append(f"estimated {option.speed:.1f} times as fast")
    if option.cost is not None:
        parts.append(f"at {option.cost:.1f} times the cost")
    return ", ".join(parts)


def price_line(prices: Sequence[AppliedPrice], currency: str) -> str:
    """Return the line with the prices that costs were compared by.

    Args:
        prices: the prices, each with its first day.
        currency: of all of them.
    """
    listed = [f"{each.pool} {each.per_hour:g} since {each.first.isoformat()}" for each in prices]
    return strip_control_characters(f"Prices of an on-demand instance for an hour, in {currency}: {', '.join(listed)}.")
