"""What can go wrong in the sandbox: answers in AWS's words, and troubles of the sandbox itself."""

from __future__ import annotations

from headway.errors import HeadwayError


class AwsError(Exception):
    """An error as the service would answer it: `code` is what botocore shows as `Error.Code`."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


class SandboxError(HeadwayError):
    """The sandbox itself can't do what was asked. The message says what to do."""


class SetupMissing(SandboxError):
    """An environment that the sandbox runs in is not there."""


class StartFailed(SandboxError):
    """The server did not come up, or died while starting."""


class StopFailed(SandboxError):
    """The server did not end by itself, so it could not keep its state."""


class DeployFailed(SandboxError):
    """`sam build` or `sam deploy` failed. The message ends with the last lines that it wrote."""
