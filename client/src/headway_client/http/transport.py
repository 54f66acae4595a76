"""One signed HTTP request to the queue's API: signature, timeouts, retries and limits."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode

import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from urllib3.exceptions import HTTPError as Urllib3Error
from urllib3.exceptions import NameResolutionError

from headway_client import __version__
from headway_client.errors import NotAllowedError, ServerFaultError, UsageError
from headway_client.http import error_mapping

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

SIGNING_SERVICE = "execute-api"
"""API Gateway's name in a signature (source: API Gateway's guide, "Signing requests")."""

USER_AGENT = f"headway/{__version__} python/{sys.version_info.major}.{sys.version_info.minor}"

VERSION_HEADER = "Headway-Version"
"""Says the version of the package: the client's in each request, the server's in each of its own answers."""

MAX_RESPONSE_BYTES = 10_000_000
"""API Gateway never sends more than 10 MB (source: its quotas for REST APIs); more is not from there."""

_CHUNK_BYTES = 4096

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
"""Answers that say nothing on the request itself. 500 is no member: a bug fails the same way again."""


class CredentialsSource(Protocol):
    """What botocore calls `Credentials`: it renews itself, and gives what to sign the next request with."""

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Return the credentials that are valid now."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on one call of the API.

    Attributes:
        connect_timeout_s: for the connection to stand.
        read_timeout_s: for the next bytes of an answer; API Gateway itself gives up after 29 s.
        try_timeout_s: for one try in all; it is looked at after every few KB of an answer.
        tries: how often a request is sent at most.
        backoff_s: upper bound of the first pause between tries; it doubles each time.
        max_pause_s: upper bound of a pause; a longer Retry-After is not waited for.
    """

    connect_timeout_s: float = 5.0
    read_timeout_s: float = 35.0
    try_timeout_s: float = 60.0
    tries: int = 4
    backoff_s: float = 0.25
    max_pause_s: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A successful answer: its status (2xx) and its JSON document."""

    status: int
    document: Any


class Transport:
    """Sends signed requests to one endpoint.

    Every operation of the queue's API may be repeated: a job is submitted under a name that is unique, a redrive
    takes what the one before has left, and the others set or read what is. So each request is sent again after a
    lost connection and after the answers in `RETRIED_STATUSES`, with a fresh signature and a random pause each time.

    Attributes:
        endpoint: the API's URL, without a slash at its end.
        region: the region that requests are signed for.
        server_version: the version that the server said last; None before its first answer, and if it says none.
        clock_skew_s: seconds by which the server's clock was ahead of this machine's, within a second or two; None
            before its first answer.
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
        self.clock_skew_s: float | None = None
        self._credentials = credentials
        self._api_id = api_id
        self._limits = limits or Limits()
        self._pause = pause
        self._jitter = jitter
        self._http = requests.Session()

    def send(
        self,
        method: str,
        segments: Sequence[str],
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request and return its answer.

        Args:
            method: the HTTP method.
            segments: the path below the endpoint, one unquoted segment each.
            query: names and values, unquoted; a name may repeat.
            body: a JSON document, or None for none.
            headers: more headers, the same with each try.

        Raises:
            ClientError: one of its kinds, by what has to be done about it.
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
            pause_s = self._pause_before_retry_s(response, attempt)
            if may_retry and pause_s is not None:
                self._pause(pause_s)
                continue
            raise error_mapping.refused(self.endpoint, response.status_code, dict(response.headers), content)
        raise AssertionError("the last try always returns or raises")

    def _url(self, segments: Sequence[str], query: Sequence[tuple[str, str]]) -> str:
        for segment in segments:
            # A URL can't carry them: "." and ".." are taken for folders on the way, percent-encoded or not, and
            # API Gateway takes an encoded "/" for a plain one.
            if segment in {"", ".", ".."} or "/" in segment:
                raise UsageError(f"{segment!r} is no job name: a name starts with a letter or a digit.")
        path = "/".join(quote(segment, safe="") for segment in segments)
        # quote_via=quote: in a signature a space is %20, never "+".
        suffix = f"?{urlencode(query, quote_via=quote, safe='')}" if query else ""
        return f"{self.endpoint}/{path}{suffix}"

    def pause(self, tries: int) -> None:
        """Wait a random while before what was tried so many times is tried again."""
        self._pause(self._backoff_s(tries))

    def _try(
        self, method: str, url: str, data: bytes | None, more: Mapping[str, str]
    ) -> tuple[requests.Response, bytes]:
        headers = {"Accept": "application/json", VERSION_HEADER: __version__, **more}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if self._api_id is not None:
            # Tells a VPC endpoint which API is meant (source: API Gateway's guide, "Invoke a private API").
            headers["x-apigw-api-id"] = self._api_id
        prepared = requests.Request(method, url, headers=headers, data=data).prepare()
        # What is signed is the prepared URL, for requests may have changed how it is quoted.
        prepared.headers.update(self._signature(method, str(prepared.url), data, headers))
        prepared.headers["User-Agent"] = USER_AGENT
        # Not Session.request(): that would put a login from ~/.netrc in the place of the signature.
        settings = self._http.merge_environment_settings(prepared.url, proxies={}, stream=True, verify=None, cert=None)
        started = time.monotonic()
        with self._http.send(
            prepared,
            timeout=(self._limits.connect_timeout_s, self._limits.read_timeout_s),
            allow_redirects=False,
            **settings,
        ) as response:
            # API Gateway's own answers don't carry it, so it is kept from one that does.
            self.server_version = response.headers.get(VERSION_HEADER) or self.server_version
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
                    f"{self.endpoint} sends more than {MAX_RESPONSE_BYTES:,} bytes, which Headway never "
                    "does. Check the endpoint."
                )
            if time.monotonic() - started > self._limits.try_timeout_s:
                raise requests.ReadTimeout(f"no whole answer within {self._limits.try_timeout_s:.0f} s")
        return bytes(content)

    def _parse(self, response: requests.Response, content: bytes) -> Any:
        try:
            return json.loads(content)
        except ValueError as error:
            raise ServerFaultError(
                f"{self.endpoint} answered {response.status_code} with something other than JSON. Check that "
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
        # A server that wants to be left alone for long is not asked again sooner.
        if asked_s > self._limits.max_pause_s:
            return None
        # Nor by all clients at the same moment.
        return min(self._limits.max_pause_s, asked_s + self._backoff_s(attempt))


def _clock_skew_s(date: str | None) -> float | None:
    try:
        return None if date is None else parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return None


def _may_pass(error: Exception) -> bool:
    """Whether a failed connection may come about by itself: not if the name or the certificate is wrong."""
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
