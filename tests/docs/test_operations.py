"""The runbook lists all alarms and metrics, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway_service.monitoring import gauges, queue_depth
from headway_service.observability import metrics as figures
from headway_service.observability.metrics import Metric

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/how-to/operations.md").read_text()
ALARMS = re.findall(r"^  (\w+)Alarm:$", (ROOT / "template.yaml").read_text(), re.MULTILINE)
PARTS = re.split(r"^### ", TEXT.partition("## When an alarm fires")[2].partition("\n## ")[0], flags=re.MULTILINE)[1:]
SECTIONS = {part.partition("\n")[0]: part for part in PARTS}


def test_every_alarm_of_the_template_has_its_section_and_every_section_its_alarm() -> None:
    assert len(ALARMS) == len(set(ALARMS)) > 20
    assert set(SECTIONS) == set(ALARMS)
    assert len(SECTIONS) == len(PARTS)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_meaning_diagnosis_remedy_and_escalation(name: str) -> None:
    told = re.findall(r"\*\*(\w+)\*\*", SECTIONS[name])
    assert [each.lower() for each in told[:4]] == ["means", "see", "do", "escalate"]


def test_the_table_of_metrics_is_the_catalogue() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\w*) ?\| (yes|no) \|", TEXT, re.MULTILINE)
    metrics = [each for each in vars(figures).values() if isinstance(each, Metric)]
    assert sorted(rows) == sorted((m.name, m.unit.value, m.by, "yes" if m.noughts else "no") for m in metrics)


def test_the_decision_has_the_current_number_of_metrics() -> None:
    decision = (ROOT / "docs/decisions/0022-what-is-measured.md").read_text()
    metrics = [each for each in vars(figures).values() if isinstance(each, Metric)]
    by = {kind: sum(each.by == kind for each in metrics) for kind in ("", "pool", "team")}
    outcomes = {figures.ended(trigger).which for trigger in figures.OUTCOMES}
    assert f"{by['pool']} P + {by['team']} T + {by[''] + len(outcomes)} metrics" in decision
    assert {each.name for each in metrics if each.noughts} == {"TimeToStart", "Free"}
    template = (ROOT / "template.yaml").read_text()
    watched = len(re.findall(r"^      MetricName: ", template, re.MULTILINE)) + template.count("MetricStat: {")
    assert f"{len(ALARMS)} alarms evaluate {watched} metrics" in decision


def test_the_log_messages_in_the_runbook_are_logged() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "layers/service/src").rglob("*.py"))
    sources += "".join(path.read_text() for path in (ROOT / "functions").rglob("*.py"))
    for line in (
        *("the tick failed", "jobs could start now", "attempts are stuck", "the ledger and SageMaker differ"),
        *("launch postponed", "not reconciled now", "unexpected error", "cannot be read"),
        *("accepted", "launched", "asked to stop", "attempt ended"),
    ):
        assert f"`{line}`" in TEXT
        assert line in sources


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("StuckAttempts", f"launching for over {gauges.STUCK_LAUNCHING_S} s"),
        ("StuckAttempts", f"starting for over {gauges.STUCK_STARTING_S} s"),
        ("StuckAttempts", f"stopping for over {gauges.STUCK_STOPPING_S} s"),
        ("CapacityDrift", f"(and {gauges.UNCONFIRMED_S} s at least)"),
    ],
)
def test_the_bounds_in_a_section_are_those_of_the_code(name: str, bound: str) -> None:
    assert bound in SECTIONS[name]


def test_the_limits_in_the_table_of_metrics_are_those_of_the_code() -> None:
    assert f"{queue_depth.MAX_COUNTED} are counted at most" in TEXT
    assert f"of the {queue_depth.MAX_PRIORITIES} highest priorities" in TEXT
