"""All commands of the command line."""

from __future__ import annotations

import json

import pytest

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.conftest import DOCUMENT
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually
from tests.service.world import P5

pytestmark = pytest.mark.e2e


def test_a_user_submits_lists_changes_and_stops_jobs(sb: Sandbox, queue: QueueView):
    cli, prefix = queue.cli, queue.prefix
    entered = cli("submit", "-", stdin=queue.request("a", 1)).out
    assert entered.startswith(f"{prefix}a is pending (priority 1, place 1 in the queue): ")
    cli("submit", cli.write("b.json", queue.request("b", 1)), "--priority", "2")
    queue.wait_until_training("a", "b")
    cli("submit", "-", "--priority", "0", stdin=queue.request("c"))
    cli("submit", "-", stdin=queue.request("d"))

    # The waiting jobs, and their reasons.
    lines = cli("queue").out.splitlines()
    assert lines[0].split() == ["Job", "Name", "State", "Prio", "Owner", "Demand", "Age", "Why"]
    shown = [line.split()[:3] for line in lines[2:]]
    assert sorted(shown[:2]) == [[f"{prefix}a", "running", "1"], [f"{prefix}b", "running", "2"]]
    assert shown[2:] == [[f"{prefix}c", "pending", "0"], [f"{prefix}d", "pending", "0"]]
    assert lines[4].split()[-4:-2] == ["waits", "for"]
    assert lines[5].endswith(f"behind {prefix}c")
    page = cli("queue", "--state", "pending", "--output", "json").document
    assert [(job["jobName"], job["place"]) for job in page["jobs"]] == [(f"{prefix}c", 1), (f"{prefix}d", 2)]
    assert page["truncated"] is False

    # A new priority, and a new place.
    assert "priority 1, place 1 in the queue" in cli("priority", f"{prefix}d", "1").out
    assert queue.waiting() == ["d", "c"]

    # All details of a job.
    eventually(lambda: queue.details("a").attempts[0].secondary_status == "Training", "the queue hears that a trains")
    sheet = cli("show", f"{prefix}a").out
    parts = ("Attempts", "History", "Training", "1 ml.p5.48xlarge", f"arn:aws:iam::{sb.info.account}:root")
    assert [part for part in parts if part not in sheet] == [], sheet
    document = cli("show", f"{prefix}a", "--output", "json").document
    assert document["request"] == queue.request("a", 1)
    assert [attempt["attemptName"] for attempt in document["attempts"]] == [f"{prefix}a"]
    assert document["owner"] == f"arn:aws:iam::{sb.info.account}:root"

    # Advice, and the calls of AWS that it needs.
    advice = cli("advise", f"{prefix}a", "-o", "json").document
    assert advice["attemptName"] == f"{prefix}a"
    assert [host["instanceType"] for host in advice["hosts"]] == [P5]
    assert [missing for missing in advice["missing"] if "refused" in missing] == []

    # The events so far.
    lines = cli("events", "--since", "1d", "--job", f"{prefix}a", "-o", "json").out.splitlines()
    assert [json.loads(line)["detail"]["code"] for line in lines] == ["Entered", "Started"]

    # The pools.
    (pool,) = cli("capacity", "-o", "json").document["pools"]
    assert pool == {
        "pool": P5, "size": 2, "allocated": 2, "stopping": 0, "reserved": 0, "rogue": 0, "free": 0, "waiting": 2,
        "pause": None, "nextChange": None, "warm": 0, "plan": "", "bookings": [],
    }  # fmt: skip
    assert cli("capacity").out.splitlines()[2].split() == [P5, "2", "2", "0", "0", "0", "0", "2"]

    # A job for later is in no queue, and says when it enters.
    cli("submit", "-", "--not-before", "2h", "--start-by", "4h", stdin=queue.request("later"))
    assert "enters the queue at" in cli("why", f"{prefix}later").out
    sheet = cli("show", f"{prefix}later").out
    assert [label for label in ("Not Before", "Start By") if label not in sheet] == []
    assert cli("stop", f"{prefix}later").out.startswith(f"{prefix}later was stopped")

    # A waiting job leaves immediately, a running one frees its instances when it has ended.
    assert cli("stop", f"{prefix}c").out.startswith(f"{prefix}c was stopped")
    assert cli("stop", f"{prefix}a").out.startswith(f"{prefix}a is stopping")
    queue.wait_for(a="stopped", b="running", c="stopped", d="running")
    assert queue.training_jobs("c") == []
    assert [job["TrainingJobStatus"] for job in queue.training_jobs("a")] == ["Stopped"]
    assert cli("stop", f"{prefix}a").out.startswith(f"{prefix}a was stopped")

    # An ended job stays in its state.
    queue.finish("b")
    queue.wait_for(b="completed")
    assert "nothing to stop" in cli("stop", f"{prefix}b", expect=5).err
    assert "does not matter any more" in cli("priority", f"{prefix}b", "5", expect=5).err
    assert f"there is no job `{prefix}e`" in cli("show", f"{prefix}e", expect=4).err
    ended = cli("queue", "--all", "-o", "json").document["jobs"]
    mine = {job["jobName"].removeprefix(prefix): job["jobState"] for job in ended if job["jobName"].startswith(prefix)}
    assert mine == {"a": "stopped", "b": "completed", "c": "stopped", "d": "running", "later": "stopped"}
    queue.check_records(size=2)


def test_a_larger_pool_starts_waiting_jobs_without_a_deployment(queue: QueueView):
    cli = queue.cli
    for name in ("a", "b", "c"):
        queue.submit(name)
    queue.wait_for(a="running", b="running", c="pending")

    # Shown, edited, replaced.
    shown = cli("config", "show")
    assert shown.document["pools"] == DOCUMENT["pools"]
    edited = shown.document
    edited["pools"][P5]["size"] = 3
    version = queue.api.get_config().version
    now = cli("config", "set", cli.write("pools.json", edited), "-o", "json").document
    assert (now["document"]["pools"], now["version"]) == (edited["pools"], version + 1)
    queue.wait_for(c="running")
    queue.check_records(size=3)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"pools": {P5: {"size": -1}}}, "must be at least 0"),
        ({"pools": {P5: {"size": 2, "colour": "blue"}}}, "colour"),
        ({"pools": {"p5": {"size": 2}}}, "pools.p5"),
        ({"pools": {}}, "pools"),
        ({"pools": {P5: {"size": 2}}, "priority": {"default": 5, "maximum": 4}}, "must not be above maximum"),
    ],
)
def test_a_bad_document_is_refused_and_the_old_one_stays_in_force(
    queue: QueueView, document: dict[str, object], sentence: str
):
    before = queue.cli("config", "show", "-o", "json").document
    outcome = queue.cli("config", "set", "-", stdin=document, expect=3)
    assert sentence in outcome.err
    assert queue.cli("config", "show", "-o", "json").document == before
    assert [pool.size for pool in queue.api.capacity().pools] == [2]
