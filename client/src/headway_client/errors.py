"""Errors of the client: one exception for each way to resolve it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from headway.errors import HeadwayError
from headway.sanitize import strip_control_characters

if TYPE_CHECKING:
    from headway_client.models import BatchResult

MAX_TOLD_REFUSALS = 10
"""Of so many requests the message says why they were not taken; the error itself holds all."""


@dataclass(frozen=True, kw_only=True)
class FieldMessage:
    """What is wrong with one field of a request.

    Attributes:
        field: the field's path in the request, such as ``ResourceConfig.InstanceCount``.
        message: a sentence that says what to change.
    """

    field: str
    message: str


class ClientError(HeadwayError):
    """Base of the errors that the client raises on purpose.

    Attributes:
        code: a short name for programs; the server's own code where the server answered.
        message: a sentence that says what to change.
        fields: what is wrong with each field, in the server's order; empty where no field is to blame.
        status: the HTTP status of the answer, or None if there was none.
        request_id: the server's name for the request, for finding it in the logs; None if there was none.
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
        # Tracebacks and loggers show it as it is, and the server's sentences quote what others wrote.
        super().__init__(strip_control_characters(self.full_message()))

    def untold_fields(self) -> tuple[FieldMessage, ...]:
        """Return the fields that the message does not tell of already, word for word."""
        return tuple(item for item in self.fields if item.field not in self.message or item.message not in self.message)

    def full_message(self) -> str:
        """Return the message with what else is wrong with each field behind it, on one line."""
        details = "; ".join(f"{item.field}: {item.message}" for item in self.untold_fields())
        return f"{self.message} {details}" if details else self.message

    def to_document(self) -> dict[str, Any]:
        """Return the error in the shape in which the queue's API tells errors."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "fields": [{"field": item.field, "message": item.message} for item in self.fields],
            },
            "requestId": self.request_id,
        }


class UsageError(ClientError):
    """The caller has to change an option, a file or a setting on this side."""

    default_code = "Usage"


class ProfileError(UsageError):
    """The profile file, or what it leads to, can't be used; the message says which key and how."""

    default_code = "BadProfile"


class RequestFileError(UsageError):
    """The file with a request or a configuration can't be read as JSON; the message says where."""

    default_code = "BadFile"


class RefusedError(ClientError):
    """The queue refuses the request as it is (400, 413, 422); the same request is refused every time."""

    default_code = "Refused"


class JobNotFoundError(ClientError):
    """The queue holds no job of that name."""

    default_code = "JobNotFound"


class PoolNotFoundError(ClientError):
    """There is no pool of that name; the message names those that there are."""

    default_code = "PoolNotFound"


class RogueJobNotFoundError(ClientError):
    """The queue knows no live training job of that name that did not come through it."""

    default_code = "RogueJobNotFound"


class ConflictError(ClientError):
    """The request conflicts with what the queue holds: the name is in use, or the job has ended."""

    default_code = "Conflict"


class ConfigurationChangedError(ConflictError):
    """The configuration has changed since the version that the document was made from; the message says what."""

    default_code = "ConfigurationChanged"


class NotReachableError(ClientError):
    """No answer of the queue's API came from the endpoint: check network, name, TLS and address."""

    default_code = "NotReachable"


class NotAllowedError(ClientError):
    """The caller has no credentials, or neither they nor the queue's rules allow this request (401, 403)."""

    default_code = "NotAllowed"


class BusyError(ClientError):
    """The queue asks to come back later (429, 503), also after the client's retries."""

    default_code = "Busy"


class ServerFaultError(ClientError):
    """The queue failed (5xx), or answered something that is no answer of the queue's API."""

    default_code = "ServerFault"


class ServerTooOldError(ClientError):
    """The server does not know what was asked of it, as it is older than this client."""

    default_code = "ServerTooOld"


class WaitTimeoutError(ClientError, TimeoutError):
    """The time given to wait for a job is up; the job goes on."""

    default_code = "WaitTimeout"


class JobFailedError(ClientError, RuntimeError):
    """A job that was waited for failed; the message says why."""

    default_code = "JobFailed"


class JobStoppedError(ClientError, RuntimeError):
    """A job that was waited for was stopped; the message says why."""

    default_code = "JobStopped"


class NoTrainingJobError(ClientError):
    """No training job has been started for a job yet, so that nothing can be attached to it."""

    default_code = "NoTrainingJob"


class BatchRefusedError(ClientError):
    """Of many requests some were not taken; the message names them, and says why.

    Attributes:
        results: what came of each request, in their order; those that were taken have a submission.
    """

    default_code = "BatchRefused"

    def __init__(self, results: Sequence[BatchResult]) -> None:
        self.results = tuple(results)
        refused = [result for result in self.results if result.submission is None]
        told = "; ".join(f"{result.name}: {result.error}" for result in refused[:MAX_TOLD_REFUSALS])
        more = f"; and {len(refused) - MAX_TOLD_REFUSALS} more" if len(refused) > MAX_TOLD_REFUSALS else ""
        taken = len(self.results) - len(refused)
        super().__init__(
            f"{len(refused)} of {len(self.results)} jobs were not taken, and {taken} are in the queue. {told}{more}"
        )
