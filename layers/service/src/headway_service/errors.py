"""Errors of the service. Each that a caller may see carries the HTTP status and the code it is answered with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from headway.errors import HeadwayError
from headway.refusals import Cause


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldError:
    """An error in one field of a request."""

    #: Path of the field, e.g. ``ResourceConfig.InstanceCount``.
    field: str
    #: A sentence with the necessary change.
    message: str


class RequestError(HeadwayError):
    """Base of errors that are answered to the caller.

    Attributes:
        status: the HTTP status.
        code: the ``error.code`` of the answer.
        fields: the errors, field by field; may be empty.
    """

    status = HTTPStatus.BAD_REQUEST
    code = "InvalidRequest"

    def __init__(self, message: str, fields: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.fields = tuple(fields)


class InvalidRequest(RequestError):
    """The request is not valid for SageMaker or the queue."""


class InvalidConfiguration(RequestError):
    """The configuration document is not valid."""

    code = "InvalidConfiguration"


class RequestTooLarge(RequestError):
    """The request is larger than the queue's limit."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "RequestTooLarge"


class UnsupportedMediaType(RequestError):
    """The content type of the body is not JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    code = "UnsupportedMediaType"


class ImpossibleDemand(RequestError):
    """No pool could ever satisfy the job's demand."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "ImpossibleDemand"


class RuleViolation(RequestError):
    """The request breaks rules of the configuration; lists each field with the broken rule."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "RuleViolation"


class NotAllowed(RequestError):
    """The caller may not do this to the job, the team or with the role; the message names who may."""

    status = HTTPStatus.FORBIDDEN
    code = "NotAllowed"


class JobNotFound(RequestError):
    """No job of that name is in the queue."""

    status = HTTPStatus.NOT_FOUND
    code = "JobNotFound"


class PoolNotFound(RequestError):
    """The pool does not exist; lists the existing ones."""

    status = HTTPStatus.NOT_FOUND
    code = "PoolNotFound"


class VersionNotFound(RequestError):
    """No such version of the configuration is recorded."""

    status = HTTPStatus.NOT_FOUND
    code = "VersionNotFound"


class RogueJobNotFound(RequestError):
    """There is no live rogue training job of that name."""

    status = HTTPStatus.NOT_FOUND
    code = "RogueJobNotFound"


class NameInUse(RequestError):
    """Another job of that name is in the queue."""

    status = HTTPStatus.CONFLICT
    code = "NameInUse"


class JobEnded(RequestError):
    """The job has ended, so it can be neither stopped nor changed."""

    status = HTTPStatus.CONFLICT
    code = "JobEnded"


class ConfigurationChanged(RequestError):
    """The configuration has changed since the version that the document is based on; lists each change."""

    status = HTTPStatus.PRECONDITION_FAILED
    code = "ConfigurationChanged"


class VersionRequired(RequestError):
    """The call has no version of the configuration that its document is based on."""

    status = HTTPStatus.PRECONDITION_REQUIRED
    code = "VersionRequired"


class NotWaiting(RequestError):
    """The job holds instances, so it can neither be held nor have its request changed."""

    status = HTTPStatus.CONFLICT
    code = "NotWaiting"


class RestoreUnfinished(RequestError):
    """The table was restored: nothing starts or changes until the patrol has checked all training jobs."""

    status = HTTPStatus.CONFLICT
    code = "RestoreUnfinished"


class SumsChanged(RequestError):
    """Sums of usage are not those that a repair of them was made for."""

    status = HTTPStatus.CONFLICT
    code = "SumsChanged"


class QueueFull(RequestError):
    """The queue is full. That lasts until jobs start or are stopped, so the status is neither 429 nor 503."""

    status = HTTPStatus.CONFLICT
    code = "QueueFull"


class BudgetSpent(RequestError):
    """Nothing is left of a budget whose jobs are refused then. That may last for weeks; the message says until when."""

    status = HTTPStatus.CONFLICT
    code = "BudgetSpent"


class OwnerHasJobs(RequestError):
    """An owner cannot be forgotten while jobs of theirs have not ended; the message names some."""

    status = HTTPStatus.CONFLICT
    code = "OwnerHasJobs"


class RetryLater(RequestError):
    """Too many concurrent writers, or a service without a clear response; the same call may succeed a moment later."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "Busy"


class Conflict(HeadwayError):
    """Another writer was faster than a change. Nothing was written; read again.

    Attributes:
        failed: indexes of the writes whose condition did not hold; none if they were not tried.
    """

    def __init__(self, failed: Sequence[int]) -> None:
        conditions = f"the conditions of writes {list(failed)} did not hold"
        super().__init__(conditions if failed else "what was read has changed meanwhile")
        self.failed = tuple(failed)

    @classmethod
    def stale(cls) -> Conflict:
        """Of a change that is not tried, as what was read shows already that it has changed meanwhile."""
        return cls(())


class NotDelivered(HeadwayError):
    """A dead letter could not be delivered, so it has to stay.

    Attributes:
        code: AWS's error code. The text may reveal internals, so only the code is returned to callers.
    """

    def __init__(self, code: str) -> None:
        super().__init__(f"it could not be handed over ({code}); the log of the API function has the details")
        self.code = code


class LaunchError(HeadwayError):
    """Base of what CreateTrainingJob may answer instead of starting the job.

    Attributes:
        code: AWS's error code. The text may quote the request, so only the code may be logged.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class NameTaken(LaunchError):
    """ResourceInUse: a training job of that name exists, perhaps our own."""


class LaunchPostponed(LaunchError):
    """SageMaker did not launch the job now, but may later: a quota, or the queue's permissions or credentials.

    Attributes:
        text: AWS's sentence.
        cause: which of these.
        by_request: whether nothing but the request of the job itself keeps it from starting, as far as AWS tells.
    """

    def __init__(self, code: str, message: str, *, cause: Cause = Cause.QUOTA, by_request: bool = False) -> None:
        super().__init__(code, message)
        self.text = message
        self.cause = cause
        self.by_request = by_request


class LaunchRefused(LaunchError):
    """SageMaker will never launch this request as it is."""


class NothingToStop(HeadwayError):
    """StopTrainingJob was refused because there is nothing that it could stop."""


class TrainingJobEnded(NothingToStop):
    """The training job has ended, or is stopping already."""


class TrainingJobNotFound(NothingToStop):
    """SageMaker has no training job with that name, or not yet: consistency of its responses is not documented."""


class UnreadableAnswer(HeadwayError):
    """What came back from a call to AWS is no answer of AWS's, or lacks what every such answer has."""


class OutcomeUnknown(HeadwayError):
    """A call to SageMaker may or may not have taken effect (timeout, server fault, unreadable response)."""


class Throttled(OutcomeUnknown):
    """SageMaker turned the call away, so it had no effect; the same call may succeed a moment later."""


class LacksPermission(OutcomeUnknown):
    """The queue lacks the permission for a call, so it had no effect."""


class ListingExpired(HeadwayError):
    """SageMaker does not continue a listing from its token; the listing has to start again."""


class UnreadableRecord(HeadwayError):
    """An item of the table is not what this code reads, or is missing although it belongs to another one.

    The message names the item, and quotes nothing of it but its keys.
    """


class NewerSchema(UnreadableRecord):
    """An item of the table was written by code that is newer than this."""


class OlderSchema(UnreadableRecord):
    """An item of the table has a schema version that is older than all that this code reads."""


class AlarmRefused(HeadwayError):
    """CloudWatch refuses an alarm as it is; the same call will be refused again."""


class MetricsRefused(HeadwayError):
    """CloudWatch refuses to read metrics as they are named; the same call will be refused again."""


class ObjectsUnreadable(HeadwayError):
    """Objects in S3 cannot be read, for whatever reason."""


class PermissionsUnknown(HeadwayError):
    """What a role may do is not known, for whatever reason."""
