from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from headway_client.cli.exit_codes import exit_code_of
from headway_client.errors import (
    ClientError,
    ConfigurationChangedError,
    ConflictError,
    JobNotFoundError,
    NotAllowedError,
    RefusedError,
    RogueJobNotFoundError,
    ServerFaultError,
    ServerTooOldError,
    UsageError,
)
from headway_client.http.api import HeadwayApi
from tests.client.fakes.contract import request
from tests.client.fakes.server import QUEUE_TIME, ContractServer, Fault


def test_a_submitted_request_arrives_unchanged_and_returns_its_place(api: HeadwayApi, server: ContractServer):
    submission = api.submit(request("job1", Tags=[{"Key": "priority", "Value": "7"}]))

    assert submission.created
    assert (submission.job.name, submission.job.priority, submission.job.place) == ("job1", 7, 1)
    assert submission.job.demand == {"ml.p5.48xlarge": 1}
    assert json.loads(server.received[0].body) == request("job1", Tags=[{"Key": "priority", "Value": "7"}])


def test_the_same_request_again_is_the_same_job_and_not_created(api: HeadwayApi, server: ContractServer):
    api.submit(request())

    assert not api.submit(request()).created
    assert list(server.queue.jobs) == ["job1"]


def test_a_submission_whose_answer_was_lost_counts_as_created(api: HeadwayApi, server: ContractServer):
    server.fail(Fault(drop=True, after=True))

    submission = api.submit(request())

    assert submission.created
    assert [received.method for received in server.received] == ["POST", "POST"]
    assert len({received.headers["idempotency-key"] for received in server.received}) == 1
    assert list(server.queue.jobs) == ["job1"]


def test_each_submission_has_a_key_of_its_own_unless_one_is_given(api: HeadwayApi, server: ContractServer):
    api.submit(request())
    assert not api.submit(request()).created
    assert api.submit(request("job2"), idempotency_key="mine").created
    assert api.submit(request("job2"), idempotency_key="mine").created

    keys = [received.headers["idempotency-key"] for received in server.received]
    assert len(set(keys)) == 3
    assert keys[2:] == ["mine", "mine"]


def test_two_submissions_of_one_request_at_once_give_one_job(api: HeadwayApi, server: ContractServer):
    created = []
    start = threading.Barrier(8)

    def submit() -> None:
        start.wait()
        created.append(api.submit(request()).created)

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(created) == [False] * 7 + [True]
    assert list(server.queue.jobs) == ["job1"]


def test_a_different_request_under_the_same_name_is_a_conflict(api: HeadwayApi):
    api.submit(request())

    with pytest.raises(ConflictError, match="choose another name") as caught:
        api.submit(request(RoleArn="arn:aws:iam::123456789012:role/other"))
    assert (caught.value.code, caught.value.status, caught.value.request_id) == ("NameInUse", 409, "req-1")


def test_a_refusal_names_every_field(api: HeadwayApi):
    with pytest.raises(RefusedError) as caught:
        api.submit({**request("x" * 70), "RoleArn": ""})

    assert [item.field for item in caught.value.fields] == ["TrainingJobName", "RoleArn"]
    assert "has 70 characters" in str(caught.value)
    assert "RoleArn: is missing" in str(caught.value)


@pytest.mark.parametrize(
    ("limit", "expected", "sizes"),
    [
        (None, 7, [None, None, None]),
        (0, 0, []),
        (1, 1, ["1"]),
        (3, 3, ["3"]),
        (4, 4, ["4", "1"]),
        (7, 7, ["7", "4", "1"]),
        (50, 7, ["50", "47", "44"]),
        (100, 7, ["100", "97", "94"]),
        (102, 7, [None, "99", "96"]),
    ],
)
def test_jobs_are_listed_page_by_page_up_to_a_limit(
    api: HeadwayApi, server: ContractServer, limit: int | None, expected: int, sizes: list[str | None]
):
    server.queue.page_size = 3
    for number in range(7):
        server.queue.add(f"job{number}")

    names = [job.name for job in api.list_jobs(limit=limit)]

    assert names == [f"job{number}" for number in range(expected)]
    asked = [parse_qs(urlsplit(received.target).query).get("limit", [None]) for received in server.received]
    assert [size for (size,) in asked] == sizes


def test_unneeded_pages_are_not_requested(api: HeadwayApi, server: ContractServer):
    server.queue.page_size = 2
    for number in range(6):
        server.queue.add(f"job{number}")

    assert len(list(itertools.islice(api.list_jobs(), 3))) == 3
    assert len(server.received) == 2


def test_states_repeat_in_the_query_on_every_page(api: HeadwayApi, server: ContractServer):
    server.queue.page_size = 1
    server.queue.add("a", jobState="failed")
    server.queue.add("b")
    server.queue.add("c", jobState="stopped")

    assert [job.name for job in api.list_jobs(states=iter(["stopped", "failed"]))] == ["a", "c"]
    assert all("state=stopped&state=failed" in received.target for received in server.received)
    assert len(server.received) == 2


def test_an_endless_listing_is_cut(api: HeadwayApi, server: ContractServer):
    page = Fault(status=200, body=b'{"jobs": [], "nextToken": "again"}')
    server.fail(page, page, page)

    with pytest.raises(ServerFaultError, match="again and again"):
        list(api.list_jobs())
    assert len(server.received) == 2


def test_a_job_is_read_with_its_attempts_reasons_and_history(api: HeadwayApi, server: ContractServer):
    why = {"code": "Preempted", "message": "Made room for job9."}
    attempt = {
        "attemptName": "job1",
        "number": 1,
        "attemptState": "ended",
        "trainingJobStatus": "Stopped",
        "secondaryStatus": "Stopped",
        "startedTime": "2026-01-02T03:04:06.000Z",
        "endedTime": None,
        "failureReason": None,
        "reason": why,
    }
    step = {"time": "2026-01-02T03:05:00.000Z", "jobState": "preempted", "reason": why, "attemptName": "job1"}
    server.queue.add("job1", attempts=[attempt], history=[step])

    details = api.get_job("job1")

    assert details.request["RoleArn"] == request()["RoleArn"]
    assert (details.attempts[0].status, details.attempts[0].ended_time) == ("Stopped", None)
    assert details.history[0].reason is not None
    assert details.history[0].reason.message == "Made room for job9."


def test_every_call_on_an_unknown_job_raises_not_found(api: HeadwayApi):
    for call in (api.get_job, api.stop_job, lambda name: api.set_priority(name, 1)):
        with pytest.raises(JobNotFoundError, match="no job nobody"):
            call("nobody")


def test_a_stop_reports_whether_the_job_has_ended_or_is_stopping(api: HeadwayApi, server: ContractServer):
    server.queue.add("waiting")
    server.queue.add("running", jobState="running")
    server.queue.add("done", jobState="completed")

    assert [api.stop_job(name).state for name in ("waiting", "waiting", "running", "running")] == [
        "stopped",
        "stopped",
        "stopping",
        "stopping",
    ]
    with pytest.raises(ConflictError, match="ended"):
        api.stop_job("done")


def test_a_stop_sends_the_reason(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1")

    assert api.stop_job("job1", "wrong data: ä&b").reason.message == "stopped by its owner: wrong data: ä&b"


def test_a_priority_is_set(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1")

    assert api.set_priority("job1", 42).priority == 42
    assert server.received[0].body == b'{"priority":42}'


def test_the_request_of_a_job_is_changed(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1")
    server.queue.add("job2", jobState="running")

    changed = api.change_job("job1", max_runtime_s=60, instances=2)
    assert (changed.demand, changed.limit_seconds) == ({"ml.p5.48xlarge": 2}, 60)
    assert api.change_job("job1", instances=1).demand == {"ml.p5.48xlarge": 1}
    assert [received.body for received in server.received] == [
        b'{"maxRuntimeSeconds":60,"instances":2}',
        b'{"instances":1}',
    ]
    with pytest.raises(ConflictError, match="job2 holds instances"):
        api.change_job("job2", instances=1)


def test_a_comment_is_set_and_removed(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1")

    assert api.get_job("job1").job.comment is None
    assert api.set_comment("job1", "ä note").comment == "ä note"
    assert next(api.list_jobs()).comment == "ä note"
    assert api.set_comment("job1", "").comment is None


def test_capacity_and_configuration_are_read_and_put(api: HeadwayApi):
    pool = api.capacity().pools[0]
    assert (pool.pool, pool.size, pool.rogue, pool.free, pool.waiting) == ("ml.p5.48xlarge", 2, 1, 0, 7)

    assert api.put_config({"pools": {"ml.g5.xlarge": {"size": 3}}}, if_version=1).version == 2
    assert api.get_config().settings == {"pools": {"ml.g5.xlarge": {"size": 3}}, "version": 2}
    with pytest.raises(RefusedError) as caught:
        api.put_config({})
    assert caught.value.fields[0].field == "pools"


def test_a_summary_is_read_and_one_that_is_known_is_not_sent_again(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1", jobState="running")
    server.queue.add("job2")
    found = api.summary()
    assert found is not None
    assert [each.job_name for each in found.running] == ["job1"]
    assert [each.job_name for each in found.waiting] == ["job2"]
    assert api.summary(found.version) is None
    assert server.received[-1].headers["if-none-match"] == f'"{found.version}"'
    server.queue.add("job3")
    again = api.summary(found.version)
    assert again is not None
    assert again.version != found.version


def test_a_response_of_unchanged_to_an_unconditional_request_is_an_error(api: HeadwayApi, server: ContractServer):
    server.fail(Fault(status=304))
    with pytest.raises(ClientError):
        api.summary()


def test_a_queue_without_summaries_is_too_old(api: HeadwayApi, server: ContractServer):
    server.queue.server_version = None
    with pytest.raises(ServerTooOldError):
        api.summary()


SETTINGS: dict[str, Any] = {"pools": {"ml.g5.xlarge": {"size": 3}}}


@pytest.mark.parametrize(
    ("settings", "options", "header", "version"),
    [
        ({**SETTINGS, "version": 1}, {}, '"1"', 1),
        (SETTINGS, {"if_version": 1}, '"1"', 1),
        ({**SETTINGS, "version": 7}, {"if_version": 1}, '"1"', 1),
        ({**SETTINGS, "version": 7}, {"force": True}, "*", None),
        (SETTINGS, {"force": True}, "*", None),
    ],
)
def test_a_configuration_is_put_on_top_of_the_version_it_was_made_from(
    api: HeadwayApi,
    server: ContractServer,
    settings: dict[str, Any],
    options: dict[str, Any],
    header: str,
    version: int | None,
):
    assert api.put_config(settings, **options).version == 2
    (received,) = server.received
    # Also in the document, as a server without versions ignores the header.
    assert (received.headers["if-match"], json.loads(received.body).get("version")) == (header, version)


def test_a_configuration_that_has_changed_is_not_replaced(api: HeadwayApi):
    shown = api.get_config().settings
    api.put_config(SETTINGS, force=True)
    with pytest.raises(ConfigurationChangedError, match="size: 2 → 3") as caught:
        api.put_config(shown)
    assert (caught.value.status, caught.value.code, exit_code_of(caught.value)) == (412, "ConfigurationChanged", 5)
    assert api.get_config().version == 2


def test_a_configuration_without_a_version_is_refused(api: HeadwayApi):
    with pytest.raises(RefusedError) as caught:
        api.put_config(SETTINGS)
    assert caught.value.code == "VersionRequired"


def test_a_server_without_versions_replaces_no_configuration(api: HeadwayApi, server: ContractServer):
    server.queue.server_version = None
    with pytest.raises(ServerTooOldError):
        api.put_config({**SETTINGS, "version": 1})
    assert server.queue.settings != SETTINGS
    assert api.put_config(SETTINGS, force=True).settings == SETTINGS


def test_rogue_jobs_are_read(api: HeadwayApi, server: ContractServer):
    server.queue.bypass("past", team="research")
    server.queue.more_rogues = True

    rogues = api.rogue_jobs()

    (rogue,) = rogues.jobs
    assert (rogue.name, rogue.status, rogue.team, rogue.reason.code, rogues.more) == (
        "past", "InProgress", "research", "OutsideTheQueue", True,
    )  # fmt: skip
    assert rogue.document == server.queue.rogues[0]


def test_a_rogue_job_is_stopped(api: HeadwayApi, server: ContractServer):
    server.queue.bypass("past")

    assert [api.stop_rogue_job("past").stop_asked_by for _ in range(2)] == ["user/ada", "user/ada"]
    with pytest.raises(RogueJobNotFoundError, match="no live training job other"):
        api.stop_rogue_job("other")


def test_dead_letters_are_read_and_redriven(api: HeadwayApi, server: ContractServer):
    server.queue.bury()
    server.queue.bury(queue="wake", about=None, errorType=None, errorMessage=None, problem="it is no JSON")

    first, second = api.dead_letters().letters
    assert (first.id, first.queue, first.about, first.error_type, first.problem) == (
        "m0", "event", "job1 Failed", "KeyError", None,
    )  # fmt: skip
    assert (second.about, second.error_type, second.problem) == (None, None, "it is no JSON")
    assert not api.dead_letters().more

    done = api.redrive()
    assert (done.redriven, done.dropped, done.failed, done.left) == (1, 0, 1, 1)
    assert [(failure.id, failure.queue, failure.problem) for failure in done.failures] == [
        ("m1", "wake", "it is no JSON")
    ]
    assert [letter.id for letter in api.dead_letters().letters] == ["m1"]


def test_a_redrive_whose_answer_was_lost_is_sent_again(api: HeadwayApi, server: ContractServer):
    server.queue.bury()
    server.fail(Fault(drop=True, after=True))

    assert api.redrive().redriven == 0
    assert server.queue.letters == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/"])
def test_names_that_no_url_can_have_are_refused_by_the_client(api: HeadwayApi, server: ContractServer, name: str):
    with pytest.raises(UsageError, match="not a job name"):
        api.stop_job(name)
    assert server.received == []


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{}",
        b'{"jobName": 5}',
        b"null",
        b'{"jobName": "a", "jobState": "pending", "priority": "1", "entryTime": "x", "demand": {}, "reason": {}}',
    ],
)
def test_an_answer_other_than_a_job_is_the_servers_fault(api: HeadwayApi, server: ContractServer, body: bytes):
    server.fail(Fault(status=200, body=body))

    with pytest.raises(ServerFaultError, match="same version"):
        api.get_job("job1")


def test_members_of_a_newer_server_are_kept(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1", team="vision")

    assert api.get_job("job1").job.document["team"] == "vision"


# ------------------------------------------------------------------------------------------------- held and filtered


def test_a_job_is_held_and_released(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1")
    server.queue.add("runs", jobState="running")

    held = api.hold("job1")
    assert (held.held, held.place, held.reason.code) == (True, None, "Held")
    assert api.hold("job1").held
    assert [api.release("job1").held for _ in range(2)] == [False, False]
    with pytest.raises(ConflictError, match="holds instances") as caught:
        api.hold("runs")
    assert caught.value.code == "NotWaiting"
    for call in (api.hold, api.release):
        with pytest.raises(JobNotFoundError):
            call("nobody")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["bert-1", "bert-2", "gpt"]),
        ({"mine": True}, ["bert-1", "gpt"]),
        ({"owner": "arn:other"}, ["bert-2"]),
        ({"team": "nlp"}, ["bert-1", "bert-2"]),
        ({"name_contains": "gp"}, ["gpt"]),
        ({"mine": True, "team": "nlp"}, ["bert-1"]),
        ({"name_contains": "a b&c=d"}, []),
    ],
    ids=str,
)
def test_jobs_are_filtered_on_every_page(
    api: HeadwayApi, server: ContractServer, filters: dict[str, Any], expected: list[str]
):
    server.queue.page_size = 1
    server.queue.add("bert-1", team="nlp")
    server.queue.add("bert-2", team="nlp", owner="arn:other")
    server.queue.add("gpt")

    assert [job.name for job in api.list_jobs(**filters)] == expected


def test_the_first_jobs_are_those_of_one_request(api: HeadwayApi, server: ContractServer):
    server.queue.page_size = 2
    for name in ("bert-1", "gpt", "bert-2", "bert-3"):
        server.queue.add(name)
    server.queue.add("bert-0", jobState="stopped")

    assert [job.name for job in api.first_jobs()] == ["bert-1", "gpt"]
    assert [job.name for job in api.first_jobs(name_contains="bert")] == ["bert-1", "bert-2"]
    assert [job.name for job in api.first_jobs(states=["stopped"])] == ["bert-0"]
    assert len(server.received) == 3


def test_members_that_older_servers_omit_have_defaults(api: HeadwayApi, server: ContractServer):
    server.queue.server_version = None
    server.queue.add("job1")

    job = api.get_job("job1").job

    assert (job.held, job.started_time, job.preemptions, job.instance_seconds) == (False, None, 0, {})


def test_the_use_of_a_job_is_read(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1", startedTime="2026-01-02T03:04:06.000Z", preemptions=2, instanceSeconds={"ml.a": 60})

    job = api.get_job("job1").job

    assert (job.started_time, job.preemptions, job.instance_seconds) == ("2026-01-02T03:04:06.000Z", 2, {"ml.a": 60})


# ---------------------------------------------------------------------------------------------------------- foresight


def test_a_dry_run_submits_nothing_and_returns_the_effect(api: HeadwayApi, server: ContractServer):
    server.queue.foresight["dry-run"] = {
        "expectedStart": "2026-01-02T04:00:00.000Z",
        "preempts": ["job0"],
        "delays": [{"jobName": "job9", "before": None, "after": "2026-01-02T05:00:00.000Z"}],
    }

    run = api.dry_run(request("job1"))

    assert (run.job.name, run.job.place, run.expected_start, run.preempts) == (
        "job1", 1, "2026-01-02T04:00:00.000Z", ("job0",),
    )  # fmt: skip
    assert (run.delays[0].job_name, run.delays[0].before) == ("job9", None)
    assert server.queue.jobs == {}


def test_a_dry_run_raises_what_the_submission_would_raise(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1")

    with pytest.raises(ConflictError) as caught:
        api.dry_run(request("job1"))
    assert caught.value.code == "NameInUse"
    with pytest.raises(RefusedError):
        api.dry_run({**request("x" * 70), "RoleArn": ""})


def test_a_job_is_explained(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1")
    ahead = {
        "jobName": "job0", "jobState": "running", "priority": 5, "demand": {"ml.p5.48xlarge": 1},
        "startedTime": "2026-01-02T03:00:00.000Z", "expectedEnd": None,
    }  # fmt: skip
    server.queue.foresight["job1"] = {"ahead": [ahead], "more": 3, "remedy": "Wait."}

    told = api.explain("job1")

    assert (told.place, told.more, told.remedy, told.ahead[0].job_name) == (1, 3, "Wait.", "job0")
    assert told.reason is not None
    assert told.reason.code == "PoolFull"
    assert [pool.pool for pool in told.pools] == ["ml.p5.48xlarge"]
    with pytest.raises(JobNotFoundError):
        api.explain("nobody")


def test_an_ended_job_has_nothing_to_explain(api: HeadwayApi, server: ContractServer):
    server.queue.add("job1", jobState="completed")
    nothing: dict[str, Any] = {"ahead": [], "pools": [], "more": 0}
    server.queue.foresight["job1"] = nothing

    told = api.explain("job1")

    assert (told.ahead, told.pools, told.remedy) == ((), (), None)


def test_starts_are_forecast(api: HeadwayApi, server: ContractServer):
    for name in ("a", "b", "c"):
        server.queue.add(name)
    server.queue.foresight["a"] = {"expectedStart": "2026-01-02T04:00:00.000Z"}

    told = api.forecast(limit=2)

    assert [(job.job_name, job.expected_start) for job in told.jobs] == [("a", "2026-01-02T04:00:00.000Z"), ("b", None)]
    assert told.more
    assert [job.job_name for job in api.forecast("c").jobs] == ["c"]
    with pytest.raises(JobNotFoundError):
        api.forecast("nobody")


def test_changes_are_simulated(api: HeadwayApi, server: ContractServer):
    server.queue.foresight["what-if"] = {"starts": ["a"], "preempts": ["b"]}
    changes: list[dict[str, Any]] = [
        {"change": "withdraw", "jobName": "a"},
        {"change": "resize", "pool": "ml.a", "size": 3},
    ]

    told = api.what_if(iter(changes))

    assert (told.starts, told.preempts, told.moved) == (("a",), ("b",), ())
    assert json.loads(server.received[0].body) == {"changes": changes}


def test_a_refusal_of_the_queue_is_reported_in_its_own_words(api: HeadwayApi, server: ContractServer):
    sentence = "user/bob may not stop `job1`: only its owner (user/ada) may"
    refusal = {"error": {"code": "NotAllowed", "message": sentence, "fields": []}, "requestId": "r1"}
    server.fail(Fault(status=403, body=json.dumps(refusal).encode()))

    with pytest.raises(NotAllowedError) as caught:
        api.stop_job("job1")
    assert (str(caught.value), caught.value.code, exit_code_of(caught.value)) == (sentence, "NotAllowed", 6)


# ------------------------------------------------------------------------------------------------------- old servers


@pytest.mark.parametrize(
    ("text", "known"),
    [("2030-03-17T17:46:40.000Z", True), ("", False), ("tomorrow", False), ("9999-99-99", False)],
)
def test_the_queues_time_is_that_of_its_last_response(api: HeadwayApi, server: ContractServer, text: str, known: bool):
    before_s = time.time()
    assert before_s <= api.now_s() <= time.time()
    server.fail(Fault(status=200, body=b'{"version": "0.1.0", "api": 1}', headers={"Headway-Time": text}))
    api.version()
    found_s = api.now_s()
    assert found_s == 1_900_000_000 if known else before_s <= found_s <= time.time()
    server.fail(Fault(status=403, body=b'{"message": "Forbidden"}'))
    with pytest.raises(ClientError):
        api.version()
    assert (api.now_s() == 1_900_000_000) is known
    api.version()
    assert api.now_s() == datetime.fromisoformat(QUEUE_TIME).timestamp()


def test_versions_are_reported_and_remembered(api: HeadwayApi, server: ContractServer):
    assert getattr(api, "server_version") is None  # noqa: B009
    assert (api.version().version, api.version().api) == ("0.1.0", 1)
    assert api.server_version == "0.1.0"
    server.fail(Fault(status=403, body=b'{"message": "Forbidden"}'))
    with pytest.raises(ClientError):
        api.capacity()
    assert api.server_version == "0.1.0"


NEW_CALLS: dict[str, Callable[[HeadwayApi], object]] = {
    "dry_run": lambda api: api.dry_run(request()),
    "explain": lambda api: api.explain("job1"),
    "forecast": lambda api: api.forecast(),
    "what_if": lambda api: api.what_if([]),
    "hold": lambda api: api.hold("job1"),
    "release": lambda api: api.release("job1"),
    "submit_many": lambda api: api.submit_many([request()]),
    "version": lambda api: api.version(),
    "filters": lambda api: list(api.list_jobs(mine=True)),
}


@pytest.mark.parametrize(
    "answer", [None, Fault(status=404, body=b'{"error": {"code": "JobNotFound", "message": "m"}}')]
)
@pytest.mark.parametrize("call", NEW_CALLS.values(), ids=NEW_CALLS)
def test_a_too_old_server_is_reported_and_nothing_is_submitted(
    api: HeadwayApi, server: ContractServer, call: Callable[[HeadwayApi], object], answer: Fault | None
):
    server.queue.server_version = None
    if answer is not None and call is not NEW_CALLS["filters"]:
        server.fail(answer)

    with pytest.raises(ServerTooOldError, match="older than this client") as caught:
        call(api)
    assert exit_code_of(caught.value) == 10
    assert server.queue.jobs == {}


def test_a_foreign_endpoint_is_not_reported_as_an_old_server(api: HeadwayApi, server: ContractServer):
    gateway = Fault(status=403, body=b'{"message": "Missing Authentication Token"}')
    server.fail(gateway, gateway)

    with pytest.raises(NotAllowedError, match="stage"):
        api.forecast()
