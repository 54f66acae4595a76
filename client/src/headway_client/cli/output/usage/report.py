"""The report of a month, as a table and as a page of its own: inline SVG, no script, nothing from the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape

from headway.days import DAYS_KEPT, days, end_of_month
from headway.sanitize import strip_control_characters
from headway_client.cli.output.table import NONE, Table
from headway_client.cli.output.usage.tables import (
    beside_cost,
    hours,
    prediction_notes,
    price_notes,
    running_notes,
    spare_columns,
    title,
    usage_rows,
)
from headway_client.models import Usage, UsageSum

MAX_BARS = 20
"""Names in one plot: those with the most hours."""

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;"
    "background:#fff}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2rem .6rem;"
    "border-bottom:1px solid #ccc;overflow-wrap:anywhere}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;"
    "overflow-wrap:normal}td.n{white-space:nowrap}"
    ".used{fill:#2b6cb0}.lost{fill:#c05621}.running{fill:#90b4d8}.idle{fill:#a0aec0}text{fill:#1b1b1b;font-size:12px}"
    "@media (prefers-color-scheme:dark){body{color:#eee;background:#161616}text{fill:#eee}.used{fill:#63a4e0}"
    ".lost{fill:#f0965a}.running{fill:#3d5f85}.idle{fill:#5f6b7a}th,td{border-color:#444}}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_NOTE = (
    "Instance hours of attempts that have ended, in UTC days. Lost hours (orange) were lost by preemptions and "
    "failures, and their cost is a part of the cost. In idle hours (grey), instances of a pool were free or reserved "
    "while jobs waited for it. Quantiles of waits are within 5 %."
)
_ROW, _LABEL, _BARS, _FIGURES = 22, 260, 340, 260
_WIDTH = _LABEL + _BARS + _FIGURES
_HEIGHT = 140


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A month.

    Attributes:
        month: such as ``2026-11``.
        sums: by team, owner and pool; one of them says how good predictions were.
        daily: by pool, day by day; None if it was not read, or is not kept any more.
    """

    month: str
    sums: Sequence[Usage]
    daily: Usage | None

    def html(self) -> str:
        """Return the page."""
        name = f"Usage in {_text(self.month)}"
        parts = [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{name}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{name}</h1><p>{_NOTE}</p>{_paragraphs([*self.running_notes(), *self.prediction_notes()])}",
            f"<h2>Day by day</h2>{self._days()}",
            *(f"<h2>By {_text(title(usage.by).lower())}</h2>{_bars(usage.rows)}{_table(usage)}" for usage in self.sums),
        ]
        return "\n".join([*parts, "</body></html>\n"])

    def running_notes(self) -> list[str]:
        """Return the line that says what the hours of running attempts are; none without such attempts."""
        # The sums are requested one after the other, so each has another time, and one may have running attempts that
        # another lacks.
        return [note for usage in self.sums for note in running_notes(usage)][:1]

    def prediction_notes(self) -> list[str]:
        """Return the line that says how good predictions of run times were; none if there were none."""
        return [note for usage in self.sums for note in prediction_notes(usage)]

    def _days(self) -> str:
        found = days_of(self.month)
        if found is None:
            return ""
        if self.daily is None:
            return f"<p>Sums of single days are kept for {DAYS_KEPT} days only, so there is no plot.</p>"
        shown = [each.name for each in days(*map(date.fromisoformat, found))]
        used, lost, running, idle = (dict.fromkeys(shown, 0) for _ in range(4))
        for row in self.daily.rows:
            if row.period in used:
                used[row.period] += _used(row)
                lost[row.period] += _lost(row)
                running[row.period] += _running(row)
                idle[row.period] += _idle(row)
        held = {day: used[day] + running[day] for day in shown}
        most, each = max([*(held[day] + idle[day] for day in shown), 1]), _WIDTH / len(shown)
        bars = []
        for number, day in enumerate(shown):
            parts = [("used", used[day], 0), ("lost", min(lost[day], used[day]), 0)]
            parts += [("running", running[day], used[day])] if running[day] else []
            parts.append(("idle", idle[day], held[day]))
            for kind, seconds, below in parts:
                height, bottom = _HEIGHT * seconds / most, _HEIGHT - _HEIGHT * below / most
                bars.append(
                    f'<rect class="{kind}" x="{number * each + 1:.1f}" y="{bottom - height:.1f}" '
                    f'width="{each - 2:.1f}" height="{height:.1f}">'
                    f"<title>{day}: {hours(seconds)} h {kind}</title></rect>"
                )
            bars.append(f'<text x="{number * each + 2:.1f}" y="{_HEIGHT + 15}">{int(day[-2:])}</text>')
        return _svg(_HEIGHT + 20, "Instance hours by day", bars)


def days_of(month: str) -> tuple[str, str] | None:
    """Return the first and the last day of a month such as ``2026-11``; None if it is none."""
    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError:
        return None
    return first.isoformat(), end_of_month(first).isoformat()


def month_rows(report: Report, *, wide: bool = False, totals: bool = True) -> Table:
    """Return the sums of a month as one table.

    Args:
        wide: more columns.
        totals: as for `usage_rows`, of each dimension.
    """
    running = any(usage.running_until for usage in report.sums)
    beside = beside_cost((row for usage in report.sums for row in usage.rows), wide=wide)
    tables = [
        (usage.by, usage_rows(usage, wide=wide, running=running, idle=True, totals=totals, beside=beside))
        for usage in report.sums
    ]
    # By a tag or in an empty dimension nothing may have a price.
    longest = max((table.headers for _, table in tables), key=len)
    rows = [[by, *row, *[NONE] * (len(longest) - len(row))] for by, table in tables for row in table.rows]
    notes = [*report.running_notes(), *price_notes(report.sums), *report.prediction_notes()]
    return Table(headers=["By", "Name", *longest[1:]], rows=rows, note=notes, spare=spare_columns(report.sums))


def _bars(rows: Sequence[UsageSum]) -> str:
    shown = sorted(rows, key=_all, reverse=True)[:MAX_BARS]
    most = max([*map(_all, shown), 1])
    return _svg(_ROW * len(shown), "Instance hours", list(_bar_parts(shown, most))) if shown else ""


def _bar_parts(rows: Sequence[UsageSum], most: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        top, name = number * _ROW, row.name or "(none)"
        label = name if len(name) <= _LABEL // 8 else f"…{name[-(_LABEL // 8 - 1) :]}"
        yield f'<text x="0" y="{top + 15}">{_text(label)}<title>{_text(name)}</title></text>'
        for kind, seconds in (("used", _used(row)), ("lost", min(_lost(row), _used(row)))):
            yield f'<rect class="{kind}" x="{_LABEL}" y="{top + 3}" width="{_BARS * seconds / most:.1f}" height="16"/>'
        label_text = f"{hours(_used(row))} h, {hours(_lost(row))} lost"
        if running := _running(row):
            x, width = _LABEL + _BARS * _used(row) / most, _BARS * running / most
            yield f'<rect class="running" x="{x:.1f}" y="{top + 3}" width="{width:.1f}" height="16"/>'
            label_text += f", {hours(running)} running"
        yield f'<text x="{_LABEL + _BARS * _all(row) / most + 5:.1f}" y="{top + 15}">{label_text}</text>'


def _table(usage: Usage) -> str:
    table = usage_rows(usage)
    numbers = ' class="n"'
    head = "".join(f"<th{numbers if i else ''}>{_text(cell)}</th>" for i, cell in enumerate(table.headers))
    rows = "".join(
        "<tr>" + "".join(f"<td{numbers if i else ''}>{_text(cell)}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    notes = "".join(f"<li>{_text(note)}</li>" for note in price_notes([usage]))
    listed = f"<p>Prices:</p><ul>{notes}</ul>" if notes else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{listed}"


def _svg(height: int, label: str, parts: Sequence[str]) -> str:
    content = "".join(parts)
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{_text(label)}">{content}</svg>'


def _used(row: UsageSum) -> int:
    return sum(row.used_seconds.values())


def _lost(row: UsageSum) -> int:
    return sum(row.lost_seconds.values())


def _running(row: UsageSum) -> int:
    return sum(row.running_seconds.values())


def _idle(row: UsageSum) -> int:
    return sum(row.idle_seconds.values())


def _all(row: UsageSum) -> int:
    return _used(row) + _running(row)


def _paragraphs(notes: Sequence[str]) -> str:
    return "".join(f"<p>{_text(note)}</p>" for note in notes)


def _text(value: str) -> str:
    """Return text as it may stand in the page: names come from other people."""
    return escape(strip_control_characters(value))
