"""The figures of long queues, bursts and launches, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.report.markdown import Figures, in_three_figures, table
from bench.scenarios.launches import when

KINDS = {"ms": "ms", "read units": "DynamoDB read units", "calls": "DynamoDB calls"}


_STARTS = {
    "transactionMs": "a transaction, ms",
    "jobs": "jobs",
    "launched": "launched",
    "seconds": "s",
    "aSecond": "starts a second",
    "processorMsEach": "processor's time of each, ms",
}


def scale_table(scale: Figures) -> str:
    """Long lines beside short ones, a burst, and what DynamoDB's partitions bear."""
    told = [
        _long_lines(where, part)
        for key, where in (("in memory", "in memory"), ("in the sandbox", "in the sandbox's table, over HTTP"))
        for part in scale.get(key) or []
    ]
    if scale.get("burst"):
        rows = [(", ".join(names), _shown(value)) for names, value in _leaves(scale["burst"])]
        told.append(f"A burst of submissions:\n\n{table(('', ''), rows)}")
    if scale.get("bounds"):
        told.append(f"At DynamoDB's limits, by the place that bears a step least often:\n\n{_bounds(scale['bounds'])}")
    return "\n\n".join(told)


def launches_table(launches: Figures) -> str:
    """Starts a second in real time, and after ends on virtual time: one launch at once beside several."""
    starts = [
        (
            f"{each['atOnce']}",
            *(in_three_figures(each[key]) for key in _STARTS),
        )
        for each in launches["starts"]
    ]
    ends = [
        (
            when(each["within"]),
            "any number" if each["allowed"] is None else f"{each['allowed']} a second",
            f"{each['atOnce']}",
            *(in_three_figures(each["secondsUntilLaunched"][key]) for key in ("median", "p99", "max")),
            *(in_three_figures(each[key]) for key in ("secondsUntilAllLaunched", "aSecond", "calls", "lost")),
            *(in_three_figures(each[key]) for key in ("passes", "oldestWakeSeconds", "mostInstancesIdle")),
            *(in_three_figures(each["ledgerUnitsASecond"][key]) for key in ("written", "read")),
        )
        for each in launches["ends"]
    ]
    return "\n\n".join(
        [
            "One tick, in real time:",
            table(("at once", *_STARTS.values()), starts),
            f"{launches['ends'][0]['ended']} ends, on virtual time:",
            table(
                (
                    *("they end", "calls allowed", "at once", "s until the next is launched: median", "p99"),
                    *("longest", "s until all are", "starts a second", "calls", "lost", "passes", "oldest wake-up, s"),
                    *("most instances idle", "ledger units a second: written", "read"),
                ),
                ends,
                words=(0, 1),
            ),
        ]
    )


def _long_lines(where: str, part: Figures) -> str:
    short, long, times = part["short"], part["long"], part["ratios"]
    rows = [
        (operation, *(_grown(short[operation], long[operation], kind) for kind in KINDS.values()))
        for operation in times
    ]
    memory = f", at most {in_three_figures(long['peakMemoryMB'])} MB" if "peakMemoryMB" in long else ""
    title = f"{long['waiting']:,} waiting {where}{memory}; in each cell before it the same with {short['waiting']:,}:"
    return f"{title}\n\n{table(('', *KINDS), rows)}"


def _grown(short: Figures, long: Figures, kind: str) -> str:
    if kind not in long:
        return ""
    times = f" ({in_three_figures(long[kind] / short[kind])} times)" if short[kind] else ""
    return f"{in_three_figures(short[kind])} → {in_three_figures(long[kind])}{times}"


def _bounds(steps: Mapping[str, Any]) -> str:
    rows = [
        (step, place["place"], *(in_three_figures(place[key]) for key in ("write_units", "read_units", "a_second")))
        for step, places in steps.items()
        for place in places[:1]
    ]
    return table(("step", "place", "write units", "read units", "a second at most"), rows, words=(0, 1))


def _leaves(figures: Any, names: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], Any]]:
    """The values of a tree, each with the names on the way to it."""
    if isinstance(figures, Mapping):
        return [leaf for name, each in figures.items() for leaf in _leaves(each, (*names, str(name)))]
    return [(names, figures)]


def _shown(value: Any) -> str:
    """A number, or the length of a list."""
    return in_three_figures(len(value) if isinstance(value, list) else value)
