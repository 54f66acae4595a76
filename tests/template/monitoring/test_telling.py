"""The path of changes from the table to the bus and the topic. The sandbox ignores maximum retries and bisecting."""

import json
from typing import Any

import pytest

from headway_sandbox.inprocess.lambda_loader import event

DAY_S = 86_400


@pytest.fixture
def mapping(of_type) -> dict[str, Any]:
    return of_type("AWS::Lambda::EventSourceMapping")["TellFunctionChange"]


def test_the_tables_stream_invokes_the_tell_function_with_old_and_new_images(mapping, of_type):
    (table,) = of_type("AWS::DynamoDB::Table").values()
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": ["JobsTable", "StreamArn"]}
    assert mapping["FunctionName"] == {"Ref": "TellFunction"}


def test_these_are_all_event_source_mappings(of_type):
    assert set(of_type("AWS::Lambda::EventSourceMapping")) == {"ScheduleFunctionWake", "TellFunctionChange"}


def test_no_change_is_missed_during_a_deployment_of_the_function(mapping):
    assert mapping["StartingPosition"] == "TRIM_HORIZON"


def test_events_of_one_job_are_published_in_order(mapping):
    assert mapping.get("ParallelizationFactor", 1) == 1


def test_unpublished_records_are_retried_from_the_failure_and_then_become_a_dead_letter(mapping):
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BisectBatchOnFunctionError"] is True
    assert 0 < mapping["MaximumRetryAttempts"] <= 10_000
    # DynamoDB keeps the records for a day: before that, a dead letter has to name unpublished ones.
    assert 3600 <= mapping["MaximumRecordAgeInSeconds"] < DAY_S
    assert mapping["DestinationConfig"] == {"OnFailure": {"Destination": {"Fn::GetAtt": ["EventDeadLetters", "Arn"]}}}


def matches(pattern: Any, record: Any) -> bool:
    """Return whether a record passes a filter (source: Lambda developer guide, event filtering)."""
    if isinstance(pattern, dict):
        return isinstance(record, dict) and all(matches(each, record.get(key)) for key, each in pattern.items())
    return any(
        isinstance(record, str) and record.startswith(each["prefix"]) if isinstance(each, dict) else each == record
        for each in pattern
    )


def written(pk: str, sk: str, kind: str = "MODIFY") -> dict[str, Any]:
    record = event("tell")["Records"][0]
    return {**record, "eventName": kind, "dynamodb": {"Keys": {"pk": {"S": pk}, "sk": {"S": sk}}}}


@pytest.mark.parametrize(
    ("record", "passes"),
    [
        (written("job#a", "job", "INSERT"), True),
        (written("job#a", "job"), True),
        (written("job#a", "job", "REMOVE"), False),
        (written("job#a", "request"), False),
        (written("line#ml.p5.48xlarge", "9994#1#a"), False),
        (written("ledger", "attempt#a"), False),
        (written("ledger", "pool#ml.p5.48xlarge"), False),
        (written("ledger", "rogue#a", "INSERT"), True),
        (written("ledger", "rogue#a", "REMOVE"), True),
        (written("digest", "2026-11-23", "INSERT"), True),
        (written("digest", "2026-11-23"), False),
        (written("digest", "2026-11-23", "REMOVE"), False),
        (written("actions", "1#pause#all pools", "INSERT"), True),
        (written("actions", "1#pause#all pools", "REMOVE"), False),
        (written("config", "config"), False),
        (written("feed", "head"), False),
        (written("feed", "entry#1795256585568", "INSERT"), False),
    ],
)
def test_only_changes_with_an_event_reach_the_tell_function(mapping, record, passes):
    filters = [json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]]
    assert any(matches(each, record) for each in filters) is passes


def test_the_outputs_name_the_bus_and_the_topic(template):
    assert template["Outputs"]["EventBusName"]["Value"] == {"Ref": "EventBus"}
    assert template["Outputs"]["NotificationTopicArn"]["Value"] == {"Ref": "NotificationTopic"}
