"""The sandbox's server: the emulator and the fake SageMaker in one process, on loopback only.

`headway_sandbox.local.manager` runs it with the interpreter of the sandbox's environment. It writes only to its state
directory, which has the state and the log:

    credentials  the administrator's key                               server.log
    journal.db   the state of all services, also after a kill         relay.sock, for training jobs
    clock.json   the clock of training time                           s3/         objects
    tmp/         unpacked functions: removed when the server stops, and at its next start if it was killed
    training/    the files of running scripts: removed with each job, and at the next start
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import json
import logging
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headway_sandbox import administrator
from headway_sandbox.administrator import Administrator
from headway_sandbox.call_recorder import RunRecorder
from headway_sandbox.emulator import (
    alarm_actions,
    api_gateway,
    authentication,
    cloudformation,
    cloudwatch,
    dynamodb,
    dynamodb_state,
    ec2,
    iam,
    lambda_runtime,
    logs,
    patches,
    policy_simulation,
    service_state,
    training_time,
)
from headway_sandbox.errors import JournalError, JournalOfOtherVersion
from headway_sandbox.journal.journal import FILE as JOURNAL
from headway_sandbox.journal.journal import Journal
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from headway_sandbox.sagemaker.telemetry import container_logs, utilization
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.server import monitoring, training_logs
from headway_sandbox.server.front_door import FrontDoor
from headway_sandbox.server.http_proxy import AwsProxy
from headway_sandbox.server.saved_clock import clock_of
from headway_sandbox.server.saved_fleet import JOBS, load_fleet
from headway_sandbox.server.training_runs import TrainingRuns
from headway_sandbox.training.endpoint import RELAY
from headway_sandbox.training.selection import why_timer
from headway_sandbox.training.settings import TrainingSettings

HOST = "127.0.0.1"
# Metrics that scripts print (SageMaker guide, "Define training metrics").
SCRIPT_DIMENSION, SCRIPT_UNIT = "TrainingJobName", "None"
_JOBS_OF_0_1 = "fleet.json"
# Variables that could direct the functions, which inherit the server's environment, to a real account or another host.
_NOT_INHERITED = ("AWS_", "DOCKER_", "LOCALSTACK_", "MINISTACK_", "SERVICES", "SAM_")


def main(arguments: Sequence[str]) -> int:
    """Run the server until SIGTERM or SIGINT."""
    faulthandler.enable()
    options = _options(arguments)
    state = options.state_dir.resolve()
    # Its files have requests, logs and credentials of the emulated account.
    os.umask(0o077)
    os.chdir(state)
    try:
        journal = _open_journal(state)
    except JournalError as error:
        print(error, file=sys.stderr)
        return 1
    key = administrator.find_or_make(state)
    _set_environment(key, port=options.port, state=state, region=options.region, account=options.account)
    training = TrainingSettings.from_document(json.loads(options.train)) if options.train else None
    settings = SageMakerSettings(
        account=options.account,
        region=options.region,
        clock=clock_of(state, speed=options.speed, now_s=time.time()),
        durations=Durations(**json.loads(options.durations)),
        why_timer=partial(why_timer, settings=training),
    )
    record = RunRecorder(options.calls_folder, name="sandbox", sources=options.sources)
    fleet = load_fleet(journal, settings, random.Random(options.seed))
    asyncio.run(
        _serve(
            key,
            port=options.port,
            state=state,
            fleet=fleet,
            journal=journal,
            record=record,
            training=training,
            relays=options.relay,
        )
    )
    # The emulator has added its state at its shutdown.
    code = _close(journal)
    # Ends processes that a thread of the emulator may have started since the shutdown.
    patches.end_workers()
    shutil.rmtree(state / "tmp", ignore_errors=True)
    logging.shutdown()
    # Without waiting for the emulator's threads, which may wait for processes that have ended.
    os._exit(code)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m headway_sandbox serve", description="Serve the sandbox.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--speed", type=float, help="factor by which training time is accelerated")
    parser.add_argument("--region", default="eu-west-1")
    parser.add_argument("--account", default="123456789012")
    parser.add_argument("--seed", type=int, default=0, help="seed of the injected faults")
    parser.add_argument("--calls-folder", type=Path, help="folder for the record of the functions' AWS calls")
    parser.add_argument("--sources", default="", help="hash of the deployed sources, for that record")
    parser.add_argument("--durations", default="{}", help="JSON: provisioning_s, download_s, upload_s, …")
    parser.add_argument("--relay", action="store_true", help="listen on a socket for training jobs, too")
    parser.add_argument("--train", help="JSON of TrainingSettings: scripts of training jobs run")
    return parser.parse_args(arguments)


def _set_environment(key: Administrator, *, port: int, state: Path, region: str, account: str) -> None:
    """Set the variables that ministack reads at import and that functions inherit."""
    for name in list(os.environ):
        if name.startswith(_NOT_INHERITED) or name.lower().endswith("_proxy"):
            del os.environ[name]
    shutil.rmtree(state / "tmp", ignore_errors=True)  # left by a server that was killed
    for name in ("tmp", "emulator", "s3"):
        (state / name).mkdir(parents=True, exist_ok=True)
    os.environ.update(
        GATEWAY_PORT=str(port),
        BIND_HOST=HOST,
        MINISTACK_HOST="localhost",
        MINISTACK_ACCOUNT_ID=account,
        MINISTACK_REGION=region,
        AWS_DEFAULT_REGION=region,
        AWS_ACCESS_KEY_ID=key.access_key,
        AWS_SECRET_ACCESS_KEY=key.secret_key,
        AUTH="true",
        PERSIST_STATE="1",
        STATE_DIR=str(state / "emulator"),
        S3_PERSIST="1",
        S3_DATA_DIR=str(state / "s3"),
        TMPDIR=str(state / "tmp"),
        # Each of these would listen on further ports.
        SFTP_ENABLED="0",
        IOT_MTLS_ENABLED="0",
        # No container engine is used, even if one is installed.
        DOCKER_HOST=f"unix://{state}/no-docker.sock",
        LOG_LEVEL="WARNING",
        NO_PROXY="127.0.0.1,localhost",
    )
    tempfile.tempdir = None
    # Functions import from their layers, not from this process's path, and may write bytecode.
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(name, None)


def _open_journal(state: Path) -> Journal:
    """Open the journal, before anything else in the state directory is touched: another server may be using it."""
    if (state / _JOBS_OF_0_1).exists() and not (state / JOURNAL).exists():
        raise JournalOfOtherVersion(
            f"{state} is of a development version of Headway. Remove it to begin with an empty sandbox."
        )
    return Journal(state / JOURNAL)


def _close(journal: Journal) -> int:
    """Close the journal, and return the exit code of the server."""
    try:
        journal.close()
    except JournalError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


async def _serve(
    key: Administrator,
    *,
    port: int,
    state: Path,
    fleet: FakeSageMaker,
    journal: Journal,
    record: RunRecorder,
    training: TrainingSettings | None,
    relays: bool,
) -> None:
    _raise_file_limit()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    recovered = _recovered(journal) if journal.was_killed else None
    behind = patches.prepare()
    authentication.prepare(root=key.access_key, secret=key.secret_key)
    service_state.prepare(journal)
    api_gateway.prepare()
    ec2.prepare()
    cloudwatch.prepare(fleet.settings.clock)
    alarm_actions.prepare()
    logs.prepare()
    lambda_runtime.prepare()
    training_time.prepare(fleet.settings.clock)
    cloudformation.prepare()
    dynamodb_state.prepare(journal)
    dynamodb.prepare()
    iam.prepare(record.calls.add)
    policy_simulation.prepare()

    def on_shutdown() -> None:
        patches.end_workers()
        record.write()
        # Computed again at the start, and slow to save.
        jobs = fleet.jobs(now=fleet.settings.clock.training_time(time.time()))
        monitoring.drop_timers(jobs)
        training_logs.drop_timers(jobs)

    cloud = AwsProxy(
        fleet=fleet,
        state_dir=state,
        record=record,
        journal=journal,
        recovered=recovered,
        behind=behind,
        runs=_training_runs(fleet, training, state=state, port=port),
        on_shutdown=on_shutdown,
    )
    door = FrontDoor(cloud, port=port, administrator=key.access_key)
    # By way of this process's folder, as a socket's path has 107 bytes at most.
    relay = [f"unix:{RELAY}"] if relays else []
    await patches.serve(door, addresses=[f"{HOST}:{port}", *relay], stop=stop)


@dataclass(frozen=True, slots=True)
class _EmulatorTelemetry:
    """The emulator's logs and metrics."""

    region: str

    def log(self, stream: str, time_s: float, text: str) -> None:
        logs.write(container_logs.GROUP, stream, [(time_s, text)], region=self.region)

    def metric(self, job: str, name: str, value: float, time_s: float) -> None:
        point = (name, {SCRIPT_DIMENSION: job}, time_s, value)
        cloudwatch.record(utilization.NAMESPACE, SCRIPT_UNIT, [point], region=self.region)

    def utilization(self, host: str, percent: Mapping[str, float], time_s: float) -> None:
        points = [(name, {utilization.DIMENSION: host}, time_s, value) for name, value in percent.items()]
        cloudwatch.record(utilization.NAMESPACE, utilization.UNIT, points, region=self.region)


def _training_runs(fleet: FakeSageMaker, settings: TrainingSettings | None, *, state: Path, port: int) -> TrainingRuns:
    """Return what runs the scripts of training jobs, with the emulator's roles."""
    return TrainingRuns(
        fleet,
        settings,
        folder=state / "training",
        port=port,
        relay=state / RELAY,
        credentials=patches.role_credentials,
        telemetry=_EmulatorTelemetry(fleet.settings.region),
    )


def _recovered(journal: Journal) -> dict[str, int]:
    """Return the number of items and training jobs that a killed server left."""
    counts = journal.counts()
    items = sum(count for name, count in counts.items() if name.startswith(dynamodb_state.ITEMS_OF))
    return {"items": items, "trainingJobs": counts.get(JOBS, 0)}


def _raise_file_limit() -> None:
    """Raise the limit of open files: each function's process needs some, a burst more than the default of 1024."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
