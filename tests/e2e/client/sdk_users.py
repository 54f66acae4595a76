"""Users of boto3 and SageMaker's SDKs, with unmodified scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.command_line import CommandLine

ROOT = Checkout.here().root
SCRIPTS = Path(__file__).with_name("scripts")

_ONE_LINE = "import headway_client; headway_client.install()\n"

Launch = Literal["module", "line", "itself"]


@dataclass(frozen=True, kw_only=True)
class User:
    """A user with a script."""

    name: str
    """The job's name, or its prefix if the SDK generates the name."""
    script: str
    """The script in the folder `scripts`, without its suffix."""
    sdk: str | None = None
    """The environment in `.envs` with their SDK; None for an environment with boto3 only."""
    pools: tuple[str, ...]
    """The instance types of the job, one instance of each."""
    follows_logs: bool = True
    """Whether the script shows the logs while the job runs instead of afterwards."""
    place: str = "(place 1 in the queue)"
    """Where the place in the queue is shown: in the job's status, or next to it if the SDK shows no status."""
    waits: str | None = None
    """The output when the SDK begins to wait for the job, if it is not the place in the queue."""
    launch: Launch = "module"
    """How the script uses the queue: `python -m headway_client`, one added line, or its own code."""

    def python(self) -> Path:
        """The interpreter that runs the script."""
        python = Path(sys.executable) if self.sdk is None else ROOT / f".envs/{self.sdk}/bin/python"
        assert os.access(python, os.X_OK), f"{python} is missing: run `make setup`."
        return python


class Workplace:
    """A user's working folder and settings.

    Args:
        sandbox: the sandbox of the queue.
        folder: a new, empty folder.
        environment: environment variables, in place of the user's usual ones.
    """

    def __init__(self, sandbox: Sandbox, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._sources = folder / "sources"
        self._sources.mkdir(parents=True)
        (self._sources / "train.py").write_text("print('training')\n")
        self._environment = {
            **CommandLine(sandbox, folder).environment,
            **sandbox.info.exports(),
            "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("layers/core/src", "client/src")),
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "200",  # SDK 3 wraps its log to the terminal's width
            **(environment or {}),
        }

    def start(self, user: User) -> Script:
        """Run a user's script."""
        info = self._sandbox.info
        sources = () if user.sdk is None else (str(self._sources),)
        arguments = (user.name, info.role_arn, *sources, info.bucket, *user.pools)
        script = SCRIPTS / f"{user.script}.py"
        if user.launch == "line":
            before, future, after = script.read_text().partition("from __future__ import annotations\n")
            script = self._folder / script.name
            script.write_text(f"{before}{future}{_ONE_LINE}{after}")
        module = ("-m", "headway_client") if user.launch == "module" else ()
        return Script(user.python(), (*module, str(script), *arguments), self._environment, self._folder)


class Script:
    """A running script with its output in a file."""

    def __init__(self, python: Path, arguments: Iterable[str], environment: dict[str, str], folder: Path) -> None:
        self._output = folder / "output.txt"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [str(python), *arguments], env=environment, cwd=folder,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    def output(self) -> str:
        """The output so far, of both streams."""
        return self._output.read_text(errors="replace")

    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def press_ctrl_c(self) -> None:
        """Send SIGINT, as a terminal does on Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Kill it if it is still running."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
