"""The sandbox's server: the emulator and the fake SageMaker in one process, on loopback only.

`headway_sandbox.local.manager` runs it with the interpreter of the sandbox's environment. It writes only to its state
directory, where a clean stop (SIGTERM) leaves the state and the log:

    fleet.json   the training jobs         emulator/   ministack's state         server.log
    tmp/         unpacked functions: removed when the server stops, and at its next start if it was killed
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
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway_sandbox.call_recorder import RunRecorder
from headway_sandbox.emulator import (
    alarm_actions,
    api_gateway,
    cloudformation,
    cloudwatch,
    dynamodb,
    iam,
    lambda_runtime,
    logs,
    patches,
)
from headway_sandbox.emulator.placeholders import ROOT
from headway_sandbox.sagemaker import container_logs, utilization
from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.server.http_proxy import AwsProxy

HOST = "127.0.0.1"
# Variables that could direct the functions, which inherit the server's environment, to a real account or another host.
_NOT_INHERITED = ("AWS_", "DOCKER_", "LOCALSTACK_", "MINISTACK_", "SERVICES", "SAM_")


def main(arguments: Sequence[str]) -> int:
    """Run the server until SIGTERM or SIGINT."""
    faulthandler.enable()
    options = _options(arguments)
    state = options.state_dir.resolve()
    _set_environment(port=options.port, state=state, region=options.region, account=options.account)
    settings = SageMakerSettings(
        account=options.account,
        region=options.region,
        clock=Clock(speed=options.speed),
        durations=Durations(**json.loads(options.durations)),
    )
    record = RunRecorder(options.calls_folder, name="sandbox", sources=options.sources)
    asyncio.run(_serve(port=options.port, state=state, settings=settings, seed=options.seed, record=record))
    # Ends processes that a thread of the emulator may have started since the shutdown.
    patches.end_workers()
    shutil.rmtree(state / "tmp", ignore_errors=True)
    logging.shutdown()
    # Without waiting for the emulator's threads, which may wait for processes that have ended.
    os._exit(0)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m headway_sandbox serve", description="Serve the sandbox.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--speed", type=float, default=1.0, help="factor by which training time is accelerated")
    parser.add_argument("--region", default="eu-west-1")
    parser.add_argument("--account", default="123456789012")
    parser.add_argument("--seed", type=int, default=0, help="seed of the injected faults")
    parser.add_argument("--calls-folder", type=Path, help="folder for the record of the functions' AWS calls")
    parser.add_argument("--sources", default="", help="hash of the deployed sources, for that record")
    parser.add_argument("--durations", default="{}", help="JSON: provisioning_s, download_s, upload_s, …")
    return parser.parse_args(arguments)


def _set_environment(*, port: int, state: Path, region: str, account: str) -> None:
    """Set the variables that ministack reads at import and that functions inherit."""
    for name in list(os.environ):
        if name.startswith(_NOT_INHERITED) or name.lower().endswith("_proxy"):
            del os.environ[name]
    shutil.rmtree(state / "tmp", ignore_errors=True)  # left by a server that was killed
    for name in ("tmp", "emulator", "s3"):
        (state / name).mkdir(parents=True, exist_ok=True)
    access_key, secret_key = ROOT
    os.environ.update(
        GATEWAY_PORT=str(port),
        BIND_HOST=HOST,
        MINISTACK_HOST="localhost",
        MINISTACK_ACCOUNT_ID=account,
        MINISTACK_REGION=region,
        AWS_DEFAULT_REGION=region,
        AWS_ACCESS_KEY_ID=access_key,
        AWS_SECRET_ACCESS_KEY=secret_key,
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


async def _serve(*, port: int, state: Path, settings: SageMakerSettings, seed: int, record: RunRecorder) -> None:
    _raise_file_limit()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    behind = patches.prepare()
    api_gateway.prepare()
    cloudwatch.prepare()
    alarm_actions.prepare()
    logs.prepare()
    lambda_runtime.prepare()
    cloudformation.prepare()
    dynamodb.prepare()
    iam.prepare(record.calls.add)
    saved = state / "fleet.json"
    fleet = _load(saved, settings) or FakeSageMaker(settings=settings, rng=random.Random(seed))

    def on_shutdown() -> None:
        patches.end_workers()
        record.write()
        # Computed again at the start, and slow to save.
        cloudwatch.drop(utilization.NAMESPACE)
        logs.drop(container_logs.GROUP)
        _save(saved, fleet.to_document())

    cloud = AwsProxy(fleet=fleet, state_dir=state, record=record, behind=behind, on_shutdown=on_shutdown)
    await patches.serve(cloud, host=HOST, port=port, stop=stop)


def _raise_file_limit() -> None:
    """Raise the limit of open files: each function's process needs some, a burst more than the default of 1024."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _load(path: Path, settings: SageMakerSettings) -> FakeSageMaker | None:
    if not path.exists():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    if (document["account"], document["region"]) != (settings.account, settings.region):
        raise SystemExit(f"{path} has jobs of another account or region. Remove it, or start with that account.")
    return FakeSageMaker.from_document(document, settings=settings)


def _save(path: Path, document: Mapping[str, Any]) -> None:
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(document), encoding="utf-8")
    draft.replace(path)
