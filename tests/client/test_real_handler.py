"""The client against the handler that is deployed: what both sides were told of each other is true."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

import pytest
from botocore.credentials import Credentials

from headway.reasons import outside
from headway_client.api import HeadwayApi
from headway_client.errors import ClientError, ConflictError, JobNotFoundError, RefusedError
from headway_service import transitions
from headway_service.memory import MemoryTable
from headway_service.records import ReasonRecord, RogueRecord
from tests.client.conftest import FAST
from tests.client.contract import request
from tests.client.handler_server import MemoryStore, serving
from tests.client.server import ACCESS_KEY, REGION, SECRET_KEY


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name, value in {
        "HEADWAY_TABLE": "table",
        "HEADWAY_CONFIG_PARAMETER": "/headway/config",
        "HEADWAY_RETENTION_DAYS": "30",
        "HEADWAY_WAKE_QUEUE_URL": "https://sqs.invalid/wake.fifo",
        "POWERTOOLS_TRACE_DISABLED": "true",
        "AWS_DEFAULT_REGION": REGION,
    }.items():
        monkeypatch.setenv(name, value)
    module = importlib.import_module("functions.api.app")
    services = module.Services.from_environment()
    services.table = MemoryTable()
    services.store = MemoryStore({"pools": {"ml.p5.48xlarge": {"size": 2}}})
    monkeypatch.setattr(services, "wake", lambda _: None)
    monkeypatch.setattr(module, "services", services)
    return module


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
    assert real_api.stop_job("job2").state == "stopped"
    assert real_api.stop_job("job2").state == "stopped"
    details = real_api.get_job("job1")
    assert details.request == request("job1")
    assert details.job.owner == "arn:aws:iam::123456789012:user/ada"
    assert details.history[0].state == "pending"
    assert [job.name for job in real_api.list_jobs(states=["stopped"])] == ["job2"]


def test_what_bypassed_the_queue_is_told(real_api: HeadwayApi, handler: ModuleType):
    real_api.submit(request("job1"))
    names = [f"past{number:03}" for number in range(101)]
    for name in names:
        charged = {"ml.p5.48xlarge": 1} if name == "past000" else {}
        handler.services.table.write(
            transitions.see_rogue(
                RogueRecord(
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
def test_what_can_not_run_is_refused_by_name(real_api: HeadwayApi, changes: dict[str, object], field: str):
    document = {name: value for name, value in request("job1", **changes).items() if value is not None}

    with pytest.raises(RefusedError) as caught:
        real_api.submit(document)
    assert field in str(caught.value)
    assert list(real_api.list_jobs()) == []


def test_conflicts_and_missing_jobs_are_told_apart(real_api: HeadwayApi):
    real_api.submit(request("job1"))

    with pytest.raises(ConflictError) as caught:
        real_api.submit(request("job1", RoleArn="arn:aws:iam::123456789012:role/other"))
    assert caught.value.code == "NameInUse"
    with pytest.raises(JobNotFoundError):
        real_api.get_job("nobody")
    with pytest.raises(ClientError):
        real_api.get_job("no such/name")


def test_capacity_and_configuration_are_read_and_set(real_api: HeadwayApi):
    assert real_api.put_config({"pools": {"ml.p5.48xlarge": {"size": 3}}}).settings["pools"] == {
        "ml.p5.48xlarge": {"size": 3}
    }
    pool = real_api.capacity().pools[0]
    assert (pool.pool, pool.size, pool.free, pool.waiting) == ("ml.p5.48xlarge", 3, 3, 0)
    with pytest.raises(RefusedError) as caught:
        real_api.put_config({"pools": {"ml.p5.48xlarge": {"size": -1}}})
    assert caught.value.fields
    assert real_api.get_config().version == 2
