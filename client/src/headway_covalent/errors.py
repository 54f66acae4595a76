"""Errors of the executor."""

from __future__ import annotations

from headway.errors import HeadwayError


class ExecutorError(HeadwayError):
    """Base class of the executor's errors."""


class MissingSetting(ExecutorError):
    """The executor has no value for a setting that it needs."""


class ReservedMember(ExecutorError):
    """The additional members of the request have one that the executor sets itself."""


class UnsupportedTask(ExecutorError):
    """The task needs what the executor does not do."""


class NoResult(ExecutorError):
    """A completed job has left no result that can be read."""


class NotStored(ExecutorError):
    """S3 has not taken what the job of a task needs."""
