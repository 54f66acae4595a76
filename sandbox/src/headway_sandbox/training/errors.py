"""Errors of a training job's input and output."""

from __future__ import annotations

from headway_sandbox.errors import SandboxError


class RequestFault(SandboxError):
    """The request names what is missing, or what the sandbox does not have; the job fails with ClientError."""


class StorageFault(SandboxError):
    """S3 refused a call or did not answer; the job fails, as it would on SageMaker with such a role or bucket."""
