"""Starting a sandbox again: what is reported, and who can read its state. No server is started."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway_client.config import sandbox_state
from headway_sandbox import administrator
from headway_sandbox.administrator import Administrator
from headway_sandbox.errors import (
    NotRunning,
    PortInUse,
    SandboxError,
    SetupMissing,
    StartFailed,
    StateDirUnusable,
    StopFailed,
    WrongUsage,
)
from headway_sandbox.local import aws_account, manager
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.installed_package import InstalledPackage
from headway_sandbox.local.sandbox_info import SandboxInfo
from headway_sandbox.server import admin_client
from headway_sandbox.training.settings import TrainingSettings
from tests.client.sandbox_files import write_sandbox


def start_without_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, health: Mapping[str, object] | None = None
) -> list[str]:
    """Start a sandbox without its server, and return the reported lines.

    Args:
        folder: the state directory.
        monkeypatch: replaces the server.
        health: the server's health document; None if it does not start.
    """

    def serve(*_arguments: object) -> Mapping[str, object]:
        if health is None:
            raise StartFailed("no server in this test")
        return health

    def refuse(*_arguments: object) -> None:
        raise StartFailed("no server in this test")

    monkeypatch.setattr(manager, "_start_server", serve)
    monkeypatch.setattr(aws_account, "create_resources", refuse)
    monkeypatch.setattr(Checkout, "sandbox_python", lambda _self: Path("python"))
    lines: list[str] = []
    settings = manager.Settings(state_dir=folder, port=0, deploys=False, sources=Checkout.here(), report=lines.append)
    with pytest.raises(StartFailed):
        manager.start(settings)
    return lines


@pytest.mark.parametrize(
    ("recovered", "reported"),
    [
        (None, ["starting the sandbox"]),
        (
            {"items": 525, "trainingJobs": 2},
            [
                "starting the sandbox",
                "the sandbox was killed: its 525 table items, 2 training jobs and its configuration are as they were",
            ],
        ),
    ],
)
def test_a_start_after_a_kill_reports_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recovered: dict[str, int] | None, reported: list[str]
) -> None:
    lines = start_without_server(tmp_path, monkeypatch, {"pid": 1, "speed": 5.0, "recovered": recovered})
    assert [line.partition(" on ")[0].partition(". ")[0] for line in lines] == reported


def test_only_the_user_can_enter_the_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    start_without_server(folder, monkeypatch)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in place of this one, and a folder elsewhere to work in."""
    root, work = tmp_path / "checkout", tmp_path / "elsewhere" / "src"
    root.mkdir()
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    monkeypatch.setattr(sandbox_state, "CHECKOUT", root)
    monkeypatch.setattr(manager, "here", lambda: Checkout(root=root))
    return root


def _has_sandbox(folder: Path) -> Path:
    return write_sandbox(folder, {}, key="k", secret="s").parent


def _has_state(folder: Path) -> Path:
    return write_sandbox(folder, {"port": 4566, "pid": 42}, key="k", secret="s").parent


def _info(key: Administrator, *, port: int, pid: int) -> SandboxInfo:
    return SandboxInfo(
        endpoint=f"http://127.0.0.1:{port}/v1", aws_endpoint=f"http://127.0.0.1:{port}", port=port, pid=pid,
        region="r", account="123456789012", access_key=key.access_key, secret_key=key.secret_key, role_arn="",
        bucket="", speed=1.0, stack="s",
    )  # fmt: skip


def test_a_new_sandbox_has_its_state_in_the_checkout(checkout: Path) -> None:
    assert manager.default_state_dir() == checkout / ".sandbox"


def test_a_new_sandbox_of_a_wheel_has_its_state_in_the_working_directory(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "here", InstalledPackage.here)
    assert manager.default_state_dir() == Path.cwd() / ".sandbox"


def test_the_commands_of_the_sandbox_find_that_which_the_client_finds(checkout: Path, tmp_path: Path) -> None:
    of_checkout = _has_sandbox(checkout)
    assert manager.default_state_dir() == of_checkout
    above = _has_sandbox(tmp_path / "elsewhere")
    assert manager.default_state_dir() == above
    assert sandbox_state.locate(Path.cwd()) == [above / "sandbox.json", of_checkout / "sandbox.json"]


def test_a_sandbox_of_another_user_in_a_folder_above_is_ignored(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _has_sandbox(tmp_path)
    monkeypatch.setattr(sandbox_state, "_is_own", lambda _path: False)
    assert manager.default_state_dir() == checkout / ".sandbox"


def test_a_reset_removes_the_state_even_if_it_cannot_be_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[dict[str, bool]] = []
    monkeypatch.setattr(manager, "stop", lambda _folder, **options: stopped.append(options))
    folder = _has_state(tmp_path)
    assert manager.reset(state_dir=folder)
    assert (stopped, folder.exists()) == ([{"keeps_state": False}], False)


def test_a_reset_leaves_a_folder_that_no_sandbox_made(tmp_path: Path) -> None:
    folder = _has_sandbox(tmp_path)
    assert not manager.reset(state_dir=folder)
    assert (folder / "sandbox.json").read_text() == "{}"
    assert not manager.has_state(state_dir=tmp_path)


@pytest.mark.parametrize("is_link", [True, False], ids=["a link", "not writable"])
def test_a_state_that_cannot_be_removed_is_named_before_the_sandbox_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_link: bool
) -> None:
    monkeypatch.setattr(manager, "stop", lambda *_arguments, **_options: pytest.fail("the sandbox was stopped"))
    folder = _has_state(tmp_path)
    if is_link:
        folder = tmp_path / "link"
        folder.symlink_to(tmp_path / ".sandbox")
    else:
        monkeypatch.setattr(os, "access", lambda path, _mode: path != tmp_path)
    reason = "is a link to" if is_link else f"you may not write to {tmp_path}:"
    with pytest.raises(StateDirUnusable, match=f"{re.escape(str(folder))} .*{re.escape(reason)}.* nothing was changed"):
        manager.reset(state_dir=folder)
    assert manager.has_state(state_dir=folder)


def test_a_state_that_is_removed_in_part_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _has_state(tmp_path)

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path / "s3"))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(StateDirUnusable, match=re.escape(f"{folder / 's3'} cannot be removed (Permission denied)")):
        manager.reset(state_dir=folder)


def test_a_start_that_waits_for_a_reset_begins_with_an_empty_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _has_state(tmp_path)
    lock = fcntl.flock

    def lock_after_a_reset(file: int, operation: int) -> None:
        lock(file, operation)
        monkeypatch.setattr(fcntl, "flock", lock)
        shutil.rmtree(folder)

    monkeypatch.setattr(fcntl, "flock", lock_after_a_reset)
    start_without_server(folder, monkeypatch)
    assert (folder / "lock").exists()
    assert not (folder / "sandbox.json").exists()


_SERVER = """
import sys, time
from pathlib import Path
from headway_sandbox.journal.journal import FILE, Journal

journal = Journal(Path(sys.argv[sys.argv.index("--state-dir") + 1]) / FILE)
print("open", flush=True)
time.sleep(600)
"""


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A state directory, and its server, which does not respond."""
    folder = tmp_path / ".sandbox"
    folder.mkdir()
    key = administrator.find_or_make(folder)
    command = [sys.executable, "-c", _SERVER, "serve", "--port", "1", "--state-dir", str(folder), "--region", "r"]
    monkeypatch.setattr(admin_client, "health", lambda *_arguments: None)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "open\n"
            manager._write(folder, _info(key, port=1, pid=server.pid))
            yield folder, server
        finally:
            server.kill()


def test_a_reset_kills_a_server_that_does_not_respond(silent: tuple[Path, subprocess.Popen[str]]) -> None:
    folder, server = silent
    server.send_signal(signal.SIGSTOP)
    assert manager.reset(state_dir=folder)
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


def test_a_server_that_does_not_respond_is_not_taken_for_one_that_has_stopped(
    silent: tuple[Path, subprocess.Popen[str]],
) -> None:
    folder, server = silent
    with pytest.raises(StopFailed, match=f"runs, but does not respond.*`kill -9 {server.pid}`"):
        manager.stop(folder)
    assert server.poll() is None


def test_a_process_that_is_not_the_server_is_not_killed(silent: tuple[Path, subprocess.Popen[str]]) -> None:
    folder, _ = silent
    key = administrator.find_or_make(folder)
    manager._write(folder, _info(key, port=1, pid=os.getpid()))
    with pytest.raises(StopFailed, match="end its process: jobs"):
        manager.reset(state_dir=folder)
    assert manager.has_state(state_dir=folder)


def test_a_user_needs_a_running_sandbox(tmp_path: Path) -> None:
    with pytest.raises(NotRunning, match="Start one with `headway sandbox up`"):
        manager.user("ada", policy="UserPolicy", state_dir=tmp_path)


def _a_file(folder: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_text("not a folder")


def _read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(folder))

    folder.mkdir()
    monkeypatch.setattr(Path, "write_text", refuse)


@pytest.mark.parametrize(
    ("make", "why"), [(_a_file, "File exists"), (_read_only, "Read-only file system")], ids=["a file", "read-only"]
)
def test_a_state_directory_that_cannot_be_written_is_named_with_what_to_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path, pytest.MonkeyPatch], None], why: str
) -> None:
    folder = tmp_path / ".sandbox"
    make(folder, monkeypatch)
    assert not manager.stop(folder)
    message = re.escape(f"{folder} cannot have the sandbox's state ({why}). It has to be a folder that you may write")
    with pytest.raises(StateDirUnusable, match=message):
        manager.start(manager.Settings(state_dir=folder, deploys=False, sources=Checkout.here()))


def test_a_sandbox_that_cannot_save_its_state_is_not_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise SandboxError("journal.db cannot be written: free space on its disk.")

    info = SimpleNamespace(port=1, pid=42, administrator=Administrator(access_key="AKIA", secret_key="secret"))
    monkeypatch.setattr(manager, "status", lambda **_options: info)
    monkeypatch.setattr(admin_client, "call", refuse)
    monkeypatch.setattr(os, "kill", lambda *_arguments: pytest.fail("the sandbox was stopped"))
    with pytest.raises(StopFailed, match=r"still runs\. journal\.db cannot be written"):
        manager.stop(tmp_path)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_nobody_else_can_read_or_change_the_state_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    key = administrator.find_or_make(tmp_path)
    info = _info(key, port=4566, pid=42)
    before = os.umask(umask)
    try:
        (tmp_path / "sandbox.json.tmp").write_text("left by a start that was killed")
        manager._write(tmp_path, info)
    finally:
        os.umask(before)
    assert (tmp_path / "sandbox.json").stat().st_mode & 0o777 == 0o600
    assert manager._read(tmp_path) == info


def test_the_key_is_in_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_without_server(tmp_path, monkeypatch, {"pid": 1, "speed": 5.0, "recovered": None})
    key = administrator.find(tmp_path)
    assert key is not None
    assert key.secret_key not in (tmp_path / "sandbox.json").read_text()
    info = manager._read(tmp_path)
    assert info is not None
    assert (info.access_key, info.secret_key) == (key.access_key, key.secret_key)
    assert key.secret_key not in repr(info)


@pytest.mark.parametrize("folder", [None, "calls"])
def test_the_server_of_an_installed_package_records_calls_only_where_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
) -> None:
    commands: list[list[str]] = []

    def refuse(command: list[str], **_options: object) -> None:
        commands.append(command)
        raise StartFailed("no server in this test")

    monkeypatch.delenv("HEADWAY_CALLS", raising=False)
    if folder:
        monkeypatch.setenv("HEADWAY_CALLS", str(tmp_path / folder))
    monkeypatch.setattr(subprocess, "Popen", refuse)
    settings = manager.Settings(state_dir=tmp_path, sources=InstalledPackage.here())
    with pytest.raises(StartFailed):
        manager._start_server(Path("python"), settings, 1, Administrator(access_key="AKIA", secret_key="secret"))
    (command,) = commands
    told = dict(pairwise(command))
    assert told.get("--calls-folder") == (str(tmp_path / folder) if folder else None)


def test_a_free_port_is_none_that_an_outgoing_connection_can_get() -> None:
    for _ in range(20):
        assert 20_000 <= manager._choose_port(0, None) < 32_000


def test_a_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        used = held.getsockname()[1]
        monkeypatch.setattr(manager, "DEFAULT_PORT", used)
        assert manager._choose_port(None, None) != used
        monkeypatch.setattr(manager, "_FREE_PORTS", [used])
        monkeypatch.setattr(manager, "_PORT_TRIES", 1)
        with pytest.raises(StartFailed, match="No free port"):
            manager._choose_port(0, None)


def test_a_chosen_port_in_use_is_refused_before_the_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "_start_server", lambda *_: pytest.fail("the server was started"))
    monkeypatch.setattr(Checkout, "sandbox_python", lambda _self: Path("python"))
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        used = held.getsockname()[1]
        settings = manager.Settings(state_dir=tmp_path, port=used, deploys=False, sources=Checkout.here())
        with pytest.raises(PortInUse, match=f"Port {used} is in use; choose another with --port"):
            manager.start(settings)
    assert manager._choose_port(used, None) == used


def test_a_chosen_port_that_is_not_allowed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_port: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(manager, "_bind", refuse)
    with pytest.raises(WrongUsage, match="not allowed to listen on port 80; choose another with --port"):
        manager._choose_port(80, None)


def test_an_installed_package_is_checked_before_its_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_self: InstalledPackage) -> None:
        raise SetupMissing("not installed")

    monkeypatch.setattr(InstalledPackage, "check", missing)
    monkeypatch.setattr(manager, "_start_server", lambda *_: pytest.fail("the server was started"))
    with pytest.raises(SetupMissing):
        manager.start(manager.Settings(state_dir=tmp_path, port=0, sources=InstalledPackage.here()))


def test_a_running_sandbox_without_train_does_not_run_scripts_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    running = SimpleNamespace(trains=False, speed=60.0)
    monkeypatch.setattr(manager, "status", lambda **_options: running)
    training = TrainingSettings(isolation="root")
    settings = manager.Settings(
        state_dir=tmp_path, deploys=False, sources=Checkout.here(), training=training, speed=1.0
    )
    with pytest.raises(WrongUsage, match=r"runs without --train\. Stop it first: `headway sandbox down`"):
        manager.start(settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"port": 5555}, "The sandbox runs with --port 4566. Stop it first: `headway sandbox down`."),
        ({"speed": 30.0}, "The sandbox runs with --speed 60. Stop it first: `headway sandbox down`."),
        ({"speed": 30.0, "port": 5555}, "The sandbox runs with --port 4566 and with --speed 60. Stop it first"),
        ({"port": 4566, "speed": 60.0}, None),
        ({"port": 0}, None),
        ({}, None),
    ],
)
def test_a_running_sandbox_with_other_settings_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], message: str | None
) -> None:
    running = SimpleNamespace(trains=False, port=4566, speed=60.0)
    monkeypatch.setattr(manager, "status", lambda **_options: running)
    monkeypatch.setattr(manager, "_write", lambda *_arguments: None)
    settings = manager.Settings(state_dir=tmp_path, deploys=False, sources=Checkout.here(), **given)
    if message is None:
        assert vars(manager.start(settings)) == vars(running)
    else:
        with pytest.raises(WrongUsage, match=re.escape(message)):
            manager.start(settings)


def test_the_options_of_scripts_do_not_change_in_a_running_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = SimpleNamespace(trains=True, port=4566, speed=1.0)
    monkeypatch.setattr(manager, "status", lambda **_options: running)
    monkeypatch.setattr(manager, "_write", lambda *_arguments: None)
    lines: list[str] = []
    training = TrainingSettings(isolation="root")
    manager.start(
        manager.Settings(
            state_dir=tmp_path, deploys=False, sources=Checkout.here(), training=training, speed=1.0,
            report=lines.append,
        )
    )  # fmt: skip
    assert lines == ["the sandbox runs already; --image, --stop-grace and --memory are as they were at its start"]
