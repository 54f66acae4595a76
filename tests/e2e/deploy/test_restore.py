"""The drill of docs/how-to/restore.md: the table is restored, and the queue continues from there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from headway_client.errors import ConflictError, JobNotFoundError
from headway_sandbox.local.sandbox import Sandbox
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from tests.docs.test_docs import blocks
from tests.e2e.functions import Client, Functions, table_of
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import USUAL_S

pytestmark = pytest.mark.e2e

SCRIPT = Path(__file__).resolve().parents[3] / "deploy" / "restore.py"
Script = Callable[..., str]


@pytest.fixture
def keys(sb: Sandbox, table: str) -> tuple[str, str]:
    """The keys of a user with the page's policy, for this stack."""
    (policy,) = blocks("docs/how-to/restore.md", "json")
    names = {
        "123456789012": sb.info.role_arn.split(":")[4],
        "us-east-1": sb.info.region,
        "table/sagemaker-queue": f"table/{table}",
        "stack/headway/": f"stack/{sb.info.stack}/",
        "function:headway-": f"function:{sb.info.stack}-",
    }
    for name, of_the_sandbox in names.items():
        assert name in policy
        policy = policy.replace(name, of_the_sandbox)
    return sb.make_user("restorer", json.loads(policy))


@pytest.fixture
def restorer(sb: Sandbox, keys: tuple[str, str]) -> Client:
    """The clients of that user."""
    return lambda service: sb.client(service, access_key=keys[0], secret_key=keys[1])


@pytest.fixture
def script(sb: Sandbox, keys: tuple[str, str]) -> Script:
    """Run deploy/restore.py as an operator does; return its output."""

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, str(SCRIPT), *words],
            capture_output=True,
            text=True,
            check=False,
            env=sb.info.environment() | {"AWS_ACCESS_KEY_ID": keys[0], "AWS_SECRET_ACCESS_KEY": keys[1]},
        )
        assert not done.stderr, done.stderr
        return done.stdout

    return run


@pytest.fixture
def table(sb: Sandbox) -> str:
    """The queue's table."""
    return table_of(sb)


@pytest.fixture
def restored(restorer: Client, table: str) -> Iterator[str]:
    """A name for the restored table, which is deleted afterwards."""
    yield f"{table}-restored"
    restorer("dynamodb").delete_table(TableName=f"{table}-restored")


@pytest.fixture
def functions(sb: Sandbox, restorer: Client) -> Iterator[Functions]:
    """The queue's functions, which are resumed afterwards."""
    with Functions(sb, restorer) as found:
        yield found


def test_a_restored_table_adopts_its_running_jobs_and_no_job_trains_twice_concurrently(
    sb: Sandbox,
    queue: QueueView,
    script: Script,
    restorer: Client,
    table: str,
    restored: str,
    functions: Functions,
):
    reconcile = partial(sb.invoke, "Reconcile")
    for name in ("ends", "runs", "starts"):
        queue.submit(name)
    queue.wait_until_training("ends", "runs")
    since = datetime.now(UTC)
    restorer("dynamodb").restore_table_to_point_in_time(
        SourceTableName=table, TargetTableName=restored, UseLatestRestorableTime=True
    )
    before = queue.attempts("runs")

    # Changes after the restored time, which are lost.
    queue.finish("ends")
    queue.wait_until_training("starts", meanwhile=reconcile)
    queue.submit("forgotten")
    functions.halt()
    sb.client("dynamodb").delete_item(TableName=table, Key={"pk": {"S": f"job#{queue.prefix}runs"}, "sk": {"S": "job"}})

    with pytest.raises(ClientError, match="AccessDenied"):
        restorer("dynamodb").delete_table(TableName=table)
    assert "items written" in script("copy", restored, table, "--second", since.isoformat())
    told = script("unknown", table, "--since", since.isoformat())
    name = f"{queue.prefix}starts"
    assert told.splitlines()[0].startswith(
        f"{name} (InProgress), job {name}: its job waits for it; the patrol makes it "
    )
    assert told.count("\n") == 1
    functions.go_on()

    # Nothing is launched before the scan has listed all training jobs, and no call can change that.
    queue.submit("later", 9)
    with pytest.raises(ConflictError, match="the table was restored"):
        queue.api.resume()

    def look() -> None:
        reconcile()
        sb.invoke("Patrol")

    # Running training jobs continue as the live attempts of their jobs, and ended ones end their jobs.
    queue.wait_for(ends="completed", runs="running", starts="running", later="pending", meanwhile=look)
    assert queue.attempts("runs") == before
    queue.finish("starts")
    queue.wait_for(starts="completed", later="pending", meanwhile=reconcile)
    assert {len(queue.training_jobs(job)) for job in ("ends", "runs", "starts")} == {1}
    with pytest.raises(JobNotFoundError):
        queue.job("forgotten")

    queue.wait_for(later="running", meanwhile=look, timeout_s=VISIBLE_AFTER_S + USUAL_S)
    assert all(pool.pause is None for pool in queue.api.capacity().pools)
    queue.check_records(size=2)
