from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.cloudwatch.alarm_evaluation import (
    ALARM,
    INSUFFICIENT_DATA,
    OK,
    AlarmSettings,
    Sample,
    evaluate,
    sample,
)
from headway_sandbox.cloudwatch.evaluation_schedule import EvaluationSchedule

NOON_S = 1_800_000_000.0 - 1_800_000_000.0 % 86_400 + 12 * 3600
RETAINED = "PREVIOUS"


def document(**changes: Any) -> dict[str, Any]:
    """Return an alarm on less than 8 % in three consecutive periods of a minute."""
    alarm = {
        "AlarmName": "idle",
        "Namespace": "/aws/sagemaker/TrainingJobs",
        "MetricName": "GPUUtilization",
        "Dimensions": [{"Name": "Host", "Value": "train/algo-1"}],
        "Statistic": "Average",
        "Period": 60,
        "EvaluationPeriods": 3,
        "Threshold": 8.0,
        "ComparisonOperator": "LessThanThreshold",
        "StateValue": RETAINED,
    }
    return {**alarm, **changes}


def settings(**changes: Any) -> AlarmSettings:
    found = AlarmSettings.of(document(**changes))
    assert found is not None
    return found


def drawn(periods: str, *, period_s: int = 60, ends_s: float = NOON_S) -> list[Sample]:
    """Return samples as in the guide's tables, the latest last: 0 is within the threshold, X beyond, - missing."""
    marks = list(enumerate(reversed(periods.split()), start=1))
    return [sample(ends_s - age * period_s, {"0": 90.0, "X": 1.0}[mark]) for age, mark in marks if mark != "-"]


def state_after(periods: str, **changes: Any) -> str:
    return evaluate(settings(**changes), drawn(periods), now_s=NOON_S + 7, state=RETAINED).state


# ------------------------------------------------------------------------------------------------ the guide's tables


@pytest.mark.parametrize(
    ("needed", "periods", "missing", "ignore", "breaching", "not_breaching"),
    [
        (3, "0 - X - X", OK, OK, OK, OK),
        (3, "0 - - - -", OK, OK, OK, OK),
        (3, "- - - - -", INSUFFICIENT_DATA, RETAINED, ALARM, OK),
        (3, "0 X X - X", ALARM, ALARM, ALARM, ALARM),
        (3, "- - X - -", ALARM, RETAINED, ALARM, OK),
        (2, "0 - X - X", ALARM, ALARM, ALARM, ALARM),
        (2, "0 0 X 0 X", ALARM, ALARM, ALARM, ALARM),
        (2, "0 - X - -", OK, OK, ALARM, OK),
        (2, "- - - - 0", OK, OK, ALARM, OK),
        (2, "- - - X -", ALARM, RETAINED, ALARM, OK),
    ],
)
def test_missing_data_is_treated_as_in_the_tables_of_the_guide(
    needed, periods, missing, ignore, breaching, not_breaching
):
    expected = {"missing": missing, "ignore": ignore, "breaching": breaching, "notBreaching": not_breaching}
    found = {kind: state_after(periods, DatapointsToAlarm=needed, TreatMissingData=kind) for kind in expected}
    assert found == expected
    assert state_after(periods, DatapointsToAlarm=needed) == missing  # the default


@pytest.mark.parametrize("periods", ["- - - - X", "- - - X -", "- - - X X"])
def test_too_few_and_too_recent_datapoints_do_not_fire(periods):
    assert state_after(periods) == INSUFFICIENT_DATA
    assert state_after(periods, TreatMissingData="ignore") == RETAINED


@pytest.mark.parametrize(
    ("periods", "needed", "expected"),
    [
        ("0 0 X X X", 3, ALARM),
        ("0 X X X 0", 3, OK),
        ("X X 0 X X", 3, OK),
        ("0 0 X 0 X", 2, ALARM),
        ("X X 0 0 X", 2, OK),
        ("0 0 0 0 X", 1, ALARM),
    ],
)
def test_m_of_n_datapoints_fire_in_any_order(periods, needed, expected):
    assert state_after(periods, DatapointsToAlarm=needed) == expected


def test_it_recovers_with_the_first_datapoint_that_is_fine():
    idle = evaluate(settings(), drawn("X X X"), now_s=NOON_S, state=OK)
    assert idle.state == ALARM
    later = [*drawn("X X X"), sample(NOON_S + 5, 90.0)]
    assert evaluate(settings(), later, now_s=NOON_S + 60, state=ALARM).state == OK


# ------------------------------------------------------------------------------------------------ periods and windows


def test_a_period_that_is_not_over_does_not_count():
    samples = [*drawn("X X"), sample(NOON_S, 1.0), sample(NOON_S + 30, 1.0)]
    assert evaluate(settings(), samples, now_s=NOON_S + 59, state=OK).state == INSUFFICIENT_DATA
    assert evaluate(settings(), samples, now_s=NOON_S + 60, state=OK).state == ALARM


@pytest.mark.parametrize(("offset_s", "counted"), [(-61, False), (-60, True), (-0.5, True), (0, False), (5, False)])
def test_a_period_includes_its_beginning_and_excludes_its_end(offset_s, counted):
    found = evaluate(
        settings(EvaluationPeriods=1, TreatMissingData="notBreaching"),
        [sample(NOON_S + offset_s, 1.0), sample(NOON_S - 61, 90.0)],
        now_s=NOON_S,
        state=OK,
    )
    assert found.state == (ALARM if counted else OK)


def test_the_window_slides_every_minute_for_any_period():
    samples = [sample(NOON_S - age_s, 1.0) for age_s in (10, 310, 610)]
    five = settings(Period=300)
    assert evaluate(five, samples, now_s=NOON_S, state=OK).state == ALARM
    # A minute in the last period, followed by five minutes within the threshold.
    later = [*samples, sample(NOON_S + 30, 100.0)]
    assert evaluate(five, later, now_s=NOON_S + 60, state=ALARM).state == OK


@pytest.mark.parametrize(("period_s", "ends_s"), [(10, NOON_S + 50), (20, NOON_S + 50), (60, NOON_S), (300, NOON_S)])
def test_a_period_below_a_minute_is_evaluated_every_ten_seconds(period_s, ends_s):
    samples = drawn("X X X", period_s=period_s, ends_s=ends_s)
    assert evaluate(settings(Period=period_s), samples, now_s=NOON_S + 59, state=OK).state == ALARM


def test_datapoints_older_than_the_range_are_ignored():
    old = drawn("0 0 0 - - - - -")
    assert evaluate(settings(), old, now_s=NOON_S, state=OK).state == INSUFFICIENT_DATA


@pytest.mark.parametrize(
    ("statistic", "threshold"),
    [("SampleCount", 3.0), ("Sum", 60.0), ("Average", 20.0), ("Minimum", 5.0), ("Maximum", 40.0)],
)
def test_a_datapoint_is_the_statistic_of_its_period(statistic, threshold):
    samples = [sample(NOON_S - 60, 5.0), Sample(NOON_S - 1, 2.0, 55.0, 15.0, 40.0)]

    def fires(comparison: str) -> bool:
        alarm = settings(EvaluationPeriods=1, Statistic=statistic, Threshold=threshold, ComparisonOperator=comparison)
        return evaluate(alarm, samples, now_s=NOON_S, state=OK).state == ALARM

    assert fires("GreaterThanOrEqualToThreshold")
    assert fires("LessThanOrEqualToThreshold")
    assert not fires("GreaterThanThreshold")
    assert not fires("LessThanThreshold")


# ---------------------------------------------------------------------------------------------------------- reasons


FILLED = {"DatapointsToAlarm": 2, "TreatMissingData": "breaching"}


@pytest.mark.parametrize(
    ("periods", "changes", "datapoints", "why", "transition"),
    [
        (
            "0 X X",
            {"EvaluationPeriods": 2},
            "2 out of the last 2 datapoints [1.0 (15/01/27 11:59:00), 1.0 (15/01/27 11:58:00)]",
            "were less than the threshold (8.0)",
            " (minimum 2 datapoints for OK -> ALARM transition)",
        ),
        (
            "X X 0",
            {},
            "1 out of the last 3 datapoints [90.0 (15/01/27 11:59:00)]",
            "was not less than the threshold (8.0)",
            " (minimum 1 datapoint for ALARM -> OK transition)",
        ),
        (
            "X - -",
            FILLED,
            "1 out of the last 3 datapoints [1.0 (15/01/27 11:57:00)]",
            "was less than the threshold (8.0) and 2 missing datapoints were treated as [Breaching]",
            " (minimum 2 datapoints for OK -> ALARM transition)",
        ),
        (
            "- - -",
            {"TreatMissingData": "notBreaching"},
            "no datapoints were received",
            "for 3 periods and 3 missing datapoints were treated as [NonBreaching]",
            "",
        ),
        (
            "0 - -",
            FILLED,
            "1 datapoint was received",
            "for 3 periods and 2 missing datapoints were treated as [Breaching]",
            "",
        ),
    ],
)
def test_the_reason_has_cloudwatchs_wording(periods, changes, datapoints, why, transition):
    found = evaluate(settings(**changes), drawn(periods), now_s=NOON_S, state=OK)
    assert found.reason == f"Threshold Crossed: {datapoints} {why}{transition}."


def test_the_reason_names_missing_data():
    lacking = evaluate(settings(), [], now_s=NOON_S, state=OK)
    assert lacking.reason == "Insufficient Data: 3 datapoints were unknown."
    assert evaluate(settings(TreatMissingData="ignore"), [], now_s=NOON_S, state=OK).reason == ""


def test_reasons_are_short():
    found = evaluate(settings(EvaluationPeriods=100), drawn(" ".join("X" * 100)), now_s=NOON_S, state=OK)
    assert found.state == ALARM
    assert len(found.reason) < 1023


# ---------------------------------------------------------------------------------------------------------- settings


def test_dimensions_are_part_of_the_metric():
    metric = settings().metric
    other_order = [{"Name": "b", "Value": "2"}, {"Name": "a", "Value": "1"}]
    assert settings(Dimensions=other_order).metric == settings(Dimensions=other_order[::-1]).metric
    for dimensions in ([], [{"Name": "Host", "Value": "train/algo-2"}], [{"Name": "host", "Value": "train/algo-1"}]):
        assert settings(Dimensions=dimensions).metric != metric


@pytest.mark.parametrize(
    "changes", [{"MetricName": None}, {"ExtendedStatistic": "p99"}, {"ComparisonOperator": "GreaterThanUpperThreshold"}]
)
def test_other_kinds_of_alarms_are_not_simulated(changes):
    assert AlarmSettings.of(document(**changes)) is None


# ------------------------------------------------------------------------------------------------------------ rounds


def test_an_alarm_is_evaluated_when_it_is_new_or_changed_and_when_a_period_is_over():
    rounds: EvaluationSchedule[str] = EvaluationSchedule()
    minute, ten = document(), document(Period=10)
    both = {"minute": minute, "ten": ten}
    assert rounds.due(both.items(), NOON_S) == ["minute", "ten"]
    assert rounds.due(both.items(), NOON_S + 9) == []
    assert rounds.due(both.items(), NOON_S + 10) == ["ten"]
    assert rounds.due({**both, "minute": document(Threshold=9.0)}.items(), NOON_S + 11) == ["minute"]
    assert rounds.due({"ten": ten}.items(), NOON_S + 12) == []
    assert rounds.due(both.items(), NOON_S + 13) == ["minute"]
