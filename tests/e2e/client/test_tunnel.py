"""docs/how-to/reach.md, "A laptop through Session Manager": the queue through a forwarded port, by a profile."""

from __future__ import annotations

import asyncio
import re
import threading
import tomllib
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from headway_client.cli.exit_codes import EXIT_NOT_REACHABLE
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.command_line import CommandLine

pytestmark = pytest.mark.e2e

PAGE = (Path(__file__).resolve().parents[3] / "docs/how-to/reach.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## A laptop through Session Manager\n")[2].partition("\n## ")[0]


NAME, LAPTOP = "localhost", "127.0.0.2"
"""A name of the sandbox, and the address where the laptop listens in its place."""

HOSTS = f"""
import socket
resolve = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **named: resolve({LAPTOP!r} if host == {NAME!r} else host, *rest, **named)
"""
"""In place of a line in `/etc/hosts`, which is not a test's to write."""


@dataclass
class Forwarder:
    """Forwards a port of the laptop to the same one of the sandbox, and keeps what callers sent."""

    port: int
    sent: bytearray = field(default_factory=bytearray)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _ready: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(timeout=10)

    def close(self) -> None:
        """End the session: nobody listens on the port any more."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=10)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._forward, LAPTOP, self.port))
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to, back = await asyncio.open_connection("127.0.0.1", self.port)
        with suppress(asyncio.CancelledError, ConnectionError):
            await asyncio.gather(self._copy(reader, back, self.sent), self._copy(to, writer, bytearray()))

    @staticmethod
    async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray) -> None:
        while data := await reader.read(65536):
            kept += data
            writer.write(data)
            await writer.drain()
        writer.close()


@pytest.fixture
def forwarder(sb: Sandbox) -> Iterator[Forwarder]:
    with closing(Forwarder(port=sb.info.port)) as running:
        yield running


@pytest.fixture
def laptop(sb: Sandbox, forwarder: Forwarder, tmp_path: Path) -> Iterator[CommandLine]:
    """A user with the page's profile and line of `/etc/hosts`, for the sandbox, and no other setting of the queue."""
    (profile,) = re.findall(r"^```toml\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    (given,) = tomllib.loads(profile)["profiles"].values()
    endpoint = f"http://{NAME}:{forwarder.port}{urlsplit(sb.endpoint).path}"
    here = profile.replace(given["endpoint"], endpoint).replace(given["region"], sb.info.region)
    with closing(CommandLine(sb, tmp_path)) as command_line:
        command_line.environment.pop("HEADWAY_ENDPOINT")
        (line,) = re.findall(r"^127\.0\.0\.1 (\S+)$", SECTION, re.MULTILINE)
        assert line == urlsplit(given["endpoint"]).hostname
        (tmp_path / "sitecustomize.py").write_text(HOSTS, encoding="utf-8")
        command_line.environment.update(PYTHONPATH=str(tmp_path), NO_PROXY=NAME)
        config = tmp_path / ".config/headway/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(here, encoding="utf-8")
        yield command_line


def commands() -> list[list[str]]:
    """The arguments of the page's commands of the client."""
    blocks = re.findall(r"^```console\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("headway ")]
    return [line.split()[1:] for line in lines]


def test_the_commands_of_the_page_reach_the_queue_through_the_forwarded_port(
    laptop: CommandLine, forwarder: Forwarder
) -> None:
    assert len(commands()) == 2
    for arguments in commands():
        laptop(*arguments)
        sent = bytes(forwarder.sent).lower()
        forwarder.sent.clear()
        assert b"x-apigw-api-id: abc123" in sent, arguments
        assert f"host: {NAME}:{forwarder.port}".encode() in sent, arguments


def test_without_a_session_doctor_says_that_nothing_accepts_connections(
    laptop: CommandLine, forwarder: Forwarder
) -> None:
    forwarder.close()
    said = laptop(*commands()[0], expect=EXIT_NOT_REACHABLE)
    assert f"{NAME}:{forwarder.port} accepts no connection" in said.out
