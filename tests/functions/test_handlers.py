"""The handlers of all functions, on the events of ``events/``."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import boto3
import pytest

from headway.errors import HeadwayError
from headway_client.account.functions import EVENTS
from headway_sandbox.inprocess.lambda_loader import event
from headway_service.accounting.consumer import UsageConsumer
from headway_service.admission.queues.recounts import QueueRecounts
from headway_service.bootstrap.schedule import ScheduleContainer
from headway_service.bootstrap.settings import Settings
from headway_service.digest.weekly import WeeklyDigests
from headway_service.early_stopping.stopper import EarlyStopper
from headway_service.errors import RetryLater
from headway_service.launching.report import TickReport
from headway_service.monitoring.utilization_monitor import UtilizationMonitor
from tests.functions.conftest import ANY_VERSION, CONTEXT, Functions, state_change
from tests.service.world import on, request


def test_a_submitted_job_is_answered_with_its_place_and_wakes_the_scheduler(functions: Functions) -> None:
    answer = functions.invoke("api", event("api-submit"))
    assert answer["statusCode"] == 201
    job = json.loads(answer["body"])
    assert (job["jobName"], job["jobState"], job["priority"], job["place"]) == ("bert-large", "pending", 5, 1)
    assert job["owner"] == "arn:aws:iam::123456789012:user/ada"
    assert job["demand"] == {"ml.p5.48xlarge": 1}
    assert job["entryTime"].endswith("Z")
    assert functions.wakes() == ["submitted"]


def test_the_whole_life_of_a_job_passes_through_the_handlers(functions: Functions) -> None:
    functions.invoke("api", event("api-submit"))
    functions.invoke("schedule", event("schedule"))
    status, job = functions.http("GET", "/jobs/bert-large")
    assert (status, job["jobState"], job["liveAttempt"]) == (200, "running", "bert-large")
    assert job["attempts"][0]["attemptState"] == "live"
    assert job["request"]["TrainingJobName"] == "bert-large"
    functions.wakes()

    functions.invoke("observe", state_change())
    _, job = functions.http("GET", "/jobs/bert-large")
    assert job["jobState"] == "failed"
    assert "exit code 1" in job["reason"]["message"]
    assert [step["jobState"] for step in job["history"]] == ["pending", "running", "failed"]
    assert job["attempts"][0]["trainingJobStatus"] == "Failed"
    assert functions.wakes() == ["bert-large Failed"]

    functions.invoke("observe", state_change())
    assert functions.wakes() == [], "the same event again changes nothing"


@pytest.mark.parametrize("name", EVENTS)
def test_the_event_that_checks_a_function_changes_no_job(functions: Functions, name: str) -> None:
    functions.invoke("api", event("api-submit"))
    functions.invoke("schedule", event("schedule"))
    before = functions.http("GET", "/jobs/bert-large")
    rogues = functions.http("GET", "/rogue-jobs")
    functions.wakes()
    answer = functions.invoke(name.removesuffix("Function").lower(), dict(EVENTS[name]))
    assert functions.http("GET", "/jobs/bert-large") == before
    assert functions.http("GET", "/rogue-jobs") == rogues
    assert functions.wakes() == (["reconcile"] if name == "ReconcileFunction" else [])
    assert name != "ApiFunction" or answer["statusCode"] == 200


def test_reconcile_wakes_the_scheduler_every_time(functions: Functions) -> None:
    functions.invoke("reconcile", event("reconcile"))
    assert functions.wakes() == ["reconcile"]


def failing(*_: object, **__: object) -> None:
    raise RetryLater("not now")


RECONCILE_STEPS = [
    *("consume", "write_if_due", "read_ledger"),
    *("gauges", "begin_to_count", "run_if_due", "reconcile"),
]


@pytest.mark.parametrize("fails", RECONCILE_STEPS)
def test_a_step_of_reconcile_that_fails_skips_no_other_and_fails_the_run(
    functions: Functions, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = functions.module("reconcile")
    ran: list[str] = []
    owners = [UsageConsumer, WeeklyDigests, module, module, module, QueueRecounts, module]
    steps = dict(zip(RECONCILE_STEPS, owners, strict=True))
    for name, of in steps.items():
        whole = failing if name == fails else getattr(of, name)

        def step(*args: Any, whole: Any = whole, name: str = name, **more: Any) -> Any:
            ran.append(name)
            return whole(*args, **more)

        monkeypatch.setattr(of, name, step)
    with pytest.raises(RetryLater):
        functions.invoke("reconcile", event("reconcile"))
    assert ran == (RECONCILE_STEPS[:3] if fails == "read_ledger" else RECONCILE_STEPS)


def test_arrays_are_compared_although_the_monitor_fails_and_the_failure_is_reported(
    functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[object] = []

    def compare(_: EarlyStopper, ledger: object) -> int:
        compared.append(ledger)
        return 0

    monkeypatch.setattr(UtilizationMonitor, "run", failing)
    monkeypatch.setattr(EarlyStopper, "run", compare)
    with pytest.raises(RetryLater):
        functions.invoke("watch", event("watch"))
    assert len(compared) == 1


def test_the_monitor_creates_alarms_every_minute_and_handles_the_one_in_a_message(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("job1"))
    functions.invoke("schedule", event("schedule"))
    (training_job,) = functions.fleet.jobs(now=time.time())
    trains_ms = int(time.time() * 1000) - 4 * 3_600_000
    detail = {
        "TrainingJobName": training_job.name,
        "TrainingJobStatus": "InProgress",
        "SecondaryStatus": "Training",
        "SecondaryStatusTransitions": [{"Status": "Training", "StartTime": trains_ms}],
        "LastModifiedTime": int(time.time() * 1000) + 1000,
    }
    functions.invoke("observe", {**event("observe"), "detail": detail})
    functions.invoke("watch", event("watch"))
    cloudwatch = boto3.client("cloudwatch")
    (alarm,) = cloudwatch.describe_alarms()["MetricAlarms"]
    assert alarm["AlarmName"] == f"headway-watch/{training_job.name}/idle/1"

    message = event("watch-alarm")
    message["Records"][0]["Sns"]["Message"] = json.dumps({"AlarmName": alarm["AlarmName"], "NewStateValue": "ALARM"})
    functions.wakes()
    functions.invoke("watch", message)
    assert (functions.http("GET", "/jobs/job1")[1]["jobState"], functions.wakes()) == ("running", [])
    cloudwatch.set_alarm_state(AlarmName=alarm["AlarmName"], StateValue="ALARM", StateReason="a test says so")
    functions.invoke("watch", message)
    assert functions.http("GET", "/jobs/job1")[1]["jobState"] == "running", "SageMaker says that it does not train"
    functions.fleet.advance(time.time() + 300)
    functions.invoke("watch", message)
    assert functions.http("GET", "/jobs/job1")[1]["jobState"] == "stopping"
    assert functions.wakes() == [f"{training_job.name} is to stop"]


def test_a_malformed_event_is_raised_so_that_it_reaches_the_dead_letter_queue(functions: Functions) -> None:
    with pytest.raises(KeyError):
        functions.invoke("observe", {"detail": {}})


def test_a_failed_tick_is_counted_and_does_not_block_the_queue(
    functions: Functions, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.dynamodb.delete_table(TableName="queue")
    functions.invoke("schedule", event("schedule"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    metrics = next(line for line in lines if "_aws" in line)
    assert 1 in metrics["TickFailed"]


@pytest.mark.parametrize(
    ("report", "failed"),
    [
        (TickReport(failed=["sweep"], decisions=1), True),
        (TickReport(decisions=0), True),
        (TickReport(decisions=1), False),
    ],
    ids=["a record was left alone", "no decision", "none of that"],
)
def test_a_tick_that_left_a_record_or_made_no_decision_counts_as_failed(
    functions: Functions,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    report: TickReport,
    failed: bool,
) -> None:
    monkeypatch.setattr(ScheduleContainer, "tick", lambda *_: report)
    functions.invoke("schedule", event("schedule"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [line["TickFailed"] for line in lines if "TickFailed" in line] == [[1.0]] * failed


def test_listing_returns_jobs_that_have_not_ended_with_a_reason_each(functions: Functions) -> None:
    for i in range(4):
        functions.http("POST", "/jobs", request(f"j{i}", i))
    functions.invoke("schedule", event("schedule"))
    status, page = functions.http("GET", "/jobs")
    assert status == 200
    assert [(job["jobName"], job["jobState"], job["place"]) for job in page["jobs"]] == [
        ("j3", "running", None),
        ("j2", "running", None),
        ("j1", "pending", 1),
        ("j0", "pending", 2),
    ]
    assert all(job["reason"]["message"] for job in page["jobs"])
    assert page["nextToken"] is None


def test_listing_pages_through_everything_once(functions: Functions) -> None:
    for i in range(7):
        functions.http("POST", "/jobs", request(f"j{i}"))
    functions.invoke("schedule", event("schedule"))
    found: list[str] = []
    query: dict[str, list[str]] = {"limit": ["2"]}
    for _ in range(10):
        _, page = functions.http("GET", "/jobs", query=query)
        assert len(page["jobs"]) <= 2
        found += [job["jobName"] for job in page["jobs"]]
        if page["nextToken"] is None:
            break
        query["nextToken"] = [page["nextToken"]]
    assert sorted(found) == [f"j{i}" for i in range(7)]


def test_listing_accepts_several_states(functions: Functions) -> None:
    for i in range(3):
        functions.http("POST", "/jobs", request(f"j{i}"))
    functions.invoke("schedule", event("schedule"))
    functions.http("DELETE", "/jobs/j2")
    _, page = functions.http("GET", "/jobs", query={"state": ["stopped", "running"]})
    assert {job["jobName"]: job["jobState"] for job in page["jobs"]} == {
        "j0": "running", "j1": "running", "j2": "stopped",
    }  # fmt: skip
    answer = functions.invoke("api", event("api-list"))
    assert {job["jobState"] for job in json.loads(answer["body"])["jobs"]} == {"running"}


def test_the_same_request_again_is_200_and_another_one_409(functions: Functions) -> None:
    assert functions.http("POST", "/jobs", request("a"))[0] == 201
    assert functions.http("POST", "/add-job", request("a"))[0] == 200
    status, answer = functions.http("POST", "/jobs", request("a", 9))
    assert (status, answer["error"]["code"]) == (409, "NameInUse")


def test_the_founding_articles_item_is_a_submission_like_any_other(functions: Functions) -> None:
    item = {"jobName": "a", "entryTime": "2020-01-01", "jobState": "running", "jobDetails": request("a")}
    status, job = functions.http("POST", "/add-job", {**item, "priority": 3})
    assert (status, job["jobName"], job["jobState"], job["priority"]) == (201, "a", "pending", 3)
    assert functions.http("POST", "/jobs", request("a", 3))[0] == 200
    status, refusal = functions.http("POST", "/add-job", {**item, "jobName": "b"})
    assert (status, [each["field"] for each in refusal["error"]["fields"]]) == (400, ["jobName"])
    status, refusal = functions.http("POST", "/add-job", {"jobDetails": request("c"), "priority": 10_000})
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest")
    dry_run = {"dryRun": ["true"]}
    assert functions.http("POST", "/add-job", {"jobDetails": request("d")}, query=dry_run)[0] == 200
    assert functions.http("GET", "/jobs/d")[0] == 404


def test_stopping_a_waiting_job_is_200_and_a_running_one_202(functions: Functions) -> None:
    for name in ("a", "b", "c"):
        functions.http("POST", "/jobs", request(name))
    functions.invoke("schedule", event("schedule"))
    assert functions.http("DELETE", "/jobs/c")[0] == 200
    status, job = functions.http("DELETE", "/jobs/a")
    assert (status, job["jobState"]) == (202, "stopping")


def test_a_priority_can_be_changed(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    status, job = functions.http("PATCH", "/jobs/a", {"priority": 8})
    assert (status, job["priority"]) == (200, 8)


def test_capacity_lists_the_pools(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    _, answer = functions.http("GET", "/capacity")
    assert answer["pools"] == [
        {
            "pool": "ml.p5.48xlarge", "size": 2, "allocated": 1, "stopping": 0, "reserved": 0, "rogue": 0, "free": 1,
            "waiting": 0, "pause": None, "nextChange": None, "warm": 0, "plan": "",
            "bookings": [],
        }
    ]  # fmt: skip


def test_a_training_job_that_bypasses_the_queue_is_shown_and_found_by_events_and_by_the_scan(
    functions: Functions,
) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    for name in ("heard", "found"):
        functions.fleet.create(request(name), now=time.time())
    functions.invoke("observe", {"detail": {"TrainingJobName": "heard", "TrainingJobStatus": "InProgress"}})
    _, answer = functions.http("GET", "/rogue-jobs")
    assert [rogue["trainingJobName"] for rogue in answer["rogueJobs"]] == ["heard"]
    functions.invoke("patrol", event("patrol"))
    _, answer = functions.http("GET", "/rogue-jobs")
    (_, heard) = answer["rogueJobs"]
    assert [rogue["trainingJobName"] for rogue in answer["rogueJobs"]] == ["found", "heard"]
    assert heard == {
        "trainingJobName": "heard",
        "trainingJobStatus": "InProgress",
        "demand": {"ml.p5.48xlarge": 1},
        "charged": {"ml.p5.48xlarge": 1},
        "team": None,
        "createdTime": heard["createdTime"],
        "seenTime": heard["seenTime"],
        "stopAskedBy": None,
        "reason": {
            "code": "OutsideTheQueue",
            "message": "did not come through the queue; uses 1 ml.p5.48xlarge of its pools",
            "jobs": [],
        },
    }
    assert answer["more"] is False
    _, answer = functions.http("GET", "/capacity")
    assert [(pool["allocated"], pool["rogue"], pool["free"]) for pool in answer["pools"]] == [(1, 2, -1)]
    for caller in ("user/adam", "user/ada"):
        status, asked = functions.http("DELETE", "/rogue-jobs/found", caller=caller)
        assert (status, asked["trainingJobName"], asked["stopAskedBy"]) == (202, "found", "user/adam")
    assert {each.status for each in functions.fleet.jobs(now=time.time())} == {"InProgress"}, "the API stops nothing"
    _, answer = functions.http("GET", "/actions")
    assert [(each["action"], each["target"], each["by"]) for each in answer["actions"][:1]] == [
        ("stop rogue", "found", "user/adam")
    ]


def test_a_fresh_deployment_shows_its_pools_before_the_first_job(functions: Functions) -> None:
    _, answer = functions.http("GET", "/capacity")
    assert [pool["size"] for pool in answer["pools"]] == [2]


def test_a_changed_configuration_is_in_force_immediately(functions: Functions) -> None:
    status, answer = functions.http("PUT", "/config", {"pools": {"ml.g5.xlarge": {"size": 1}}}, headers=ANY_VERSION)
    assert (status, answer["version"]) == (200, 2)
    assert functions.http("POST", "/jobs", request("a"))[1]["error"]["code"] == "ImpossibleDemand"
    assert functions.http("POST", "/jobs", request("a", ResourceConfig=on(1, "ml.g5.xlarge")))[0] == 201
    assert functions.http("GET", "/config")[1]["document"]["pools"] == {"ml.g5.xlarge": {"size": 1}}


def test_teams_are_configured_checked_and_shown_over_http(functions: Functions) -> None:
    teams: dict[str, dict[str, Any]] = {
        "research": {"guaranteed": {"ml.p5.48xlarge": 1}, "maxPriority": 7},
        "products": {},
    }
    document = {"pools": {"ml.p5.48xlarge": {"size": 2}}, "teams": teams}
    assert functions.http("PUT", "/config", document, headers=ANY_VERSION)[0] == 200
    told = functions.http("GET", "/config")[1]["document"]
    assert told["teams"]["research"]["maxPriority"] == 7
    assert told["preemption"]["minRunTimeSeconds"] == 0

    assert "add the tag 'team'" in functions.http("POST", "/jobs", request("a"))[1]["error"]["message"]
    tagged = request("a", Tags=[{"Key": "team", "Value": "research"}])
    status, job = functions.http("POST", "/jobs", tagged)
    assert (status, job["team"]) == (201, "research")
    (listed,) = functions.http("GET", "/jobs")[1]["jobs"]
    assert (listed["team"], listed["place"]) == ("research", 1)

    teams["research"]["guaranteed"] = {"ml.p5.48xlarge": 3}
    status, refusal = functions.http("PUT", "/config", document, headers=ANY_VERSION)
    assert (status, refusal["error"]["fields"][0]["field"]) == (400, "pools.ml.p5.48xlarge.size")


def test_rules_are_set_and_shown_and_violations_are_refused_before_anything_is_stored(functions: Functions) -> None:
    rules = {"traced": {"require": {"tags": {"project": ["*"]}, "vpc": True}, "message": "ask Ada"}}
    document = {"pools": {"ml.p5.48xlarge": {"size": 2}}, "rules": rules}
    assert functions.http("PUT", "/config", document, headers=ANY_VERSION)[0] == 200
    assert functions.http("GET", "/config")[1]["document"]["rules"] == {
        "traced": {**rules["traced"], "when": {}, "onStart": "report"}
    }
    functions.wakes()

    status, refusal = functions.http("POST", "/jobs", request("a"))

    assert (status, refusal["error"]["code"]) == (422, "RuleViolation")
    assert refusal["error"]["fields"] == [
        {"field": "Tags", "message": "has no 'project': add it (rule `traced`: ask Ada)"},
        {"field": "VpcConfig", "message": "is missing: add it (rule `traced`: ask Ada)"},
    ]
    assert functions.http("GET", "/jobs/a")[0] == 404
    assert functions.wakes() == []


REFUSALS: list[tuple[str, str, str, Any, int, str, str]] = [
    ("a missing role", "POST", "/jobs", request("a", RoleArn=None), 400, "InvalidRequest", "RoleArn"),
    ("no instances", "POST", "/jobs", request("a", ResourceConfig=on(0)), 400, "InvalidRequest", "at least 1"),
    (
        "an unknown pool",
        "POST",
        "/jobs",
        request("a", ResourceConfig=on(1, "ml.x.y")),
        422,
        "ImpossibleDemand",
        "up to 2",
    ),
    ("an unknown job", "GET", "/jobs/nobody", None, 404, "JobNotFound", "nobody"),
    ("stopping an unknown job", "DELETE", "/jobs/nobody", None, 404, "JobNotFound", "nobody"),
    (
        "stopping an unknown rogue job",
        "DELETE",
        "/rogue-jobs/nobody",
        None,
        404,
        "RogueJobNotFound",
        "`headway queue --all`",
    ),
    ("an impossible name of a rogue job", "DELETE", "/rogue-jobs/a_b", None, 400, "InvalidRequest", "name"),
    ("too long a name of a rogue job", "DELETE", f"/rogue-jobs/{'a' * 64}", None, 400, "InvalidRequest", "name"),
    ("a priority in words", "PATCH", "/jobs/a", {"priority": "high"}, 400, "InvalidRequest", "priority"),
    ("a priority beyond the maximum", "PATCH", "/jobs/a", {"priority": 10_000}, 400, "InvalidRequest", "0 to 9999"),
    ("a change of something else", "PATCH", "/jobs/a", {"priority": 1, "x": 2}, 400, "InvalidRequest", "x"),
    ("a list as a request", "POST", "/jobs", [1], 400, "InvalidRequest", "body"),
    ("a bad document", "PUT", "/config", {"pools": {}, "version": 1}, 400, "InvalidConfiguration", "pools"),
    ("an unknown path", "GET", "/nothing", None, 404, "JobNotFound", "/nothing"),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "word"),
    [row[1:] for row in REFUSALS],
    ids=[row[0] for row in REFUSALS],
)
def test_a_refusal_has_a_status_a_code_and_a_message(
    functions: Functions, method: str, path: str, body: Any, status: int, code: str, word: str
) -> None:
    got, answer = functions.http(method, path, body)
    assert (got, answer["error"]["code"]) == (status, code)
    assert word in answer["error"]["message"]
    assert answer["requestId"]


@pytest.mark.parametrize("raw", ["{", "", "null", '"text"', "[]"], ids=repr)
def test_a_body_that_is_not_a_json_object_is_refused(functions: Functions, raw: str) -> None:
    status, answer = functions.http("POST", "/jobs", raw=raw)
    assert (status, answer["error"]["code"]) == (400, "InvalidRequest")


BAD_QUERIES: list[dict[str, list[str]]] = [
    {"limit": ["0"]},
    {"limit": ["501"]},
    {"limit": ["x"]},
    {"state": ["asleep"]},
    {"nextToken": ["bogus"]},
    {"nextToken": ["WyJlbmRlZCIsIG51bGxd"]},
]


@pytest.mark.parametrize("query", BAD_QUERIES, ids=str)
def test_a_bad_query_is_refused(functions: Functions, query: dict[str, list[str]]) -> None:
    status, answer = functions.http("GET", "/jobs", query=query)
    assert (status, answer["error"]["code"]) == (400, "InvalidRequest")


def test_a_request_over_the_limit_is_413(functions: Functions) -> None:
    large = request("a", HyperParameters={f"p{i:03d}": "x" * 4100 for i in range(100)})
    status, answer = functions.http("POST", "/jobs", large)
    assert (status, answer["error"]["code"]) == (413, "RequestTooLarge")


def test_busy_is_503_with_a_retry_delay(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    api = functions.module("api")

    def busy(*_: Any) -> None:
        raise RetryLater("the queue is busy; try again in a moment")

    monkeypatch.setattr(api.container.table, "get", busy)
    payload = event("api-submit") | {"httpMethod": "GET", "path": "/jobs/a"}
    answer = api.handler(payload, CONTEXT)
    assert answer["statusCode"] == 503
    assert answer["multiValueHeaders"]["Retry-After"] == ["1"]


def test_an_unexpected_error_is_500_and_hides_internals(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    api = functions.module("api")

    def broken(*_: Any) -> None:
        raise RuntimeError("a secret inside")

    monkeypatch.setattr(api.container.table, "get", broken)
    status, answer = functions.http("GET", "/jobs/a")
    assert (status, answer["error"]["code"]) == (500, "InternalError")
    assert "secret" not in json.dumps(answer)


def test_a_lost_wake_up_does_not_lose_the_job(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    container = functions.module("api").container
    monkeypatch.setattr(
        container, "settings", replace(container.settings, wake_queue_url=functions.queue_url + "-gone")
    )
    assert functions.http("POST", "/jobs", request("a"))[0] == 201
    functions.invoke("schedule", event("schedule"))
    assert functions.http("GET", "/jobs/a")[1]["jobState"] == "running"


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(HeadwayError, match="HEADWAY_TABLE"):
        Settings.of({})
