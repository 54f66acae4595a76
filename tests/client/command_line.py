"""Helpers for tests of the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from headway_client.cli.app import cli
from tests.client.fakes.server import Fault

Run = Callable[..., tuple[int, str, str]]
Write = Callable[[Any], str]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = os.pathsep.join(str(ROOT / folder) for folder in ("client/src", "layers/core/src"))


def headway(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process, with only the client and the core on its path."""
    environment = os.environ | {"PYTHONPATH": SOURCES}
    return subprocess.run(
        [sys.executable, "-m", "headway_client.cli.main", *arguments],
        env=environment, capture_output=True, text=True, timeout=30, check=False, **options,
    )  # fmt: skip


def answers(status: int, **document: Any) -> Fault:
    """Return a fault that sends this response in place of the queue's."""
    return Fault(status=status, body=json.dumps(document).encode())


@dataclass(frozen=True, kw_only=True)
class Level:
    """The completions after a command such as ``config show``: subcommands, options, values of an argument."""

    path: tuple[str, ...]
    commands: Sequence[str]
    options: Sequence[str]
    words: Sequence[str]

    @property
    def name(self) -> str:
        return " ".join(self.path)


def levels(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[Level]:
    """Yield all commands, the program itself first."""
    below = command.commands if isinstance(command, click.Group) else {}
    options: list[str] = []
    words: list[str] = []
    for param in command.params:
        if isinstance(param, click.Option):
            options += [] if param.hidden else param.opts
        elif isinstance(param.type, click.Choice):
            words += param.type.choices
    yield Level(path=path, commands=list(below), options=[*options, "-h", "--help"], words=words)
    for name, each in below.items():
        yield from levels(each, (*path, name))
