"""What is submitted for a job that an equal one may answer, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from botocore.credentials import Credentials

from headway.dependencies import Ending
from headway.lifecycle import JobState
from headway_client.dependencies import with_dependencies
from headway_client.errors import RefusedError, UsageError
from headway_client.http.api import HeadwayApi
from headway_client.job_sentences import job_sentence
from headway_client.reuse import with_reuse
from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from headway_service.bootstrap.settings import Settings
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import EndedAttempt, JobRecord
from headway_service.store.repository import get_job
from headway_service.testing.memory_objects import MemoryObjects
from headway_service.testing.memory_role_permissions import MemoryRolePermissions
from tests.client.command_line import Run, Write
from tests.client.conftest import FAST
from tests.client.fakes.contract import request
from tests.client.fakes.handler_server import serving
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer
from tests.client.pages import example
from tests.client.test_real_handler import handler  # noqa: F401  # a fixture

P5 = "ml.p5.48xlarge"
BUCKETS = {"HEADWAY_REUSE_BUCKET_ARNS": "arn:aws:s3:::bucket"}


@pytest.fixture
def objects(handler: ModuleType, monkeypatch: pytest.MonkeyPatch) -> MemoryObjects:  # noqa: F811
    container = handler.container
    container.objects = MemoryObjects({"bucket": {}})
    container.role_permissions = MemoryRolePermissions()
    for name, value in BUCKETS.items():
        monkeypatch.setenv(name, value)
    container.settings = Settings.of({**_environment(container.settings), **BUCKETS})
    return container.objects


def _environment(settings: Settings) -> dict[str, str]:
    return {
        "HEADWAY_TABLE": settings.table,
        "HEADWAY_FIRST_CONFIGURATION": settings.first_configuration,
        "HEADWAY_RETENTION_DAYS": "30",
    }


@pytest.fixture
def api(handler: ModuleType, objects: MemoryObjects) -> Iterator[HeadwayApi]:  # noqa: F811
    with serving(handler.handler) as endpoint:
        yield HeadwayApi(endpoint, region=REGION, credentials=Credentials(ACCESS_KEY, SECRET_KEY), limits=FAST)


def pinned(name: str, **changes: Any) -> dict[str, Any]:
    image = {"TrainingImage": f"image@sha256:{'a' * 64}", "TrainingInputMode": "File"}
    place = {"S3OutputPath": "s3://bucket/output"}
    return {**request(name), "AlgorithmSpecification": image, "OutputDataConfig": place, **changes}


def complete(handler: ModuleType, objects: MemoryObjects, name: str) -> None:  # noqa: F811
    """Have a job end as completed with a model."""
    table = handler.container.table
    job: JobRecord = get_job(table, name)
    attempt = EndedAttempt(
        attempt_name=f"{name}-1", number=1, since_ms=0, ended_ms=1, training_job_status="Completed", reason=job.reason
    )
    ended = {"job_state": JobState.COMPLETED, "attempts": (attempt,), "ended_ms": 1, "version": job.version + 1}
    moved = job.model_copy(update=ended)
    table.write([moved.put(was=job.version)])
    objects.put("bucket", f"output/{name}-1/output/model.tar.gz", b"model")
    handler.container.reuse.note_outputs(EndedJobRecord(job_name=name, ending=Ending.COMPLETED, dependants=()))


def test_a_request_with_reuse_is_an_item_that_says_so() -> None:
    assert with_reuse(request("a")) == {"jobDetails": request("a"), "reuse": True}
    both = with_reuse(with_dependencies(request("a"), "b"), unpinned=True)
    assert both == {**with_dependencies(request("a"), "b"), "reuse": True, "reuseUnpinned": True}
    assert with_reuse(request("a"), reuse=False) == request("a")
    with pytest.raises(UsageError, match="is for jobs with reuse; add reuse"):
        with_reuse(request("a"), reuse=False, unpinned=True)


def test_a_reused_job_is_shown_with_the_other_one(
    handler: ModuleType,  # noqa: F811
    objects: MemoryObjects,
    api: HeadwayApi,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api.submit(with_reuse(pinned("first")))
    complete(handler, objects, "first")
    second = api.submit(with_reuse(pinned("second")))

    assert (second.created, second.job.state, second.job.reused_from) == (True, "completed", "first")
    assert api.get_job("second").reused_attempt == "first-1"
    assert (api.get_job("first").job.reused_from, api.get_job("first").reused_attempt) == (None, None)
    assert second.job.reason.code == "Reused"
    monkeypatch.setenv("HEADWAY_ENDPOINT", api.endpoint)
    monkeypatch.setenv("HEADWAY_REGION", REGION)
    assert job_sentence(second.job) == "second has completed, with the outputs of first"
    assert job_sentence(api.get_job("first").job) == "first has completed"
    _, shown, _ = run("show", "second")
    assert "Reused    the outputs of first\n" in shown
    assert "completed without instances, with the outputs of `first`, which has computed the same" in shown


def test_boto3_finds_the_model_of_the_other_job(
    handler: ModuleType,  # noqa: F811
    objects: MemoryObjects,
    api: HeadwayApi,
) -> None:
    from headway_client.botocore_hooks import describe_response

    api.submit(with_reuse(pinned("first")))
    complete(handler, objects, "first")
    api.submit(with_reuse(pinned("second")))
    uncompressed = pinned("third", OutputDataConfig={"S3OutputPath": "s3://bucket/output", "CompressionType": "NONE"})
    api.submit(with_reuse(uncompressed))

    def described(name: str) -> dict[str, Any]:
        return describe_response.describe(api.get_job(name), region=REGION, members=set())

    found = described("second")
    assert (found["TrainingJobStatus"], found["SecondaryStatus"]) == ("Completed", "Completed")
    assert found["ModelArtifacts"] == {"S3ModelArtifacts": "s3://bucket/output/first-1/output/model.tar.gz"}
    assert described("third")["ModelArtifacts"] == {"S3ModelArtifacts": ""}
    complete(handler, objects, "third")
    api.submit(with_reuse({**uncompressed, "TrainingJobName": "fourth"}))
    assert api.get_job("fourth").reused_attempt == "third-1"
    assert described("fourth")["ModelArtifacts"] == {"S3ModelArtifacts": ""}


def test_a_job_that_waits_for_an_equal_one_names_it(objects: MemoryObjects, api: HeadwayApi) -> None:
    results = api.submit_many([with_reuse(pinned(name)) for name in ("first", "second")])
    (first, second) = [result.submission.job for result in results if result.submission]
    assert (first.depends_on, first.reused_from) == ((), None)
    assert [(each.job, each.condition, each.ended) for each in second.depends_on] == [("first", "any", None)]
    assert (second.state, second.place) == ("pending", None)


def test_a_program_is_told_at_once_whether_a_job_computes(
    handler: ModuleType,  # noqa: F811
    objects: MemoryObjects,
    api: HeadwayApi,
    capsys: pytest.CaptureFixture[str],
) -> None:
    queue = TrainingQueue(api=api)
    queue.submit(pinned("first"), reuse=True)
    complete(handler, objects, "first")
    queue.map(pinned("first"), [None, None], ["second", "third"], reuse=True)
    other = pinned("other", HyperParameters={"rate": "2"})
    queue.submit(other, reuse=True)

    first, second, third, fourth = capsys.readouterr().err.splitlines()
    assert first.startswith("headway: first waits")
    assert second == "headway: second has completed, with the outputs of first"
    assert third == "headway: third has completed, with the outputs of first"
    assert fourth.endswith(
        "computes, as no job that was submitted with reuse has the outputs of the same request, sources and inputs"
    )


def test_a_queue_without_buckets_says_what_to_set(handler: ModuleType, api: HeadwayApi) -> None:  # noqa: F811
    handler.container.settings = Settings.of(_environment(handler.container.settings))
    with pytest.raises(RefusedError, match="parameter ReuseBucketArns"):
        api.submit(with_reuse(pinned("first")))


def bodies(server: ContractServer) -> list[dict[str, Any]]:
    return [json.loads(each.body) for each in server.received if each.method == "POST"]


@pytest.mark.parametrize(
    ("options", "members"),
    [
        (["--reuse"], {"reuse": True}),
        (["--reuse-unpinned"], {"reuse": True, "reuseUnpinned": True}),
        (["--reuse", "--reuse-unpinned"], {"reuse": True, "reuseUnpinned": True}),
    ],
)
def test_the_command_line_asks_for_reuse(
    server: ContractServer, run: Run, request_file: Write, options: list[str], members: dict[str, bool]
) -> None:
    run("submit", request_file(request("a")), *options)
    assert bodies(server)[-1] == {"jobDetails": request("a"), **members}


def test_the_handle_to_the_queue_asks_for_reuse_of_one_job_and_of_many(objects: MemoryObjects, api: HeadwayApi) -> None:
    queue = TrainingQueue(api=api)
    queue.submit(pinned("a"), reuse=True)
    assert api.get_job("a").reason.code == "StartsNow"
    data = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/data"}}
    channels = [[{"ChannelName": "train", "DataSource": data}]] * 2
    unpinned = {**pinned("x"), "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"}}
    del unpinned["TrainingJobName"]
    queue.map(unpinned, channels, ["b", "c"], reuse=True, reuse_unpinned=True)
    assert [each.job for each in api.get_job("c").depends_on] == ["b"]


def test_the_example_of_the_page_is_run(
    objects: MemoryObjects, api: HeadwayApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HEADWAY_ENDPOINT": api.endpoint, "HEADWAY_REGION": REGION}.items():
        monkeypatch.setenv(name, value)
    names: dict[str, Any] = {name: pinned(name) for name in ("prepare", "train", "evaluate")}
    exec(example("docs/how-to/reuse.md", "Submit with reuse"), names)
    assert [each.job for each in api.get_job("train").depends_on] == ["prepare"]
    assert names["body"] == with_reuse(pinned("evaluate"))
