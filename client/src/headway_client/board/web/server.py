"""The local server of the board: static pages, and a proxy that signs the few calls that they need."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from headway_client import json_text
from headway_client.board.job_page.reader import FigureReader
from headway_client.board.poller import Poller
from headway_client.board.web.access import HOST, SECRET_HEADER, Gate, Refused
from headway_client.board.web.calls import BoardApi, Calls, status_of
from headway_client.board.web.link_file import LinkFile
from headway_client.board.web.past import Past
from headway_client.board.web.timeline import Timeline
from headway_client.errors import ClientError

SEEN_S = 15.0
"""A tab that was visible this long ago counts as visible."""

MAX_BODY_BYTES = 1000
"""Longest body of a change."""

RETRY_AFTER_S = 10
"""After how many seconds a page asks again for what the queue has refused, or was not reached for."""

TIMEOUT_S = 30.0
"""A connection that sends nothing for so long is closed."""

_PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/board.css": ("board.css", "text/css; charset=utf-8"),
    "/board.js": ("board.js", "text/javascript; charset=utf-8"),
    "/dom.js": ("dom.js", "text/javascript; charset=utf-8"),
    "/job.js": ("job.js", "text/javascript; charset=utf-8"),
    "/pages.js": ("pages.js", "text/javascript; charset=utf-8"),
    "/session.js": ("session.js", "text/javascript; charset=utf-8"),
    "/timeline.js": ("timeline.js", "text/javascript; charset=utf-8"),
}

_SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

AGE_HEADER = "Headway-Board-Age"
"""Header of the picture: the time since the queue's last response, seconds."""


class BoardServer:
    """Serves the board until it is stopped.

    Args:
        api: the queue. One call should make one request.
        client_of: returns a boto3 client of a service with the caller's credentials, which tries each call once.
        port: the port; 0 for any that is free.
        allow_changes: whether the pages can change jobs.
        clock: seconds that only increase.
    """

    def __init__(
        self,
        api: BoardApi,
        client_of: Callable[[str], Any],
        *,
        port: int = 0,
        allow_changes: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._timeline = Timeline()
        self._poller = Poller(api, clock=clock, on_summary=self._timeline.add)
        figures = FigureReader(client_of, now_s=api.now_s, clock=clock)
        self._calls = Calls(api, self._poller.reads, figures=figures, clock=clock)
        self._past = Past(api, self._poller.reads)
        self._visible_s: float | None = None
        self.allows_changes = allow_changes
        self._http = _Http((HOST, port), _handler(self))
        self._link_file: LinkFile | None = None
        self.gate = Gate(self._http.server_address[1], allow_changes=allow_changes, on_exchange=self._remove_link_file)

    @property
    def url(self) -> str:
        """The link that opens the board, once."""
        return self.gate.url

    def open(self, browse: Callable[[str], bool]) -> bool:
        """Lead a browser to the board, and return whether one was opened.

        Args:
            browse: opens an address in a browser. Others may see the address: it is that of a file with the link, which
                is there until the link is used.
        """
        try:
            self._link_file = LinkFile(self.url)
        except OSError:
            return False
        return browse(self._link_file.address)

    def _remove_link_file(self) -> None:
        if self._link_file is not None:
            self._link_file.remove()

    def serve(self) -> None:
        """Answer requests until `stop` is called by another thread."""
        self._http.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """End `serve`."""
        self._http.shutdown()

    def close(self) -> None:
        """Close the port, and remove the file with the link."""
        self._http.server_close()
        self._remove_link_file()

    def picture(self, *, hidden: bool) -> tuple[dict[str, Any], float]:
        """Return what all pages show, and its age in seconds.

        Args:
            hidden: whether the tab that asks is hidden.
        """
        now_s = self._clock()
        if not hidden:
            self._visible_s = now_s
        view = self._poller.poll(hidden=self._visible_s is None or now_s - self._visible_s > SEEN_S)
        document = {
            "summary": None if view.summary is None else view.summary.document,
            "forecast": None if view.forecast is None else view.forecast.document,
            "readTime": view.read_s,
            "error": view.error,
            "allowsChanges": self.allows_changes,
        }
        return document, view.age_s

    def read(self, segments: list[str], query: Mapping[str, list[str]]) -> Any:
        """Return the document of a read; arguments and errors are those of `Calls.read`.

        Args:
            segments: of the path below ``/api``.
            query: of the URL.
        """
        if segments == ["timeline"]:
            self._past.read_on()
            return self._timeline.document(self._past.bars(self._poller.view.summary), self._past.note)
        return self._calls.read(segments, query)

    def change(self, segments: list[str], body: Any) -> Any:
        """Make a change; arguments and errors are those of `Calls.change`.

        Args:
            segments: of the path below ``/api``.
            body: the decoded body; None without one.
        """
        document = self._calls.change(segments, body)
        self._poller.refresh()
        return document


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error, unless the browser has closed the connection.

        Args:
            request: the connection.
            client_address: its other end.
        """
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "headway-board"
    sys_version = ""
    timeout = TIMEOUT_S
    disable_nagle_algorithm = True
    board: ClassVar[BoardServer]

    def do_GET(self) -> None:
        """Answer a read."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answer a change."""
        self._answer(self._post)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature is the base's
        """Log nothing: the link with the token would be in the log."""

    def _answer(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Refused as refusal:
            self._send_error(refusal.status, str(refusal), refusal.retry_after_s)
        except ClientError as error:
            self._send_error(status_of(error), str(error), RETRY_AFTER_S)

    def _get(self) -> None:
        parts = self._target()
        query = parse_qs(parts.query)
        if parts.path in _PAGES:
            # The same for everybody, and a browser that loads a page sends no header of ours.
            self.board.gate.require_own_host(self._headers())
            name, kind = _PAGES[parts.path]
            self._send(HTTPStatus.OK, _page(name), {"Content-Type": kind})
            return
        self.board.gate.require_reader(self._headers())
        segments = _segments(parts.path)
        if segments == ["board"]:
            document, age_s = self.board.picture(hidden=query.get("hidden") == ["1"])
            self._send_json(document, {AGE_HEADER: f"{age_s:.1f}"})
        else:
            self._send_json(self.board.read(segments, query))

    def _post(self) -> None:
        # What is not read would be taken for the next request of the connection.
        self.close_connection = True
        segments = _segments(self._target().path)
        if segments == ["session"]:
            self._send_json({"secret": self.board.gate.exchange(self._headers(), _token_in(self._body()))})
            return
        self.board.gate.require_changer(self._headers())
        self._send_json(self.board.change(segments, self._body()))

    def _target(self) -> SplitResult:
        try:
            return urlsplit(self.path)
        except ValueError:
            raise Refused(HTTPStatus.NOT_FOUND, "The board has no such page.") from None

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "0")
        # Python reads no number of very many digits.
        is_short = length.isdecimal() and len(length) <= 9 and int(length) <= MAX_BODY_BYTES
        if not is_short or "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too long.")
        if int(length) == 0:
            return None
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body has to be JSON.")
        try:
            return json_text.decode(self.rfile.read(int(length)))
        except json_text.NotJson as error:
            raise Refused(HTTPStatus.BAD_REQUEST, f"The body {error}.") from None

    def _headers(self) -> dict[str, str]:
        """The headers by their usual names. One that is repeated counts as wrong, not as its first or last value."""
        names = ("Host", "Origin", "Sec-Fetch-Site", SECRET_HEADER)
        found = {name: self.headers.get_all(name) or [] for name in names}
        return {name: ", ".join(values) for name, values in found.items() if values}

    def _send_json(self, document: Any, more: Mapping[str, str] | None = None) -> None:
        content = json.dumps(document, separators=(",", ":")).encode()
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        headers = {"Content-Type": "application/json", "ETag": etag, **(more or {})}
        if self.headers.get("If-None-Match") == etag:
            self._send(HTTPStatus.NOT_MODIFIED, b"", headers)
        else:
            self._send(HTTPStatus.OK, content, headers)

    def _send_error(self, status: HTTPStatus, message: str, retry_after_s: int | None) -> None:
        content = json.dumps({"error": message}).encode()
        retry = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
        self._send(status, content, {"Content-Type": "application/json", **retry})

    def _send(self, status: HTTPStatus, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**_SECURITY_HEADERS, **headers}.items():
            self.send_header(name, value)
        if status is not HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


def _handler(server: BoardServer) -> type[_Handler]:
    return type("Handler", (_Handler,), {"board": server})


def _page(name: str) -> bytes:
    return files("headway_client.board.web").joinpath("pages", name).read_bytes()


def _token_in(body: Any) -> str:
    match body:
        case {"token": str(token), **others} if not others:
            return token
        case _:
            raise Refused(HTTPStatus.BAD_REQUEST, 'The body has to be {"token": "..."}, with the token of the link.')


def _segments(path: str) -> list[str]:
    """Return the segments of a path below ``/api``.

    Raises:
        Refused: it is another path.
    """
    begin, *segments = [unquote(part) for part in path.removeprefix("/").split("/")]
    if begin != "api":
        raise Refused(HTTPStatus.NOT_FOUND, "The board has no such page.")
    return segments
