"""The cost page shows the counted use, and the counts are reproducible."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bench.metering.itemized_units import PAYS_FOR
from bench.metering.prices import PRICES, Price
from bench.report.cost_tables import cost as cost_of
from bench.report.cost_tables import filled, tables_of
from bench.scenarios import cost

RESULT: dict[str, Any] = json.loads(cost.RESULT.read_text(encoding="utf-8"))
CASES = (*cost.IDLE_CASES, "1,000 jobs", "1,000 preemptions", "1,000 hours of a running job")
NOT_COUNTED = {"Lambda GB-seconds", "CloudWatch log GB"}
"""The first has this machine's time in it, the second the text of times."""
MAY_DIFFER = 0.1
"""The tolerance of the counts before the page has to be written again: `make bench-cost`."""


def test_the_page_has_the_tables_of_what_was_measured() -> None:
    page = cost.PAGE.read_text(encoding="utf-8")
    assert filled(page, tables_of(RESULT)) == page


def test_a_table_takes_the_place_of_the_older_one_and_of_nothing_else() -> None:
    page = "before\n<!-- a -->\n{}<!-- end of a -->\nafter <!-- end of b -->\n"
    for older in ("", "| older |\n"):
        assert filled(page.format(older), {"a": "| new |"}) == page.format("| new |\n")
    with pytest.raises(ValueError, match="substring not found"):
        filled("a page without places", {"a": "| new |"})


@pytest.mark.parametrize("case", CASES)
def test_all_that_is_counted_has_a_price(case: str) -> None:
    assert RESULT[case].keys() - PRICES.keys() <= {"SageMaker calls"}


def test_what_a_few_jobs_use_is_counted_alike_each_time() -> None:
    first, second = cost.jobs(3), cost.jobs(3)
    assert first["DynamoDB write units"] > 0
    assert {kind: first[kind] for kind in first.keys() - NOT_COUNTED} == {
        kind: second[kind] for kind in second.keys() - NOT_COUNTED
    }


def test_all_write_units_of_a_job_are_itemized_and_each_item_says_what_it_pays_for() -> None:
    units = cost.itemized(3)
    assert units.keys() <= {" ".join(place) for place in PAYS_FOR}
    assert sum(units.values()) == pytest.approx(cost.jobs(3)["DynamoDB write units"] / 3, rel=0.01)


def test_the_page_says_of_every_unit_what_it_pays_for() -> None:
    found = RESULT["write units of a job"]
    assert found.keys() == {" ".join(place) for place in PAYS_FOR}
    assert sum(found.values()) * 1000 == pytest.approx(RESULT["1,000 jobs"]["DynamoDB write units"], rel=0.01)


def test_an_idle_minute_is_still_what_the_page_says() -> None:
    minute, _ = cost.idle_minute()
    for kind in ("DynamoDB read units", "Lambda requests", "SQS requests"):
        assert minute[kind] * cost.MINUTES_A_MONTH == pytest.approx(RESULT["idle month"][kind], rel=MAY_DIFFER)


def test_a_job_is_still_what_the_page_says() -> None:
    some = cost.jobs(cost.JOBS)
    for kind in ("DynamoDB write units", "DynamoDB read units", "Lambda requests", "EventBridge events"):
        assert some[kind] * 1000 / cost.JOBS == pytest.approx(RESULT["1,000 jobs"][kind], rel=MAY_DIFFER)


def test_predictions_take_as_many_more_write_units_as_their_page_says() -> None:
    page = (cost.ROOT / "docs/how-to/predictions.md").read_text(encoding="utf-8")
    ((more, beside),) = re.findall(r"take (\d+) write units more, beside the \[([\d,]+)\]", page)
    without, predicted = (cost.jobs(cost.JOBS, predictions=on)["DynamoDB write units"] for on in (False, True))
    assert (predicted - without) * 1000 / cost.JOBS == int(more)
    assert RESULT["1,000 jobs"]["DynamoDB write units"] == int(beside.replace(",", ""))


def test_what_stands_all_month_is_counted_in_the_template() -> None:
    for case, parameters in cost.IDLE_CASES.items():
        # How many metrics an idle queue writes is measured.
        metrics = RESULT[case].get("CloudWatch metrics", 0)
        standing = {kind: number for kind, number in cost.standing(metrics, **parameters).items() if number}
        assert standing == {kind: number for kind, number in RESULT[case].items() if kind in cost.standing(0)}


def test_an_alarm_is_counted_by_the_metrics_that_it_evaluates() -> None:
    decision = (cost.ROOT / "docs/decisions/0022-what-is-measured.md").read_text(encoding="utf-8")
    assert f"33 alarms evaluate {cost.standing(0, Alarms='all')['CloudWatch alarms']:.0f} metrics" in decision
    assert cost.standing(0)["CloudWatch alarms"] == 10


@pytest.mark.parametrize(("parameters", "number"), [({}, 0), ({"CreateDashboard": "true"}, 1)])
def test_what_a_parameter_leaves_out_is_not_counted(parameters: dict[str, str], number: int) -> None:
    assert cost.standing(0, **parameters)["CloudWatch dashboards"] == number


@pytest.mark.parametrize(
    ("name", "value"), [("Alarms", "vital"), ("CreateDashboard", "false"), ("Tracing", "PassThrough")]
)
def test_a_parameters_default_is_the_templates(name: str, value: str) -> None:
    assert cost.default_of(name) == value


def test_a_queue_at_rest_publishes_that_it_was_measured_and_asks_cloudwatch_once_an_hour() -> None:
    minute, metrics = cost.idle_minute()
    assert metrics == 1
    assert minute["CloudWatch requests"] == pytest.approx(1 / 60)


def test_an_idle_queue_costs_less_than_two_dollars_a_month_without_any_free_tier() -> None:
    assert cost_of(RESULT["idle month"]) < 2


def test_the_functions_memory_is_the_templates() -> None:
    template = (cost.ROOT / "template.yaml").read_text(encoding="utf-8")
    sizes = re.findall(r"CodeUri: functions/(\w+)\n.*?MemorySize: (\d+)", template, re.DOTALL)
    assert {name: int(size) for name, size in sizes} == cost.MB


@pytest.mark.parametrize(("number", "usd"), [(5, 0), (10, 0), (30, 2.0)])
def test_the_free_tier_is_taken_off_once(number: float, usd: float) -> None:
    price = Price(0.10, 1, "", free=10)
    assert price.of(number, free=True) == pytest.approx(usd)
    assert price.of(number) == pytest.approx(number / 10)


def test_the_page_counts_the_endpoints_that_the_networks_template_makes() -> None:
    assert RESULT["interface endpoints"] == cost.endpoints()
