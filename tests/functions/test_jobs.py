"""The calls on jobs, through the handler of the API."""

from __future__ import annotations

import json

import pytest

from headway_sandbox.inprocess.lambda_loader import event
from tests.functions.conftest import ANY_VERSION, CONTEXT, Functions
from tests.service.world import request

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


def test_a_job_is_held_and_released_by_who_calls(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.wakes()
    status, job = functions.http("POST", "/jobs/a/hold")
    assert (status, job["held"], job["jobState"], job["place"]) == (200, True, "pending", None)
    assert job["reason"] == {
        "code": "Held",
        "message": "held on request of user/ada; `headway release a` returns it to its place in the queue",
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


def test_who_holds_instances_cannot_be_held_and_who_has_ended_neither_held_nor_released(functions: Functions) -> None:
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
def test_a_filter_that_makes_no_sense_is_refused(functions: Functions, name: str, value: str) -> None:
    status, refusal = functions.http("GET", "/jobs", query={name: [value]})
    assert (status, refusal["error"]["fields"][0]["field"]) == (400, name)


def test_a_token_goes_with_its_filters(functions: Functions) -> None:
    for name in ("a1", "a2"):
        functions.http("POST", "/jobs", request(name))
    _, page = functions.http("GET", "/jobs", query={"limit": ["1"], "mine": ["true"]})
    token = page["nextToken"]
    _, page = functions.http("GET", "/jobs", query={"limit": ["1"], "mine": ["true"], "nextToken": [token]})
    assert [job["jobName"] for job in page["jobs"]] == ["a2"]
    status, refusal = functions.http("GET", "/jobs", query={"limit": ["1"], "nextToken": [token]})
    assert status == 400
    assert "the same states and filters" in refusal["error"]["message"]
