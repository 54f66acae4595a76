"""Errors of the sandbox: AWS error responses, and failures of the sandbox itself."""

from __future__ import annotations

from headway.errors import HeadwayError


class AwsError(Exception):
    """An error response of an AWS service. `code` is botocore's `Error.Code`."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


class SandboxError(HeadwayError):
    """The sandbox itself failed. The message says how to fix it."""


class SetupMissing(SandboxError):
    """A Python environment of the sandbox is missing."""


class WrongUsage(SandboxError):
    """An option has to be changed."""


class PortInUse(WrongUsage):
    """Another program listens on the chosen port."""


class InvalidName(WrongUsage):
    """IAM has no users of that name."""


class NotRunning(SandboxError):
    """No sandbox runs, or it has no queue."""


class StartFailed(SandboxError):
    """The server did not become ready, or exited during its start."""


class StateDirUnusable(SandboxError):
    """The state directory is no folder, or cannot be written."""


class StopFailed(SandboxError):
    """The server still runs, as it cannot save its state, or it had to be killed."""


class DeployFailed(SandboxError):
    """`sam build` or `sam deploy` failed. The message ends with the last lines of its output."""


class JournalError(SandboxError):
    """The journal in the state directory cannot be used."""


class JournalInUse(JournalError):
    """Another process has it open."""


class JournalFull(JournalError):
    """The disk is full, or cannot be written."""


class JournalDamaged(JournalError):
    """It is not a journal, or is damaged."""


class JournalOfOtherVersion(JournalError):
    """Another version of Headway created it."""
