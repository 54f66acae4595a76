"""The command line: forecasts, holds, logs and history."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway_client.cli.exit_codes import EXIT_CONFLICT, EXIT_JOB_FAILED, EXIT_JOB_NOT_FOUND, EXIT_REFUSED, EXIT_TIMEOUT
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import ENDLESS, QueueView
from tests.e2e.waiting import eventually
from tests.service.world import P5, on

pytestmark = pytest.mark.e2e

MANY = 50
G5, C5 = "ml.g5.xlarge", "ml.c5.2xlarge"


def names(queue: QueueView, entries: list[dict[str, Any]]) -> list[str]:
    """Return the names of the jobs in documents, without the test's prefix."""
    return [entry["jobName"].removeprefix(queue.prefix) for entry in entries]


def test_a_user_previews_changes(queue: QueueView):
    cli, prefix = queue.cli, queue.prefix
    queue.submit("a", 2)
    queue.submit("b", 1)
    queue.wait_until_training("a", "b")

    # A preview of a submission, which has no effect.
    told = cli("submit", "-", "--dry-run", stdin=queue.request("c", 1)).out
    assert "This was a dry run; nothing was submitted." in told
    assert "place 1 in the queue" in told
    assert "It would preempt no job." in told
    urgent = cli("submit", "-", "--dry-run", "--priority", "5", "-o", "json", stdin=queue.request("c")).document
    assert urgent["dryRun"] is True
    assert (urgent["job"]["priority"], urgent["preempts"]) == (5, [f"{prefix}b"])
    assert (
        "has 2 instances, not 3"
        in (
            cli(
                "submit",
                "-",
                "--dry-run",
                "--set",
                "ResourceConfig.InstanceCount=3",
                stdin=queue.request("c"),
                expect=3,
            )
        ).err
    )
    cli("show", f"{prefix}c", expect=EXIT_JOB_NOT_FOUND)

    # The reason why a job waits, and the expected time.
    queue.submit("c", 1)
    queue.submit("d", 1)
    explained = cli("why", f"{prefix}d", "-o", "json").document
    assert (explained["jobState"], explained["place"], explained["held"]) == ("pending", 2, False)
    assert sorted(names(queue, explained["ahead"])) == ["a", "b", "c"]
    assert [pool["pool"] for pool in explained["pools"]] == [P5]
    assert explained["expectedStart"] is not None
    sheet = cli("why", f"{prefix}d").out
    assert [part for part in ("Place", "Starts", "Assumed", "Ahead", "Pools", f"{prefix}c") if part not in sheet] == []

    forecast = cli("forecast", "-o", "json").document["jobs"]
    assert names(queue, forecast) == ["c", "d"]
    starts = [job["expectedStart"] for job in forecast]
    assert starts == sorted(starts)
    assert explained["expectedStart"] == starts[1]
    assert [line.split()[0] for line in cli("forecast", f"{prefix}d").out.splitlines()[2:3]] == [f"{prefix}d"]

    # A preview of changes, which has no effect.
    larger = cli("what-if", "--pool", f"{P5}=3", "-o", "json").document
    assert larger["starts"] == [f"{prefix}c"]
    first = cli("what-if", "--priority", f"{prefix}d=7").out
    assert f"{prefix}d would start at once" in first or f"{prefix}b would be preempted" in first
    assert queue.waiting() == ["c", "d"]
    assert [pool.size for pool in queue.api.capacity().pools] == [2]


def test_other_jobs_overtake_a_held_job_which_returns_to_its_place(queue: QueueView):
    cli, prefix = queue.cli, queue.prefix
    for name in ("a", "b", "c", "d", "e"):
        queue.submit(name)
    queue.wait_for(a="running", b="running", c="pending", d="pending", e="pending")
    queue.wait_until_training("a", "b")
    assert queue.waiting() == ["c", "d", "e"]

    held = cli("hold", f"{prefix}c", "-o", "json").document
    assert (held["held"], held["place"], held["reason"]["code"]) == (True, None, "Held")
    assert "held" in cli("why", f"{prefix}c").out
    assert queue.waiting() == ["d", "e"]
    cli("hold", f"{prefix}a", expect=EXIT_CONFLICT)

    queue.finish("a")
    queue.wait_for(a="completed", c="pending", d="running", e="pending")
    assert cli("release", f"{prefix}c", "-o", "json").document["held"] is False
    assert queue.waiting() == ["c", "e"]
    queue.finish("b")
    queue.wait_for(b="completed", c="running", e="pending")
    cli("release", f"{prefix}a", expect=EXIT_CONFLICT)
    queue.check_records(size=2)


def test_a_user_follows_a_job_through_a_preemption_to_its_end(sb: Sandbox, queue: QueueView):
    cli, prefix = queue.cli, queue.prefix
    queue.submit("other", 5)
    queue.submit("job", 1, CheckpointConfig={"S3Uri": "s3://jobs/checkpoints/followed"})
    followed = cli.start("logs", "-f", f"{prefix}job")
    waited = cli.start("wait", f"{prefix}job")
    queue.wait_until_training("other", "job")
    cli("wait", f"{prefix}job", "--timeout", "0", expect=EXIT_TIMEOUT)

    queue.submit("urgent", 9)
    queue.wait_for(job="preempted", urgent="running")
    queue.wait_until_training("urgent")
    assert "saving checkpoint" in cli("logs", f"{prefix}job", "--tail", "2").out
    queue.finish("urgent")
    queue.wait_for(urgent="completed", job="running")
    queue.wait_until_training("job")
    queue.finish("job")

    waiting = waited.outcome()
    assert waiting.code == 0, waiting
    assert "preempted" in waiting.err
    logs = followed.outcome()
    assert logs.code == 0, logs
    attempts = queue.attempts("job")
    lines = logs.out.splitlines()
    wanted = [f"training job {attempt} begins on algo-1 of 1 ({P5})" for attempt in attempts]
    assert [line for line in lines if " begins on " in line] == wanted
    assert len(attempts) == 2
    assert lines[-1] == "exit status 0"
    assert any(line.startswith("resumed from checkpoint s3://jobs/checkpoints/followed/step-") for line in lines)
    assert cli("logs", f"{prefix}job").out == logs.out

    cli("stop", f"{prefix}other")
    cli("wait", f"{prefix}job", f"{prefix}other", expect=EXIT_JOB_FAILED)
    ended = cli("history", "--mine", "-o", "json", "--limit", "3").document["jobs"]
    assert sorted(names(queue, ended)) == ["job", "other", "urgent"]
    (job,) = [entry for entry in ended if entry["jobName"] == f"{prefix}job"]
    assert (job["jobState"], job["preemptions"], job["attemptCount"]) == ("completed", 1, 2)
    assert job["startedTime"] is not None
    assert job["instanceSeconds"].keys() == {P5}
    assert job["instanceSeconds"][P5] > 0


def test_usage_and_history_have_what_sagemaker_has_billed_what_was_lost_and_what_was_idle(
    sb: Sandbox, queue: QueueView
):
    cli, prefix = queue.cli, queue.prefix
    document = {"pools": {P5: {"size": 2}, G5: {"size": 1}}, "usageTags": ["story"], "predictions": True}
    queue.api.put_config(document, force=True)
    began_s = queue.api.now_s()
    day = datetime.fromtimestamp(began_s, UTC).date().isoformat()

    def submit(name: str, priority: int, count: int) -> None:
        tags = [{"Key": "priority", "Value": str(priority)}, {"Key": "story", "Value": prefix}]
        queue.submit(name, Tags=tags, ResourceConfig=on(count))

    def usage(by: str, *options: str, since: str = day) -> dict[str | None, dict[str, Any]]:
        rows = cli("usage", "--by", by, "--from", since, *options, "-o", "json").document["rows"]
        return {row["name"]: row for row in rows}

    idle_before_s = usage("pool").get(P5, {}).get("idleSeconds", {}).get(P5, 0)
    submit("low", 1, 1)
    queue.wait_until_training("low")
    # One instance is idle while this one waits for two.
    submit("wide", 1, 2)
    queue.wait_for(wide="pending")
    submit("urgent", 9, 2)
    queue.wait_for(low="preempted", urgent="running", wide="pending")
    queue.wait_until_training("urgent")
    cli("stop", f"{prefix}wide")
    queue.finish("urgent")
    queue.wait_for(urgent="completed", low="running")
    queue.wait_until_training("low")
    queue.finish("low")
    queue.wait_for(low="completed", wide="stopped")

    tag = "tag:story"
    eventually(
        lambda: sum(usage(tag).get(prefix, {}).get("jobs", {}).values()) == 3,
        lambda: str(usage(tag)),
        meanwhile=lambda: sb.invoke("Reconcile"),
    )
    total = usage(tag)[prefix]
    assert (total["jobs"], total["attempts"], total["preemptions"]) == ({"completed": 2, "stopped": 1}, 3, 1)
    # Their run times are in sums of the same transactions.
    # The sandbox's clock is fast, so the month may have changed meanwhile.
    months = {datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m") for at_s in (began_s, queue.api.now_s())}
    reports = [cli("report", "--month", month, "-o", "json").document for month in sorted(months)]
    assert sum(each["predictions"]["kept"] for each in reports if "predictions" in each) == 2
    billed_s = {
        each["TrainingJobName"]: each["Instances"][P5]
        * sb.client("sagemaker").describe_training_job(TrainingJobName=each["TrainingJobName"])["BillableTimeInSeconds"]
        for each in queue.training_jobs()
    }
    assert len(billed_s) == 3
    assert total["billedSeconds"] == {P5: sum(billed_s.values())}

    history = cli("history", "--since", day, "--mine", "-o", "json").document["jobs"]
    ended = {each["jobName"].removeprefix(prefix): each for each in history if each["jobName"].startswith(prefix)}
    assert {name: each["jobState"] for name, each in ended.items()} == {
        "low": "completed",
        "urgent": "completed",
        "wide": "stopped",
    }
    assert ended["wide"]["usedSeconds"] == {}
    assert sum(each["billedSeconds"].get(P5, 0) for each in ended.values()) == sum(billed_s.values())
    lengths_s = [
        (
            datetime.fromisoformat(each.ended_time or "") - datetime.fromisoformat(each.started_time or "")
        ).total_seconds()
        for name in ("low", "urgent")
        for each in queue.details(name).attempts
    ]
    held_s = [each * count for each, count in zip(lengths_s, (1, 1, 2), strict=True)]
    assert total["usedSeconds"] == {P5: pytest.approx(sum(held_s), abs=1)}
    # Without checkpoints, all of the preempted attempt.
    assert ended["low"]["lostSeconds"] == total["lostSeconds"][P5] == int(held_s[0])

    assert usage("pool")[P5]["idleSeconds"][P5] > idle_before_s
    # At the sandbox's speed, other jobs may have ended on an earlier day of the month, and these in the next one.
    last = (datetime.fromisoformat(f"{day[:7]}-01") + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    to = min(last.date(), datetime.fromtimestamp(queue.api.now_s(), UTC).date()).isoformat()
    pool = usage("pool", "--to", to, since=f"{day[:7]}-01")[P5]
    report = csv.DictReader(cli("report", "--month", day[:7], "-o", "csv").out.splitlines())
    (row,) = [each for each in report if (each["By"], each["Name"]) == ("pool", P5)]
    shown = [row["Attempts"], row["Lost Instance Hours"], row["Idle Instance Hours"]]
    figures_s = [pool["lostSeconds"][P5], pool["idleSeconds"][P5]]
    assert shown == [str(pool["attempts"]), *(f"{each / 3600:.2f}" for each in figures_s)]


def test_a_job_whose_gpus_wait_for_data_gets_the_advice_at_the_speed_of_the_sandbox(queue: QueueView):
    queue.api.put_config({"pools": {G5: {"size": 1}, C5: {"size": 2}}}, force=True)
    # Four full vCPUs, and a GPU that is busy a quarter of the time.
    starved = {**ENDLESS, "SANDBOX_CPU_UTILIZATION": "0:400", "SANDBOX_GPU_UTILIZATION": "0:25"}
    queue.submit("starved", Environment=starved, ResourceConfig=on(1, G5))
    queue.wait_until_training("starved")

    def advice() -> dict[str, Any]:
        return queue.cli("advise", f"{queue.prefix}starved", "-o", "json").document

    eventually(lambda: any(each["code"] == "StarvedGpus" for each in advice()["advice"]), lambda: str(advice()))
    found = advice()
    (host,) = found["hosts"]
    assert (host["instanceType"], host["cpuPercent"], host["gpuPercent"]) == (G5, 400, 25)
    (starved_gpus,) = [each for each in found["advice"] if each["code"] == "StarvedGpus"]
    assert {C5: 2, G5: 1} in [option["instances"] for option in starved_gpus["options"]]

    # A removed pool that is in use would stay.
    queue.finish("starved")
    queue.wait_for(starved="completed")


def test_many_requests_are_submitted_at_once_and_each_is_accepted_or_refused_separately(queue: QueueView):
    cli, prefix = queue.cli, queue.prefix
    numbered = [f"n{number:02}" for number in range(MANY)]
    requests = [queue.request(name) for name in numbered]
    requests[7]["RoleArn"] = None
    file = cli.write("many.json", requests)
    outcome = cli("submit", file, "-o", "json", expect=EXIT_REFUSED)
    results = outcome.document["results"]
    assert len(results) == MANY
    refused = [number for number, result in enumerate(results) if "job" not in result]
    assert refused == [7]
    assert "RoleArn" in str(results[7]["error"])
    accepted = [name for number, name in enumerate(numbered) if number != 7]
    assert [result["job"]["jobName"] for result in results if "job" in result] == [prefix + name for name in accepted]

    # Queued in the order of the file; the first two start.
    queue.wait_for(n00="running", n01="running")
    assert queue.waiting() == accepted[2:]
    listed = cli("queue", "--mine", "-o", "json", "--limit", "100").document["jobs"]
    assert sorted(names(queue, listed)) == accepted

    # The same file again adds no job.
    requests[7]["RoleArn"] = requests[0]["RoleArn"]
    again = cli("submit", cli.write("many.json", requests))
    assert "1 submitted, 49 already in the queue, 0 not accepted." in again.err
    assert queue.waiting() == [*accepted[2:], "n07"]

    waiting = [f"{prefix}{name}" for name in [*accepted[2:], "n07"]]
    cli("stop", *waiting)
    assert queue.waiting() == []
    assert queue.training_jobs("n07") == []
