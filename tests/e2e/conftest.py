"""One sandbox for all end-to-end tests, with an empty queue before each, and a report on it after a failure."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from headway.errors import HeadwayError
from headway_client.cli.output import jobs_table
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.training_job import Durations
from tests.e2e.command_line import CommandLine
from tests.e2e.queue_view import QueueView

# In real time; the sandbox is a hundred times as fast. A preemption takes its 120 s of grace.
DURATIONS = Durations(provisioning_s=40, download_s=10, upload_s=10, release_s=10)
PARTNER = "210987654321"
"""An account whose callers reach the queue."""
PARAMETERS = {"ReconcileAfterSeconds": "1", "AllowStoppingRogueJobs": "true", "TrustedAccounts": PARTNER}
DOCUMENT = {"pools": {"ml.p5.48xlarge": {"size": 2}}}

_LOG_LINES = 15
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def sb() -> Iterator[Sandbox]:
    with Sandbox(speed=100, durations=DURATIONS, parameters=PARAMETERS) as sandbox:
        yield sandbox


@pytest.fixture
def cli(sb: Sandbox, tmp_path: Path) -> Iterator[CommandLine]:
    """The command line of a user with all permissions."""
    folder = tmp_path / "user"
    folder.mkdir()
    with closing(CommandLine(sb, folder)) as command_line:
        yield command_line


@pytest.fixture
def queue(sb: Sandbox, cli: CommandLine) -> Iterator[QueueView]:
    """An empty queue with two instances, emptied again afterwards."""
    view = QueueView(sb, cli, f"t{next(_numbers)}-")
    yield view
    sb.clear_faults()
    sb.release_messages("wake")
    if view.api.get_config().settings["pools"] != DOCUMENT["pools"]:
        view.api.put_config(DOCUMENT, force=True)
    view.resume()
    view.empty()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the queue and the functions' logs below a failure."""
    report = yield
    sandbox = getattr(item, "funcargs", {}).get("sb")
    if report.failed and call.when == "call" and sandbox is not None:
        for title, text in _scene(sandbox, getattr(item, "funcargs", {}).get("queue")):
            report.sections.append((title, text))
    return report


def _scene(sandbox: Sandbox, queue: QueueView | None) -> Iterator[tuple[str, str]]:
    try:
        if queue is not None:
            yield "the test's jobs", jobs_table(queue.jobs().values(), wide=True)
        jobs = "\n".join(
            f"{job['TrainingJobName']}: {job['TrainingJobStatus']} / {job['SecondaryStatus']} {job['Instances']}"
            for job in sandbox.jobs()
        )
        yield "SageMaker", f"{jobs}\nin use: {sandbox.in_use()}\nfaults: {sandbox.faults()}"
        logs = sandbox.client("logs")
        for group in logs.describe_log_groups()["logGroups"]:
            events = logs.filter_log_events(logGroupName=group["logGroupName"])["events"]
            lines = [event["message"].rstrip() for event in events][-_LOG_LINES:]
            yield f"log {group['logGroupName']}", "\n".join(lines)
    except (HeadwayError, ClientError, BotoCoreError, OSError) as error:
        yield "the sandbox does not answer any more", str(error)
    yield "the sandbox's log", (sandbox.state_dir / "server.log").read_text(errors="replace")[-2000:]
