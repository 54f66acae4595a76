"""Send signed HTTP requests to the queue's API, with timeouts, retries and limits."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from urllib3.exceptions import HTTPError as Urllib3Error
from urllib3.exceptions import NameResolutionError

from headway_client import json_text
from headway_client.errors import NotAllowedError, ServerFaultError, UsageError
from headway_client.http import error_mapping
from headway_client.version import __version__

if TYPE_CHECKING:
    from headway_client.config.credentials_source import CredentialsSource

SIGNING_SERVICE = "execute-api"
"""API Gateway's service name in a signature (source: API Gateway's guide, "Signing requests")."""

USER_AGENT = f"headway/{__version__} python/{sys.version_info.major}.{sys.version_info.minor}"

VERSION_HEADER = "Headway-Version"
TIME_HEADER = "Headway-Time"
"""The header with the version of the package: the client's in requests, the server's in its own responses."""

MAX_RESPONSE_BYTES = 10_000_000
"""API Gateway sends at most 10 MB (source: its quotas for REST APIs); a longer response is not API Gateway's."""

_CHUNK_BYTES = 4096

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
"""Statuses that do not depend on the request itself. 500 is not among them: a bug fails the same way again."""


UNCHANGED = 304
"""The status of a response to a conditional request: what the caller has is what the server has (RFC 9110)."""

IF_NONE_MATCH_HEADER = "If-None-Match"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one call of the API.

    Attributes:
        connect_timeout_s: timeout for establishing the connection.
        read_timeout_s: timeout for the next bytes of a response; API Gateway itself gives up after 29 s.
        try_timeout_s: timeout for one whole try; it is checked every few KB of a response.
        tries: maximum number of tries.
        backoff_s: upper bound of the first pause between tries; it doubles with each try.
        max_pause_s: upper bound of a pause; a longer Retry-After ends the retries.
    """

    connect_timeout_s: float = 5.0
    read_timeout_s: float = 35.0
    try_timeout_s: float = 60.0
    tries: int = 4
    backoff_s: float = 0.25
    max_pause_s: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A successful response: its status (2xx, or 304 without a document) and its JSON document."""

    status: int
    document: Any


class Transport:
    """Sends signed requests to one endpoint.

    Every operation of the queue's API is safe to repeat: jobs are submitted under unique names, a redrive continues
    with what the previous one left, and all others set or read a state. Hence each request is retried after a lost
    connection and after the statuses in `RETRIED_STATUSES`, with a new signature and a random pause each time.

    Attributes:
        endpoint: the API's URL without a trailing slash.
        region: the region for which requests are signed.
        server_version: the version in the server's last response; None before the first one, or if it has none.
        queue_time_s: the queue's time at its last response, s since 1970; None before the first one, or if it has none.
        clock_skew_s: seconds by which the server's clock is ahead of this machine's, within a second or two; None
            before the first response.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        region: str,
        credentials: CredentialsSource,
        api_id: str | None = None,
        limits: Limits | None = None,
        pause: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = endpoint.rstrip("/")
        self.region = region
        self.server_version: str | None = None
        self.queue_time_s: float | None = None
        self.clock_skew_s: float | None = None
        self._credentials = credentials
        self._api_id = api_id
        self._limits = limits or Limits()
        self._pause = pause
        self._jitter = jitter
        self._http = requests.Session()
        self._pid = os.getpid()

    def send(
        self,
        method: str,
        segments: Sequence[str],
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request and return its response.

        Args:
            method: the HTTP method.
            segments: the unquoted segments of the path below the endpoint.
            query: unquoted names and values; a name may repeat.
            body: a JSON document; None for no body.
            headers: more headers, the same for each try.

        Raises:
            ClientError: a subclass for each way to resolve the error.
        """
        url = self._url(segments, query)
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        for attempt in range(1, self._limits.tries + 1):
            may_retry = attempt < self._limits.tries
            try:
                response, content = self._try(method, url, data, headers or {})
            except (requests.RequestException, Urllib3Error) as error:
                if may_retry and _may_pass(error):
                    self._pause(self._backoff_s(attempt))
                    continue
                raise error_mapping.not_reached(self.endpoint, error) from error
            if 200 <= response.status_code < 300:
                return Answer(status=response.status_code, document=self._parse(response, content))
            if response.status_code == UNCHANGED and IF_NONE_MATCH_HEADER in (headers or {}):
                return Answer(status=UNCHANGED, document=None)
            pause_s = self._pause_before_retry_s(response, attempt)
            if may_retry and pause_s is not None:
                self._pause(pause_s)
                continue
            raise error_mapping.refused(self.endpoint, response.status_code, dict(response.headers), content)
        raise AssertionError("the last try always returns or raises")

    def _url(self, segments: Sequence[str], query: Sequence[tuple[str, str]]) -> str:
        for segment in segments:
            # Not possible in a URL: "." and ".." are resolved as folders, percent-encoded or not, and API Gateway
            # decodes an encoded "/".
            # Half of a surrogate pair stands for a byte of the command line that is no text, and has no encoding.
            if segment in {"", ".", ".."} or "/" in segment or any("\ud800" <= each <= "\udfff" for each in segment):
                raise UsageError(f"{segment!r} is not a job name: a name starts with a letter or a digit.")
        path = "/".join(quote(segment, safe="") for segment in segments)
        # quote_via=quote: a signature requires %20 for a space, not "+".
        suffix = f"?{urlencode(query, quote_via=quote, safe='')}" if query else ""
        return f"{self.endpoint}/{path}{suffix}"

    def pause(self, tries: int) -> None:
        """Wait for a random time before the next try, after this number of tries."""
        self._pause(self._backoff_s(tries))

    def _try(
        self, method: str, url: str, data: bytes | None, more: Mapping[str, str]
    ) -> tuple[requests.Response, bytes]:
        headers = {"Accept": "application/json", VERSION_HEADER: __version__, **more}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if self._api_id is not None:
            # Names the API for a VPC endpoint (source: API Gateway's guide, "Invoke a private API").
            headers["x-apigw-api-id"] = self._api_id
        prepared = requests.Request(method, url, headers=headers, data=data).prepare()
        # The prepared URL is signed, as requests may have changed its quoting.
        prepared.headers.update(self._signature(method, str(prepared.url), data, headers))
        prepared.headers["User-Agent"] = USER_AGENT
        if self._pid != os.getpid():
            # A forked process must not write to its parent's connections.
            self._http, self._pid = requests.Session(), os.getpid()
        # Not Session.request(), which would replace the signature by a login from ~/.netrc.
        settings = self._http.merge_environment_settings(prepared.url, proxies={}, stream=True, verify=None, cert=None)
        started = time.monotonic()
        with self._http.send(
            prepared,
            timeout=(self._limits.connect_timeout_s, self._limits.read_timeout_s),
            allow_redirects=False,
            **settings,
        ) as response:
            # API Gateway's own responses have no version; keep the last one that is known.
            self.server_version = response.headers.get(VERSION_HEADER) or self.server_version
            self.queue_time_s = _time_s(response.headers.get(TIME_HEADER)) or self.queue_time_s
            self.clock_skew_s = _clock_skew_s(response.headers.get("Date"))
            return response, self._read(response, started)

    def _signature(self, method: str, url: str, data: bytes | None, headers: Mapping[str, str]) -> dict[str, str]:
        try:
            credentials = self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise NotAllowedError(
                f"The AWS credentials can't be used: {error} Renew them, for example with `aws sso login`.",
                code="NoCredentials",
            ) from error
        request = AWSRequest(method=method, url=url, data=data, headers=dict(headers))
        SigV4Auth(credentials, SIGNING_SERVICE, self.region).add_auth(request)
        return dict(request.headers.items())

    def _read(self, response: requests.Response, started: float) -> bytes:
        content = bytearray()
        for chunk in response.iter_content(_CHUNK_BYTES):
            content += chunk
            if len(content) > MAX_RESPONSE_BYTES:
                raise ServerFaultError(
                    f"{self.endpoint} sends more than {MAX_RESPONSE_BYTES:,} bytes, the maximum for Headway's API. "
                    "Check the endpoint."
                )
            if time.monotonic() - started > self._limits.try_timeout_s:
                raise requests.ReadTimeout(f"no complete response within {self._limits.try_timeout_s:.0f} s")
        return bytes(content)

    def _parse(self, response: requests.Response, content: bytes) -> Any:
        try:
            return json_text.decode(content)
        except json_text.NotJson as error:
            raise ServerFaultError(
                f"{self.endpoint} responded with status {response.status_code}, but what it sent {error}. Check that "
                "the endpoint is that of Headway's API, with its stage (such as /v1) at the end.",
                status=response.status_code,
            ) from error

    def _backoff_s(self, attempt: int) -> float:
        ceiling: float = min(self._limits.max_pause_s, self._limits.backoff_s * 2 ** (attempt - 1))
        return ceiling * self._jitter()

    def _pause_before_retry_s(self, response: requests.Response, attempt: int) -> float | None:
        if response.status_code not in RETRIED_STATUSES:
            return None
        asked_s = error_mapping.retry_after_s(response.headers)
        if asked_s is None:
            return self._backoff_s(attempt)
        # Never retry earlier than the server allows.
        if asked_s > self._limits.max_pause_s:
            return None
        # Add jitter, so that clients do not retry at the same moment.
        return min(self._limits.max_pause_s, asked_s + self._backoff_s(attempt))


def _time_s(text: str | None) -> float | None:
    try:
        return None if text is None else datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _clock_skew_s(date: str | None) -> float | None:
    try:
        return None if date is None else parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None


def _may_pass(error: Exception) -> bool:
    """Return whether a connection error may be temporary: not if the host name or the certificate is wrong."""
    if isinstance(error, requests.exceptions.SSLError):
        return False
    if isinstance(error, requests.ConnectionError):
        reason = getattr(error.args[0], "reason", None) if error.args else None
        return not isinstance(reason, NameResolutionError)
    return isinstance(
        error,
        requests.Timeout
        | requests.exceptions.ChunkedEncodingError
        | requests.exceptions.ContentDecodingError
        | Urllib3Error,
    )
