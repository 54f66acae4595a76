"""Exit codes of the command line. They are public, and their meaning never changes.

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | an unexpected error: a bug in Headway |
| 2 | wrong usage: change an option, a file or a profile |
| 3 | the queue refuses the request; every field to change is named |
| 4 | no such job or pool |
| 5 | the request conflicts with the state of the queue (a name in use, an ended job, another version) |
| 6 | the queue is not reachable, or the caller is not allowed; the message says what to check |
| 7 | the queue is busy or faulty, also after retries |
| 8 | a job failed or was stopped while the command waited for it |
| 9 | the timeout of a wait; the job continues |
| 10 | the server is too old for the request |
| 130 | interrupted (Ctrl-C) |
| 141 | the reader closed the output (a closed pipe) |

A command on several jobs or requests continues after a failure and exits with the highest code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_client.errors import (
    BatchRefusedError,
    BusyError,
    ClientError,
    ConflictError,
    JobFailedError,
    JobNotFoundError,
    JobStoppedError,
    NotAllowedError,
    NoTrainingJobError,
    NotReachableError,
    PoolNotFoundError,
    RefusedError,
    RogueJobNotFoundError,
    ServerFaultError,
    ServerTooOldError,
    UsageError,
    VersionNotFoundError,
    WaitTimeoutError,
)

EXIT_OK = 0
EXIT_UNEXPECTED = 1
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_JOB_NOT_FOUND = 4
EXIT_CONFLICT = 5
EXIT_NOT_REACHABLE = 6
EXIT_BUSY = 7
EXIT_JOB_FAILED = 8
EXIT_TIMEOUT = 9
EXIT_SERVER_TOO_OLD = 10
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

_BY_KIND: Mapping[type, int] = {
    UsageError: EXIT_USAGE,
    RefusedError: EXIT_REFUSED,
    BatchRefusedError: EXIT_REFUSED,
    JobNotFoundError: EXIT_JOB_NOT_FOUND,
    PoolNotFoundError: EXIT_JOB_NOT_FOUND,
    RogueJobNotFoundError: EXIT_JOB_NOT_FOUND,
    VersionNotFoundError: EXIT_JOB_NOT_FOUND,
    ConflictError: EXIT_CONFLICT,
    NoTrainingJobError: EXIT_CONFLICT,
    NotReachableError: EXIT_NOT_REACHABLE,
    NotAllowedError: EXIT_NOT_REACHABLE,
    BusyError: EXIT_BUSY,
    ServerFaultError: EXIT_BUSY,
    JobFailedError: EXIT_JOB_FAILED,
    JobStoppedError: EXIT_JOB_FAILED,
    WaitTimeoutError: EXIT_TIMEOUT,
    ServerTooOldError: EXIT_SERVER_TOO_OLD,
}
"""Exit codes by the class of an error, or by a base class of it."""


def exit_code_of(error: Exception) -> int:
    """Return the exit code for an error."""
    return next((_BY_KIND[kind] for kind in type(error).__mro__ if kind in _BY_KIND), EXIT_UNEXPECTED)


def error_document(error: ClientError) -> dict[str, Any]:
    """Return the JSON document of an error, with its exit code."""
    return {**error.to_document(), "exitCode": exit_code_of(error)}
