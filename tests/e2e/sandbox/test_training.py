"""A queue in front of scripts that really run: a preempted script continues from its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.docs.test_docs import blocks
from tests.e2e.queue_view import QueueView
from tests.e2e.sandbox.training_sandbox import queue_on, training_sandbox
from tests.e2e.waiting import eventually
from tests.sandbox.training.jobs import Jobs, checkpoints, definition
from tests.sandbox.training.step_scripts import STEP_S, lost_steps, steps

pytestmark = pytest.mark.e2e

KIND = "ml.m5.xlarge"
EVERY = 5
"""Steps between two checkpoints."""


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with training_sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def queue(sb: Sandbox, tmp_path: Path) -> Iterator[QueueView]:
    with queue_on(sb, tmp_path, {"pools": {KIND: {"size": 1}}}) as view:
        yield view


def test_the_request_of_the_documentation_runs_its_script_to_the_end(
    sb: Sandbox, queue: QueueView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    page = "docs/how-to/training-in-the-sandbox.md"
    script, upload = blocks(page, "python")[:2]
    request = json.loads(blocks(page, "json")[0])
    commands = [line for block in blocks(page, "console") for line in block.splitlines() if "steps" in line]
    queue.api.put_config({"pools": {request["ResourceConfig"]["InstanceType"]: {"size": 1}}}, force=True)
    (tmp_path / "train.py").write_text(script)
    queue.cli.write("steps.json", request)
    for name, value in queue.cli.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    exec(upload, {})

    submitted, logs = [queue.cli(*line.split()[2:]) for line in commands]

    assert "steps has completed" in submitted.err
    assert "step 60" in logs.out
    assert Jobs(sb).archive("steps") == {"weights": b"the weights"}
    keys = sb.client("s3").list_objects_v2(Bucket=sb.info.bucket, Prefix="checkpoints/steps/")["Contents"]
    assert {each["Key"].rpartition("/")[2] for each in keys} == {f"step-{each}" for each in range(10, 61, 10)}


@pytest.mark.parametrize("handles_sigterm", [False, True], ids=["periodic checkpoints", "a SIGTERM handler"])
def test_a_preempted_script_continues_from_its_checkpoint(sb: Sandbox, queue: QueueView, handles_sigterm: bool):
    jobs, names = Jobs(sb), [f"{name}-{handles_sigterm:d}" for name in ("low", "high")]
    low, high = names
    last = round(30 / STEP_S)  # longer than the other submission takes with cold functions
    script = steps(last=last, every=EVERY, handles_sigterm=handles_sigterm)
    queue.cli("submit", "-", "--priority", "1", stdin=definition(sb, low, script, **checkpoints(sb, low)))
    jobs.wait_for_line(low, "step 20")

    queue.cli("submit", "-", "--priority", "5", stdin=definition(sb, high, "print('trained')"))

    eventually(
        lambda: queue.states().get(high) == queue.states().get(low) == "completed", queue.summary, timeout_s=120.0
    )
    assert queue.history(low) == ["pending", "running", "stopping", "preempted", "running", "completed"]
    assert jobs.log(high) == ["trained"]
    first, second = queue.attempts(low)
    (lost,) = lost_steps([*jobs.log(first), *jobs.log(second)])
    assert 0 <= lost <= (0 if handles_sigterm else EVERY)
    assert jobs.archive(second) == {"steps": str(last).encode()}


def test_of_two_scripts_the_one_is_preempted_whose_checkpoint_was_seen_in_s3(sb: Sandbox, queue: QueueView):
    queue.api.put_config({"pools": {KIND: {"size": 2}}}, force=True)
    jobs, last = Jobs(sb), round(120 / STEP_S)
    for name, every in (("saves", EVERY), ("keeps", last)):
        script = steps(last=last, every=every)
        queue.cli("submit", "-", stdin=definition(sb, name, script, **checkpoints(sb, name)))
        jobs.wait_for_line(name, "step 1")
    # Unseen, the one that was started last would be stopped: it has less to lose.
    jobs.wait_for_line("keeps", f"step {round(10 / STEP_S)}")
    began_ms = attribute(sb, "keeps", "trainingSinceMs")
    assert began_ms
    eventually(
        lambda: attribute(sb, "saves", "checkpointSeenMs") > began_ms + 5000,
        "the reconciler sees a checkpoint",
        meanwhile=lambda: sb.invoke("Reconcile"),
    )
    assert not attribute(sb, "keeps", "checkpointSeenMs")

    queue.cli("submit", "-", "--priority", "5", stdin=definition(sb, "urgent", "print('trained')"))
    queue.wait_for(urgent="completed", timeout_s=60.0)
    assert "preempted" in queue.history("saves")
    assert "its last checkpoint was written" in str(queue.details("saves").history)
    assert queue.history("keeps") == ["pending", "running"]


def attribute(sb: Sandbox, attempt: str, name: str) -> int:
    """Return an attribute of an attempt's item, ms; 0 without it."""
    found = sb.client("cloudformation").describe_stack_resource(StackName=sb.info.stack, LogicalResourceId="JobsTable")
    table = found["StackResourceDetail"]["PhysicalResourceId"]
    key = {"pk": {"S": "ledger"}, "sk": {"S": f"attempt#{attempt}"}}
    item = sb.client("dynamodb").get_item(TableName=table, Key=key).get("Item", {})
    return int(item.get(name, {}).get("N", 0))


def test_a_script_that_is_interrupted_too_often_continues_on_demand_from_its_checkpoint(sb: Sandbox, queue: QueueView):
    jobs, name = Jobs(sb), "spotty"
    queue.api.put_config({"pools": {KIND: {"size": 1}}, "spot": {"maxInterruptions": 1}}, force=True)
    last = round(40 / STEP_S)
    spot = {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": 1200},
    }
    script = steps(last=last, every=EVERY)
    queue.cli("submit", "-", stdin=definition(sb, name, script, **spot, **checkpoints(sb, name)))
    for number in (1, 2):
        jobs.wait_for_line(name, f"step {number * 80}")
        sb.interrupt(name)
    queue.wait_for(spotty="completed", timeout_s=120.0)

    first, second = queue.attempts(name)
    lost = lost_steps([*jobs.log(first), *jobs.log(second)])
    assert len(lost) >= 2
    assert all(0 <= each <= EVERY for each in lost), lost
    assert "continues on on-demand instances" in str(queue.details(name).history)
    described = jobs.describe(second)
    assert not described["EnableManagedSpotTraining"]
    assert jobs.describe(first)["CheckpointConfig"] == described["CheckpointConfig"]
    assert jobs.archive(second) == {"steps": str(last).encode()}


def test_the_reason_of_a_script_that_fails_reaches_the_user(sb: Sandbox, queue: QueueView):
    queue.cli("submit", "-", stdin=definition(sb, "broken", "import nonesuch"))
    queue.wait_for(broken="failed", timeout_s=60.0)
    eventually(lambda: "No module named 'nonesuch'" in str(queue.details("broken")), "the reason is shown")
