"""What operators have done to the whole queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.values import Time


@dataclass(frozen=True, kw_only=True)
class OperatorAction(ApiDocument):
    """What an operator has done."""

    time: Time
    action: Annotated[str, Member("pause, drain, resume, configure, stop rogue, redrive or forget; later others.")]
    target: Annotated[str, Member("What it was done to: a pool, a version of the configuration, a training job.")]
    by: Annotated[str, Member("Who has done it, such as user/ada; empty if AWS's own records name who.")]
    address: Annotated[str, Member("The IP address of the call; empty if it is not known.")]
    reason: Annotated[str, Member("The reason given; empty for none.")]
    message: Annotated[str, Member("Who did what, and why, in a sentence.")]


@dataclass(frozen=True, kw_only=True)
class OperatorActions(ApiDocument):
    """What operators have done, the newest first."""

    actions: tuple[OperatorAction, ...]
    next: Annotated[str | None, Member("For `after`, if there are older ones.")]
