"""Runs a command that asks questions on a terminal, and answers them."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headway_sandbox.errors import DeployFailed

TIMEOUT_S = 400.0
"""The time limit of a command, including its questions."""

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# As click prompts: the default in brackets and a colon, without a newline.
_QUESTION = re.compile(r"([^\r\n]*\[[^\[\]]*\]):[ ]?$")
_LONGEST_QUESTION = 500


@dataclass(frozen=True, kw_only=True)
class PromptDriver:
    """The result of a command: `asked` has each question as displayed, with its default in brackets, and the answer."""

    status: int
    text: str
    asked: list[tuple[str, str]]
    took_s: float

    def tail(self, lines: int = 25) -> str:
        """Return the last lines of the output."""
        return "\n".join([line for line in self.text.splitlines() if line.strip()][-lines:])


@dataclass
class _OutputReader:
    """Reads the output, and recognizes questions."""

    said: str = ""
    answered: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    def hear(self, data: bytes) -> None:
        self.said += _COLOURS.sub("", data.decode(errors="replace"))

    def question(self) -> str | None:
        match = _QUESTION.search(self.said[self.answered :][-_LONGEST_QUESTION:])
        return match[1].strip() if match else None

    def note(self, question: str, answer: str) -> None:
        self.asked.append((question, answer))
        self.answered = len(self.said)


def run_command(
    words: Sequence[str], *, environment: Mapping[str, str], folder: Path, answers: Mapping[str, str]
) -> PromptDriver:
    """Run a command on a pseudo-terminal and answer its questions.

    Args:
        words: the command.
        environment: all environment variables.
        folder: the working directory.
        answers: answers by the beginning of the question; all others are answered with Enter, which selects the
            default.

    Returns:
        The result of the command.

    Raises:
        DeployFailed: it did not end in time.
    """
    began = time.monotonic()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        list(words), env={**environment, "TERM": "dumb"}, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    listener = _OutputReader()
    try:
        _listen(listener, ours, answers, until=began + TIMEOUT_S)
        status = process.wait(timeout=max(1.0, began + TIMEOUT_S - time.monotonic()))
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        raise DeployFailed(f"`{' '.join(words)}` took more than {TIMEOUT_S:g} s:\n{listener.said[-2000:]}") from error
    finally:
        os.close(ours)
        if process.poll() is None:
            process.kill()
            process.wait()
    took_s = time.monotonic() - began
    return PromptDriver(status=status, text=listener.said, asked=listener.asked, took_s=took_s)


def _listen(listener: _OutputReader, terminal: int, answers: Mapping[str, str], *, until: float) -> None:
    while True:
        ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TimeoutError
        try:
            data = os.read(terminal, 65536)
        except OSError:
            return  # Linux raises this when the other end is closed
        if not data:
            return
        listener.hear(data)
        question = listener.question()
        if question is not None:
            answer = next((said for begin, said in answers.items() if question.startswith(begin)), "")
            os.write(terminal, f"{answer}\n".encode())
            listener.note(question, answer)
