"""Errors of the client: one exception for each way to resolve it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headway_client.error_base import ClientError, FieldMessage

if TYPE_CHECKING:
    from headway_client.models.submission import BatchResult

__all__ = [
    "MAX_LISTED_REFUSALS",
    "BatchRefusedError",
    "BusyError",
    "ClientError",
    "ConfigurationChangedError",
    "ConflictError",
    "FieldMessage",
    "JobFailedError",
    "JobNotFoundError",
    "JobStoppedError",
    "NoTrainingJobError",
    "NotAllowedError",
    "NotReachableError",
    "PoolNotFoundError",
    "ProfileError",
    "RefusedError",
    "RequestFileError",
    "RogueJobNotFoundError",
    "ServerFaultError",
    "ServerTooOldError",
    "UsageError",
    "VersionNotFoundError",
    "WaitTimeoutError",
]

MAX_LISTED_REFUSALS = 10
"""Maximum number of refused requests that the message lists; the error itself has all."""


class UsageError(ClientError):
    """An option, a file or a setting of the client has to be changed."""

    default_code = "Usage"


class ProfileError(UsageError):
    """The profile file, or a file that it refers to, is not valid; the message names the key and the fix."""

    default_code = "BadProfile"


class RequestFileError(UsageError):
    """A file with a request or a configuration is not valid JSON or YAML; the message says where."""

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


class VersionNotFoundError(ClientError):
    """No such version of the configuration is recorded, or not any more."""

    default_code = "VersionNotFound"


class RogueJobNotFoundError(ClientError):
    """The queue knows no live rogue training job of that name."""

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
