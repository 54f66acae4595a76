"""Unmodified scripts that use the queue: with boto3, and with the SageMaker SDKs 2 and 3.

`make test-sdk` runs this; it needs the environments in which the SDKs are installed.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import tarfile
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.client.sdk_stories import Played, Stage, alone, begins, interrupted, play, preempted_once
from tests.e2e.client.sdk_users import SCRIPTS, User
from tests.e2e.command_line import CommandLine
from tests.e2e.conftest import DOCUMENT
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

FIRST, LATEST = "sdk2-first", "sdk2"
V3_PLACE = ", place 1 in the queue: "  # SDK 3 shows no status, only the message next to it
USERS = [
    User(name="boto3", script="boto3_waiter", pools=("ml.p5.48xlarge",), follows_logs=False),
    User(name="spot-v2-first", script="sdk2_spot", sdk=FIRST, pools=("ml.p4d.24xlarge",)),
    User(name="spot-v2-latest", script="sdk2_spot", sdk=LATEST, pools=("ml.p3.16xlarge",)),
    User(name="groups-v2-first", script="sdk2_groups", sdk=FIRST, pools=("ml.g5.12xlarge", "ml.c5.4xlarge")),
    User(name="groups-v2-latest", script="sdk2_groups", sdk=LATEST, pools=("ml.g5.24xlarge", "ml.c5.9xlarge")),
    User(name="warm-v2-first", script="sdk2_keep_alive", sdk=FIRST, pools=("ml.g4dn.xlarge",)),
    User(name="warm-v2-latest", script="sdk2_keep_alive", sdk=LATEST, pools=("ml.g4dn.2xlarge",), launch="line"),
    User(name="v3", script="sdk3_trainer", sdk="sdk3", pools=("ml.g5.2xlarge",), place=V3_PLACE),
]
IMPATIENT = [
    User(name="impatient-v2-first", script="sdk2_spot", sdk=FIRST, pools=("ml.g5.xlarge",)),
    User(name="impatient-v2-latest", script="sdk2_spot", sdk=LATEST, pools=("ml.g5.4xlarge",)),
    User(
        name="impatient-v3",
        script="sdk3_trainer",
        sdk="sdk3",
        pools=("ml.g5.8xlarge",),
        place=V3_PLACE,
        waits="Found endpoint for logs",  # botocore's log of the client that the SDK creates when it begins to wait
    ),
]
ELSEWHERE = User(name="elsewhere", script="sdk2_elsewhere", sdk=LATEST, pools=("ml.m5.large",))
SESSION = User(name="session", script="sdk2_session", sdk=LATEST, pools=("ml.m5.xlarge",), launch="itself")

by_user = pytest.mark.parametrize("user", USERS, ids=lambda user: user.name)


@pytest.fixture(scope="module")
def view(sb: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueView]:
    """A queue with a pool of one instance for each type of the users."""
    folder = tmp_path_factory.mktemp("operator")
    view = QueueView(sb, CommandLine(sb, folder), "")
    pools = itertools.chain.from_iterable(user.pools for user in (*USERS, *IMPATIENT, ELSEWHERE, SESSION))
    view.api.put_config({"pools": {pool: {"size": 1} for pool in pools}}, force=True)
    yield view
    view.empty()
    view.api.put_config(DOCUMENT, force=True)


@pytest.fixture(scope="module")
def played(sb: Sandbox, view: QueueView, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Played]:
    """The results of all stories, run concurrently."""
    stage = Stage(sb, view.api, tmp_path_factory.mktemp("users"))
    stories = {user.name: preempted_once(stage, user) for user in USERS}
    stories |= {user.name: alone(stage, user) for user in (ELSEWHERE, SESSION)}
    stories |= {user.name: interrupted(stage, user) for user in IMPATIENT}
    return play(stage, stories)


def well(story: Played) -> str:
    """Return the output of a story's script, which must have succeeded."""
    assert story.problem is None, f"{story.problem}\n{story.output}"
    assert story.code == 0, f"left with {story.code}\n{story.output}"
    assert "Traceback" not in story.output
    return story.output


def attempts(view: QueueView, user: User) -> list[dict[str, Any]]:
    """Return SageMaker's descriptions of a user's training jobs, oldest first."""
    names = [
        job["TrainingJobName"]
        for job in view.sandbox.jobs()
        if job["Tags"].get("headway:job", "").startswith(user.name)
    ]
    sagemaker = view.sandbox.client("sagemaker")
    return [sagemaker.describe_training_job(TrainingJobName=name) for name in names]


# ------------------------------------------------------------------------------------- the output of users' scripts


@by_user
def test_the_job_of_a_script_waits_is_preempted_resumes_and_completes(
    played: Mapping[str, Played], view: QueueView, user: User
):
    output = well(played[user.name])
    told = [output.find(text) for text in (user.place, "preempted", "ended: ")]
    assert told == sorted(told), output
    assert -1 not in told, output

    first, second = attempts(view, user)
    assert [each["TrainingJobStatus"] for each in (first, second)] == ["Stopped", "Completed"]
    assert first["TrainingJobName"] != second["TrainingJobName"]
    # The script uses one job, under its own name.
    assert f"ended: {first['TrainingJobName']}" in output
    assert view.api.get_job(first["TrainingJobName"]).job.state == "completed"


@by_user
def test_a_script_shows_the_logs_of_both_attempts_as_one(played: Mapping[str, Played], view: QueueView, user: User):
    output = well(played[user.name])
    lines = [f"training job {each['TrainingJobName']} begins on algo-1 of" for each in attempts(view, user)]
    wanted = [lines[0], "SIGTERM received", "exit status 143", lines[1], "exit status 0"]
    found = [output.find(text) for text in wanted]
    assert -1 not in found, output
    assert found == sorted(found), output
    # Each line once.
    assert [output.count(line) for line in lines] == [1, 1], output
    assert begins(user, output) == 2


def test_boto3_lists_and_describes_a_waiting_job_under_its_own_name(played: Mapping[str, Played]):
    output = well(played["boto3"])
    assert "listed: boto3 InProgress\n" in output
    assert "described: Pending Headway (place 1 in the queue)" in output
    assert "ended: boto3 Completed\n" in output


@pytest.mark.parametrize("name", ["spot-v2-first", "spot-v2-latest"])
def test_a_spot_job_resumes_from_its_checkpoint_on_spot_instances(
    sb: Sandbox, played: Mapping[str, Played], view: QueueView, name: str
):
    output = well(played[name])
    folder = f"s3://{sb.info.bucket}/checkpoints/{name}"
    saved = output.partition(f"SIGTERM received: saving checkpoint {folder}/step-")[2].partition("\n")[0]
    assert saved.isdecimal(), output
    assert f"resumed from checkpoint {folder}/step-{saved}\n" in output
    (user,) = [user for user in USERS if user.name == name]
    described = attempts(view, user)
    assert [each["EnableManagedSpotTraining"] for each in described] == [True, True]
    assert [each["CheckpointConfig"]["S3Uri"] for each in described] == [folder, folder]
    assert "Managed Spot Training savings" in output


@pytest.mark.parametrize("name", ["groups-v2-first", "groups-v2-latest"])
def test_every_host_of_an_instance_group_has_logs(played: Mapping[str, Played], view: QueueView, name: str):
    output = well(played[name])
    (user,) = [user for user in USERS if user.name == name]
    for attempt in attempts(view, user):
        for host, instance_type in enumerate(user.pools, start=1):
            line = f"training job {attempt['TrainingJobName']} begins on algo-{host} of 2 ({instance_type})"
            assert output.count(line) == 1, output


@pytest.mark.parametrize("name", ["warm-v2-first", "warm-v2-latest"])
def test_a_warm_pool_is_omitted_so_that_its_instances_serve_the_next_job(
    played: Mapping[str, Played], view: QueueView, name: str
):
    assert "runs without the warm pool that it asks for" in well(played[name])
    (user,) = [user for user in USERS if user.name == name]
    assert ["KeepAlivePeriodInSeconds" in each["ResourceConfig"] for each in attempts(view, user)] == [False, False]


# ---------------------------------------------------------------------------------------------------- other endings


@pytest.mark.parametrize("user", IMPATIENT, ids=lambda user: user.name)
def test_ctrl_c_leaves_the_job_queued_and_prints_how_to_stop_it(
    played: Mapping[str, Played], view: QueueView, user: User
):
    story = played[user.name]
    assert story.problem is None, f"{story.problem}\n{story.output}"
    # The newer SDKs swallow Ctrl-C, so the script continues and exits with its own code.
    assert story.code == (130 if user.sdk == FIRST else 0), f"left with {story.code}\n{story.output}"
    assert "Traceback" not in story.output
    said = re.findall(r"headway: (\S+) stays in the queue; .* `headway stop (\S+)` stops it\n", story.output)
    ((name, stopped),) = said
    assert name == stopped
    assert name.startswith(user.name)
    assert view.api.get_job(name).job.state == "pending"
    # The printed command works.
    assert "was stopped" in view.cli("stop", name).out


def test_processing_and_tuning_jobs_bypass_the_queue(played: Mapping[str, Played], view: QueueView):
    output = well(played[ELSEWHERE.name])
    # The sandbox's SageMaker has neither, and answers accordingly; unit tests check that calls are unchanged.
    for kind, operation in (("processing", "CreateProcessingJob"), ("tuning", "CreateHyperParameterTuningJob")):
        assert f"{kind}: An error occurred (UnknownOperationException)" in output
        assert f"The sandbox's SageMaker has no {operation}." in output
    assert "headway:" not in output
    assert not [job for job in view.api.list_jobs() if job.demand.keys() & set(ELSEWHERE.pools)]


def test_a_session_of_the_queue_uploads_the_sources_and_submits_the_job(
    sb: Sandbox, played: Mapping[str, Played], view: QueueView
):
    assert "submitted: session\n" in well(played[SESSION.name])
    job = view.cli("show", "session", "-o", "json").document
    assert (job["priority"], job["demand"]) == (4, dict.fromkeys(SESSION.pools, 1))
    request = job["request"]
    assert request["RoleArn"] == sb.info.role_arn
    assert request["HyperParameters"]["epochs"] == "3"

    uploaded = urlsplit(request["HyperParameters"]["sagemaker_submit_directory"].strip('"'))
    assert uploaded.netloc == sb.info.bucket
    stored = sb.client("s3").get_object(Bucket=uploaded.netloc, Key=uploaded.path.lstrip("/"))
    with tarfile.open(fileobj=io.BytesIO(stored["Body"].read())) as archive:
        assert archive.getnames() == ["train.py"]
    assert stored["ServerSideEncryption"] == "aws:kms"

    # It trains for ten minutes, the sandbox's default.
    eventually(lambda: view.job("session").state == "completed", lambda: f"it completes: {view.summary()}")
    assert [each["TrainingJobStatus"] for each in attempts(view, SESSION)] == ["Completed"]
    assert view.history("session") == ["pending", "running", "completed"]


@pytest.mark.parametrize("user", [*USERS, *IMPATIENT, ELSEWHERE], ids=lambda user: user.name)
def test_the_scripts_do_not_mention_the_queue(user: User):
    tree = ast.parse((SCRIPTS / f"{user.script}.py").read_text())
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= {"__future__", "logging", "sys", "typing", "boto3", "botocore", "sagemaker"}
