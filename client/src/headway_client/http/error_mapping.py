"""What a failed request means, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import requests
from urllib3.exceptions import NameResolutionError

from headway_client import __version__
from headway_client.errors import (
    BusyError,
    ClientError,
    ConfigurationChangedError,
    ConflictError,
    FieldMessage,
    JobNotFoundError,
    NotAllowedError,
    NotReachableError,
    PoolNotFoundError,
    RefusedError,
    RogueJobNotFoundError,
    ServerFaultError,
    ServerTooOldError,
)

_MAX_FOREIGN_TEXT = 300
"""Characters kept of a message that is not Headway's own; it may be a whole page."""

NO_SUCH_PATH = "NoSuchPath"
"""The code of API Gateway's own answer to a path or method that the API does not have."""

_MISSING_TOKEN = "missing authentication token"  # noqa: S105

_BY_CODE: Mapping[str, type[ClientError]] = {
    each.default_code: each for each in (PoolNotFoundError, RogueJobNotFoundError)
}
"""Errors that the status alone does not tell apart."""

_FORBIDDEN_HINTS = (
    # API Gateway's own messages (source: AWS's "Troubleshoot HTTP 403 errors from API Gateway").
    (
        _MISSING_TOKEN,
        "No such path: the endpoint has to end with the stage, such as /v1.",
    ),
    ("signature expired", "The clock of this machine is wrong: set it."),
    ("signature not yet current", "The clock of this machine is wrong: set it."),
    (
        "signature we calculated",
        "Check the secret access key, and that the region is the API's (--region or HEADWAY_REGION).",
    ),
    ("credential should be scoped", "Check the region (--region or HEADWAY_REGION): it must be the API's."),
    ("expired", "The credentials have expired: renew them, for example with `aws sso login`."),
    ("security token", "Check the AWS credentials: they are wrong, or of another account or partition."),
    (
        "not authorized to perform",
        "Ask for the right execute-api:Invoke on this API, and check the API's resource policy.",
    ),
    (
        "forbidden",
        (
            "A private API responds like this if it cannot identify the API: where the endpoint is a VPC "
            "endpoint's own name, set the API's id (`api_id` in the profile or HEADWAY_API_ID)."
        ),
    ),
)


def refused(endpoint: str, status: int, headers: Mapping[str, str], content: bytes) -> ClientError:
    """Return the error that an answer other than 2xx stands for.

    Args:
        endpoint: where the answer came from.
        status: its HTTP status.
        headers: its headers.
        content: its body: Headway's error document, API Gateway's ``{"message": ...}``, or anything.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    document = _document(content)
    return error_from_document(
        endpoint, status, document, request_id=document.get("requestId") or lowered.get("x-amzn-requestid")
    )


def error_from_document(
    endpoint: str, status: int, document: Mapping[str, Any], *, request_id: object = None
) -> ClientError:
    """Return the error that a status and a document stand for, such as those of one request among many.

    Args:
        endpoint: where the document came from.
        status: the HTTP status.
        document: Headway's error document, or API Gateway's ``{"message": ...}``.
        request_id: the server's name for the request.
    """
    body = document.get("error")
    own = body if isinstance(body, dict) else {}
    code = own.get("code") if isinstance(own.get("code"), str) else None
    message = str(own.get("message") or document.get("message") or document.get("Message") or "")
    if not own:
        message = message[:_MAX_FOREIGN_TEXT]
    kind, text = _kind(endpoint, status, message, is_own=bool(own))
    kind = _BY_CODE.get(code or "", kind)
    return kind(
        text,
        code=code or (NO_SUCH_PATH if status == 403 and _MISSING_TOKEN in message.lower() else None),
        fields=_fields(own),
        status=status,
        request_id=str(request_id) if request_id else None,
    )


def too_old(endpoint: str, error: ClientError | None = None) -> ServerTooOldError:
    """Return the error for a call that the server does not know, as it is of a time before servers told versions."""
    return ServerTooOldError(
        f"The server at {endpoint} does not know this call: it is older than this client ({__version__}). Update the "
        "stack, or install the headway that came with it.",
        status=error.status if error is not None else None,
        request_id=error.request_id if error is not None else None,
    )


def not_reached(endpoint: str, error: Exception) -> ClientError:
    """Return the error for a request that got no answer, saying what to check."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    if isinstance(error, requests.exceptions.SSLError):
        text = (
            f"The TLS certificate of {endpoint} is not accepted. Check the endpoint, and REQUESTS_CA_BUNDLE "
            "if a proxy of your network replaces the certificate."
        )
    elif isinstance(reason, NameResolutionError):
        text = (
            f"The name of {endpoint} can't be resolved. Check the endpoint; a private API's name resolves "
            "only inside a VPC that has an execute-api VPC endpoint with private DNS (or connect by VPN)."
        )
    elif isinstance(error, requests.exceptions.ProxyError):
        text = f"The proxy on the way to {endpoint} fails. Check HTTPS_PROXY and NO_PROXY."
    elif isinstance(error, requests.Timeout):
        text = (
            f"{endpoint} does not answer in time. For a private API check the VPC endpoint's security group "
            "(port 443) and that this machine is inside the VPC or its VPN."
        )
    elif isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
        text = f"{endpoint} is no URL that can be called. Give one such as https://HOST/v1."
    else:
        text = (
            f"There is no connection to {endpoint}. Check that the endpoint is right and running (for a "
            "sandbox: `headway sandbox status`), and the network on the way."
        )
    return NotReachableError(f"{text} `headway doctor` checks each step.")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks for; None without one, or if it is a date."""
    value = headers.get("Retry-After", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


def _kind(endpoint: str, status: int, message: str, *, is_own: bool) -> tuple[type[ClientError], str]:
    if status in {401, 403}:
        # The queue itself says whom to ask; API Gateway and IAM do not.
        return NotAllowedError, message if is_own and message else _not_allowed(endpoint, message)
    if status == 429:
        said = f" ({message.rstrip('.')})" if message else ""
        text = message if is_own else f"The queue gets too many requests{said}. Try again in a while."
        return BusyError, text
    if status >= 500:
        kind = BusyError if status == 503 else ServerFaultError
        if is_own and message:
            return kind, message
        said = f" ({message.rstrip('.')})" if message else ""
        return kind, f"{endpoint} failed with status {status}{said}. Try again; if it stays so, see its logs."
    if 300 <= status < 400:
        return (
            NotReachableError,
            f"{endpoint} redirects (status {status}): give the API's own address.",
        )
    if not is_own and status != 413:
        return NotReachableError, (
            f"{endpoint} answered with status {status} and no word of Headway's. Check that the endpoint is "
            "that of Headway's API, with its stage (such as /v1) at the end."
        )
    kinds: dict[int, type[ClientError]] = {404: JobNotFoundError, 409: ConflictError, 412: ConfigurationChangedError}
    return kinds.get(status, RefusedError), message or f"The queue refuses the request (status {status})."


def _not_allowed(endpoint: str, message: str) -> str:
    lowered = message.lower()
    for words, hint in _FORBIDDEN_HINTS:
        if words in lowered:
            return f"{endpoint} does not allow this ({message.rstrip('.')}). {hint}"
    said = f" ({message.rstrip('.')})" if message else ""
    return f"{endpoint} does not allow this{said}. Check the AWS credentials' right execute-api:Invoke."


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _fields(error: Mapping[str, Any]) -> list[FieldMessage]:
    fields = error.get("fields")
    if not isinstance(fields, list):
        return []
    return [
        FieldMessage(field=str(item.get("field", "")), message=str(item.get("message", "")))
        for item in fields
        if isinstance(item, dict)
    ]
