"""The alarms and their notifications."""

import re
from typing import Any

import pytest

from headway_sandbox.local.checkout import Checkout
from headway_service.observability import metrics as figures
from headway_service.observability.metrics import NAMESPACE, Metric
from tests.template.conditions import deployed
from tests.template.test_functions import FUNCTIONS

RUNBOOK = Checkout.here().root / "docs/how-to/operations.md"

MORE, LESS = "GreaterThanThreshold", "LessThanThreshold"
ALARMS: dict[str, tuple[str, dict[str, Any], int]] = {
    "WakeDeadLettersAlarm": ("ApproximateNumberOfMessagesVisible", {"Fn::GetAtt": ["WakeDeadLetters", "QueueName"]}, 0),
    "EventDeadLettersAlarm": (
        "ApproximateNumberOfMessagesVisible",
        {"Fn::GetAtt": ["EventDeadLetters", "QueueName"]},
        0,
    ),
    "WakeQueueAgeAlarm": ("ApproximateAgeOfOldestMessage", {"Fn::GetAtt": ["WakeQueue", "QueueName"]}, 300),
    "ApiFunctionErrorsAlarm": ("Errors", {"Ref": "ApiFunction"}, 0),
    "ScheduleFunctionErrorsAlarm": ("Errors", {"Ref": "ScheduleFunction"}, 0),
    "TickFailedAlarm": ("TickFailed", {"Ref": "AWS::StackName"}, 0),
    "ObserveFunctionErrorsAlarm": ("Errors", {"Ref": "ObserveFunction"}, 0),
    "ReconcileFunctionErrorsAlarm": ("Errors", {"Ref": "ReconcileFunction"}, 0),
    "PatrolFunctionErrorsAlarm": ("Errors", {"Ref": "PatrolFunction"}, 0),
    "TellFunctionErrorsAlarm": ("Errors", {"Ref": "TellFunction"}, 0),
    "EventsLateAlarm": ("IteratorAge", {"Ref": "TellFunction"}, 300_000),
    "WatchFunctionErrorsAlarm": ("Errors", {"Ref": "WatchFunction"}, 0),
    "UnwatchedAlarm": ("Unwatched", {"Ref": "AWS::StackName"}, 0),
    "UntoldAlarm": ("Untold", {"Ref": "AWS::StackName"}, 0),
    "UnaccountedAlarm": ("Unaccounted", {"Ref": "AWS::StackName"}, 0),
    "GaugesMissingAlarm": ("Measured", {"Ref": "AWS::StackName"}, 1),
    "PatrolMissingAlarm": ("Invocations", {"Ref": "PatrolFunction"}, 1),
    "WatchMissingAlarm": ("Invocations", {"Ref": "WatchFunction"}, 1),
    "ApiServerErrorsAlarm": ("5XXError", {"Ref": "AWS::StackName"}, 4),
    "UnexpectedErrorsAlarm": ("UnexpectedErrors", {"Ref": "AWS::StackName"}, 0),
    "WatchStopsAlarm": ("WatchStops", {"Ref": "AWS::StackName"}, 4),
    "ApiSlowAlarm": ("Latency", {"Ref": "AWS::StackName"}, 5000),
    "QueueStalledAlarm": ("Startable", {"Ref": "AWS::StackName"}, 0),
    "UnlaunchableJobsAlarm": ("Unlaunchable", {"Ref": "AWS::StackName"}, 0),
    "NeglectedAlarm": ("Neglected", {"Ref": "AWS::StackName"}, 0),
    "StuckAttemptsAlarm": ("Stuck", {"Ref": "AWS::StackName"}, 0),
    "CapacityDriftAlarm": ("Drift", {"Ref": "AWS::StackName"}, 0),
    "EventsLostAlarm": ("Unheard", {"Ref": "AWS::StackName"}, 0),
}
#: Alarms that compare metrics: what each evaluates.
COMPARISONS = {
    "CallsRefusedAlarm": {"Count", "4XXError"},
    "EventsUnsentAlarm": {"Started", "Invocations"},
}
#: Alarms on the sum of several metrics.
SUMS = {
    "FunctionsThrottledAlarm": ("AWS/Lambda", {"Throttles"}, 0),
    "TableThrottledAlarm": ("AWS/DynamoDB", {"ReadThrottleEvents", "WriteThrottleEvents"}, 0),
    "TableErrorsAlarm": ("AWS/DynamoDB", {"SystemErrors"}, 4),
}
VITAL = {
    # Nothing starts: the scheduler crashes, does not run, fails, or any other cause.
    *("WakeDeadLettersAlarm", "WakeQueueAgeAlarm", "TickFailedAlarm", "QueueStalledAlarm"),
    # The last of these has no data if nothing is measured.
    *("ReconcileFunctionErrorsAlarm", "GaugesMissingAlarm"),
    # AWS launches nothing of somebody: no other alarm tells of it, as all works as it should.
    "UnlaunchableJobsAlarm",
    # Nor of what only a person can end.
    "NeglectedAlarm",
    # Submissions fail: many, or those of one, which are a small share of all calls.
    *("ApiServerErrorsAlarm", "UnexpectedErrorsAlarm"),
}
#: These can't wait until morning. The others are warnings: what they tell of heals, or waits for a person.
URGENT = VITAL - {
    *("WakeDeadLettersAlarm", "UnlaunchableJobsAlarm", "NeglectedAlarm", "UnexpectedErrorsAlarm"),
}
#: Missing data means that nothing runs, and no other alarm would fire.
HEARTBEATS = {name for name, (metric, _, _) in ALARMS.items() if metric in {"Invocations", "Measured"}}
NAMESPACES = {
    "Errors": "AWS/Lambda",
    "Invocations": "AWS/Lambda",
    "IteratorAge": "AWS/Lambda",
    "5XXError": "AWS/ApiGateway",
    "Latency": "AWS/ApiGateway",
    "ApproximateNumberOfMessagesVisible": "AWS/SQS",
    "ApproximateAgeOfOldestMessage": "AWS/SQS",
}
OWN = {(each.name, each.by) for each in vars(figures).values() if isinstance(each, Metric)}


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_watches_its_metric(of_type, name):
    metric, watched, threshold = ALARMS[name]
    alarm = of_type("AWS::CloudWatch::Alarm")[name]
    dimension, *others = alarm["Dimensions"]
    assert (alarm["MetricName"], dimension["Value"], alarm["Threshold"]) == (metric, watched, threshold)
    assert [each["Name"] for each in others] == (["Stage"] if alarm["Namespace"] == "AWS/ApiGateway" else [])
    assert alarm["ComparisonOperator"] == (LESS if name in HEARTBEATS else MORE)
    assert alarm["Namespace"] == NAMESPACES.get(metric, NAMESPACE)


@pytest.mark.parametrize("name", [name for name, (metric, _, _) in ALARMS.items() if metric not in NAMESPACES])
def test_an_alarm_on_an_own_metric_uses_a_metric_that_the_code_publishes_for_the_stack(of_type, name):
    alarm = of_type("AWS::CloudWatch::Alarm")[name]
    assert (alarm["MetricName"], "") in OWN
    assert [each["Name"] for each in alarm["Dimensions"]] == ["service"]


@pytest.mark.parametrize("name", SUMS)
def test_an_alarm_on_a_sum_counts_each_of_its_metrics_over_the_same_time(of_type, name):
    namespace, metrics, threshold = SUMS[name]
    alarm = of_type("AWS::CloudWatch::Alarm")[name]
    total, *parts = alarm["Metrics"]
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (threshold, MORE)
    assert {each["MetricStat"]["Metric"]["Namespace"] for each in parts} == {namespace}
    assert {each["MetricStat"]["Metric"]["MetricName"] for each in parts} == metrics
    assert {each["MetricStat"]["Stat"] for each in parts} == {"Sum"}
    assert len({each["MetricStat"]["Period"] for each in parts}) == 1
    assert not any(each["ReturnData"] for each in parts)
    named = re.findall(r"FILL\((\w+), 0\)", total["Expression"])
    assert total["Expression"] == "SUM(METRICS())" or named == [each["Id"] for each in parts]


@pytest.mark.parametrize("name", COMPARISONS)
def test_an_alarm_on_a_comparison_takes_missing_data_for_0_and_fires_where_it_holds(of_type, name):
    alarm = of_type("AWS::CloudWatch::Alarm")[name]
    compared, *parts = alarm["Metrics"]
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, MORE)
    assert compared["Expression"].startswith("IF(")
    assert {each["MetricStat"]["Metric"]["MetricName"] for each in parts} == COMPARISONS[name]
    assert len({each["MetricStat"]["Period"] for each in parts}) == 1
    assert not any(each["ReturnData"] for each in parts)
    assert set(re.findall(r"\b([a-z]+)\b", compared["Expression"])) == {each["Id"] for each in parts}
    assert {each["Id"] for each in parts} == set(re.findall(r"FILL\((\w+), 0\)", compared["Expression"]))


def test_the_description_of_an_alarm_names_its_entry_in_the_runbook(of_type):
    entries = re.findall(r"^### (\w+)$", RUNBOOK.read_text("utf-8"), re.MULTILINE)
    for name, alarm in of_type("AWS::CloudWatch::Alarm").items():
        entry = name.removesuffix("Alarm")
        assert alarm["AlarmDescription"].endswith(f". Runbook: docs/how-to/operations.md#{entry.lower()}.")
        assert entry in entries


def test_every_function_has_an_alarm_on_its_errors_and_counts_in_the_one_on_throttles(of_type):
    alarms = of_type("AWS::CloudWatch::Alarm")
    _, *parts = alarms["FunctionsThrottledAlarm"]["Metrics"]
    counted = [dimension["Value"]["Ref"] for each in parts for dimension in each["MetricStat"]["Metric"]["Dimensions"]]
    assert sorted(counted) == sorted(FUNCTIONS)
    assert {f"{name}ErrorsAlarm" for name in FUNCTIONS} <= set(alarms)


def test_missing_dynamodb_metrics_are_filled_so_that_their_alarms_recover(of_type):
    alarms = of_type("AWS::CloudWatch::Alarm")
    for name, (namespace, _, _) in SUMS.items():
        if namespace == "AWS/DynamoDB":
            assert "FILL(" in alarms[name]["Metrics"][0]["Expression"]
    assert not [name for name, alarm in alarms.items() if alarm.get("Namespace") == "AWS/DynamoDB"]


def test_an_alarm_has_a_description_and_notifies_the_topic_if_there_is_one(of_type):
    alarms = of_type("AWS::CloudWatch::Alarm")
    assert set(alarms) == {*ALARMS, *SUMS, *COMPARISONS}
    any_topic = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
    warning_topic = {"Fn::If": ["HasWarningTopic", [{"Ref": "WarningTopicArn"}], any_topic]}
    for name, alarm in alarms.items():
        assert alarm["AlarmActions"] == alarm["OKActions"] == (any_topic if name in URGENT else warning_topic)
        kind = "urgent" if name in URGENT else "warning"
        assert alarm["AlarmName"] == {"Fn::Sub": f"${{AWS::StackName}}-{kind}-{name.removesuffix('Alarm')}"}
        assert alarm["TreatMissingData"] == ("breaching" if name in HEARTBEATS else "notBreaching")


def test_the_vital_alarms_detect_that_no_job_starts_or_is_accepted(template):
    lean = deployed(template)["Resources"]
    assert {name for name, each in lean.items() if each["Type"] == "AWS::CloudWatch::Alarm"} == VITAL
    everything = deployed(template, Alarms="all")["Resources"]
    assert {name for name, each in everything.items() if each["Type"] == "AWS::CloudWatch::Alarm"} == {
        *ALARMS,
        *SUMS,
        *COMPARISONS,
    }


def test_every_function_that_runs_each_minute_has_an_alarm_on_missing_runs(of_type):
    minutely = {
        target["Arn"]["Fn::GetAtt"][0]
        for rule in of_type("AWS::Events::Rule").values()
        if rule.get("ScheduleExpression") == "rate(1 minute)"
        for target in rule["Targets"]
    }
    # The reconciler measures the queue.
    measures = {"AWS::StackName": "ReconcileFunction"}
    watched = (ALARMS[name][1]["Ref"] for name in HEARTBEATS)
    assert {measures.get(each, each) for each in watched} == minutely


@pytest.mark.parametrize("name", ["WakeDeadLettersAlarm", "EventDeadLettersAlarm"])
def test_an_alarm_on_dead_letters_names_the_command_that_redrives_them(of_type, name):
    assert "`headway dlq redrive`" in of_type("AWS::CloudWatch::Alarm")[name]["AlarmDescription"]


def test_a_wake_up_retried_once_does_not_fire_the_age_alarm(of_type):
    alarm = of_type("AWS::CloudWatch::Alarm")["WakeQueueAgeAlarm"]
    assert alarm["Threshold"] > of_type("AWS::SQS::Queue")["WakeQueue"]["VisibilityTimeout"]
