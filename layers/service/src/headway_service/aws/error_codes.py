"""What an error of a call to AWS means: decided in one place, by the HTTP status and AWS's error code.

Only AWS's own words are believed. An answer that AWS cannot have written (a proxy's page, an empty body, half a
document) says nothing of what became of the call, so it is unclear, as is each code that is not known here.
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
"""What botocore raises when it finds nothing to sign a request with, so that the request is not sent."""

NO_ANSWER = (BotoConnectionError, HTTPClientError, IncompleteReadError, ResponseParserError, UnreadableAnswer)
"""What is raised when there was no answer, or none that can be read."""

FAILED_CALLS = (ClientError, *NO_CREDENTIALS, *NO_ANSWER)
"""What a call to AWS may raise that is no fault of our own code."""

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
        # API references, Common Errors: what is wrong with a request, which no service's model declares.
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
    #: Whoever called may not do this. It had no effect, and an operator can change that.
    DENIED = "denied"
    #: AWS does not know who called: credentials, signature or clock. It had no effect, and passes by itself.
    NOT_AUTHENTICATED = "not authenticated"
    #: Turned away for its rate. It had no effect, and may succeed later.
    THROTTLED = "throttled"
    #: It may have had its effect or not.
    UNCLEAR = "unclear"


def classify(error: Exception, model: ServiceModel | None = None) -> Verdict:
    """Say what became of a call.

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
    """AWS's message. If AWS did not write the body, it is empty: pages of proxies are nobody's to read in a log."""
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
        # botocore raises a class of its own for each code that the service declares.
        return type(error) is not ClientError
    declared = model.operation_model(error.operation_name).error_shapes
    return code_of(error) in {shape.error_code for shape in declared if isinstance(shape, StructureShape)}
