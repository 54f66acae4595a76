"""The counted use with its prices, as the tables of docs/explanation/cost.md."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from bench.metering.itemized_units import PAYS_FOR
from bench.metering.prices import HOURS_A_MONTH, PRICES

Use = Mapping[str, float]
GATEWAY = "API Gateway requests"


def cost(use: Use, *, free: bool = False, without: str = "") -> float:
    """What a use costs in all, USD; with ``free``, in an account that uses nothing else."""
    return sum(PRICES[kind].of(number, free=free) for kind, number in use.items() if kind in PRICES and kind != without)


def tables_of(result: Mapping[str, Any]) -> dict[str, str]:
    """The tables of the page, by the names of their places."""
    extras = (result["1,000 preemptions"], result["1,000 hours of a running job"])
    return {
        "idle": _idle(result["idle month"], result["idle month, watched in full"]),
        "network": _network(result["interface endpoints"], result["idle month"]),
        "jobs": _jobs(result["1,000 jobs"], extras),
        "units": _units(result["write units of a job"]),
        "prices": _prices(),
    }


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables at their places.

    Raises:
        ValueError: the page has no place for one.
    """
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        first, last = page.index(begin) + len(begin), page.index(end)
        page = f"{page[:first]}{table}\n{page[last:]}"
    return page


def _idle(*months: Use) -> str:
    """The months beside each other: of each the number, the price, and the price with the free tier."""
    rows = [
        (
            kind,
            *(
                column
                for number in (month.get(kind, 0) for month in months)
                for column in (
                    shown(number),
                    f"{PRICES[kind].of(number):.2f}",
                    f"{PRICES[kind].of(number, free=True):.2f}",
                )
            ),
        )
        for kind in _dearest_first({**months[0], **months[1]})
    ]
    sums = (("", f"**{cost(month):.2f}**", f"**{cost(month, free=True):.2f}**") for month in months)
    rows.append(("**in all**", *(column for each in sums for column in each)))
    head = ("default", "USD", "with the free tier", "watched in full", "USD", "with the free tier")
    return _table(("a month of an idle queue", *head), rows)


def _network(hours: Use, idle: Use) -> str:
    """The endpoints of each case, and the least that a queue costs with them in a month."""
    price = PRICES["interface endpoint hours"]
    rows = [
        (case, shown(number / HOURS_A_MONTH), f"{price.of(number):.2f}", f"{price.of(number) + cost(idle):.2f}")
        for case, number in sorted(hours.items(), key=lambda each: each[1])
    ]
    return _table(("", "endpoints, by zone", "USD a month", "with the idle queue"), rows)


def _jobs(thousand: Use, extras: tuple[Use, Use]) -> str:
    rows = [
        (
            kind,
            shown(thousand.get(kind, 0)),
            f"{PRICES[kind].of(thousand.get(kind, 0)):.4f}" if kind in PRICES else "",
            *(shown(extra.get(kind, 0)) for extra in extras),
        )
        for kind in (*_dearest_first(dict.fromkeys({*extras[0], *extras[1]}, 0.0) | {**thousand}), "SageMaker calls")
    ]
    others = (f"**{cost(extra):.4f} USD**" for extra in extras)
    rows.append(("**in all**", "", f"**{cost(thousand):.4f}**", *others))
    rows.append(("**beside API Gateway**", "", f"**{cost(thousand, without=GATEWAY):.4f}**", "", ""))
    return _table(("", "1,000 jobs", "USD", "1,000 preemptions", "1,000 hours of a running job"), rows)


def _units(of_a_job: Mapping[str, float]) -> str:
    """The write units of a job, in the order of its life, with what they pay for."""
    units = {place: of_a_job[name] for place in PAYS_FOR if (name := " ".join(place)) in of_a_job}
    rows = [(function, item, f"{units[function, item]:.2f}", PAYS_FOR[function, item]) for function, item in units]
    rows.append(("**in all**", "", f"**{sum(of_a_job.values()):.2f}**", ""))
    return _table(("function", "item", "write units of a job", "what they pay for"), rows, texts={1, 3})


def _prices() -> str:
    rows = [
        (
            kind + ("" if price.confirmed else " (*)"),
            f"{price.usd:.10f}".rstrip("0").rstrip("."),
            f"{price.per:,.0f}",
            f"{price.free:,.0f}" if price.free else "",
            f"aws.amazon.com/{price.page}",
        )
        for kind, price in PRICES.items()
    ]
    return _table(("", "USD", "for", "free each month", "page"), rows)


def _dearest_first(use: Use) -> list[str]:
    return sorted((kind for kind in use if kind in PRICES), key=lambda kind: (-PRICES[kind].of(use[kind]), kind))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], texts: Collection[int] = ()) -> str:
    rule = ("---", *("---" if number in texts else "---:" for number in range(1, len(head))))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def shown(number: float) -> str:
    """A number in three figures; a whole one as it is."""
    rounded = number if float(number).is_integer() else float(f"{number:.3g}")
    return f"{rounded:,.0f}" if float(rounded).is_integer() else f"{rounded:.6f}".rstrip("0")
