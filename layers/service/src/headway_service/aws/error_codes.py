"""Classifies errors of calls to AWS, by the HTTP status and AWS's error code.

Only AWS's own responses count. A response that AWS cannot have written (a proxy's page, an empty body, half a document)
proves nothing about the call, so its outcome is unknown, as it is for each code that is not listed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    MetadataRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.model import ServiceModel, StructureShape
from botocore.parsers import ResponseParserError

from headway_service.errors import UnreadableAnswer

NO_CREDENTIALS = (
    CredentialRetrievalError,
    MetadataRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)
"""botocore's errors for missing credentials: the request is not sent."""

NO_ANSWER = (BotoConnectionError, HTTPClientError, IncompleteReadError, ResponseParserError, UnreadableAnswer)
"""botocore's errors for a missing or unreadable response."""

FAILED_CALLS = (ClientError, *NO_CREDENTIALS, *NO_ANSWER)
"""The errors that a call to AWS may raise without a fault in Headway's code."""

THROTTLING = frozenset(
    {
        # botocore.retries.standard.ThrottledRetryableChecker; a test compares them.
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottledException",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
        # Entries of PutEvents and PublishBatch (API references), and SQS (service model).
        "KMSThrottling",
        "KmsThrottled",
        "Throttled",
    }
)

CREDENTIALS = frozenset(
    {
        # API references, Common Errors.
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "RequestExpired",
        # Signing and debugging of requests (IAM user guide), and as services with JSON protocols answer.
        "AuthFailure",
        "ExpiredToken",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidSignatureException",
        "InvalidToken",
        "MissingAuthenticationTokenException",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)

DENIALS = frozenset(
    {
        # API references, Common Errors; the last is SNS's.
        "AccessDenied",
        "AccessDeniedException",
        "NotAuthorized",
        "OptInRequired",
        "UnauthorizedOperation",
        "AuthorizationError",
    }
)

TRANSIENT = frozenset(
    {
        # botocore.retries.standard.TransientRetryableChecker, and API references, Common Errors. Some have a status
        # below 500 at some services, and some are declared by a service's model.
        "InternalError",
        "InternalException",
        "InternalFailure",
        "InternalServerError",
        "InternalServiceError",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
    }
)

INVALID = frozenset(
    {
        # API references, Common Errors: invalid requests, which no service's model declares.
        "InvalidParameterCombination",
        "InvalidParameterValue",
        "MissingParameter",
        "ValidationError",
        "ValidationException",
        # Services with JSON protocols, of a body that does not fit the operation's shape.
        "SerializationException",
    }
)


class Verdict(StrEnum):
    """What became of a call that failed."""

    #: AWS has read the request and will not do it as it is. It had no effect.
    REFUSED = "refused"
    #: The caller lacks a permission. The call had no effect, and an operator can fix it.
    DENIED = "denied"
    #: AWS could not authenticate the caller: credentials, signature or clock. No effect, and usually temporary.
    NOT_AUTHENTICATED = "not authenticated"
    #: Turned away for its rate. It had no effect, and may succeed later.
    THROTTLED = "throttled"
    #: It may have had its effect or not.
    UNCLEAR = "unclear"


def classify(error: Exception, model: ServiceModel | None = None) -> Verdict:
    """Classify the outcome of a call.

    Args:
        error: one of :data:`FAILED_CALLS`.
        model: the service's. With it, only a code that it declares for the operation is a refusal; without it, one
            that it declares for any operation.
    """
    if isinstance(error, NO_CREDENTIALS):
        return Verdict.NOT_AUTHENTICATED
    if not isinstance(error, ClientError):
        return Verdict.UNCLEAR
    status, code = status_of(error), code_of(error)
    if not HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return Verdict.UNCLEAR
    if status == HTTPStatus.TOO_MANY_REQUESTS or code in THROTTLING:
        return Verdict.THROTTLED
    if code in CREDENTIALS:
        return Verdict.NOT_AUTHENTICATED
    if code in DENIALS:
        return Verdict.DENIED
    if code not in TRANSIENT and (code in INVALID or _is_declared(error, model)):
        return Verdict.REFUSED
    return Verdict.UNCLEAR


def code_of(error: Exception) -> str:
    """AWS's error code. For a body that AWS did not write, botocore takes the HTTP status for it."""
    return str(_error_in(error).get("Code", "")) if isinstance(error, ClientError) else type(error).__name__


def message_of(error: Exception) -> str:
    """AWS's message; empty if AWS did not write the body, so that proxies' pages are not logged."""
    if not isinstance(error, ClientError):
        return str(error)
    return "" if code_of(error).isdigit() else str(_error_in(error).get("Message", ""))


def status_of(error: ClientError) -> int:
    """The HTTP status; 0 if it is not known."""
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)


def describe(error: Exception) -> str:
    """Code, status and message, for a log or a reason."""
    status = f" (HTTP {status_of(error)})" if isinstance(error, ClientError) else ""
    message = message_of(error)
    return f"{code_of(error)}{status}{f': {message}' if message else ''}"


def _error_in(error: ClientError) -> Mapping[str, Any]:
    return error.response.get("Error", {})


def _is_declared(error: ClientError, model: ServiceModel | None) -> bool:
    if model is None:
        # botocore raises a separate class for each code that the service declares.
        return type(error) is not ClientError
    declared = model.operation_model(error.operation_name).error_shapes
    return code_of(error) in {shape.error_code for shape in declared if isinstance(shape, StructureShape)}
