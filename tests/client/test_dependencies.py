"""What is submitted for a job that depends on others, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from botocore.credentials import Credentials

from headway_client.alternatives import with_alternatives
from headway_client.cli.output.dependencies import MAX_GRAPH_JOBS
from headway_client.dependencies import with_dependencies
from headway_client.errors import RefusedError, UsageError
from headway_client.http.api import HeadwayApi
from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from tests.client.command_line import Run, Write
from tests.client.conftest import FAST
from tests.client.fakes.contract import request
from tests.client.fakes.handler_server import serving
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer
from tests.client.pages import example
from tests.client.test_real_handler import handler  # noqa: F401  # a fixture

P5 = "ml.p5.48xlarge"


@pytest.fixture
def api(handler: ModuleType) -> Iterator[HeadwayApi]:  # noqa: F811
    with serving(handler.handler) as endpoint:
        yield HeadwayApi(endpoint, region=REGION, credentials=Credentials(ACCESS_KEY, SECRET_KEY), limits=FAST)


def depends_on(*others: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"job": job, "condition": condition, "ended": None} for job, condition in others]


def test_a_request_with_dependencies_is_an_item_that_names_them() -> None:
    listed = [{"job": "a", "condition": "ok"}, {"job": "b", "condition": "failed"}]
    assert with_dependencies(request("c"), ["a", "b:failed"]) == {"jobDetails": request("c"), "dependsOn": listed}
    other = {"ResourceConfig": {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 1}}
    body = with_alternatives(request("c"), [other])
    assert with_dependencies(body, "a") == {**body, "dependsOn": listed[:1]}


def test_a_request_without_dependencies_is_submitted_as_it_is() -> None:
    assert with_dependencies(request("a"), []) == request("a")


@pytest.mark.parametrize("text", ["", ":ok", "a:", "a:done", "a:ok:any"])
def test_what_is_no_dependency_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a job to wait for; write NAME, or NAME:CONDITION with one of "):
        with_dependencies(request("a"), text)


def test_a_job_that_depends_on_others_is_submitted_and_shown(api: HeadwayApi) -> None:
    queue = TrainingQueue(api=api)
    queue.submit(request("prepare"))
    queue.submit(request("train"), after="prepare")
    queue.map(request("evaluate"), [None], ["evaluate"], after=["train:any", "prepare"])
    details = api.get_job("evaluate")
    assert [(each.job, each.condition, each.ended) for each in details.depends_on] == [
        ("train", "any", None),
        ("prepare", "ok", None),
    ]
    assert api.get_job("prepare").dependants == ("train", "evaluate")
    assert details.place is None
    explanation = api.explain("train")
    assert explanation.reason.code == "WaitsForJobs"
    assert explanation.note.startswith("It is in no queue until these jobs have ended: `prepare`.")
    assert {each.job_name: each.after for each in api.forecast().jobs}["evaluate"] == ("train", "prepare")
    run = api.dry_run(with_dependencies(request("more"), "train"))
    assert run.expected_start is None
    assert run.job.reason.message == (
        "waits until `train` has completed; then it enters the queue; `train` waits now, too: "
        "waits until `prepare` has completed; then it enters the queue"
    )


def test_a_dependency_that_the_queue_refuses_is_an_error_with_its_field(api: HeadwayApi) -> None:
    with pytest.raises(RefusedError, match="the job cannot depend on `missing`, which is not in the queue"):
        api.submit(with_dependencies(request("a"), "missing"))


def test_the_command_line_submits_after_other_jobs(run: Run, request_file: Write, server: ContractServer) -> None:
    path = request_file(request("a"))
    assert run("submit", path, "--after", "b, c:any", "--after", "d:failed")[0] == 0
    body = json.loads(server.received[-1].body)
    assert body["dependsOn"] == [
        {"job": "b", "condition": "ok"},
        {"job": "c", "condition": "any"},
        {"job": "d", "condition": "failed"},
    ]
    code, _, err = run("submit", path, "--after", "b:done")
    assert (code, "'b:done' is not a job to wait for" in err) == (2, True)


def test_a_list_has_what_jobs_wait_for(run: Run, server: ContractServer) -> None:
    server.queue.add("plain")
    ended = {"job": "x", "condition": "ok", "ended": "completed"}
    server.queue.add("a", dependsOn=[*depends_on(("b", "ok"), ("c", "any")), ended])
    rows = run("queue", "-O", "name,after", "--sort", "name")[1].splitlines()[2:]
    assert rows == ["a         b, c:any", "plain     -"]


def test_a_forecast_has_what_jobs_wait_for(run: Run, server: ContractServer) -> None:
    server.queue.add("a")
    server.queue.foresight["a"] = {"after": ["b", "c"]}
    assert run("forecast")[1].splitlines()[2].endswith("  after b, c")


def test_a_job_is_shown_with_the_jobs_around_it(run: Run, server: ContractServer) -> None:
    server.queue.add("fetch", dependants=["clean", "train"])
    server.queue.add("clean", dependsOn=depends_on(("fetch", "ok")), dependants=["train"])
    awaited = depends_on(("clean", "ok"), ("fetch", "any"), ("gone", "any"))
    server.queue.add("train", dependsOn=awaited, dependants=["x"])
    server.queue.add("x", dependsOn=depends_on(("train", "failed")), dependants=["y"])
    server.queue.add("y", dependsOn=depends_on(("x", "ok")))
    parts = run("show", "train")[1].split("\n\n")
    assert [line.rstrip() for line in parts[-2].splitlines()] == [
        "Depends On",
        "Job Name  Condition  State",
        "--------  ---------  -------",
        "clean     ok         pending",
        "| fetch   ok         pending",
        "fetch     any        pending",
        "gone      any        -",
    ]
    assert [line.rstrip() for line in parts[-1].splitlines()] == [
        "Dependants",
        "Job Name  Condition  State",
        "--------  ---------  -------",
        "x         failed     pending",
        "| y       ok         pending",
    ]


def test_the_jobs_around_a_job_are_read_up_to_a_limit(run: Run, server: ContractServer) -> None:
    names = [f"job{i:03}" for i in range(MAX_GRAPH_JOBS + 2)]
    for name, other in pairwise(names):
        server.queue.add(name, dependsOn=depends_on((other, "ok")))
    server.queue.add(names[-1])
    before = len(server.received)
    rows = run("show", names[0])[1].split("\n\n")[-1].splitlines()[3:]
    assert len(server.received) - before == MAX_GRAPH_JOBS + 1
    assert rows[-1].replace("| ", "").split() == [names[-1], "ok", "-"]


def test_the_example_of_the_page_is_run(api: HeadwayApi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HEADWAY_ENDPOINT": api.endpoint, "HEADWAY_REGION": REGION}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    requests = {name: request(name) for name in ("prepare", "train", "report")}
    exec(example("docs/how-to/dependencies.md", "Submit a job after others"), requests)
    assert [each.job for each in api.get_job("report").depends_on] == ["prepare", "train"]
