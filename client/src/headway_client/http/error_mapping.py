"""Map failed requests to the client's errors, with a message that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests
from urllib3.exceptions import NameResolutionError

from headway_client import json_text
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
    VersionNotFoundError,
)
from headway_client.version import __version__

_MAX_FOREIGN_TEXT = 300
"""Maximum length of a message that is not Headway's own, which may be a whole page."""

NO_SUCH_PATH = "NoSuchPath"
"""The code for API Gateway's own response to a path or method that the API does not have."""

_MISSING_TOKEN = "missing authentication token"  # noqa: S105

_BY_CODE: Mapping[str, type[ClientError]] = {
    each.default_code: each for each in (PoolNotFoundError, RogueJobNotFoundError, VersionNotFoundError)
}
"""Errors that share a status with others and are identified by their code."""

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
        "Ask for permission to execute-api:Invoke on this API, and check the API's resource policy.",
    ),
    (
        "forbidden",
        (
            "A private API responds like this if it cannot identify the API: if the endpoint is a VPC "
            "endpoint's own name, set the API's id (`api_id` in the profile or HEADWAY_API_ID)."
        ),
    ),
)


def refused(endpoint: str, status: int, headers: Mapping[str, str], content: bytes) -> ClientError:
    """Return the error for a response other than 2xx.

    Args:
        endpoint: the endpoint that responded.
        status: the HTTP status.
        content: the body: Headway's error document, API Gateway's ``{"message": ...}``, or anything else.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    document = _document(content)
    return error_from_document(
        endpoint, status, document, request_id=document.get("requestId") or lowered.get("x-amzn-requestid")
    )


def error_from_document(
    endpoint: str, status: int, document: Mapping[str, Any], *, request_id: object = None
) -> ClientError:
    """Return the error for a status and a document, such as those of one request in a batch.

    Args:
        endpoint: the endpoint that responded.
        status: the HTTP status.
        document: Headway's error document, or API Gateway's ``{"message": ...}``.
        request_id: the server's id of the request.
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
    """Return the error for a call that the server does not support, as it is older than versions in responses.

    Args:
        endpoint: the endpoint that responded.
        error: the error that the call raised, if it raised one.
    """
    return ServerTooOldError(
        f"The server at {endpoint} does not support this call: it is older than this client ({__version__}). Update "
        "the stack, or install the headway that came with it.",
        status=error.status if error is not None else None,
        request_id=error.request_id if error is not None else None,
    )


def not_reached(endpoint: str, error: Exception) -> ClientError:
    """Return the error for a request without a response; its message says what to check.

    Args:
        endpoint: the endpoint of the request.
        error: the exception of requests or urllib3.
    """
    reason = getattr(error.args[0], "reason", None) if error.args else None
    if isinstance(error, requests.exceptions.SSLError):
        text = (
            f"The TLS certificate of {endpoint} is not trusted. Check the endpoint, and REQUESTS_CA_BUNDLE "
            "if a proxy of your network replaces the certificate."
        )
    elif isinstance(reason, NameResolutionError):
        text = (
            f"The host name of {endpoint} can't be resolved. Check the endpoint; a private API's name resolves "
            "only inside a VPC that has an execute-api VPC endpoint with private DNS (or connect by VPN)."
        )
    elif isinstance(error, requests.exceptions.ProxyError):
        text = f"The connection to {endpoint} through the proxy failed. Check HTTPS_PROXY and NO_PROXY."
    elif isinstance(error, requests.Timeout):
        text = (
            f"{endpoint} does not respond in time. For a private API check the VPC endpoint's security group "
            "(port 443) and that this machine is inside the VPC or its VPN."
        )
    elif isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
        text = f"{endpoint} is not a valid URL. Give one such as https://HOST/v1."
    else:
        text = (
            f"Can't connect to {endpoint}. Check that the endpoint is correct and running (for a sandbox: "
            "`headway sandbox status`), and check the network."
        )
    return NotReachableError(f"{text} `headway doctor` checks each step.")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in a Retry-After header; None if there is none or it is a date."""
    value = headers.get("Retry-After", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


def _kind(endpoint: str, status: int, message: str, *, is_own: bool) -> tuple[type[ClientError], str]:
    if status in {401, 403}:
        # The queue's own message says who can grant access; those of API Gateway and IAM do not.
        return NotAllowedError, message if is_own and message else _not_allowed(endpoint, message)
    if status == 429:
        said = f" ({message.rstrip('.')})" if message else ""
        text = message if is_own else f"The queue receives too many requests{said}. Try again later."
        return BusyError, text
    if status >= 500:
        kind = BusyError if status == 503 else ServerFaultError
        if is_own and message:
            return kind, message
        said = f" ({message.rstrip('.')})" if message else ""
        return kind, f"{endpoint} failed with status {status}{said}. Try again; if the error persists, check its logs."
    if 300 <= status < 400:
        return (
            NotReachableError,
            f"{endpoint} redirects (status {status}): give the API's own URL.",
        )
    if not is_own and status != 413:
        return NotReachableError, (
            f"{endpoint} responded with status {status}, but not as Headway's API does. Check that the endpoint is "
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
    return f"{endpoint} does not allow this{said}. Check that the AWS credentials allow execute-api:Invoke."


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = json_text.decode(content)
    except json_text.NotJson:
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
