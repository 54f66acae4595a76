"""Errors of the client: one exception for each way to resolve it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from headway.errors import HeadwayError
from headway.sanitize import strip_control_characters

if TYPE_CHECKING:
    from headway_client.models import BatchResult

MAX_LISTED_REFUSALS = 10
"""Maximum number of refused requests that the message lists; the error itself has all."""


@dataclass(frozen=True, kw_only=True)
class FieldMessage:
    """A problem with one field of a request.

    Attributes:
        field: the field's path in the request, such as ``ResourceConfig.InstanceCount``.
        message: a sentence that says what to change.
    """

    field: str
    message: str


class ClientError(HeadwayError):
    """Base class of the client's errors.

    Attributes:
        code: a short name for programs; the server's own code if the server responded.
        message: a sentence that says what to change.
        fields: the problems by field, in the server's order; empty if the problem is not in a field.
        status: the HTTP status of the response, or None without a response.
        request_id: the server's id of the request, as in its logs; None without a response.
    """

    default_code: ClassVar[str] = "Unexpected"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        fields: Iterable[FieldMessage] = (),
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        self.code = code or self.default_code
        self.message = message
        self.fields = tuple(fields)
        self.status = status
        self.request_id = request_id
        # Tracebacks and loggers do not escape the text, and the server's sentences quote other users' text.
        super().__init__(strip_control_characters(self.full_message()))

    def unlisted_fields(self) -> tuple[FieldMessage, ...]:
        """Return the fields that the message does not contain verbatim."""
        return tuple(item for item in self.fields if item.field not in self.message or item.message not in self.message)

    def full_message(self) -> str:
        """Return the message on one line, followed by the fields that it does not contain."""
        details = "; ".join(f"{item.field}: {item.message}" for item in self.unlisted_fields())
        return f"{self.message} {details}" if details else self.message

    def to_document(self) -> dict[str, Any]:
        """Return the error as an error document of the queue's API."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "fields": [{"field": item.field, "message": item.message} for item in self.fields],
            },
            "requestId": self.request_id,
        }


class UsageError(ClientError):
    """An option, a file or a setting of the client has to be changed."""

    default_code = "Usage"


class ProfileError(UsageError):
    """The profile file, or a file that it refers to, is not valid; the message names the key and the fix."""

    default_code = "BadProfile"


class RequestFileError(UsageError):
    """A file with a request or a configuration is not valid JSON; the message says where."""

    default_code = "BadFile"


class RefusedError(ClientError):
    """The queue refuses the request (400, 413, 422); a retry of the same request would be refused, too."""

    default_code = "Refused"


class JobNotFoundError(ClientError):
    """The queue has no job of that name."""

    default_code = "JobNotFound"


class PoolNotFoundError(ClientError):
    """There is no pool of that name; the message lists the existing pools."""

    default_code = "PoolNotFound"


class RogueJobNotFoundError(ClientError):
    """The queue knows no live unmanaged training job of that name."""

    default_code = "RogueJobNotFound"


class ConflictError(ClientError):
    """The request conflicts with the state of the queue: the name is in use, or the job has ended."""

    default_code = "Conflict"


class ConfigurationChangedError(ConflictError):
    """The configuration has changed since the version on which the document is based; the message says how."""

    default_code = "ConfigurationChanged"


class NotReachableError(ClientError):
    """The endpoint sent no response of the queue's API: check the URL, DNS, TLS and the network."""

    default_code = "NotReachable"


class NotAllowedError(ClientError):
    """The caller has no credentials, or these or the queue's rules do not allow the request (401, 403)."""

    default_code = "NotAllowed"


class BusyError(ClientError):
    """The queue is busy (429, 503), even after the client's retries."""

    default_code = "Busy"


class ServerFaultError(ClientError):
    """The queue failed (5xx), or sent a response that is not one of its API."""

    default_code = "ServerFault"


class ServerTooOldError(ClientError):
    """The server does not support the call, as it is older than this client."""

    default_code = "ServerTooOld"


class WaitTimeoutError(ClientError, TimeoutError):
    """Waiting for a job timed out; the job continues."""

    default_code = "WaitTimeout"


class JobFailedError(ClientError, RuntimeError):
    """The awaited job failed; the message says why."""

    default_code = "JobFailed"


class JobStoppedError(ClientError, RuntimeError):
    """The awaited job was stopped; the message says why."""

    default_code = "JobStopped"


class NoTrainingJobError(ClientError):
    """The job has no training job yet to which an estimator or trainer could be attached."""

    default_code = "NoTrainingJob"


class BatchRefusedError(ClientError):
    """Some of many requests were refused; the message names them and says why.

    Attributes:
        results: the results in the order of the requests; those of accepted requests have a submission.
    """

    default_code = "BatchRefused"

    def __init__(self, results: Sequence[BatchResult]) -> None:
        self.results = tuple(results)
        refused = [result for result in self.results if result.submission is None]
        listed = "; ".join(f"{result.name}: {result.error}" for result in refused[:MAX_LISTED_REFUSALS])
        more = f"; and {len(refused) - MAX_LISTED_REFUSALS} more" if len(refused) > MAX_LISTED_REFUSALS else ""
        accepted = len(self.results) - len(refused)
        super().__init__(
            f"{len(refused)} of {len(self.results)} jobs were refused, and {accepted} are in the queue. {listed}{more}"
        )

    def __reduce__(self) -> tuple[type[BatchRefusedError], tuple[tuple[BatchResult, ...]]]:
        """Pickle by the results, from which the message is made."""
        return (type(self), (self.results,))
