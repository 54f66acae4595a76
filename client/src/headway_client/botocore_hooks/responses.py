"""Responses of the queue in the form of botocore's responses of SageMaker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from headway_client.errors import ClientError, ConflictError, NotAllowedError, RefusedError

Response = tuple[AWSResponse, dict[str, Any]]
"""What a ``before-call`` handler returns in place of sending the call."""


def answer(document: dict[str, Any]) -> Response:
    """Return a successful response with this document."""
    return response(200, document, request_id=None)


def refusal(error: ClientError) -> Response:
    """Return an error of the queue as a SageMaker error, which callers already handle.

    Args:
        error: the error of the queue.

    Raises:
        ClientError: `error` itself, if SageMaker has no error of that kind: the queue is not reachable, is busy, or
            failed. botocore raises its own connection errors in the same way.
    """
    if isinstance(error, ConflictError):
        code = "ResourceInUse" if error.code == "NameInUse" else "ValidationException"
    elif isinstance(error, RefusedError):
        code = "ValidationException"
    elif isinstance(error, NotAllowedError) and error.status is not None:
        code = "AccessDeniedException"
    else:
        raise error
    return error_response(error.status or 400, code, error.full_message(), request_id=error.request_id)


def says_not_found(document: Mapping[str, Any]) -> bool:
    """Return whether an error response of SageMaker says that there is no such training job.

    The API reference declares ResourceNotFound; SageMaker sends a ValidationException with this text, which its Python
    SDK matches.
    """
    problem = document.get("Error", {})
    return (
        problem.get("Code") == "ResourceNotFound"
        or "requested resource not found" in str(problem.get("Message")).lower()
    )


def error_response(status: int, code: str, message: str, *, request_id: str | None = None) -> Response:
    """Return an error response.

    Args:
        status: the HTTP status.
        code: the error code, one that SageMaker declares.
        message: the sentence for the user.
        request_id: the server's id of the request.
    """
    return response(status, {"Error": {"Code": code, "Message": message}}, request_id=request_id)


def response(status: int, document: dict[str, Any], *, request_id: str | None) -> Response:
    """Return a response with this document, to which ``ResponseMetadata`` is added.

    Args:
        status: the HTTP status.
        document: the parsed body.
        request_id: the server's id of the request.
    """
    document["ResponseMetadata"] = {
        "RequestId": request_id or "",
        "HTTPStatusCode": status,
        "HTTPHeaders": {},
        "RetryAttempts": 0,
    }
    return AWSResponse("headway", status, HTTPHeaders(), None), document
