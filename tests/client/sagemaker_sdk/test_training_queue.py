from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from headway_client import TrainingQueue
from headway_client.cli.exit_codes import exit_code_of
from headway_client.errors import (
    MAX_LISTED_REFUSALS,
    BatchRefusedError,
    ConflictError,
    JobNotFoundError,
    RefusedError,
    UsageError,
)
from headway_client.http.api import HeadwayApi
from headway_client.sagemaker_sdk.submit_options import QueueOptions
from tests.client.fakes.contract import request
from tests.client.fakes.server import ContractServer, Fault
from tests.client.pages import example, headings

PROJECT = Path(__file__).parents[3]
SOURCES = (PROJECT / "client/src", PROJECT / "layers/core/src")


@pytest.fixture
def queue(api: HeadwayApi) -> TrainingQueue:
    return TrainingQueue(api=api)


def held(server: ContractServer, name: str = "job1") -> dict[str, Any]:
    return server.queue.jobs[name]["request"]


def tags(server: ContractServer, name: str = "job1") -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in held(server, name)["Tags"]}


# ------------------------------------------------------------------------------------------------- where the queue is


def test_a_queue_is_named_by_its_profile(server: ContractServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "profiles.toml"
    path.write_text(f'[profiles.ml-queue]\nendpoint = "{server.endpoint}"\nregion = "eu-west-1"\n')
    monkeypatch.setenv("HEADWAY_CONFIG_FILE", str(path))

    TrainingQueue("ml-queue").submit(request())

    assert list(server.queue.jobs) == ["job1"]


def test_a_queue_without_arguments_is_the_one_of_the_environment(server: ContractServer, endpoint_set: str):
    TrainingQueue().submit(request())

    assert list(server.queue.jobs) == ["job1"]


def test_a_missing_endpoint_is_reported_first():
    with pytest.raises(UsageError, match="export HEADWAY_ENDPOINT"):
        TrainingQueue()


# ------------------------------------------------------------------------------------------------------------- submit


def test_a_plain_request_arrives_as_it_is(queue: TrainingQueue, server: ContractServer):
    parameters = request()

    job = queue.submit(parameters)

    assert job.job_name == "job1"
    assert repr(job) == "QueuedJob('job1')"
    assert json.loads(server.received[0].body) == request()
    assert parameters == request()


def test_name_and_inputs_replace_those_of_a_plain_request(queue: TrainingQueue, server: ContractServer):
    channels = [{"ChannelName": "train", "DataSource": {"S3DataSource": {"S3Uri": "s3://data/1"}}}]

    assert queue.submit(request("old"), channels, "new").job_name == "new"

    assert held(server, "new")["InputDataConfig"] == channels


def test_a_request_without_a_name_is_not_sent(queue: TrainingQueue, server: ContractServer):
    with pytest.raises(UsageError, match="no TrainingJobName: add it, or give job_name"):
        queue.submit({"RoleArn": "arn"})
    assert server.received == []


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [
        pytest.param(None, None, 0, id="nobody-says-one"),
        pytest.param("7", None, 7, id="the-tag-stays"),
        pytest.param("7", 5, 5, id="what-is-given-counts-before-the-tag"),
        pytest.param("7", 0, 0, id="zero-counts"),
    ],
)
def test_the_priority_is_the_given_one_or_else_the_tags(
    queue: TrainingQueue, server: ContractServer, own: str | None, given: int | None, expected: int
):
    own_tags = [] if own is None else [{"Key": "headway:priority", "Value": own}]

    queue.submit(request(Tags=own_tags), priority=given)

    assert server.queue.jobs["job1"]["priority"] == expected
    assert [tag for tag in held(server)["Tags"] if "priority" in tag["Key"]] == [
        {"Key": "headway:priority" if given is None else "priority", "Value": str(expected)}
        for _ in range(own is not None or given is not None)
    ]


def test_a_share_identifier_is_the_team(queue: TrainingQueue, server: ContractServer):
    queue.submit(request(Tags=[{"Key": "headway:team", "Value": "vision"}]), share_identifier="research")

    assert tags(server) == {"team": "research"}


def test_tags_are_added_to_those_of_the_training_job(queue: TrainingQueue, server: ContractServer):
    own = [{"Key": "project", "Value": "x"}, {"Key": "cost", "Value": "1"}]

    queue.submit(request(Tags=own), tags={"cost": "2", "owner": "ada"})

    assert tags(server) == {"project": "x", "cost": "2", "owner": "ada"}


def test_tags_other_than_a_list_are_reported(queue: TrainingQueue):
    with pytest.raises(UsageError, match="Tags has to be a list"):
        queue.submit(request(Tags={"cost": "1"}), tags={"cost": "2"})


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param(None, {"MaxRuntimeInSeconds": 7200}, id="none-of-its-own"),
        pytest.param({"MaxRuntimeInSeconds": 60}, {"MaxRuntimeInSeconds": 7200}, id="another"),
        pytest.param(
            {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 90},
            {"MaxRuntimeInSeconds": 7200, "MaxWaitTimeInSeconds": 7200},
            id="spot-with-less-to-wait",
        ),
        pytest.param(
            {"MaxWaitTimeInSeconds": 9000, "MaxPendingTimeInSeconds": 7300},
            {"MaxRuntimeInSeconds": 7200, "MaxWaitTimeInSeconds": 9000, "MaxPendingTimeInSeconds": 7300},
            id="spot-with-more-to-wait",
        ),
    ],
)
def test_the_timeout_of_an_attempt_is_its_runtime_limit(
    queue: TrainingQueue, server: ContractServer, condition: dict[str, int] | None, expected: dict[str, int]
):
    queue.submit(request(StoppingCondition=condition), timeout={"attemptDurationSeconds": 7200})

    assert held(server)["StoppingCondition"] == expected


@given(
    condition=st.fixed_dictionaries(
        {},
        optional={
            "MaxRuntimeInSeconds": st.integers(1, 10**6),
            "MaxWaitTimeInSeconds": st.integers(1, 10**6),
            "MaxPendingTimeInSeconds": st.integers(1, 10**6),
        },
    ),
    runtime_s=st.integers(1, 10**6),
)
def test_no_timeout_makes_a_condition_that_sagemaker_refuses(condition: dict[str, int], runtime_s: int):
    options = QueueOptions(timeout={"attemptDurationSeconds": runtime_s})

    changed = options.applied_to({"StoppingCondition": condition})["StoppingCondition"]

    assert changed["MaxRuntimeInSeconds"] == runtime_s
    assert changed.keys() == condition.keys() | {"MaxRuntimeInSeconds"}
    assert changed.get("MaxWaitTimeInSeconds", runtime_s) >= runtime_s
    assert changed.get("MaxPendingTimeInSeconds") == condition.get("MaxPendingTimeInSeconds")


WRONG: list[Any] = [
    pytest.param({"timeout": {}}, "attemptDurationSeconds", id="timeout-without-a-duration"),
    pytest.param({"timeout": {"attemptDurationSeconds": 0}}, "attemptDurationSeconds", id="timeout-of-nothing"),
    pytest.param({"timeout": {"attemptDurationSeconds": True}}, "attemptDurationSeconds", id="timeout-of-true"),
    pytest.param({"timeout": {"attemptDurationSeconds": 1, "x": 2}}, "attemptDurationSeconds", id="timeout-and-more"),
    pytest.param({"timeout": 3600}, "attemptDurationSeconds", id="timeout-as-a-number"),
    pytest.param({"retry_config": {"attempts": 3}}, "the queue's policy", id="retries"),
    pytest.param({"retry_config": {}}, "the queue's policy", id="empty-retries"),
    pytest.param({"experiment_config": {"TrialName": "t"}}, "ExperimentConfig", id="an-experiment-of-a-request"),
]


@pytest.mark.parametrize("call", [lambda q, **o: q.submit(request(), **o), lambda q, **o: q.map(request(), [1], **o)])
@pytest.mark.parametrize(("options", "told"), WRONG)
def test_unsupported_arguments_are_refused_and_not_dropped(
    queue: TrainingQueue, server: ContractServer, call: Callable[..., Any], options: dict[str, Any], told: str
):
    with pytest.raises(UsageError, match=told):
        call(queue, **options)
    assert server.received == []


@pytest.mark.parametrize("wrong", [None, "job1", object(), [request()]])
def test_an_object_without_a_training_job_is_reported(queue: TrainingQueue, wrong: object):
    with pytest.raises(UsageError, match=f"or a dict with the parameters .* not {type(wrong).__name__}"):
        queue.submit(wrong)


def test_a_refusal_names_every_field(queue: TrainingQueue):
    with pytest.raises(RefusedError, match=r"ResourceConfig\.InstanceCount: ask for at most 2"):
        queue.submit(request(ResourceConfig={"InstanceType": "ml.p5.48xlarge", "InstanceCount": 3}))


def test_a_repeated_request_is_reported_as_the_same_job(
    queue: TrainingQueue, server: ContractServer, caplog: pytest.LogCaptureFixture
):
    queue.submit(request())

    assert queue.submit(request()).job_name == "job1"
    assert "already has this request as job1; nothing was added" in caplog.text
    assert len(server.queue.jobs) == 1


def test_another_request_under_the_name_is_a_conflict(queue: TrainingQueue):
    queue.submit(request())

    with pytest.raises(ConflictError, match="choose another name"):
        queue.submit(request(), priority=5)


# ---------------------------------------------------------------------------------------------------------------- map


def test_a_map_is_one_call_with_a_job_for_each_input(queue: TrainingQueue, server: ContractServer):
    inputs = [[{"ChannelName": f"c{i}"}] for i in range(3)]

    jobs = queue.map(request(), inputs, ["a", "b", "c"], priority=0, share_identifier="research")

    assert [job.job_name for job in jobs] == ["a", "b", "c"]
    assert [received.target for received in server.received] == ["/v1/job-batches"]
    assert [held(server, name)["InputDataConfig"] for name in "abc"] == inputs
    assert [tags(server, name) for name in "abc"] == [{"team": "research", "priority": "0"}] * 3


def test_a_map_of_nothing_sends_nothing(queue: TrainingQueue, server: ContractServer):
    assert queue.map(request(), []) == []
    assert server.received == []


def test_a_map_takes_any_iterable(queue: TrainingQueue, server: ContractServer):
    assert len(queue.map(request(), (one for one in (None, None)), ("a", "b"))) == 2


def test_a_map_submits_valid_jobs_and_names_each_refusal(queue: TrainingQueue, server: ContractServer):
    server.queue.add("taken")

    with pytest.raises(BatchRefusedError) as caught:
        queue.map(request(), [None] * 4, ["a", "taken", "-bad", "b"], priority=3)

    assert sorted(server.queue.jobs) == ["a", "b", "taken"]
    assert [result.submission is not None for result in caught.value.results] == [True, False, False, True]
    assert str(caught.value).startswith("2 of 4 jobs were refused, and 2 are in the queue. taken: ")
    assert "choose another name" in str(caught.value)
    assert "-bad: " in str(caught.value)
    assert exit_code_of(caught.value) == 3


def test_the_message_names_the_first_of_many_refusals(queue: TrainingQueue):
    count = MAX_LISTED_REFUSALS + 5
    with pytest.raises(BatchRefusedError, match=r"and 5 more$") as caught:
        queue.map(request(), [None] * count, [f"-bad{i}" for i in range(count)])

    assert len(caught.value.results) == count


def test_jobs_for_which_there_was_no_time_are_submitted_again(
    queue: TrainingQueue, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    server.queue.batch_size = 2

    jobs = queue.map(request(), [None] * 5, [f"job{i}" for i in range(5)])

    assert len(jobs) == len(server.queue.jobs) == 5
    assert len(server.received) == 3


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], "ab", []])
def test_names_that_do_not_match_the_inputs_are_reported(queue: TrainingQueue, server: ContractServer, names: Any):
    with pytest.raises(UsageError, match="has to be a list of 2 names"):
        queue.map(request(), [None, None], names)
    assert server.received == []


@pytest.mark.parametrize("names", [None, ["a", "a"]])
def test_repeated_names_are_reported_before_anything_is_sent(
    queue: TrainingQueue, server: ContractServer, names: list[str] | None
):
    with pytest.raises(UsageError, match="give unique job_names"):
        queue.map(request("a"), [None, None], names)
    assert server.received == []


# --------------------------------------------------------------------------------------------------- list_jobs, get_job

STATES = ("pending", "running", "preempted", "stopping", "completed", "failed", "stopped")


@pytest.fixture
def one_of_each(server: ContractServer) -> None:
    for state in STATES:
        server.queue.add(state, jobState=state, team="research" if state in {"running", "failed"} else "vision")


@pytest.mark.usefixtures("one_of_each")
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(None, STATES, id="all-by-default"),
        *[pytest.param(state, (state,), id=state) for state in STATES],
        ("SUBMITTED", ("pending",)),
        ("RUNNABLE", ("pending", "preempted")),
        ("RUNNING", ("running", "stopping")),
        ("SUCCEEDED", ("completed",)),
        ("FAILED", ("failed", "stopped")),
    ],
)
def test_jobs_are_listed_by_state_or_by_aws_batchs_status(
    queue: TrainingQueue, status: str | None, expected: tuple[str, ...]
):
    assert sorted(job.job_name for job in queue.list_jobs(status=status)) == sorted(expected)


@pytest.mark.parametrize("status", ["", "Running", "gone"])
def test_an_unknown_state_is_reported(queue: TrainingQueue, status: str):
    with pytest.raises(UsageError, match=r"use one of running, stopping, preempted, .*SUCCEEDED, FAILED"):
        queue.list_jobs(status=status)


@pytest.mark.usefixtures("one_of_each")
@pytest.mark.parametrize(
    ("name", "status", "found"),
    [("failed", None, 1), ("failed", "FAILED", 1), ("failed", "RUNNING", 0), ("gone", None, 0)],
)
def test_jobs_are_listed_by_name(queue: TrainingQueue, name: str, status: str | None, found: int):
    assert [job.job_name for job in queue.list_jobs(name, status)] == [name] * found


@pytest.mark.usefixtures("one_of_each")
@pytest.mark.parametrize(("status", "expected"), [(None, ["failed", "running"]), ("FAILED", ["failed"])])
def test_jobs_are_listed_by_team(queue: TrainingQueue, status: str | None, expected: list[str]):
    assert sorted(job.job_name for job in queue.list_jobs_by_share(status, "research")) == expected


def test_all_pages_are_listed_and_a_job_that_moves_between_them_once(queue: TrainingQueue, server: ContractServer):
    for i in range(5):
        server.queue.add(f"job{i}")
    server.queue.page_size = 2
    first = {"jobs": [server.queue.job(name) for name in ("job0", "job1", "job2")], "nextToken": "2/+="}
    server.fail(Fault(status=200, body=json.dumps(first).encode(), headers={"Headway-Version": "0.1.0"}))

    assert [job.job_name for job in queue.list_jobs()] == [f"job{i}" for i in range(5)]


def test_a_job_is_found_by_its_name(queue: TrainingQueue, server: ContractServer):
    server.queue.add("job1", jobState="completed")

    assert queue.get_job("job1").describe().job.state == "completed"


def test_an_unknown_job_is_reported(queue: TrainingQueue):
    with pytest.raises(JobNotFoundError, match="no job gone"):
        queue.get_job("gone")


# ------------------------------------------------------------------------------------------------- what it brings along


@pytest.mark.parametrize("module", ["training_queue", "queued_job", "build_request"])
def test_no_sdk_is_imported_before_it_is_used(module: str):
    found = "[name for name in sys.modules if name.startswith('sagemaker')]"
    program = f"import headway_client.sagemaker_sdk.{module}, sys; print({found})"

    path = os.pathsep.join(map(str, SOURCES))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )

    assert done.stdout.strip() == "[]"


def needed(requirements: list[str]) -> set[str]:
    """Return the names of all direct and indirect requirements, without extras."""
    found: set[str] = set()
    todo = [Requirement(each) for each in requirements]
    while todo:
        each = todo.pop()
        applies = each.marker is None or each.marker.evaluate({"extra": ""})
        if applies and each.name not in found:
            found.add(each.name)
            todo += [Requirement(line) for line in importlib.metadata.requires(each.name) or []]
    return found


def test_the_base_install_pulls_in_neither_sdk():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]

    found = needed(project["dependencies"])

    assert {"boto3", "botocore", "urllib3"} <= found
    assert not [name for name in found if "sagemaker" in name]
    assert any("sagemaker" in each for each in project["optional-dependencies"]["sdk2"])


# -------------------------------------------------------------------------------------------------------- the examples

PAGE = "docs/how-to/clients/training-queue.md"
IN_OTHER_ENVIRONMENTS = {"An estimator of SDK 2", "A ModelTrainer of SDK 3", "Use the model"}


def run_example(page: str, heading: str, **names: Any) -> dict[str, Any]:
    exec(example(page, heading), names)
    return names


def test_every_example_of_the_page_is_run_somewhere():
    assert {"A plain request", "Many jobs", "Wait", "Find jobs"} == {*headings(PAGE)} - IN_OTHER_ENVIRONMENTS


@pytest.mark.usefixtures("endpoint_set")
def test_the_example_of_a_plain_request(server: ContractServer, capsys: pytest.CaptureFixture[str]):
    run_example(PAGE, "A plain request", request=request())

    assert capsys.readouterr().out == "bert-large 1\n"
    job = server.queue.jobs["bert-large"]
    assert (job["jobState"], job["priority"]) == ("stopped", 0)


@pytest.mark.usefixtures("endpoint_set")
def test_the_example_of_many_jobs(server: ContractServer, capsys: pytest.CaptureFixture[str]):
    names = {"request": request(), "channel": {"DataSource": {"S3DataSource": {"S3Uri": "s3://data"}}}}
    assert len(run_example(PAGE, "Many jobs", **names)["jobs"]) == 3
    assert held(server, "cv-1")["InputDataConfig"][0]["ChannelName"] == "fold1"
    server.queue.jobs.clear()
    server.queue.add("cv-1")

    run_example(PAGE, "Many jobs", **names)

    assert "choose another name" in (told := capsys.readouterr().out)
    assert "Taken: ['cv-0', 'cv-2']" in told


@pytest.mark.usefixtures("endpoint_set")
@pytest.mark.parametrize(("state", "told"), [("completed", "[]"), ("failed", "bert-large has failed: Waits for")])
def test_the_example_of_a_wait(server: ContractServer, capsys: pytest.CaptureFixture[str], state: str, told: str):
    server.queue.add("bert-large", jobState=state)

    run_example(PAGE, "Wait")

    assert told in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.usefixtures("endpoint_set")
def test_the_example_of_finding_jobs(server: ContractServer):
    server.queue.add("bert-large", jobState="completed", team="research")
    server.queue.add("next")

    found = run_example(PAGE, "Find jobs")

    names = {key: [job.job_name for job in found[key]] for key in ("everything", "waiting", "of_research")}
    assert names == {"everything": ["bert-large", "next"], "waiting": ["next"], "of_research": ["bert-large"]}
    assert found["job"].job_name == "bert-large"


@pytest.mark.usefixtures("endpoint_set")
def test_the_example_for_users_of_aws_batch(server: ContractServer):
    page = "docs/how-to/clients/from-aws-batch.md"
    assert headings(page) == ["The short way"]

    found = run_example(page, "The short way", request=request())

    assert (found["state"], found["names"]) == ("pending", ["bert-large"])
    assert tags(server, "bert-large") == {"project": "search", "team": "research", "priority": "0"}
    assert held(server, "bert-large")["StoppingCondition"]["MaxRuntimeInSeconds"] == 7200


def test_what_a_notebook_shows_says_which_queue_it_is_and_has_no_request(api: HeadwayApi):
    queue = TrainingQueue(api=api)
    job = queue.submit({**request(), "Environment": {"TOKEN": "secret"}})

    assert repr(queue) == f"TrainingQueue(endpoint='{api.endpoint}')"
    shown = repr(job.describe())
    assert "name='job1'" in shown
    assert "secret" not in shown
