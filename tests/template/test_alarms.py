"""What somebody is told about."""

import pytest

ALARMS = {
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
}


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_watches_its_metric(of_type, name):
    metric, watched, threshold = ALARMS[name]
    alarm = of_type("AWS::CloudWatch::Alarm")[name]
    (dimension,) = alarm["Dimensions"]
    assert (alarm["MetricName"], dimension["Value"], alarm["Threshold"]) == (metric, watched, threshold)
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
    own = dict.fromkeys(("TickFailed", "Untold", "Unwatched"), "Headway")
    namespaces = {"Errors": "AWS/Lambda", "IteratorAge": "AWS/Lambda", **own}
    assert alarm["Namespace"] == namespaces.get(metric, "AWS/SQS")


def test_an_alarm_notifies_the_topic_if_there_is_one_and_says_what_it_means(of_type):
    alarms = of_type("AWS::CloudWatch::Alarm")
    assert set(alarms) == set(ALARMS)
    for alarm in alarms.values():
        told = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
        assert alarm["AlarmActions"] == alarm["OKActions"] == told
        assert alarm["AlarmDescription"].endswith(".")
        assert alarm["TreatMissingData"] == "notBreaching"


@pytest.mark.parametrize("name", ["WakeDeadLettersAlarm", "EventDeadLettersAlarm"])
def test_an_alarm_on_dead_letters_names_the_command_that_redrives_them(of_type, name):
    assert "`headway dlq redrive`" in of_type("AWS::CloudWatch::Alarm")[name]["AlarmDescription"]


def test_a_wake_up_that_is_merely_retried_once_raises_no_alarm_of_age(of_type):
    alarm = of_type("AWS::CloudWatch::Alarm")["WakeQueueAgeAlarm"]
    assert alarm["Threshold"] > of_type("AWS::SQS::Queue")["WakeQueue"]["VisibilityTimeout"]
