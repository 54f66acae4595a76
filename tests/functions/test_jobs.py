"""The calls on jobs, through the handler of the API."""

from __future__ import annotations

import json

import pytest

from headway_sandbox.inprocess.lambda_loader import event
from headway_service.store.records.capacity.attempt import AttemptRecord
from tests.functions.conftest import ANY_VERSION, CONTEXT, Functions
from tests.service.world import on, request

ADA = "arn:aws:iam::123456789012:user/ada"
BOB = "arn:aws:iam::123456789012:user/bob"


def submit_as(functions: Functions, owner: str, name: str) -> None:
    payload = event("api-submit") | {"body": json.dumps(request(name))}
    payload["requestContext"]["identity"]["userArn"] = owner
    assert functions.module("api").handler(payload, CONTEXT)["statusCode"] == 201


def names(functions: Functions, **query: str) -> list[str]:
    status, page = functions.http("GET", "/jobs", query={name: [value] for name, value in query.items()})
    assert status == 200, page
    return [job["jobName"] for job in page["jobs"]]


def test_a_hold_and_a_release_record_the_caller(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.wakes()
    status, job = functions.http("POST", "/jobs/a/hold")
    assert (status, job["held"], job["jobState"], job["place"]) == (200, True, "pending", None)
    assert job["reason"] == {
        "code": "Held",
        "message": "held on request of user/ada; `headway release a` returns it to its place in the queue",
        "jobs": [],
    }
    assert functions.wakes() == ["held"]
    functions.invoke("schedule", event("schedule"))
    assert functions.http("GET", "/jobs")[1]["jobs"] == [job]
    assert functions.http("GET", "/jobs/a")[1]["history"][-1]["reason"] == job["reason"]

    status, job = functions.http("POST", "/jobs/a/release")
    assert (status, job["held"], job["place"]) == (200, False, 1)
    assert functions.wakes() == ["released"]
    functions.invoke("schedule", event("schedule"))
    _, job = functions.http("GET", "/jobs/a")
    assert (job["jobState"], job["startedTime"]) == ("running", job["attempts"][0]["startedTime"])


def test_a_job_shows_when_its_last_checkpoint_was_written_that_was_seen(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    (attempt,) = functions.http("GET", "/jobs/a")[1]["attempts"]
    assert attempt["checkpointTime"] is None

    key = AttemptRecord.key(attempt["attemptName"])
    functions.dynamodb.update_item(
        TableName="queue",
        Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}},
        UpdateExpression="SET checkpointSeenMs = :seen",
        ExpressionAttributeValues={":seen": {"N": "1767323049500"}},
    )
    (attempt,) = functions.http("GET", "/jobs/a")[1]["attempts"]
    assert attempt["checkpointTime"] == "2026-01-02T03:04:09.500Z"


def test_a_job_with_instances_cannot_be_held_and_an_ended_one_neither_held_nor_released(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    status, refusal = functions.http("POST", "/jobs/a/hold")
    assert (status, refusal["error"]["code"]) == (409, "NotWaiting")
    functions.http("POST", "/jobs", request("b"))
    functions.http("DELETE", "/jobs/b")
    for call in ("hold", "release"):
        status, refusal = functions.http("POST", f"/jobs/b/{call}")
        assert (status, refusal["error"]["code"]) == (409, "JobEnded")
        assert functions.http("POST", f"/jobs/nobody/{call}")[0] == 404


def test_a_repeated_submission_with_the_same_key_is_answered_like_the_first(functions: Functions) -> None:
    key = {"Idempotency-Key": "3f1c:a_B.9-"}
    assert functions.http("POST", "/jobs", request("a"), headers=key)[0] == 201
    status, job = functions.http("POST", "/add-job", request("a"), headers=key)
    assert status == 201
    assert not [name for name in job if "dempotency" in name]
    assert functions.http("POST", "/jobs", request("a"))[0] == 200
    assert functions.http("POST", "/jobs", request("a"), headers={"idempotency-key": "another"})[0] == 200
    status, refusal = functions.http("POST", "/jobs", request("a", 9), headers=key)
    assert (status, refusal["error"]["code"]) == (409, "NameInUse")


@pytest.mark.parametrize("key", ["", " ", "a b", "a,b", "ä", "x" * 129, "a\n"], ids=ascii)
def test_a_key_of_another_kind_is_refused(functions: Functions, key: str) -> None:
    status, refusal = functions.http("POST", "/jobs", request("a"), headers={"Idempotency-Key": key})
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest")
    assert [each["field"] for each in refusal["error"]["fields"]] == ["Idempotency-Key"]
    assert functions.http("GET", "/jobs/a")[0] == 404


def test_a_listing_can_be_filtered_by_owner_team_and_name(functions: Functions) -> None:
    for owner, name in ((ADA, "bert-1"), (BOB, "bert-2"), (ADA, "gpt-1"), (BOB, "gpt-2")):
        submit_as(functions, owner, name)
    functions.invoke("schedule", event("schedule"))
    assert names(functions, mine="true") == ["bert-1", "gpt-1"], "the call is Ada's"
    assert names(functions, mine="false") == ["bert-1", "bert-2", "gpt-1", "gpt-2"]
    assert names(functions, owner=BOB) == ["bert-2", "gpt-2"]
    assert names(functions, owner=BOB, mine="true") == []
    assert names(functions, nameContains="pt-") == ["gpt-1", "gpt-2"]
    assert names(functions, nameContains="pt-", mine="true", state="pending") == ["gpt-1"]
    assert names(functions, team="research") == []


def test_a_listing_can_be_filtered_by_team(functions: Functions) -> None:
    document = {"pools": {"ml.p5.48xlarge": {"size": 2}}, "teams": {"research": {}, "products": {}}}
    assert functions.http("PUT", "/config", document, headers=ANY_VERSION)[0] == 200
    for name, team in (("a", "research"), ("b", "products")):
        functions.http("POST", "/jobs", request(name, Tags=[{"Key": "team", "Value": team}]))
    assert names(functions, team="research") == ["a"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("mine", "perhaps"), ("nameContains", ""), ("nameContains", "x" * 64), ("team", ""), ("owner", "")],
)
def test_an_invalid_filter_is_refused(functions: Functions, name: str, value: str) -> None:
    status, refusal = functions.http("GET", "/jobs", query={name: [value]})
    assert (status, refusal["error"]["fields"][0]["field"]) == (400, name)


def test_a_token_is_bound_to_its_filters(functions: Functions) -> None:
    for name in ("a1", "a2"):
        functions.http("POST", "/jobs", request(name))
    _, page = functions.http("GET", "/jobs", query={"limit": ["1"], "mine": ["true"]})
    token = page["nextToken"]
    _, page = functions.http("GET", "/jobs", query={"limit": ["1"], "mine": ["true"], "nextToken": [token]})
    assert [job["jobName"] for job in page["jobs"]] == ["a2"]
    status, refusal = functions.http("GET", "/jobs", query={"limit": ["1"], "nextToken": [token]})
    assert status == 400
    assert "the same states and filters" in refusal["error"]["message"]


def test_a_stop_stores_the_reason_of_the_caller(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    status, job = functions.http("DELETE", "/jobs/a", query={"reason": [" wrong data, see #12 "]})
    assert (status, job["reason"]["message"]) == (200, "stopped by user/ada while it waited: wrong data, see #12")
    assert functions.http("GET", "/jobs/a")[1]["history"][-1]["reason"] == job["reason"]
    assert functions.http("GET", "/jobs/a/explanation")[1]["reason"] == job["reason"]
    assert functions.http("GET", "/jobs", query={"state": ["stopped"]})[1]["jobs"][0]["reason"] == job["reason"]


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("x" * 257, "must have at most 256 characters"),
        ("", "must be one line of visible text, without control characters"),
        ("  ", "must be one line of visible text, without control characters"),
        ("two\nlines", "must be one line of visible text, without control characters"),
        ("\u202etxt", "must be one line of visible text, without control characters"),
    ],
    ids=["too long", "empty", "blank", "two lines", "reordered"],
)
def test_a_reason_of_another_kind_is_refused_and_nothing_is_stopped(
    functions: Functions, reason: str, message: str
) -> None:
    functions.http("POST", "/jobs", request("a"))
    status, refusal = functions.http("DELETE", "/jobs/a", query={"reason": [reason]})
    assert (status, refusal["error"]["fields"]) == (400, [{"field": "reason", "message": message}])
    assert functions.http("GET", "/jobs/a")[1]["jobState"] == "pending"
    assert functions.http("DELETE", "/jobs/a", query={"reason": ["x" * 256]})[0] == 200


def test_the_request_of_a_waiting_job_is_changed(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a", ResourceConfig=on(2)))
    accepted = functions.http("GET", "/jobs/a")[1]
    functions.wakes()
    status, job = functions.http("POST", "/jobs/a/change", {"maxRuntimeSeconds": 60, "instances": 1})
    assert (status, job["demand"], functions.wakes()) == (200, {"ml.p5.48xlarge": 1}, ["request changed"])
    assert job["limitSeconds"] == accepted["limitSeconds"] - 86_400 + 60
    assert (accepted["maxRuntimeSeconds"], job["maxRuntimeSeconds"]) == (86_400, 60)
    shown = functions.http("GET", "/jobs/a")[1]
    assert shown["request"]["ResourceConfig"]["InstanceCount"] == 1
    assert shown["request"]["StoppingCondition"] == {"MaxRuntimeInSeconds": 60}
    status, job = functions.http("POST", "/jobs/a/change", {"instances": 2})
    assert (status, job["entryTime"]) == (200, accepted["entryTime"]), "it is when the job was accepted"
    assert functions.http("GET", "/jobs")[1]["jobs"] == [job]
    functions.invoke("schedule", event("schedule"))
    status, refusal = functions.http("POST", "/jobs/a/change", {"instances": 1})
    assert (status, refusal["error"]["code"]) == (409, "NotWaiting")


INSTEAD = "stop the job, and submit the changed request under a new name"


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({}, "(the body)", "must have at least one of maxRuntimeSeconds, instances, tags and removeTags"),
        ({"tags": {"a": "1"}, "removeTags": ["a"]}, "(the body)", "has a in tags and in removeTags"),
        (
            {"tags": {"headway:job": "b"}},
            "tags",
            "headway:job cannot change: stop the job, and submit the changed request under a new name",
        ),
        ({"removeTags": ["priority"]}, "removeTags", "priority cannot change: set the priority of the job"),
        ({"tags": {"": "x"}}, "Tags[0].Key", "is too short: its length is 0, at least 1 is needed"),
        ({"instances": 0}, "instances", "must be at least 1"),
        ({"maxRuntimeSeconds": 0}, "maxRuntimeSeconds", "must be at least 1"),
        ({"maxRuntimeSeconds": "60"}, "maxRuntimeSeconds", "must be a whole number"),
        ({"instances": 1, "priority": 3}, "priority", "is not known here: remove it, or check its spelling"),
    ],
    ids=str,
)
def test_a_changed_request_of_another_kind_is_refused(
    functions: Functions, body: object, field: str, message: str
) -> None:
    functions.http("POST", "/jobs", request("a"))
    status, refusal = functions.http("POST", "/jobs/a/change", body)
    assert (status, refusal["error"]["fields"]) == (400, [{"field": field, "message": message}])


def test_a_comment_is_set_shown_and_removed(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    assert functions.http("GET", "/jobs/a")[1]["comment"] is None
    functions.wakes()
    status, job = functions.http("PUT", "/jobs/a/comment", {"comment": " needs the new data "})
    assert (status, job["comment"], functions.wakes()) == (200, "needs the new data", [])
    assert functions.http("GET", "/jobs")[1]["jobs"] == [job]
    functions.http("DELETE", "/jobs/a")
    assert functions.http("GET", "/jobs/a")[1]["comment"] == "needs the new data"
    assert functions.http("PUT", "/jobs/a/comment", {"comment": ""})[1]["comment"] is None


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"comment": "x" * 257}, "comment", "must have at most 256 characters"),
        ({"comment": "two\nlines"}, "comment", "must be one line of text, without control characters"),
        ({"comment": 1}, "comment", "must be text"),
        ({}, "comment", "is required: add it"),
        ({"comment": "x", "priority": 1}, "priority", "is not known here: remove it, or check its spelling"),
    ],
    ids=["too long", "two lines", "a number", "missing", "another member"],
)
def test_a_comment_of_another_kind_is_refused(functions: Functions, body: object, field: str, message: str) -> None:
    functions.http("POST", "/jobs", request("a"))
    status, refusal = functions.http("PUT", "/jobs/a/comment", body)
    assert (status, refusal["error"]["fields"]) == (400, [{"field": field, "message": message}])
