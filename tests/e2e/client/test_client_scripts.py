"""Scripts as users write them, run unchanged under `python -m headway_client`: each shows one promise of the client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.client.sdk_users import User, Workplace
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually
from tests.service.world import P5

pytestmark = pytest.mark.e2e

LIMIT_S = 240.0


def run(queue: QueueView, folder: Path, script: str, *, sdk: str | None = None, **environment: str) -> str:
    """Run a script to its end, and return its standard output."""
    user = User(name=f"{queue.prefix}job", script=script, sdk=sdk, pools=(P5,))
    running = Workplace(queue.sandbox, folder / "workplace", environment).start(user)
    try:
        eventually(lambda: running.code() is not None, lambda: f"{script} ends: {running.output()}", timeout_s=LIMIT_S)
    finally:
        running.end()
    assert running.code() == 0, running.output()
    assert "Traceback" not in running.output()
    # Without the notifications, which are written to another stream.
    return "".join(line for line in running.output().splitlines(keepends=True) if not line.startswith("headway: "))


@pytest.fixture
def profiles(sb: Sandbox, queue: QueueView, tmp_path: Path) -> Mapping[str, str]:
    """The AWS profiles of two users of the queue, and of a stranger without permissions."""
    (stack,) = sb.client("cloudformation").describe_stacks(StackName=sb.info.stack)["Stacks"]
    (policy,) = [each["OutputValue"] for each in stack["Outputs"] if each["OutputKey"] == "UserPolicyArn"]
    keys = {name: sb.make_user(f"{queue.prefix}{name}", policy) for name in ("ada", "bob")}
    keys["stranger"] = sb.make_user(f"{queue.prefix}stranger", None)
    lines = [
        f"[{name}]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
        for name, (key, secret) in keys.items()
    ]
    (tmp_path / "credentials").write_text("".join(lines))
    return {"AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials")}


def test_two_users_in_one_process_stay_two_callers(
    queue: QueueView, profiles: Mapping[str, str], tmp_path: Path
) -> None:
    output = run(queue, tmp_path, "boto3_two_users", **profiles)

    owners = {name: str(job.owner).rpartition("-")[2] for name, job in queue.jobs().items()}
    assert owners == {"job-ada": "ada", "job-bob": "bob"}
    assert output.splitlines() == [
        "ada stops the job of bob: AccessDeniedException",
        "bob stops the job of ada: AccessDeniedException",
        "stranger, describe_training_job: AccessDeniedException",
        "stranger, list_training_jobs: AccessDeniedException",
        "stranger, list_tags: AccessDeniedException",
        "stranger, waiter: AccessDeniedException",
    ]


def test_training_jobs_of_child_processes_are_in_the_queue(queue: QueueView, tmp_path: Path) -> None:
    output = run(queue, tmp_path, "boto3_children")

    kinds = ("fork", "spawn", "forkserver", "subprocess")
    assert all(f"{kind}: 0\n" in output for kind in kinds), output
    assert set(queue.jobs()) == {f"job-{kind}" for kind in kinds}


def test_changes_of_training_jobs_copied_tags_and_invalid_requests(queue: QueueView, tmp_path: Path) -> None:
    output = run(queue, tmp_path, "boto3_changes")

    assert output.splitlines() == [
        "tags: ['project']",
        "create with these tags: ok",
        "add_tags, running: ok",
        "add_tags of the queue, running: ValidationException",
        "add_tags, waiting: ok",
        "delete_tags, waiting: ok",
        "add_tags of the queue, waiting: ValidationException",
        "update, waiting: ValidationException",
        "delete, waiting: ValidationException",
        "describe, a name of 2,000 characters: ValidationException",
        "tags, waiting: [{'Key': 'comment', 'Value': 'slow'}]",
        "a boolean for a number: ValidationException",
        "an empty image: ValidationException",
        "image and algorithm: ValidationException",
        "neither image nor algorithm: ValidationException",
        "two channels of one name: ValidationException",
    ]
    assert set(queue.jobs()) == {"job", "job-waiting"}


def test_an_estimator_that_is_attached_to_a_job_trains_again(queue: QueueView, tmp_path: Path) -> None:
    output = run(queue, tmp_path, "sdk2_attach", sdk="sdk2")

    assert "tags: ['project']\n" in output
    assert "ended: Completed\n" in output
    assert queue.states() == {"job": "completed", "job-again": "completed"}
