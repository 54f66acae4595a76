"""Ended jobs and sums of usage as tables, and the page of a month: names of other people do no harm in any of them."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.cli.output.table import Table
from headway_client.cli.output.usage.compare import comparison
from headway_client.cli.output.usage.ended_jobs import ended_job_rows
from headway_client.cli.output.usage.report import MAX_BARS, Report, days_of, month_rows
from headway_client.cli.output.usage.tables import usage_rows
from headway_client.http.decode import decode
from headway_client.models import HistoryPage, JobDetails, Usage, UsageSum
from tests.client.command_line import Run
from tests.client.fakes import contract_usage
from tests.client.fakes.server import ContractServer

HOSTILE = [
    "=HYPERLINK(1)",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1+1",
    "\r=1+1",
    "\x1b[31mred",
    "<script>alert(1)</script>",
    '"><svg onload="x">',
    "abc\u202edef",
    "&lt;",
    "\uff1d1",
]


def usage(*names: str | None, step: str = "total", by: str = "owner", period: str | None = None) -> Usage:
    rows = [contract_usage.row(name, period, usedSeconds={"p": 3600 * (i + 1)}) for i, name in enumerate(names)]
    return decode(Usage, {"by": by, "from": "2026-11-01", "to": "2026-11-30", "step": step, "rows": rows})


def report(*names: str | None) -> Report:
    days = usage("p", step="day", by="pool", period="2026-11-03")
    return Report(month="2026-11", sums=(usage(*names),), daily=days)


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@given(st.sampled_from(HOSTILE) | st.text(min_size=1))
def test_no_cell_of_csv_is_a_formula(name: str) -> None:
    job = contract_usage.ended({"jobName": name, "jobState": "failed", "team": name, "owner": name, "priority": 0,
        "entryTime": "x", "startedTime": None, "endedTime": "x", "attemptCount": 1})  # fmt: skip
    page = decode(HistoryPage, {"jobs": [job], "nextToken": None})
    found = usage(name, by=f"tag:{name}")
    for table in (ended_job_rows(page.jobs, wide=True), usage_rows(found, wide=True), month_rows(report(name))):
        for row in cells(table.csv()):
            for cell in row:
                assert not cell.lstrip(" \t\r\n").startswith(("=", "+", "@", "\uff1d")), cell
                assert not cell.startswith("-") or re.fullmatch(r"-\d+(\.\d+)?([eE][-+]?\d+)?", cell), cell


class Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(text: str) -> Elements:
    page = Elements()
    page.feed(text)
    return page


@given(st.sampled_from(HOSTILE) | st.text(min_size=1))
def test_a_name_adds_no_element_to_the_page_and_hides_nothing(name: str) -> None:
    kinds = [tag for tag, _ in read(report("x").html()).found]
    text = report(name).html()
    page = read(text)
    assert [tag for tag, _ in page.found] == kinds
    assert not {"\u202e", "\x1b", "\x00"} & set(text)


def test_the_page_needs_no_network_and_runs_no_script() -> None:
    page = read(report("a", None).html())
    tags = {tag for tag, _ in page.found}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "a", "form", "use", "image"}
    for _, attributes in page.found:
        assert not {name for name in attributes if name.startswith("on") or name in {"src", "href", "xlink:href"}}
    (policy,) = [each["content"] for _, each in page.found if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert "url(" not in report("a").html()


def test_the_plots_are_svg_with_bars_in_proportion() -> None:
    plots = re.findall(r"<svg.*?</svg>", report("small", "large").html(), re.DOTALL)
    days, names = (ET.fromstring(plot) for plot in plots)
    used = [float(each.attrib["height"]) for each in days.findall("rect[@class='used']")]
    assert len(used) == 30
    assert [index for index, height in enumerate(used) if height] == [2]
    widths = [float(each.attrib["width"]) for each in names.findall("rect[@class='used']")]
    assert widths[0] == pytest.approx(2 * widths[1])


def shown(table: Table) -> list[dict[str, str]]:
    return [dict(zip(table.headers, row, strict=True)) for row in table.rows]


def test_the_last_row_of_a_table_is_the_total_without_quantiles() -> None:
    first, second, total = shown(usage_rows(usage("a", None)))
    assert (first["Owner"], second["Owner"], total["Owner"]) == ("a", "-", "(total)")
    assert [row["Hours"] for row in (first, second, total)] == ["1.00", "2.00", "3.00"]
    assert (total["Jobs"], total["Attempts"], total["Preemptions"], total["Lost"]) == ("6", "8", "2", "2.00")
    assert (total["Wait p50"], total["Wait p90"]) == ("-", "-")
    assert len(usage_rows(usage("a")).rows) == 1


def test_the_total_of_pools_has_no_counts_as_a_job_may_be_in_several() -> None:
    total = shown(usage_rows(usage("p", "q", by="pool"), wide=True))[-1]
    assert {total[name] for name in ("Jobs", "Attempts", "Preemptions", "Completed", "Failed", "Reused")} == {"-"}
    assert (total["Hours"], total["Lost"], total["Hours by Pool"]) == ("3.00", "2.00", "3.00 p")


def test_the_total_of_days_is_of_all_names_and_days() -> None:
    total = shown(usage_rows(usage("a", "b", step="day", period="2026-11-03")))[-1]
    assert (total["Period"], total["Owner"], total["Hours"]) == ("(total)", "-", "3.00")


@pytest.mark.parametrize(("costs", "total"), [((5.0, 1.25), "6.25"), ((5.0, None), "5.00"), ((None, None), "-")])
def test_the_total_cost_is_that_of_the_rows_that_have_one(costs: tuple[float | None, ...], total: str) -> None:
    rows = [contract_usage.row(f"n{number}", cost=cost, lostCost=cost) for number, cost in enumerate(costs)]
    sums = decode(Usage, {**usage().document, "rows": rows, "currency": "USD", "prices": [PRICE]})
    last = shown(usage_rows(sums))[-1]
    assert (last["Cost (USD)"], last["Lost Cost (USD)"]) == (total, total)


def test_a_month_has_a_total_of_each_dimension_and_its_page_too() -> None:
    found = Report(
        month="2026-11", sums=(usage("a", "b"), usage("p", by="pool"), usage("x", "y", by="team")), daily=None
    )
    assert [(row["By"], row["Name"]) for row in shown(month_rows(found)) if row["Name"] == "(total)"] == [
        ("owner", "(total)"),
        ("team", "(total)"),
    ]
    assert found.html().count("<td>(total)</td>") == 2


@pytest.mark.parametrize(
    ("used", "shown_hours"),
    [
        ({"ml.p5.48xlarge": 3600}, "8.00"),
        ({"ml.p5.48xlarge.spot": 1800, "ml.p5.48xlarge.plan.mine": 1800, "ml.g5.xlarge": 3600}, "9.00"),
        ({"ml.c5.xlarge": 3600}, "0.00"),
        ({}, "0.00"),
        ({"serverless": 3600, "ml.g5.xlarge": 3600}, "-"),
    ],
)
def test_gpu_hours_are_hours_times_the_gpus_of_the_types(used: dict[str, int], shown_hours: str) -> None:
    sums = decode(Usage, {**usage().document, "rows": [contract_usage.row("a", usedSeconds=used)]})
    assert shown(usage_rows(sums))[0]["GPU Hours"] == shown_hours


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        # The time of the queue is 2026-01-02.
        ([], "from=2026-01-01&step"),
        (["--to", "2025-11-30"], "from=2025-11-01&to=2025-11-30"),
        (["--from", "2025-11-03"], "from=2025-11-03&step"),
    ],
)
def test_usage_is_that_of_the_month_of_the_last_day_unless_the_first_one_is_given(
    run: Run, server: ContractServer, arguments: list[str], asked: str
) -> None:
    assert run("usage", *arguments)[0] == 0
    assert asked in server.received[-1].target


def test_a_report_is_that_of_this_month_unless_one_is_given(run: Run, server: ContractServer) -> None:
    assert json.loads(run("report", "-o", "json")[1])["month"] == "2026-01"
    assert "from=2026-01-01&to=2026-01-31" in server.received[-1].target


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["usage", "--to", "november"], "'november' is no day: write it as 2026-11-30."),
        (["report", "--month", "november"], "'november' is no month: write it as 2026-11."),
    ],
)
def test_a_last_day_or_a_month_that_is_none_is_refused(run: Run, arguments: list[str], words: str) -> None:
    code, _, err = run(*arguments)
    assert (code, words in err) == (2, True)


@pytest.mark.parametrize("command", [["usage"], ["report"]])
def test_only_what_people_read_has_a_total(run: Run, command: list[str]) -> None:
    assert "(total)" in run(*command)[1]
    assert "(total)" in run(*command, "-o", "wide")[1]
    assert "(total)" not in run(*command, "-o", "csv")[1]
    assert "(total)" not in run(*command, "--no-headers")[1]


IDLE = {"idleSeconds": {"p": 2 * 3600}, "idleReservedSeconds": {"p": 1800}}


def idle_usage(by: str, day: str | None = None, *, priced: bool = False) -> Usage:
    row = contract_usage.row("p", day, usedSeconds={"p": 3600}, **(IDLE if by == "pool" else {}))
    prices = {"currency": "USD", "prices": [{"pool": "p", "from": "2026-01-01", "perHour": 1.0}]} if priced else {}
    step = "day" if day else "total"
    return decode(Usage, {"by": by, "from": "2026-11-01", "to": "2026-11-30", "step": step, "rows": [row], **prices})


@pytest.mark.parametrize(
    ("by", "wide", "shown"),
    [
        ("pool", False, {"Idle": "2.00"}),
        ("pool", True, {"Idle": "2.00", "Idle Reserved": "0.50"}),
        ("team", True, {}),
    ],
)
def test_only_the_sums_of_pools_have_idle_hours(by: str, wide: bool, shown: dict[str, str]) -> None:
    table = usage_rows(idle_usage(by), wide=wide)
    (row,) = table.rows
    assert {name: cell for name, cell in zip(table.headers, row, strict=True) if "Idle" in name} == shown


@pytest.mark.parametrize("priced", ["team", "pool"])
def test_a_month_has_the_idle_hours_of_pools_beside_what_teams_used(priced: str) -> None:
    sums = tuple(idle_usage(by, priced=by == priced) for by in ("team", "pool"))
    table = month_rows(Report(month="2026-11", sums=sums, daily=idle_usage("pool", "2026-11-03")))
    team, pool = (dict(zip(table.headers, row, strict=True)) for row in table.rows)
    assert (team["Idle"], pool["Idle"]) == ("-", "2.00")
    assert team["Wait p90"] == pool["Wait p90"] != "-"
    assert {"Cost (USD)"} < set(table.headers)


def test_idle_hours_stand_above_the_used_ones_of_their_day() -> None:
    page = Report(month="2026-11", sums=(), daily=idle_usage("pool", "2026-11-03")).html()
    days = ET.fromstring(re.findall(r"<svg.*?</svg>", page, re.DOTALL)[0])
    used, idle = (days.findall(f"rect[@class='{kind}']")[2].attrib for kind in ("used", "idle"))
    assert float(idle["height"]) == pytest.approx(2 * float(used["height"]), abs=0.2)
    assert float(idle["y"]) == pytest.approx(0, abs=0.1)
    assert float(idle["y"]) + float(idle["height"]) == pytest.approx(float(used["y"]), abs=0.1)


def test_a_plot_has_the_names_with_the_most_hours() -> None:
    names = [f"n{number}" for number in range(MAX_BARS + 5)]
    plot = re.findall(r"<svg.*?</svg>", report(*names).html(), re.DOTALL)[1]
    shown = re.findall(r"<title>(n\d+)</title>", plot)
    assert shown == names[::-1][:MAX_BARS]


def running(name: str, **changes: Any) -> Usage:
    """Sums with attempts that have used twenty hours and still run."""
    row = contract_usage.row(name, running=1, runningSeconds={"p": 72_000}, **changes)
    until = "2026-11-25T08:30:00.000Z"
    named = {"by": "owner", "from": "2026-11-01", "to": "2026-11-30", "step": "total"}
    return decode(Usage, {**named, "rows": [row], "runningUntil": until})


def test_hours_of_running_attempts_are_apart_from_those_of_ended_ones() -> None:
    table = usage_rows(running("a", usedSeconds={"p": 3600}))
    found = dict(zip(table.headers, table.rows[0], strict=True))
    assert (found["Hours"], found["Running"]) == ("1.00", "20.00")
    assert table.note == [
        "Running: used until 2026-11-25 08:30:00 UTC by attempts that have not ended; their hours are not in Hours yet."
    ]
    assert "Running" not in usage_rows(usage("a")).headers


def test_a_month_has_the_same_columns_for_all_dimensions_although_only_one_has_running_attempts() -> None:
    table = month_rows(Report(month="2026-11", sums=(usage("x"), running("a")), daily=usage()))
    column = table.headers.index("Running")
    assert [row[column] for row in table.rows] == ["0.00", "20.00"]
    assert {len(row) for row in table.rows} == {len(table.headers)}


def test_the_page_shows_running_attempts_apart_and_until_when() -> None:
    days = usage("p", step="day", by="pool", period="2026-11-03")
    text = Report(month="2026-11", sums=(running("a", usedSeconds={"p": 72_000}),), daily=days).html()
    assert "<p>Running: used until 2026-11-25 08:30:00 UTC" in text
    plot = ET.fromstring(re.findall(r"<svg.*?</svg>", text, re.DOTALL)[1])
    used, more = (plot.find(f"rect[@class='{kind}']") for kind in ("used", "running"))
    assert used is not None
    assert more is not None
    assert float(used.attrib["width"]) == pytest.approx(float(more.attrib["width"]))
    assert float(more.attrib["x"]) == pytest.approx(float(used.attrib["x"]) + float(used.attrib["width"]))
    assert 'class="running"' not in report("a").html()


def test_a_day_of_the_page_has_running_attempts_above_the_ended_ones() -> None:
    row = contract_usage.row("p", "2026-11-03", usedSeconds={"p": 3600}, running=1, runningSeconds={"p": 7200})
    named = {"by": "pool", "from": "2026-11-01", "to": "2026-11-30", "step": "day", "rows": [row]}
    text = Report(month="2026-11", sums=(usage("a"),), daily=decode(Usage, named)).html()
    plot = ET.fromstring(re.findall(r"<svg.*?</svg>", text, re.DOTALL)[0])
    (more,) = plot.findall("rect[@class='running']")
    used = next(each for each in plot.findall("rect[@class='used']") if float(each.attrib["height"]))
    assert float(more.attrib["height"]) == pytest.approx(2 * float(used.attrib["height"]), abs=0.2)
    assert float(more.attrib["y"]) == pytest.approx(0)


def test_a_month_without_usage_is_a_page() -> None:
    empty = usage()
    text = Report(month="2026-11", sums=(empty,), daily=usage(step="day", by="pool")).html()
    assert "<h2>By owner</h2><table>" in text


@pytest.mark.parametrize(
    ("month", "days"),
    [
        ("2026-11", ("2026-11-01", "2026-11-30")),
        ("2024-02", ("2024-02-01", "2024-02-29")),
        ("2026-12", ("2026-12-01", "2026-12-31")),
        ("9999-12", ("9999-12-01", "9999-12-31")),
        ("2026-13", None),
        ("2026", None),
        ("x", None),
    ],
)
def test_a_month_has_its_first_and_last_day(month: str, days: tuple[str, str] | None) -> None:
    assert days_of(month) == days


PRICE = {"pool": "p", "from": "2026-01-01", "perHour": 36.0}


def priced(name: str, **changes: Any) -> JobDetails:
    """A job with a cost."""
    job = {"jobName": name, "jobState": "completed", "held": False, "priority": 1, "entryTime": "x", "demand": {"p": 1},
        "team": None, "owner": None, "place": None, "reason": {"code": "x", "message": "x"}, "attemptCount": 2,
        "liveAttempt": None, "startedTime": None, "endedTime": None, "attempts": [], "history": [], "watches": [],
        "request": {}, "instanceSeconds": {"p": 7200}, "lostSeconds": 1800, "billedSeconds": {"p": 3600},
        "cost": 36.0, "lostCost": 9.0, "currency": "USD", "prices": [PRICE], **changes}  # fmt: skip
    return decode(JobDetails, job)


def test_jobs_are_compared_by_cost_and_metrics_with_the_dates_of_prices() -> None:
    none: dict[str, Any] = {
        "cost": None,
        "lostCost": None,
        "currency": None,
        "prices": [],
        "unpricedSeconds": {"p": 3600},
    }
    other = priced("b", **none, lostUnpricedSeconds={"p": 1800}, metrics={"loss": 0.25})
    table = comparison([priced("a", metrics={"loss": 0.5, "top1": 0.9}), other])
    found = {name: cells for name, *cells in table.rows}
    assert found["Cost"] == ["36.00 USD", "-"]
    assert found["Lost cost"] == ["9.00 USD", "-"]
    assert found["Hours without price"] == ["-", "1.00 p"]
    assert found["Lost hours without price"] == ["-", "0.50 p"]
    assert (found["Lost hours"], found["Instance hours"]) == (["0.50", "0.50"], ["2.00", "2.00"])
    assert (found["Metric loss"], found["Metric top1"]) == (["0.5", "0.25"], ["0.9", "-"])
    assert table.note == ["p: 36 USD an hour from 2026-01-01"]


def test_no_cost_is_shown_without_the_dates_of_its_prices() -> None:
    job = contract_usage.ended({"jobName": "a", "jobState": "failed", "team": None, "owner": None, "priority": 0,
        "entryTime": "x", "startedTime": None, "endedTime": "x", "attemptCount": 1})  # fmt: skip
    page = decode(
        HistoryPage, {"jobs": [{**job, "cost": 1.5, "currency": "USD", "prices": [PRICE]}, job], "nextToken": None}
    )
    sums = decode(Usage, {**usage("a").document, "currency": "USD", "prices": [PRICE]})
    for table, wide in ((ended_job_rows(page.jobs), ended_job_rows(page.jobs, wide=True)),
        (usage_rows(sums), usage_rows(sums, wide=True))):  # fmt: skip
        assert "Cost (USD)" in table.headers
        assert table.note == ["p: 36 USD an hour from 2026-01-01"]
        assert dict(zip(wide.headers, wide.rows[0], strict=True))["Prices"] == "p: 36 USD an hour from 2026-01-01"
        assert cells(wide.csv())[1][-1] == "p: 36 USD an hour from 2026-01-01"
    assert "Cost" not in "".join(ended_job_rows(page.jobs[1:]).headers)


COSTS: dict[str, Any] = {
    "cost": 5.0,
    "lostCost": 1.25,
    "unpricedSeconds": {"q": 7200},
    "lostUnpricedSeconds": {"q": 3600},
}
SHOWN = {"Cost (USD)": "5.00", "Lost Cost (USD)": "1.25", "Hours without Price": "2.00 q"}


def test_sums_and_jobs_have_the_cost_of_what_was_lost_beside_their_cost() -> None:
    sums = decode(Usage, {**usage("a").document, "currency": "USD", "prices": [PRICE]})
    (row,) = sums.rows
    sums = replace(sums, rows=(decode(UsageSum, {**row.document, **COSTS}),))
    job = {"jobName": "a", "jobState": "failed", "team": None, "owner": None, "priority": 0,
        "entryTime": "x", "startedTime": None, "endedTime": "x", "attemptCount": 1}  # fmt: skip
    ended = {**contract_usage.ended(job), **COSTS, "currency": "USD", "prices": [PRICE]}
    jobs = decode(HistoryPage, {"jobs": [ended], "nextToken": None}).jobs
    for tables in (
        (usage_rows(sums), usage_rows(sums, wide=True)),
        (ended_job_rows(jobs), ended_job_rows(jobs, wide=True)),
    ):
        short, wide = (dict(zip(table.headers, table.rows[0], strict=True)) for table in tables)
        assert {name: cell for name, cell in short.items() if "Cost" in name or "Price" in name} == SHOWN
        more = {**SHOWN, "Lost Hours without Price": "1.00 q", "Prices": "p: 36 USD an hour from 2026-01-01"}
        assert {name: cell for name, cell in wide.items() if "Cost" in name or "Price" in name} == more
    page = Report(month="2026-11", sums=(sums,), daily=usage()).html()
    assert '<th class="n">Lost Cost (USD)</th>' in page
    assert '<td class="n">1.25</td>' in page


def test_the_page_of_a_month_lists_the_prices_with_their_dates() -> None:
    sums = decode(Usage, {**usage("a").document, "currency": "USD", "prices": [PRICE]})
    text = Report(month="2026-11", sums=(sums,), daily=usage()).html()
    assert "<li>p: 36 USD an hour from 2026-01-01</li>" in text


@pytest.mark.parametrize(
    ("predictions", "shown"),
    [
        (contract_usage.QUALITY, True),
        (None, False),
        ({"kept": 4, "predicted": 0, "medianError": None, "coverage": None}, False),
    ],
)
def test_a_report_says_how_good_predictions_were_if_there_were_any(predictions: Any, shown: bool) -> None:
    by_pool = decode(Usage, {**usage("p", by="pool").document, "predictions": predictions})
    sentence = (
        "Predictions: 36 of 40 completed jobs had a predicted run time; half of these were off by 18% or less, and 81% "
        "ran for a time within the interval."
    )
    found = Report(month="2026-11", sums=(usage("a"), by_pool), daily=usage(step="day", by="pool"))
    assert (sentence in month_rows(found).note) is shown
    assert (f"<p>{sentence}</p>" in found.html()) is shown
    assert ("Predictions" in found.html()) is shown


def test_only_a_report_asks_how_good_predictions_were(run: Run, server: ContractServer) -> None:
    run("report", "--month", "2026-11")
    run("usage", "--from", "2026-11-01")
    asked = ["predictions=true" in received.target for received in server.received if "/usage?" in received.target]
    assert asked == [False, False, True, False]


@pytest.mark.parametrize(
    ("month", "options", "asked"),
    [
        ("2026-11", ["--html", "month.html"], True),
        # The time of the queue is 2026-01-02: the sums of the 27th are not kept any more.
        ("2024-12", ["--html", "month.html"], True),
        ("2024-11", ["--html", "month.html"], False),
        ("2026-11", [], False),
        ("2024-11", [], False),
        ("9999-12", [], False),
    ],
)
def test_only_the_page_of_a_month_whose_days_are_kept_asks_for_its_days(
    run: Run, server: ContractServer, month: str, options: list[str], asked: bool
) -> None:
    code, _, err = run("report", "--month", month, *options)
    assert (code, err) == (0, "")
    assert ["step=day" in received.target for received in server.received].count(True) == asked


def test_the_page_of_an_old_month_says_why_it_has_no_days(run: Run) -> None:
    run("report", "--month", "2024-11", "--html", "month.html")
    text = Path("month.html").read_text(encoding="utf-8")
    assert "<h2>Day by day</h2><p>Sums of single days are kept for 400 days only, so there is no plot.</p>" in text
    assert "<h2>By team</h2><svg" in text


def test_a_report_says_once_until_when_attempts_have_run() -> None:
    sums = tuple(replace(running("a"), by=by, running_until=f"2026-11-25T08:30:0{at}.000Z")
        for at, by in enumerate(("team", "owner", "pool")))  # fmt: skip
    note = (
        "Running: used until 2026-11-25 08:30:00 UTC by attempts that have not ended; their hours are not in Hours yet."
    )
    found = Report(month="2026-11", sums=sums, daily=usage(step="day", by="pool"))
    assert month_rows(found).note == [note]
    assert found.html().count("used until") == 1


@pytest.mark.parametrize("output", ["table", "wide", "csv", "json"])
def test_a_page_is_written_beside_what_programs_read(run: Run, output: str) -> None:
    code, out, err = run("report", "--month", "2026-11", "--html", "month.html", "-o", output)
    assert (code, err) == (0, "")
    assert "<h1>Usage in 2026-11</h1>" in Path("month.html").read_text(encoding="utf-8")
    if output in {"table", "wide"}:
        assert out == "month.html has the report of 2026-11.\n"
    else:
        assert out == run("report", "--month", "2026-11", "-o", output)[1]
    if output == "json":
        document = json.loads(out)
        assert ([each["by"] for each in document["usage"]], document["predictions"]) == (
            ["team", "owner", "pool"],
            contract_usage.QUALITY,
        )


def test_a_page_that_cannot_be_written_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "month.html"
    assert run("report", "--month", "2026-11", "--html", str(path)) == (
        2,
        "",
        f"headway: {path} can't be written: No such file or directory. Choose another file.\n",
    )


def test_a_narrow_terminal_has_room_for_a_month_with_costs() -> None:
    def sums(by: str, **unpriced: Any) -> Usage:
        row = contract_usage.row("ml.p5.48xlarge", running=1, cost=1234.5, lostCost=12.5, **unpriced)
        named = {"by": by, "from": "2026-11-01", "to": "2026-11-30", "step": "total", "rows": [row]}
        until = {"runningUntil": "2026-11-25T08:30:00.000Z"}
        return decode(Usage, {**named, **until, "currency": "USD", "prices": [PRICE]})

    def lines(**unpriced: Any) -> list[str]:
        dimensions = tuple(sums(by, **unpriced) for by in ("team", "owner", "pool"))
        return month_rows(Report(month="2026-11", sums=dimensions, daily=None)).text(width=80).splitlines()

    assert max(map(len, lines())) <= 80
    assert "Cost (USD)  Lost Cost (USD)" in lines()[0]
    assert "Hours without Price" not in lines()[0]
    assert "Hours without Price" in lines(unpricedSeconds={"q": 7200})[0]
