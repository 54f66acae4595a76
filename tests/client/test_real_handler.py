"""The client with the deployed handler: the fake API of the other tests agrees with it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from botocore.credentials import Credentials

from headway.reasons import outside
from headway_client import __version__
from headway_client.cli.main import main
from headway_client.errors import (
    BatchRefusedError,
    ClientError,
    ConfigurationChangedError,
    ConflictError,
    JobNotFoundError,
    JobStoppedError,
    RefusedError,
    VersionNotFoundError,
)
from headway_client.http.api import HeadwayApi
from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from headway_service.store import transitions
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.client.conftest import FAST
from tests.client.fakes.contract import request
from tests.client.fakes.handler_server import serving
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name, value in {
        "HEADWAY_TABLE": "table",
        "HEADWAY_FIRST_CONFIGURATION": '{"pools": {"ml.p5.48xlarge": {"size": 2}}}',
        "HEADWAY_RETENTION_DAYS": "30",
        "HEADWAY_WAKE_QUEUE_URL": "https://sqs.invalid/wake.fifo",
        "POWERTOOLS_TRACE_DISABLED": "true",
        "AWS_DEFAULT_REGION": REGION,
    }.items():
        monkeypatch.setenv(name, value)
    module = importlib.import_module("functions.api.app")
    container = module.ApiContainer.from_environment()
    container.table = MemoryTable()
    monkeypatch.setattr(container, "wake", lambda _: None)
    monkeypatch.setattr(module, "container", container)
    return module


def begin_with(handler: ModuleType, document: Mapping[str, Any]) -> None:
    """Let the queue begin with a configuration."""
    container = handler.container
    container.settings = replace(container.settings, first_configuration=json.dumps(document))


@pytest.fixture
def real_api(handler: ModuleType) -> Iterator[HeadwayApi]:
    with serving(handler.handler) as endpoint:
        yield HeadwayApi(endpoint, region=REGION, credentials=Credentials(ACCESS_KEY, SECRET_KEY), limits=FAST)


def test_jobs_are_submitted_listed_shown_changed_and_stopped(real_api: HeadwayApi):
    first = real_api.submit(request("job1"))
    again = real_api.submit(request("job1"))
    real_api.submit(request("job2", Tags=[{"Key": "priority", "Value": "5"}]))

    assert (first.created, again.created) == (True, False)
    assert [(job.name, job.priority, job.place) for job in real_api.list_jobs()] == [("job2", 5, 1), ("job1", 0, 2)]
    assert [job.name for job in real_api.list_jobs(states=["running", "pending"], limit=1)] == ["job2"]
    assert real_api.set_priority("job1", 9).place == 1
    changed = real_api.change_job("job2", max_runtime_s=60)
    assert changed.limit_seconds is not None
    assert changed.limit_seconds < real_api.get_job("job1").job.limit_seconds  # type: ignore[operator]
    assert real_api.set_comment("job2", "a note").comment == "a note"
    stopped = real_api.stop_job("job2", "wrong data")
    assert (stopped.state, stopped.reason.message) == ("stopped", "stopped by user/ada while it waited: wrong data")
    assert real_api.stop_job("job2").state == "stopped"
    details = real_api.get_job("job1")
    assert details.request == request("job1")
    assert details.job.owner == "arn:aws:iam::123456789012:user/ada"
    assert details.history[0].state == "pending"
    assert [job.name for job in real_api.list_jobs(states=["stopped"])] == ["job2"]


def test_rogue_jobs_are_reported(real_api: HeadwayApi, handler: ModuleType):
    real_api.submit(request("job1"))
    names = [f"past{number:03}" for number in range(101)]
    for name in names:
        charged = {"ml.p5.48xlarge": 1} if name == "past000" else {}
        handler.container.table.write(
            transitions.charge_rogue(
                RogueJobRecord(
                    training_job_name=name, arn="arn", created_ms=1, training_job_status="InProgress", demand=charged,
                    charged=charged, limit_ms=1, since_ms=1, seen_ms=1, config_version=1,
                    reason=ReasonRecord.of(outside(charged, ())),
                )
            )
        )  # fmt: skip

    rogues = real_api.rogue_jobs()
    assert ([rogue.name for rogue in rogues.jobs], rogues.more) == (names[:100], True)
    assert (rogues.jobs[0].status, rogues.jobs[0].charged) == ("InProgress", {"ml.p5.48xlarge": 1})
    pool = real_api.capacity().pools[0]
    assert (pool.rogue, pool.free) == (1, 1)


def test_many_jobs_are_listed_over_pages(real_api: HeadwayApi):
    names = [f"job{number:03}" for number in range(205)]
    for name in names:
        real_api.submit(request(name))

    assert [job.name for job in real_api.list_jobs()] == names


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"TrainingJobName": "x" * 70}, "TrainingJobName"),
        ({"RoleArn": None}, "RoleArn"),
        ({"ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 0, "VolumeSizeInGB": 1}}, "Count"),
        ({"ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1}}, "ml.g5.xlarge"),
        ({"ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 3, "VolumeSizeInGB": 1}}, "2"),
    ],
)
def test_an_object_that_can_not_be_submitted_is_refused_by_name(
    real_api: HeadwayApi, changes: dict[str, object], field: str
):
    document = {name: value for name, value in request("job1", **changes).items() if value is not None}

    with pytest.raises(RefusedError) as caught:
        real_api.submit(document)
    assert field in str(caught.value)
    assert list(real_api.list_jobs()) == []


def test_conflicts_and_missing_jobs_have_different_errors(real_api: HeadwayApi):
    real_api.submit(request("job1"))

    with pytest.raises(ConflictError) as caught:
        real_api.submit(request("job1", RoleArn="arn:aws:iam::123456789012:role/other"))
    assert caught.value.code == "NameInUse"
    with pytest.raises(JobNotFoundError):
        real_api.get_job("nobody")
    with pytest.raises(ClientError):
        real_api.get_job("no such/name")


def test_capacity_and_configuration_are_read_and_set(real_api: HeadwayApi):
    assert real_api.put_config({"pools": {"ml.p5.48xlarge": {"size": 3}}}, if_version=1).settings["pools"] == {
        "ml.p5.48xlarge": {"size": 3}
    }
    pool = real_api.capacity().pools[0]
    assert (pool.pool, pool.size, pool.free, pool.waiting) == ("ml.p5.48xlarge", 3, 3, 0)
    with pytest.raises(RefusedError) as caught:
        real_api.put_config({"pools": {"ml.p5.48xlarge": {"size": -1}}}, if_version=2)
    assert caught.value.fields
    assert real_api.get_config().version == 2


def test_a_summary_is_read_and_one_that_is_known_is_not_sent_again(real_api: HeadwayApi, handler: ModuleType):
    real_api.submit(request("job1"))
    found = real_api.summary()
    assert found is not None
    assert [each.job_name for each in found.waiting] == ["job1"]
    assert (found.pools[0].pool, found.counts.waiting) == ("ml.p5.48xlarge", 1)
    assert real_api.summary(found.version) is None
    assert real_api.capacity().pools


def test_the_effects_of_a_configuration_are_told_and_nothing_is_set(real_api: HeadwayApi):
    found = real_api.config_effects({"pools": {"ml.p5.48xlrge": {"size": 3}}, "version": 7})
    assert found.version == real_api.get_config().version == 1
    assert [each.field for each in found.changes] == ["pools.ml.p5.48xlarge", "pools.ml.p5.48xlrge"]
    assert [(each.code, each.names) for each in found.effects] == [("UnknownType", ("ml.p5.48xlrge",))]
    with pytest.raises(RefusedError) as caught:
        real_api.config_effects({"pools": {"ml.p5.48xlarge": {"size": -1}}})
    assert [each.field for each in caught.value.fields] == ["pools.ml.p5.48xlarge.size"]


def test_each_change_of_the_configuration_is_recorded_with_its_author(real_api: HeadwayApi):
    assert real_api.get_config().version == 1
    real_api.put_config({"pools": {"ml.p5.48xlarge": {"size": 3}}}, if_version=1, reason="more room")
    real_api.resize("ml.p5.48xlarge", 4, reason="still more")
    found = real_api.config_history()
    assert [(each.version, each.reason) for each in found.versions] == [(3, "still more"), (2, "more room"), (1, "")]
    newest = found.versions[0]
    assert newest.by
    assert [(each.field, each.message) for each in newest.changes] == [("pools.ml.p5.48xlarge.size", "3 → 4")]
    assert len(real_api.config_history(limit=2).versions) == 2
    version = real_api.config_version(2)
    assert (version.settings["pools"], version.since) == ({"ml.p5.48xlarge": {"size": 3}}, 1)
    assert [each.message for each in real_api.config_version(3, since=1).changes] == ["2 → 4"]
    with pytest.raises(VersionNotFoundError, match="headway config history"):
        real_api.config_version(9)
    with pytest.raises(RefusedError):
        real_api.put_config({"pools": {"ml.p5.48xlarge": {"size": 3}}}, if_version=3, reason="two\nlines")


def test_what_operators_have_done_is_listed_with_who_and_why(real_api: HeadwayApi):
    real_api.get_config()
    real_api.pause("the cooling is repaired")
    real_api.drain("ml.p5.48xlarge", "moves", stop=True)
    real_api.resume()
    real_api.resize("ml.p5.48xlarge", 3, reason="more room")
    forgotten = "arn:aws:iam::123456789012:user/eve"
    token = real_api.forget(forgotten).next_token
    while token is not None:
        token = real_api.forget(forgotten, token).next_token
    found = real_api.actions().actions
    assert [(each.action, each.target, each.reason) for each in found] == [
        ("forget", "the name of an owner", ""),
        ("configure", "2", "more room"),
        ("resume", "all pools", ""),
        ("drain", "ml.p5.48xlarge", "moves"),
        ("pause", "all pools", "the cooling is repaired"),
        ("configure", "1", ""),
    ]
    assert {each.by for each in found[:-1]} == {"user/ada"}
    assert found[0].message == "user/ada took the name of an owner out of the table"
    assert "eve" not in str([each.document for each in found])


def test_a_configuration_that_has_changed_is_not_replaced(real_api: HeadwayApi):
    shown = real_api.get_config().settings
    real_api.resize("ml.p5.48xlarge", 3)
    with pytest.raises(ConfigurationChangedError, match=r"pools\.ml\.p5\.48xlarge\.size: 2 → 3"):
        real_api.put_config(shown)
    assert real_api.put_config(real_api.get_config().settings).version == 3


def test_a_training_queue_maps_lists_waits_and_stops(real_api: HeadwayApi):
    queue = TrainingQueue(api=real_api)
    queue.submit(request("b"))

    with pytest.raises(BatchRefusedError, match="1 of 3 jobs were refused, and 2 are in the queue"):
        queue.map(request(), [None] * 3, ["a", "b", "c"], priority=5, timeout={"attemptDurationSeconds": 60})

    assert [job.job_name for job in queue.list_jobs()] == ["a", "c", "b"]
    job = queue.get_job("c")
    assert job.update(0).priority == 0
    assert [job.terminate("enough").state for _ in range(2)] == ["stopped", "stopped"]
    assert [job.job_name for job in queue.list_jobs(status="FAILED")] == ["c"]
    with pytest.raises(JobStoppedError, match="c was stopped"):
        job.result(timeout=0, tell=None)


# ------------------------------------------------------------------------------------------ what older servers have not

TAG = [{"Key": "priority", "Value": "5"}]


def test_both_sides_report_their_versions(real_api: HeadwayApi):
    server = real_api.version()

    assert (server.version, server.api, real_api.server_version) == (__version__, 1, __version__)


def test_a_refusal_has_the_servers_version_too(real_api: HeadwayApi):
    for call in (real_api.explain, real_api.hold, real_api.release, real_api.forecast):
        with pytest.raises(JobNotFoundError):
            call("nobody")
    assert real_api.server_version == __version__


def test_a_submission_with_the_same_key_counts_as_created_again(real_api: HeadwayApi):
    created = [
        real_api.submit(request("job1"), idempotency_key=key).created for key in ("key-1", "key-1", "key-2", None)
    ]

    assert created == [True, True, False, False]
    with pytest.raises(RefusedError) as caught:
        real_api.submit(request("job2"), idempotency_key="no key!")
    assert [field.field for field in caught.value.fields] == ["Idempotency-Key"]


def test_many_requests_are_submitted_and_each_is_reported(real_api: HeadwayApi):
    real_api.submit(request("known"))

    results = real_api.submit_many(
        [request("new"), request("known"), request("known", RoleArn="arn:aws:iam::123456789012:role/b"), {}]
    )

    assert [result.submission.created if result.submission else None for result in results] == [True, False, None, None]
    assert isinstance(results[2].error, ConflictError)
    assert isinstance(results[3].error, RefusedError)
    assert "TrainingJobName" in [field.field for field in results[3].error.fields]
    names = [f"job{number:03}" for number in range(120)]
    assert all(result.error is None for result in real_api.submit_many(request(name) for name in names))


def test_a_job_is_held_and_released(real_api: HeadwayApi):
    real_api.submit(request("job1"))
    real_api.submit(request("job2"))

    held = real_api.hold("job1")
    assert (held.held, held.place, held.reason.code) == (True, None, "Held")
    assert {job.name: job.held for job in real_api.list_jobs()} == {"job1": True, "job2": False}
    assert (real_api.release("job1").held, real_api.release("job1").place) == (False, 1)
    real_api.stop_job("job2")
    with pytest.raises(ConflictError):
        real_api.hold("job2")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"mine": True}, ["bert", "gpt"]),
        ({"owner": "arn:aws:iam::123456789012:user/ada", "name_contains": "er"}, ["bert"]),
        ({"owner": "arn:aws:iam::123456789012:user/bob"}, []),
        ({"team": "nlp"}, []),
    ],
    ids=str,
)
def test_listings_are_filtered(real_api: HeadwayApi, filters: dict[str, Any], expected: list[str]):
    real_api.submit(request("bert"))
    real_api.submit(request("gpt"))

    assert [job.name for job in real_api.list_jobs(**filters)] == expected


def test_a_dry_run_prints_its_result_and_stores_nothing(real_api: HeadwayApi):
    run = real_api.dry_run(request("job1", Tags=TAG))

    assert (run.job.name, run.job.priority, run.job.place, run.preempts) == ("job1", 5, 1, ())
    assert run.expected_start is not None
    assert run.note
    assert list(real_api.list_jobs()) == []
    real_api.submit(request("job1"))
    with pytest.raises(ConflictError):
        real_api.dry_run(request("job1"))


def test_the_scheduler_explains_and_forecasts(real_api: HeadwayApi):
    for name in ("a", "b", "c"):
        real_api.submit(request(name))

    told = real_api.explain("c")
    assert (told.job_name, told.job_state, told.place, told.held) == (
        "c", "pending", real_api.get_job("c").job.place, False,
    )  # fmt: skip
    assert [job.job_name for job in told.ahead] == ["a", "b"]
    assert [pool.pool for pool in told.pools] == ["ml.p5.48xlarge"]
    forecast = real_api.forecast(limit=2)
    assert ([job.job_name for job in forecast.jobs], forecast.more) == (["a", "b"], True)
    (entry,) = real_api.forecast("c").jobs
    assert (entry.job_name, entry.place, entry.expected_start is not None) == ("c", told.place, True)
    real_api.stop_job("c")
    ended = real_api.explain("c")
    assert (ended.job_state, ended.ahead, ended.expected_start) == ("stopped", (), None)


def test_changes_are_simulated_and_not_made(real_api: HeadwayApi):
    for name in ("a", "b", "c"):
        real_api.submit(request(name))

    told = real_api.what_if(
        [
            {"change": "resize", "pool": "ml.p5.48xlarge", "size": 1},
            {"change": "submit", "request": request("d", Tags=TAG)},
            {"change": "withdraw", "jobName": "a"},
            {"change": "reprioritise", "jobName": "c", "priority": 9},
        ]
    )

    assert told.starts == ("c",)
    assert told.note
    assert [job.name for job in real_api.list_jobs()] == ["a", "b", "c"]
    with pytest.raises(RefusedError) as caught:
        real_api.what_if([{"change": "withdraw", "jobName": "a"}, {"change": "withdraw"}])
    assert caught.value.fields[0].field.startswith("changes.1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["queue", "--mine", "-o", "wide"], "bert"),
        (["show", "bert"], "Preempted 0 times"),
        (["why", "bert"], "Pools"),
        (["forecast", "bert", "-o", "csv"], "bert,pending,1,0,1 ml.p5.48xlarge,2"),
        (["what-if", "--withdraw", "bert"], "would be preempted"),
        (["hold", "bert"], "bert is pending"),
        (["release", "bert"], "place 1 in the queue"),
        (["history"], "No jobs."),
        (["version"], f"server {__version__} (API 1)"),
        (["doctor"], "the queue knows you as arn:aws:iam::123456789012:user/ada"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_command_line_shows_the_queues_response(
    real_api: HeadwayApi,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
):
    monkeypatch.setenv("HEADWAY_ENDPOINT", real_api.endpoint)
    monkeypatch.setenv("HEADWAY_REGION", REGION)
    real_api.submit(request("bert"))

    assert main(arguments) == 0
    assert words in capsys.readouterr().out


def test_a_what_if_of_an_unknown_job_exits_with_its_code_and_one_sentence(
    real_api: HeadwayApi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("HEADWAY_ENDPOINT", real_api.endpoint)
    monkeypatch.setenv("HEADWAY_REGION", REGION)
    assert main(["what-if", "--withdraw", "nope"]) == 4
    err = capsys.readouterr().err
    assert err.startswith("headway: changes.0.jobName: ")
    assert err.count("nope") == err.count("\n") == 1
