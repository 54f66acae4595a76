"""Who may call the local server of the board: one browser of the user who started it.

The server listens on 127.0.0.1, which all users of the machine and all pages in the user's browser can reach. So a
caller needs a secret, and a request has to come from the board's own pages.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie

HOST = "127.0.0.1"
"""The only address that the server listens on."""

CHANGE_HEADER = "X-Headway-Board"
"""Header of changes. No form can send it, and a page of another origin needs a permission that is never given."""

CHANGE_VALUE = "change"

TOKEN_PARAMETER = "token"  # noqa: S105 - its name, not a token


class Refused(Exception):
    """The request is refused.

    Attributes:
        status: of the response.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Gate:
    """Checks requests.

    The token of the URL may be seen by others: in a list of processes, or in the history of a shell. So it is exchanged
    for a cookie once; whoever comes later with it is refused.

    Args:
        port: the server's port.
        allow_changes: whether changes are allowed at all.
    """

    def __init__(self, port: int, *, allow_changes: bool) -> None:
        self._host = f"{HOST}:{port}"
        self._origin = f"http://{self._host}"
        # Browsers send the cookies of a host to all its ports, so that of another board needs another name.
        self._cookie = f"headway-board-{port}"
        self._session = secrets.token_urlsafe(32)
        self._allow_changes = allow_changes
        self._lock = threading.Lock()
        self._token: str | None = secrets.token_urlsafe(32)
        self.url = f"{self._origin}/?{TOKEN_PARAMETER}={self._token}"

    def exchange(self, headers: Mapping[str, str], token: str) -> str:
        """Return the Set-Cookie header for the token of the URL, which is not valid any more.

        Args:
            headers: of the request.
            token: from its URL.

        Raises:
            Refused: it is not the token, or it was used already.
        """
        self._require_own_host(headers)
        with self._lock:
            known, self._token = self._token, None
            if known is None or not hmac.compare_digest(known.encode(), token.encode()):
                # A wrong token uses up nothing: else anybody could lock the user out.
                self._token = known
                raise Refused(HTTPStatus.FORBIDDEN, "This link was used already, or is wrong. Start the board again.")
        return f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"

    def require_reader(self, headers: Mapping[str, str]) -> None:
        """Return if a request may read.

        Args:
            headers: of the request.

        Raises:
            Refused: it may not.
        """
        self._require_own_host(headers)
        self._require_own_page(headers)
        if not hmac.compare_digest(self._session_in(headers).encode(), self._session.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "Open the link that `headway board --web` has printed.")

    def require_changer(self, headers: Mapping[str, str]) -> None:
        """Return if a request may change something.

        Args:
            headers: of the request.

        Raises:
            Refused: it may not.
        """
        self.require_reader(headers)
        if not self._allow_changes:
            raise Refused(HTTPStatus.FORBIDDEN, "This board is read-only. Start it with --allow-changes.")
        if headers.get("Origin") != self._origin or headers.get(CHANGE_HEADER) != CHANGE_VALUE:
            raise Refused(HTTPStatus.FORBIDDEN, "Changes are accepted from the board's own pages only.")

    def _require_own_host(self, headers: Mapping[str, str]) -> None:
        # Another name that resolves to this machine is how a page of another site reaches it (DNS rebinding).
        if headers.get("Host") != self._host:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, f"The board is at {self._origin} only.")

    def _require_own_page(self, headers: Mapping[str, str]) -> None:
        if headers.get("Origin", self._origin) != self._origin:
            raise Refused(HTTPStatus.FORBIDDEN, "The board answers its own pages only.")
        if headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            raise Refused(HTTPStatus.FORBIDDEN, "The board answers its own pages only.")

    def _session_in(self, headers: Mapping[str, str]) -> str:
        try:
            cookies = SimpleCookie(headers.get("Cookie", ""))
        except CookieError:
            return ""
        return cookies[self._cookie].value if self._cookie in cookies else ""
