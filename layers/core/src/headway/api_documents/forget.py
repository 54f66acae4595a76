"""What was forgotten of a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member


@dataclass(frozen=True, kw_only=True)
class ForgottenOwner(ApiDocument):
    """What a page has forgotten of an owner."""

    jobs: Annotated[int, Member("Ended jobs that no longer name the owner.")]
    unreadable: Annotated[int, Member("Damaged jobs that still name the owner; the queue's log names them.")]
    sums: Annotated[int, Member("Sums of a month or a day that count for `forgotten` now; on the last page only.")]
    next_token: Annotated[str | None, Member("Where the next page begins; null at the end.")]
