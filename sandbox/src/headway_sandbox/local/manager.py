"""Starts and stops a sandbox, for the CLI and the tests.

    info = up()                    # .sandbox/ as clients find it, port 4566 if it is free
    down()

Tests use the temporary `headway_sandbox.local.sandbox.Sandbox`.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import headway
import headway_sandbox
from headway_client.config import sandbox_state
from headway_sandbox import administrator
from headway_sandbox.administrator import Administrator
from headway_sandbox.errors import (
    NotRunning,
    PortInUse,
    SandboxError,
    StartFailed,
    StateDirUnusable,
    StopFailed,
    WrongUsage,
)
from headway_sandbox.journal import journal
from headway_sandbox.local import aws_account as account
from headway_sandbox.local import (
    deployment,
    direct_deployment,
    sagemaker_config,
    sam_local,
    state_folder,
    training_options,
)
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.deferred_signals import deferred_signals
from headway_sandbox.local.installed_package import InstalledPackage
from headway_sandbox.local.sandbox_info import SandboxInfo
from headway_sandbox.local.sources import Sources, here
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.server import admin_client
from headway_sandbox.training.settings import TrainingSettings

DEFAULT_PORT = 4566
REGION = "eu-west-1"
ACCOUNT = "123456789012"
BUCKET = f"headway-jobs-{ACCOUNT}-{REGION}"
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 60.0
_LOG_TAIL = 2000
_FREE_PORTS = range(20_000, 32_000)
"""None that systems give to outgoing connections (Linux from 32768 on, others from 49152).

While a sandbox restarts, a client that keeps connecting could otherwise get its port, and even connect to itself (TCP's
simultaneous open), so that the server cannot listen there.
"""
_PORT_TRIES = 100


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a sandbox."""

    state_dir: Path
    port: int | None = None
    """None: its previous port, or 4566, or a free one. 0: a free one."""
    speed: float | None = None
    """None: its previous speed, or 1."""
    durations: Durations | None = None
    training: TrainingSettings | None = None
    """With which scripts of training jobs run; None: all jobs are timers."""
    relays: bool = False
    """Whether the server has a socket for training jobs even if it runs none itself."""
    parameters: Mapping[str, str] | None = None
    """Template parameters, in addition to the sandbox's own."""
    deploys: bool = True
    """False: the services without the queue."""
    sources: Sources
    """What is deployed."""
    report: Callable[[str], None] = lambda _line: None
    """Called with a line for each step."""


def up(
    *,
    state_dir: Path | None = None,
    port: int | None = None,
    speed: float | None = None,
    parameters: Mapping[str, str] | None = None,
    training: TrainingSettings | None = None,
    report: Callable[[str], None] | None = None,
) -> SandboxInfo:
    """Start a sandbox and deploy the current sources of the checkout, or the installed package. Idempotent.

    Args:
        state_dir: Its state directory; default: that of `default_state_dir`.
        port: Its port; default: its previous port, 4566, or a free one.
        speed: Factor by which training time is accelerated; default: its previous one, or 1.
        parameters: Template parameters, in addition to the sandbox's own.
        training: With which scripts of training jobs run (`headway_sandbox.local.training_options`); None: none runs.
        report: Called with a line for each step.

    Returns:
        The running sandbox.

    Raises:
        SetupMissing: An environment or a package is not installed.
        WrongUsage: The port is in use, or the sandbox runs already with another port or speed, or without training.
        StateDirUnusable: The state directory cannot be written.
        StartFailed: The server did not start.
        DeployFailed: sam or CloudFormation failed.
    """
    sources = here()
    settings = Settings(
        state_dir=state_dir or default_state_dir(),
        port=port,
        speed=speed,
        durations=training_options.DURATIONS if training is not None else None,
        training=training,
        parameters=parameters,
        sources=sources,
        report=report or (lambda _line: None),
    )
    return start(settings)


def down(*, state_dir: Path | None = None) -> bool:
    """Stop a sandbox and keep its state. Return whether one was running."""
    return stop(state_dir or default_state_dir())


def status(*, state_dir: Path | None = None) -> SandboxInfo | None:
    """Return the running sandbox of a state directory; None if there is none."""
    folder = state_dir or default_state_dir()
    info = _read(folder)
    health = admin_client.health(info.port, info.administrator) if info is not None else None
    if info is None or health is None or health.get("stateDir") != str(folder.resolve()):
        return None
    return replace(info, pid=int(health["pid"]), speed=float(health["speed"]), trains=bool(health.get("trains")))


def has_state(*, state_dir: Path | None = None) -> bool:
    """Return whether a sandbox, running or not, has its state in a state directory."""
    return state_folder.has_state(state_dir or default_state_dir())


def reset(*, state_dir: Path | None = None) -> bool:
    """Stop a sandbox and remove its state, so that `up` starts an empty one. Return whether there was one.

    Raises:
        StateDirUnusable: The state directory cannot be removed.
        StopFailed: Its server runs and could not be stopped.
    """
    folder = state_dir or default_state_dir()
    if not state_folder.has_state(folder):
        return False
    state_folder.check_removable(folder)
    # No start may begin meanwhile, and one that is in progress has to end.
    with deployment.locked(folder / state_folder.LOCK) as is_there:
        if is_there:
            stop(folder, keeps_state=False)
            state_folder.remove(folder)
    return is_there


def user(name: str, *, policy: str, state_dir: Path | None = None) -> SandboxInfo:
    """Make a user of the account, or a new key for one, and return the running sandbox with this key.

    Args:
        name: The user's name in IAM.
        policy: Name of a managed policy of the stack, such as UserPolicy; the user has no other one afterwards.
        state_dir: The state directory; default: that of `default_state_dir`.

    Raises:
        NotRunning: No sandbox with a queue runs there.
        InvalidName: IAM has no users of that name.
    """
    info = status(state_dir=state_dir)
    if info is None or not info.endpoint:
        raise NotRunning("No sandbox with a queue runs here. Start one with `headway sandbox up`.")
    access_key, secret_key = account.make_queue_user(info, name, policy)
    return replace(info, access_key=access_key, secret_key=secret_key)


def default_state_dir() -> Path:
    """Return the `.sandbox/` that clients find from the working directory, or else that of a new sandbox."""
    return sandbox_state.state_dir(here().home())


# -------------------------------------------------------------------------------------------------------- the steps


def start(settings: Settings) -> SandboxInfo:
    """Start a sandbox, like `up`, with all settings."""
    with _prepared(settings.state_dir):
        info = status(state_dir=settings.state_dir)
        if info is None:
            info = _launch(settings)
        else:
            _check_running(info, settings)
        if settings.deploys:
            info = _for_sam_local(_deploy(info, settings), settings.state_dir)
        _write(settings.state_dir, info)
    return info


@contextmanager
def _prepared(state_dir: Path) -> Iterator[None]:
    """Make the state directory and lock it, again if a reset has removed it meanwhile."""
    is_there = False
    while not is_there:
        _prepare(state_dir)
        with deployment.locked(state_dir / state_folder.LOCK) as is_there:
            if is_there:
                yield


def _prepare(state_dir: Path) -> None:
    """Make the state directory, and write to it, before anything depends on it."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        # It has requests, logs and credentials of the emulated account: other users of the machine cannot enter it.
        state_dir.chmod(0o700)
        # git ignores the folder, wherever it is in a checkout.
        (state_dir / ".gitignore").write_text("*\n", encoding="utf-8")
        (state_dir / sagemaker_config.FILE).write_text(sagemaker_config.text(BUCKET), encoding="utf-8")
    except OSError as error:
        raise StateDirUnusable(
            f"{state_dir} cannot have the sandbox's state ({error.strerror}). It has to be a folder that you may write "
            f"to, on a disk with free space: change that, or move away what is there."
        ) from error


def _check_running(info: SandboxInfo, settings: Settings) -> None:
    """Raise an error if a running sandbox has other settings than those that were given."""
    others = []
    if settings.port and settings.port != info.port:
        others.append(f"with --port {info.port}")
    if settings.training is not None and not info.trains:
        others.append("without --train")
    elif settings.speed is not None and settings.speed != info.speed:
        others.append(f"with --speed {info.speed:g}")
    if others:
        raise WrongUsage(
            f"The sandbox runs {' and '.join(others)}. Stop it first: `headway sandbox down`. Then start it with the "
            f"other options; it keeps its state."
        )
    if settings.training is not None:
        settings.report("the sandbox runs already; --image, --stop-grace and --memory are as they were at its start")


def _launch(settings: Settings) -> SandboxInfo:
    python = settings.sources.sandbox_python()
    if settings.deploys:
        settings.sources.check()
    before = _read(settings.state_dir)
    port = _choose_port(settings.port, before)
    settings.report(f"starting the sandbox on 127.0.0.1:{port}")
    if settings.training is not None:
        settings.report(training_options.describe(settings.training))
    key = administrator.find_or_make(settings.state_dir)
    health = _start_server(python, settings, port, key)
    info = SandboxInfo(
        endpoint="",
        aws_endpoint=f"http://127.0.0.1:{port}",
        port=port,
        pid=int(health["pid"]),
        region=REGION,
        account=ACCOUNT,
        access_key=key.access_key,
        secret_key=key.secret_key,
        role_arn=f"arn:aws:iam::{ACCOUNT}:role/{account.ROLE}",
        bucket=BUCKET,
        speed=float(health["speed"]),
        stack=deployment.STACK,
        trains=bool(health.get("trains")),
        sagemaker_config=str(settings.state_dir.resolve() / sagemaker_config.FILE),
    )
    # Before any other step can fail or be interrupted: `stop` finds the server by this file.
    _write(settings.state_dir, info)
    _report_recovery(settings, health["recovered"])
    account.create_resources(info)
    return info


def _report_recovery(settings: Settings, recovered: Mapping[str, int] | None) -> None:
    """Report what a killed server left, which its successor knows."""
    if recovered is not None:
        settings.report(
            f"the sandbox was killed: its {recovered['items']} table items, {recovered['trainingJobs']} training jobs "
            f"and its configuration are as they were. Messages, metrics and logs are lost"
        )


def _start_server(python: Path, settings: Settings, port: int, key: Administrator) -> Mapping[str, Any]:
    """Start the server and return its health document."""
    state = settings.state_dir.resolve()
    environment = {
        name: value for name, value in os.environ.items() if name in {"HOME", "LANG", "LC_ALL", "PATH", "TZ", "USER"}
    }
    # This package and the core, which it imports; the server's interpreter has no other package of Headway.
    ours = [Path(package.__path__[0]).resolve().parent for package in (headway_sandbox, headway)]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, ours))
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    durations = asdict(settings.durations) if settings.durations else {}
    command = [
        str(python), "-m", "headway_sandbox", "serve", "--port", str(port), "--state-dir", str(state),
        "--region", REGION, "--account", ACCOUNT, *(["--speed", str(settings.speed)] if settings.speed else []),
        "--durations", json.dumps(durations), "--sources", settings.sources.code_hash(),
    ]  # fmt: skip
    if settings.training is not None:
        command += ["--train", json.dumps(settings.training.to_document())]
    if settings.training is not None or settings.relays:
        command.append("--relay")
    if calls_folder := settings.sources.calls_folder():
        command += ["--calls-folder", str(calls_folder)]
    log = state / "server.log"
    process: subprocess.Popen[bytes] | None = None
    try:
        # A signal while the process starts would leave it running without a state file.
        with log.open("wb") as output, deferred_signals(signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                command, env=environment, cwd=state, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        health = _wait_until_ready(process, port, key)
    except BaseException:  # interrupts, too: there is no state file of the process yet
        if process is not None:
            _kill(process)
        raise
    if health is not None:
        process.returncode = 0  # the process outlives this object, on purpose
        return health
    _kill(process)
    tail = log.read_text(errors="replace")[-_LOG_TAIL:]
    raise StartFailed(f"The sandbox's server did not become ready on port {port}. {log} ends with:\n{tail}")


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, key: Administrator) -> Mapping[str, Any] | None:
    """Wait until the server responds with its health document; None if it does not, or has ended."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        health = admin_client.health(port, key)
        if health is not None and health.get("pid") == process.pid:
            return health
        time.sleep(0.05)
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _deploy(info: SandboxInfo, settings: Settings) -> SandboxInfo:
    wanted = {**account.template_parameters(info), **(settings.parameters or {})}
    mark = json.dumps({"sources": settings.sources.sources_hash(), "parameters": wanted}, sort_keys=True)
    endpoint = account.api_endpoint(info)
    if endpoint and account.deployed_mark(info) == mark:
        return replace(info, endpoint=endpoint)
    match settings.sources:
        case Checkout() as checkout:
            settings.report("building (sam build)")
            built = deployment.build(checkout, region=info.region)
            settings.report("deploying (sam deploy)")
            deployment.deploy(checkout, built=built, parameters=wanted, settings=info.environment())
        case InstalledPackage() as package:
            settings.report("deploying (CloudFormation)")
            direct_deployment.deploy(package, info=info, parameters=wanted)
    admin_client.call(info.port, info.administrator, "POST", "/save")
    account.mark_deployed(info, mark)
    endpoint = account.api_endpoint(info)
    if not endpoint:
        raise SandboxError(f"The stack {info.stack} was deployed but has no REST API.")
    return replace(info, endpoint=endpoint)


def _for_sam_local(info: SandboxInfo, state_dir: Path) -> SandboxInfo:
    sam_local.write(info, state_dir)
    folder = state_dir.resolve()
    return replace(
        info,
        function_variables=str(folder / sam_local.VARIABLES_FILE),
        container_variables=str(folder / sam_local.CONTAINER_FILE),
    )


def stop(state_dir: Path, *, keeps_state: bool = True) -> bool:
    """Stop a sandbox with SIGTERM, so that it saves its state. Return whether one was running.

    Args:
        state_dir: Its state directory.
        keeps_state: Whether it goes on running if its state cannot be saved, or it does not respond.

    Raises:
        StopFailed: It cannot save its state or does not respond, so it still runs; or it did not end by itself and was
            killed.
    """
    info = status(state_dir=state_dir)
    if info is None:
        return _stop_silent(state_dir, keeps_state=keeps_state)
    if keeps_state:
        _check_saves(info)
    os.kill(info.pid, signal.SIGTERM)
    if not _ended(info.pid, _STOP_TIMEOUT_S):
        # SIGABRT writes the stack of each thread to the log.
        os.kill(info.pid, signal.SIGABRT)
        _ended(info.pid, _STOP_TIMEOUT_S)
        raise StopFailed(
            f"The sandbox did not end within {_STOP_TIMEOUT_S:.0f} s and was killed: messages, metrics and logs are "
            f"lost. Its stack traces are in {state_dir / 'server.log'}."
        )
    return True


def _check_saves(info: SandboxInfo) -> None:
    """Raise an error if a sandbox cannot save its state."""
    try:
        admin_client.call(info.port, info.administrator, "POST", "/save")
    except SandboxError as error:
        raise StopFailed(f"The sandbox still runs. {error}") from error
    except OSError:
        pass  # it does not respond: it is stopped as it is


def _stop_silent(state_dir: Path, *, keeps_state: bool) -> bool:
    """Kill a server that runs but does not respond, unless its state is to be kept. Return whether one was running."""
    if not journal.is_open(state_dir / journal.FILE):
        return False
    pid = _pid_of_server(state_dir)
    if keeps_state or pid is None:
        how = f" with `kill -9 {pid}`" if pid is not None else ""
        raise StopFailed(
            f"The server of the sandbox in {state_dir} runs, but does not respond; it may be starting or stopping. Try "
            f"again in a moment. If it stays so, end its process{how}: jobs and the configuration are kept."
        )
    os.kill(pid, signal.SIGKILL)
    if not _ended(pid, _STOP_TIMEOUT_S):
        raise StopFailed(f"The sandbox's server, process {pid}, was killed and has not ended. Try again in a moment.")
    return True


def _pid_of_server(state_dir: Path) -> int | None:
    """Return the process that the state file names if it is this sandbox's server; it may be another one's by now."""
    info = _read(state_dir)
    if info is None:
        return None
    try:
        shown = subprocess.run(
            ["ps", "-ww", "-o", "command=", "-p", str(info.pid)], capture_output=True, text=True, check=False
        )
    except OSError:
        return None  # this machine has no ps
    return info.pid if f" serve --port {info.port} --state-dir {state_dir.resolve()} " in shown.stdout else None


def kill(state_dir: Path) -> bool:
    """Kill the server of a sandbox with SIGKILL, for tests. Return whether one was running."""
    info = status(state_dir=state_dir)
    if info is None:
        return False
    os.kill(info.pid, signal.SIGKILL)
    return _ended(info.pid, _STOP_TIMEOUT_S)


def _ended(pid: int, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            # A child process must be waited for, or it remains as a zombie.
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                return True
        except ChildProcessError:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
        time.sleep(0.05)
    return False


def _choose_port(asked: int | None, before: SandboxInfo | None) -> int:
    if asked:
        _check_port(asked)
        return asked
    candidates = [] if asked == 0 else [before.port] if before is not None else [DEFAULT_PORT]
    for port in [*candidates, *random.sample(_FREE_PORTS, _PORT_TRIES)]:
        try:
            _bind(port)
        except OSError:
            continue
        return port
    raise StartFailed("No free port on 127.0.0.1.")


def _check_port(port: int) -> None:
    """Raise an error that says what to change if the server could not listen on a port."""
    try:
        _bind(port)
    except PermissionError as error:
        raise WrongUsage(f"You are not allowed to listen on port {port}; choose another with --port.") from error
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortInUse(f"Port {port} is in use; choose another with --port.") from error


def _bind(port: int) -> None:
    """Bind a port for a moment; raises OSError if the server could not."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


def _read(state_dir: Path) -> SandboxInfo | None:
    key = administrator.find(state_dir)
    if key is None:
        return None
    try:
        document = json.loads((state_dir / state_folder.FILE).read_text(encoding="utf-8"))
        return SandboxInfo(**{**document, **asdict(key)})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        return None  # from another version of Headway: it is overwritten


def _write(state_dir: Path, info: SandboxInfo) -> None:
    draft = state_dir / f"{state_folder.FILE}.tmp"
    document = {name: value for name, value in asdict(info).items() if name not in asdict(info.administrator)}
    # The client refuses one that others can change, as with a umask of 002.
    draft.touch()
    draft.chmod(0o600)
    draft.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    draft.replace(state_dir / state_folder.FILE)
