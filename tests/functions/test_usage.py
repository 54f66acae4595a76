"""Ended jobs and sums of usage, through the handlers of the API and of each minute; moto is the table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway_sandbox.inprocess.lambda_loader import Context, event
from headway_service.accounting.repair import MAX_REPAIRED
from headway_service.events.job_events import job_event
from headway_service.feed.append import FeedAppender
from headway_service.store.ledger import read_pools
from headway_service.store.records.feed import FeedEvent
from headway_service.store.repository import find_job
from tests.functions.conftest import ANY_VERSION, Functions, state_change
from tests.service.accounting.test_run_times import done
from tests.service.world import on, request

ADA = "arn:aws:iam::123456789012:user/ada"


def get(functions: Functions, path: str, **query: str) -> Any:
    status, answer = functions.http("GET", path, query={name.rstrip("_"): [value] for name, value in query.items()})
    assert status == 200, answer
    return answer


def end(functions: Functions, *names: str) -> None:
    for name in names:
        assert functions.http("POST", "/jobs", request(name))[0] == 201
        assert functions.http("DELETE", f"/jobs/{name}")[0] == 200


def test_ended_jobs_are_listed_by_time_page_by_page(functions: Functions) -> None:
    end(functions, "a", "b", "c")
    functions.http("POST", "/jobs", request("waits"))
    found: list[dict[str, Any]] = []
    token: dict[str, str] = {}
    for _ in range(4):
        page = get(functions, "/history", since="2020-01-01", limit="1", **token)
        found += page["jobs"]
        if page["nextToken"] is None:
            break
        token = {"nextToken": page["nextToken"]}
    assert sorted(job["jobName"] for job in found) == ["a", "b", "c"]
    job = found[0]
    assert (job["jobState"], job["owner"], job["waitSeconds"], job["usedSeconds"]) == ("stopped", ADA, None, {})
    at = job["endedTime"]
    earlier = get(functions, "/history", since="2020-01-01", until=at, mine="true")["jobs"]
    assert [each["jobName"] for each in earlier] == [each["jobName"] for each in found[1:] if each["endedTime"] < at]
    assert len(get(functions, "/history", since=at[:10], state="stopped")["jobs"]) == 3
    assert get(functions, "/history", since=at[:10], state="failed")["jobs"] == []
    assert get(functions, "/history", since=at[:10], team="none")["jobs"] == []
    assert get(functions, "/history", since="9999-12-31", until="9999-12-31T23:59Z")["jobs"] == []


def test_an_owner_is_forgotten_whose_jobs_have_ended(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    owner = functions.http("GET", "/jobs/a")[1]["owner"]
    status, answer = functions.http("POST", "/forget", {"owner": owner})
    assert (status, answer["error"]["code"]) == (409, "OwnerHasJobs")
    functions.http("DELETE", "/jobs/a")
    counted = functions.http("POST", "/forget", {"owner": owner})[1]
    assert counted["jobs"] == 0, "the sums have all of the jobs first"
    token = {"nextToken": [counted["nextToken"]]}
    last = functions.http("POST", "/forget", {"owner": owner}, query=token)
    assert last == (200, {"jobs": 1, "unreadable": 0, "sums": 2, "nextToken": None})
    assert functions.http("GET", "/jobs/a")[1]["owner"] == "forgotten"
    rows = get(functions, "/usage", by="owner", from_=f"{datetime.now(UTC):%Y-%m-%d}")["rows"]
    assert [row["name"] for row in rows] == ["forgotten"]


@pytest.mark.parametrize("body", [{}, {"owner": "ada"}, {"owner": "arn:aws:iam::123456789012:user/ada", "all": True}])
def test_a_wrong_owner_is_refused(functions: Functions, body: dict[str, Any]) -> None:
    assert functions.http("POST", "/forget", body)[0] == 400


def test_a_recount_adds_to_the_sums_what_they_lack_of_the_jobs_that_are_kept(functions: Functions) -> None:
    end(functions, "a", "b")
    assert get(functions, "/usage", by="owner", from_="2026-01-01", to="2027-12-31")["rows"] == []
    first = functions.http("POST", "/usage/recount")[1]
    again = functions.http("POST", "/usage/recount")[1]
    assert (first["compared"], first["repaired"], first["nextToken"]) == (2, 2, None)
    assert (again["compared"], again["repaired"]) == (2, 0)
    (row,) = get(functions, "/usage", by="owner", from_="2026-01-01", to="2027-12-31")["rows"]
    assert (row["name"], row["period"], row["jobs"], row["wait"]["count"]) == (ADA, None, {"stopped": 2}, 0)
    rows = get(functions, "/usage", by="pool", from_="2026-01-01", to="2027-12-31", step="month")["rows"]
    assert sum(row["jobs"].get("stopped", 0) for row in rows) == 2


def test_usage_by_a_tag_that_is_not_counted_is_refused_and_one_that_is_may_be_empty(functions: Functions) -> None:
    document = {"pools": {"ml.p5.48xlarge": {"size": 2}}, "usageTags": ["project", "study"]}
    functions.http("PUT", "/config", document, headers={"If-Match": "*"})
    assert get(functions, "/usage", by="tag:project", from_="2026-01-01")["rows"] == []
    status, refusal = functions.http("GET", "/usage", query={"by": ["tag:cost"], "from": ["2026-01-01"]})
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest")
    assert "add it to `usageTags`" in refusal["error"]["message"]
    assert refusal["error"]["message"].endswith("counted are `project`, `study`")


@pytest.mark.parametrize("left_ms", [0, 50_000])
def test_a_run_of_each_minute_adds_what_has_ended_however_little_time_it_has(
    functions: Functions, left_ms: int
) -> None:
    jobs = [{"stopped": 1}]
    end(functions, "a")
    container = functions.module("reconcile").container
    job = find_job(container.table, "a")
    assert job is not None
    change = job_event(job, job.model_copy(update={"history": job.history[:-1]}))
    assert change is not None
    recorded = FeedEvent(id=change.id, detail_type=change.DETAIL_TYPE, detail=change.detail())
    FeedAppender(container.table, container.clocks.machine_ms).append([recorded], 0)
    handler = functions.module("reconcile").handler
    for _ in range(2):
        handler(event("reconcile"), Context(get_remaining_time_in_millis=lambda: left_ms))
        rows = get(functions, "/usage", by="owner", from_="2026-01-01", to="2027-12-31")["rows"]
        assert [row["jobs"] for row in rows] == jobs


def test_a_run_of_each_minute_has_the_pauses_of_pools_counted(functions: Functions) -> None:
    end(functions, "a")
    functions.invoke("reconcile", event("reconcile"))
    assert [pool.pauses is None for pool in read_pools(functions.module("reconcile").container.table)] == [False]


def test_usage_says_how_good_predictions_were_if_that_is_asked_for(functions: Functions) -> None:
    november = {"by": "pool", "from_": "2026-11-01", "to": "2026-11-30"}
    assert get(functions, "/usage", predictions="true", **november)["predictions"] is None
    container = functions.module("reconcile").container
    for number in range(5):
        container.accountant.account([done(f"bert-{number}")])
    # Run times that were read before the first job was added are used for some minutes.
    assert get(functions, "/usage", predictions="true", **november)["predictions"] == {
        "kept": 5, "predicted": 0, "medianError": None, "coverage": None,
    }  # fmt: skip
    del container.run_times
    del container.accountant
    container.accountant.account([done("bert-5")])
    found = get(functions, "/usage", predictions="true", **november)["predictions"]
    assert (found["kept"], found["predicted"], found["coverage"]) == (6, 1, 1.0)
    assert 0 <= found["medianError"] <= 0.05
    assert get(functions, "/usage", **november)["predictions"] is None


@pytest.mark.parametrize("days", [("9999-11-15", "9999-12-31"), ("0001-01-01", "0001-01-31")], ids=" to ".join)
@pytest.mark.parametrize("step", ["total", "month"])
def test_the_first_and_the_last_days_that_can_be_written_have_sums_too(
    functions: Functions, days: tuple[str, str], step: str
) -> None:
    first, last = days
    query = {"by": ["team"], "from": [first], "to": [last], "step": [step], "predictions": ["true"]}
    status, answer = functions.http("GET", "/usage", query=query)
    assert (status, answer["rows"], answer["predictions"]) == (200, [], None)


def test_idle_instances_are_in_the_sums_of_their_pool(functions: Functions) -> None:
    assert functions.http("POST", "/jobs", request("runs"))[0] == 201
    functions.invoke("schedule", event("schedule"))
    assert functions.http("POST", "/jobs", request("wide", ResourceConfig=on(2)))[0] == 201
    functions.invoke("schedule", event("schedule"))
    (found,) = functions.dynamodb.query(
        TableName="queue",
        KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
        ExpressionAttributeValues={":pk": {"S": "ledger"}, ":sk": {"S": "idle#"}},
    )["Items"]
    assert found["count"] == {"N": "1"}
    # As if that had been four minutes ago.
    for name in ("sinceMs", "notedMs"):
        found[name] = {"N": str(int(found[name]["N"]) - 240_000)}
    functions.dynamodb.put_item(TableName="queue", Item=found)
    functions.http("DELETE", "/jobs/wide")
    functions.invoke("schedule", event("schedule"))
    rows = get(functions, "/usage", by="pool", from_="2026-01-01", to="2027-12-31")["rows"]
    ((pool, idle_s),) = rows[0]["idleSeconds"].items()
    assert (len(rows), rows[0]["name"], rows[0]["idleReservedSeconds"]) == (1, pool, {})
    assert idle_s >= 240


def test_what_runs_is_beside_the_sums_until_it_has_ended(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    for by, name in (("team", None), ("owner", ADA), ("pool", "ml.p5.48xlarge")):
        usage = get(functions, "/usage", by=by, from_="2026-01-01")
        (row,) = usage["rows"]
        assert (row["name"], row["running"], row["usedSeconds"]) == (name, 1, {})
        assert set(row["runningSeconds"]) == {"ml.p5.48xlarge"}
        assert usage["runningUntil"] is not None
    functions.invoke(
        "observe", state_change(TrainingJobName="a", TrainingJobStatus="Completed", SecondaryStatus="Completed")
    )
    functions.http("POST", "/usage/recount")
    usage = get(functions, "/usage", by="team", from_="2026-01-01")
    assert [(row["running"], row["attempts"]) for row in usage["rows"]] == [(0, 1)]
    assert usage["runningUntil"] is None


def test_the_sums_of_a_day_are_compared_with_the_jobs(functions: Functions) -> None:
    query = {"by": ["team"], "day": ["2026-11-01"]}
    status, refusal = functions.http("GET", "/usage/comparison", query={**query, "day": ["9999-01-01"]})
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest")
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    token: dict[str, str] = {}
    while True:
        page = get(functions, "/usage/comparison", by="team", day=yesterday, **token)
        if page["nextToken"] is None:
            break
        token = {"nextToken": page["nextToken"]}
    assert (page["stored"], page["changed"], page["jobs"], page["revision"]) == ({}, False, [], 0)


def repair(functions: Functions, **changes: Any) -> tuple[int, Any]:
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    difference = {"name": "red", "figure": "attempts", "stored": 0, "computed": 1, **changes.pop("difference", {})}
    body = {"by": "team", "day": yesterday, "revision": 0, "differences": [difference], **changes}
    return functions.http("POST", "/usage/repair", body)


def test_a_difference_is_repaired_once_and_a_repair_of_an_older_comparison_is_refused(functions: Functions) -> None:
    answers = [repair(functions) for _ in range(2)]
    assert [(status, each["repaired"], each["revision"]) for status, each in answers] == [(200, 1, 1)] * 2
    answer = answers[0][1]
    (row,) = get(functions, "/usage", by="team", from_=answer["day"])["rows"]
    assert (row["name"], row["attempts"]) == ("red", 1)
    status, refusal = repair(functions, difference={"stored": 1, "computed": 0})
    assert (status, refusal["error"]["code"]) == (409, "SumsChanged")
    assert "compare" in refusal["error"]["message"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"by": "tag:project"}, "by"),
        ({"day": "2026-02-30"}, "day"),
        ({"day": "9999-01-01"}, "not over"),
        ({"revision": -1}, "revision"),
        ({"differences": []}, "differences"),
        ({"difference": {"stored": -1}}, "stored"),
        ({"difference": {"computed": 1.5}}, "computed"),
        ({"difference": {"figure": "idle.p"}}, "idle.p"),
        ({"difference": {"figure": "used." + 300 * "x"}}, "figure"),
        ({"difference": {"more": 1}}, "more"),
    ],
)
def test_a_repair_that_is_not_valid_is_refused(functions: Functions, changes: dict[str, Any], named: str) -> None:
    status, refusal = repair(functions, **changes)
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest")
    assert named in str(refusal)


def test_a_repair_has_a_limited_number_of_figures(functions: Functions) -> None:
    many = [{"name": "red", "figure": f"w.{n}", "stored": 0, "computed": 1} for n in range(MAX_REPAIRED + 1)]
    assert repair(functions, differences=many)[0] == 400
    assert repair(functions, differences=many[:-1])[0] == 200


@pytest.mark.parametrize(
    ("path", "query", "named"),
    [
        ("/history", {}, "since"),
        ("/history", {"since": "yesterday"}, "since"),
        ("/history", {"since": "2026-02-30"}, "since"),
        ("/history", {"since": "2026-02-01", "until": "2026-02-30"}, "until"),
        ("/history", {"since": "2026-02-01T10:00"}, "since"),
        ("/history", {"since": "2026-02-01", "state": "running"}, "running"),
        ("/history", {"since": "2026-02-01", "nextToken": "x"}, "nextToken"),
        ("/usage/comparison", {"by": "tag:project", "day": "2026-02-01"}, "by"),
        ("/usage/comparison", {"by": "team", "day": "2026-02-30"}, "day"),
        ("/usage/comparison", {"by": "team", "day": "2020-01-01"}, "forgotten"),
        ("/usage", {"by": "team"}, "from"),
        ("/usage", {"by": "job", "from": "2026-01-01"}, "by"),
        ("/usage", {"by": "tag:", "from": "2026-01-01"}, "by"),
        ("/usage", {"by": "team", "from": "2026-13-01"}, "from"),
        ("/usage", {"by": "team", "from": "2026-02-02", "to": "2026-02-01"}, "range"),
        ("/usage", {"by": "team", "from": "2026-02-02", "step": "hour"}, "step"),
        ("/usage", {"by": "team", "from": "2026-01-01", "to": "2026-12-31", "step": "day"}, "62"),
    ],
)
def test_a_wrong_query_is_refused_with_what_to_change(
    functions: Functions, path: str, query: dict[str, str], named: str
) -> None:
    status, refusal = functions.http("GET", path, query={name: [value] for name, value in query.items()})
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest"), refusal
    assert named in str(refusal["error"])


def test_costs_are_of_billed_time_by_the_prices_of_the_configuration(functions: Functions) -> None:
    prices = {"ml.p5.48xlarge": [{"from": "2020-01-01", "onDemandPerHour": 36}]}
    document = {"pools": {"ml.p5.48xlarge": {"size": 2}}, "prices": prices}
    functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    ended = {"TrainingJobName": "a", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed"}
    functions.invoke("observe", state_change(**ended, TrainingTimeInSeconds=90, BillableTimeInSeconds=100))
    functions.http("POST", "/usage/recount")
    (job,) = get(functions, "/history", since="2020-01-01")["jobs"]
    unpriced = {"ml.p5.48xlarge": 100}
    assert (job["cost"], job["currency"], job["unpricedSeconds"]) == (None, None, unpriced)
    assert functions.http("PUT", "/config", document, headers=ANY_VERSION)[0] == 200

    told = [{"pool": "ml.p5.48xlarge", "from": "2020-01-01", "perHour": 36.0}]
    (job,) = get(functions, "/history", since="2020-01-01")["jobs"]
    assert (job["cost"], job["currency"], job["prices"], job["unpricedSeconds"]) == (1.0, "USD", told, {})
    usage = get(functions, "/usage", by="team", from_=job["endedTime"][:10])
    assert [(row["cost"], row["unpricedSeconds"]) for row in usage["rows"]] == [(1.0, {})]
    assert (usage["currency"], usage["prices"]) == ("USD", told)
    shown = get(functions, "/jobs/a")
    assert (shown["cost"], shown["currency"], shown["billedSeconds"]) == (1.0, "USD", unpriced)
