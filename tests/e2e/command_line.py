"""The command line as users run it: the real console script, in a separate process and folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway_sandbox.local.sandbox import Sandbox

HEADWAY = Path(sys.executable).with_name("headway")
TIMEOUT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The output, parsed as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True, kw_only=True)
class Running:
    """A running command."""

    process: subprocess.Popen[str]
    stdin: str

    def outcome(self) -> Outcome:
        """Wait until the command has ended."""
        out, err = self.process.communicate(self.stdin, timeout=TIMEOUT_S)
        return Outcome(code=self.process.returncode, out=out, err=err)


class CommandLine:
    """`headway`, directed to a sandbox by the environment.

    Args:
        sandbox: the sandbox of the queue.
        folder: the user's home and working folder.
        keys: access key and secret of the user; the account's root by default.
    """

    def __init__(self, sandbox: Sandbox, folder: Path, *, keys: tuple[str, str] | None = None) -> None:
        inherited = sandbox.info.environment()
        self.folder = folder
        self._started: list[subprocess.Popen[str]] = []
        self.environment = {
            name: value
            for name, value in inherited.items()
            if not name.startswith(("HEADWAY_", "XDG_")) and name != "COLUMNS"
        }
        self.environment.update(HOME=str(folder), HEADWAY_ENDPOINT=sandbox.endpoint)
        if keys is not None:
            self.environment.update(AWS_ACCESS_KEY_ID=keys[0], AWS_SECRET_ACCESS_KEY=keys[1])

    def __call__(self, *arguments: str, stdin: object = "", expect: int = 0) -> Outcome:
        """Run a command.

        Args:
            arguments: the arguments.
            stdin: text, or a document to encode as JSON.
            expect: the expected exit code; the test fails with the command's output otherwise.
        """
        outcome = self.start(*arguments, stdin=stdin).outcome()
        told = f"`headway {' '.join(arguments)}` left with {outcome.code}, not {expect}:\n{outcome.err}{outcome.out}"
        assert outcome.code == expect, told
        return outcome

    def start(self, *arguments: str, stdin: object = "") -> Running:
        """Start a command without waiting for it.

        Args:
            arguments: the arguments.
            stdin: text, or a document to encode as JSON.
        """
        assert os.access(HEADWAY, os.X_OK), f"{HEADWAY} is missing: run `make setup`."
        process = subprocess.Popen(
            [str(HEADWAY), *arguments], env=self.environment, cwd=self.folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._started.append(process)
        return Running(process=process, stdin=stdin if isinstance(stdin, str) else json.dumps(stdin))

    def close(self) -> None:
        """End the processes of a failed test, which may have ended since."""
        for process in self._started:
            if process.stdout and not process.stdout.closed:
                process.kill()
                process.communicate()

    def write(self, name: str, document: object) -> str:
        """Put a JSON file into the user's folder."""
        path = self.folder / name
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)
