"""How the functions are invoked, and where failed messages go."""

import pytest

from headway_sandbox.inprocess.deployment import FILTERED
from headway_service.aws.dead_letter_queues import HIDDEN_S

QUEUES = {"WakeQueue": True, "WakeDeadLetters": True, "EventDeadLetters": False}
DEAD_LETTERS = {"Fn::GetAtt": ["EventDeadLetters", "Arn"]}


def rule_of(of_type, function):
    (rule,) = [
        rule
        for rule in of_type("AWS::Events::Rule").values()
        if rule["Targets"][0]["Arn"] == {"Fn::GetAtt": [function, "Arn"]}
    ]
    return rule


def test_sagemakers_state_changes_except_waits_and_uploads_invoke_the_observe_function(of_type):
    assert rule_of(of_type, "ObserveFunction")["EventPattern"] == {
        "source": ["aws.sagemaker"],
        "detail-type": ["SageMaker Training Job State Change"],
        "detail": {"SecondaryStatus": [{"exists": False}, {"anything-but": sorted(FILTERED)}]},
    }


@pytest.mark.parametrize("function", ["ReconcileFunction", "PatrolFunction", "WatchFunction"])
def test_reconcile_patrol_and_watch_run_every_minute(of_type, function):
    assert rule_of(of_type, function)["ScheduleExpression"] == "rate(1 minute)"


def test_the_wake_queue_invokes_the_schedule_function(of_type):
    mapping = of_type("AWS::Lambda::EventSourceMapping")["ScheduleFunctionWake"]
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": ["WakeQueue", "Arn"]}
    assert mapping["FunctionName"] == {"Ref": "ScheduleFunction"}


@pytest.mark.parametrize(("name", "fifo"), QUEUES.items())
def test_a_queue_is_first_in_first_out_where_order_matters(of_type, name, fifo):
    queue = of_type("AWS::SQS::Queue")[name]
    assert queue.get("FifoQueue", False) is fifo
    assert queue["QueueName"]["Fn::Sub"].endswith(".fifo") is fifo


def test_these_are_all_queues(of_type):
    assert set(of_type("AWS::SQS::Queue")) == set(QUEUES)


def test_two_consecutive_wake_ups_are_not_merged(of_type):
    assert of_type("AWS::SQS::Queue")["WakeQueue"]["ContentBasedDeduplication"] is False


def test_the_visibility_timeout_of_a_wake_up_slightly_exceeds_a_ticks_timeout(of_type):
    timeout = of_type("AWS::Lambda::Function")["ScheduleFunction"]["Timeout"]
    assert timeout < of_type("AWS::SQS::Queue")["WakeQueue"]["VisibilityTimeout"] <= 2 * timeout


def test_a_wake_up_that_fails_repeatedly_becomes_a_dead_letter(of_type):
    redrive = of_type("AWS::SQS::Queue")["WakeQueue"]["RedrivePolicy"]
    assert redrive["deadLetterTargetArn"] == {"Fn::GetAtt": ["WakeDeadLetters", "Arn"]}
    # A throttled table recovers within a minute or two; nothing is scheduled while a wake-up is redelivered.
    hidden_s = of_type("AWS::SQS::Queue")["WakeQueue"]["VisibilityTimeout"]
    assert 120 < redrive["maxReceiveCount"] * hidden_s <= 240


@pytest.mark.parametrize("name", ["WakeDeadLetters", "EventDeadLetters"])
def test_dead_letters_are_kept_as_long_as_sqs_can(of_type, name):
    assert of_type("AWS::SQS::Queue")[name]["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_a_letter_is_hidden_during_a_redrive_for_longer_than_the_api_functions_timeout(of_type):
    assert of_type("AWS::Lambda::Function")["ApiFunction"]["Timeout"] < HIDDEN_S


@pytest.mark.parametrize("function", ["ObserveFunction", "ReconcileFunction", "PatrolFunction", "WatchFunction"])
def test_an_event_that_did_not_reach_a_function_is_stored(of_type, function):
    assert rule_of(of_type, function)["Targets"][0]["DeadLetterConfig"] == {"Arn": DEAD_LETTERS}


@pytest.mark.parametrize("function", ["ObserveFunction", "ReconcileFunction", "PatrolFunction", "WatchFunction"])
def test_an_event_whose_processing_failed_is_stored(of_type, function):
    (config,) = [
        c for c in of_type("AWS::Lambda::EventInvokeConfig").values() if c["FunctionName"] == {"Ref": function}
    ]
    assert config["DestinationConfig"] == {"OnFailure": {"Destination": DEAD_LETTERS}}


def test_a_state_change_is_retried_before_it_becomes_a_dead_letter(of_type):
    config = of_type("AWS::Lambda::EventInvokeConfig")["ObserveFunctionEventInvokeConfig"]
    assert config["MaximumRetryAttempts"] == 2
    assert rule_of(of_type, "ObserveFunction")["Targets"][0]["RetryPolicy"]["MaximumRetryAttempts"] > 0


def test_only_the_rules_of_this_stack_may_put_events_among_the_dead_letters(of_type, resources):
    policy = of_type("AWS::SQS::QueuePolicy")["EventDeadLettersPolicy"]
    (statement,) = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Allow"]
    assert policy["Queues"] == [{"Ref": "EventDeadLetters"}]
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert (statement["Action"], statement["Resource"]) == ("sqs:SendMessage", DEAD_LETTERS)
    rules = {arn["Fn::GetAtt"][0] for arn in statement["Condition"]["ArnEquals"]["aws:SourceArn"]}
    assert rules == {name for name, r in resources.items() if r["Type"] == "AWS::Events::Rule"}


def test_only_the_queues_alarms_invoke_the_watch_function(of_type):
    subscription = of_type("AWS::SNS::Subscription")["WatchFunctionAlarm"]
    assert (subscription["Protocol"], subscription["TopicArn"]) == ("lambda", {"Ref": "WatchTopic"})
    statement, _ = of_type("AWS::SNS::TopicPolicy")["WatchTopicPolicy"]["PolicyDocument"]["Statement"]
    assert (statement["Principal"], statement["Action"]) == ({"Service": "cloudwatch.amazonaws.com"}, "sns:Publish")
    prefix = of_type("AWS::Lambda::Function")["WatchFunction"]["Environment"]["Variables"]["HEADWAY_ALARM_PREFIX"]
    source = statement["Condition"]["ArnLike"]["aws:SourceArn"]["Fn::Sub"]
    assert source.endswith(f":alarm:{prefix['Fn::Sub']}*")
