"""What a job keeps of its launches in a row that got no instances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

MAX_TEXT_CHARS = 400
"""Characters of SageMaker's sentence that are kept: a queue entry has them, too."""


class Cause(StrEnum):
    """Why a launch got no instances."""

    #: A quota of the account.
    QUOTA = "quota"
    #: A permission is missing, or denied.
    DENIED = "denied"
    #: The queue itself could not be authenticated.
    CREDENTIALS = "credentials"
    #: The queue cannot read the request that it keeps.
    UNREADABLE = "unreadable"
    #: SageMaker had no instances.
    CAPACITY = "capacity"
    #: SageMaker gave no clear answer, and shows no training job.
    UNANSWERED = "unanswered"


@dataclass(frozen=True, kw_only=True, slots=True)
class NoInstances:
    """The end of one launch that got no instances."""

    cause: Cause
    #: When it was begun, and when that was known, ms.
    launched_ms: int
    known_ms: int
    #: For how long it may have kept its instances from others, ms.
    idled_ms: int = 0
    #: AWS's code and sentence; empty if there is none.
    code: str = ""
    text: str = ""
    #: Whether nothing but the request of the job itself keeps it from starting, as far as AWS's answer tells.
    by_request: bool = False
    #: The sizes of its pools together; 0 if not known.
    pools_size: int = 0
    #: Whether SageMaker had accepted it.
    accepted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedLaunches:
    """The launches of a job in a row that got no instances, on one of its alternatives."""

    #: How many.
    count: int
    #: How many of them SageMaker had accepted, and provided no instances for.
    unprovided: int = 0
    #: When the first of them was begun, ms.
    since_ms: int
    #: When the end of the last one was known, ms, and for how long it may have kept its instances from others, ms.
    last_ms: int
    idled_ms: int = 0
    #: The same of all before the last one together, ms.
    idled_before_ms: int = 0
    #: Of the last one.
    cause: Cause
    code: str = ""
    text: str = ""
    #: Since when only the request of the job has kept it from starting, ms; None if the last one shows otherwise.
    by_request_since_ms: int | None = None
    #: The sizes of its pools together at the last one; 0 if not known. With other sizes, these launches tell nothing.
    pools_size: int = 0

    @property
    def is_of_outage(self) -> bool:
        """Whether an outage is all that they show: what it has kept from others is nobody's fault, and not counted."""
        return self.cause is Cause.UNANSWERED and not self.idled_ms

    @property
    def last_launch(self) -> NoInstances:
        """The last of them, as if it was all of the row."""
        return NoInstances(
            cause=self.cause,
            launched_ms=self.since_ms,
            known_ms=self.last_ms,
            idled_ms=self.idled_ms,
            code=self.code,
            text=self.text,
            by_request=self.by_request_since_ms is not None,
            pools_size=self.pools_size,
        )

    @property
    def answer(self) -> str:
        """AWS's code and sentence."""
        return f"{self.code}: {self.text}" if self.code and self.text else self.code or self.text


def add(before: FailedLaunches | None, launch: NoInstances) -> FailedLaunches:
    """The launches in a row, with a further one.

    Args:
        before: those before it; None if the last launch before it got instances, or there was none.
        launch: the further one.
    """
    since_ms = before.by_request_since_ms if before is not None else None
    return FailedLaunches(
        count=1 if before is None else before.count + 1,
        unprovided=(0 if before is None else before.unprovided) + launch.accepted,
        since_ms=launch.launched_ms if before is None else before.since_ms,
        last_ms=launch.known_ms,
        idled_ms=launch.idled_ms,
        idled_before_ms=0 if before is None else before.idled_before_ms + before.idled_ms,
        cause=launch.cause,
        code=launch.code,
        text=launch.text[:MAX_TEXT_CHARS],
        by_request_since_ms=(launch.launched_ms if since_ms is None else since_ms) if launch.by_request else None,
        pools_size=launch.pools_size,
    )


def add_of_outage(before: FailedLaunches | None, launch: NoInstances) -> FailedLaunches:
    """The launches in a row after one that an outage has left without an answer.

    It tells nothing about the job, so what is known of the job stays. The next try comes as if it counted.

    Args:
        before: those before it; None if the last launch before it got instances, or there was none.
        launch: the one without an answer.
    """
    if before is None or before.is_of_outage:
        return add(None, launch)
    return replace(before, last_ms=launch.known_ms)
