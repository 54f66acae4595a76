"""Who may call the local server of the board: the tabs of one browser of the user who started it.

The server listens on 127.0.0.1, which all users of the machine and all pages in the user's browser can reach. So a
caller needs a secret, and a request has to come from the board's own pages. The secret is no cookie: browsers send the
cookies of a host to all its ports, and so to the servers of other users.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus

HOST = "127.0.0.1"
"""The only address that the server listens on."""

SECRET_HEADER = "X-Headway-Board"  # noqa: S105 - its name, not a secret
"""Header with the secret. No form can send it, and a page of another origin needs a permission that is never given."""

TOKEN_PARAMETER = "token"  # noqa: S105 - its name, not a token


class Refused(Exception):
    """The request is refused.

    Attributes:
        status: of the response.
        retry_after_s: after how many seconds the same request may be answered; None if it never will be.
    """

    def __init__(self, status: HTTPStatus, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


class Gate:
    """Checks requests.

    The token of the link may be seen by others, as in the history of a browser. So it is exchanged for the secret once;
    whoever comes later with it is refused.

    Args:
        port: the server's port.
        allow_changes: whether changes are allowed at all.
        on_exchange: called when the token was exchanged.

    Attributes:
        url: the link. Its token is in the fragment, which browsers send to no server.
    """

    def __init__(self, port: int, *, allow_changes: bool, on_exchange: Callable[[], None] = lambda: None) -> None:
        self._host = f"{HOST}:{port}"
        self._origin = f"http://{self._host}"
        self._secret = secrets.token_urlsafe(32)
        self._allow_changes = allow_changes
        self._on_exchange = on_exchange
        self._lock = threading.Lock()
        self._token: str | None = secrets.token_urlsafe(32)
        self.url = f"{self._origin}/#{TOKEN_PARAMETER}={self._token}"

    def require_own_host(self, headers: Mapping[str, str]) -> None:
        """Return if a request is for this server, as is enough for what is no secret.

        Args:
            headers: of the request.

        Raises:
            Refused: it is not.
        """
        # Another name that resolves to this machine is how a page of another site reaches it (DNS rebinding).
        if headers.get("Host") != self._host:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, f"The board is at {self._origin} only.")

    def exchange(self, headers: Mapping[str, str], token: str) -> str:
        """Return the secret for the token of the link, which is not valid any more.

        Args:
            headers: of the request.
            token: from the link.

        Raises:
            Refused: it is not the token, it was used already, or the request is not of the board's own page.
        """
        self._require_own_page(headers)
        self._require_origin(headers)
        with self._lock:
            known, self._token = self._token, None
            if known is None or not _is_same(known, token):
                # A wrong token uses up nothing: else anybody could lock the user out.
                self._token = known
                raise Refused(HTTPStatus.FORBIDDEN, "This link was used already, or is wrong. Start the board again.")
        self._on_exchange()
        return self._secret

    def require_reader(self, headers: Mapping[str, str]) -> None:
        """Return if a request may read.

        Args:
            headers: of the request.

        Raises:
            Refused: it may not.
        """
        self._require_own_page(headers)
        if not _is_same(self._secret, headers.get(SECRET_HEADER, "")):
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
        self._require_origin(headers)

    def _require_own_page(self, headers: Mapping[str, str]) -> None:
        self.require_own_host(headers)
        if headers.get("Origin", self._origin) != self._origin:
            raise Refused(HTTPStatus.FORBIDDEN, "The board answers its own pages only.")
        if headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            raise Refused(HTTPStatus.FORBIDDEN, "The board answers its own pages only.")

    def _require_origin(self, headers: Mapping[str, str]) -> None:
        # Browsers send it with each POST.
        if headers.get("Origin") != self._origin:
            raise Refused(HTTPStatus.FORBIDDEN, "Changes are accepted from the board's own pages only.")


def _is_same(known: str, given: str) -> bool:
    # What has no encoding is no secret. The time of the comparison tells nothing about the known one.
    return hmac.compare_digest(known.encode(), given.encode(errors="replace"))
