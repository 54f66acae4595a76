"""Why an attempt is not stopped for a waiting job."""

from __future__ import annotations

from enum import StrEnum


class Protected(StrEnum):
    """Why an attempt is not stopped for a waiting job, as the code says that selects victims."""

    PREEMPTION_IS_OFF = "preemption is off"
    NOT_PREEMPTIBLE = "not preemptible"
    #: It was preempted as often as it may be: for ever, or for some time.
    CAPPED = "capped"
    MIN_RUN_TIME = "minimum run time"
    ENDS_AS_SOON = "ends no later than a stop would end it"
    #: Its priority is not lower than that of the job, with what its job has gained by waiting.
    NOT_LOWER = "not lower"
    #: Its job would rank before the waiting job once it waits again.
    WOULD_RANK_BEFORE = "would come first again"
    #: Its team is guaranteed what it uses.
    GUARANTEED = "guaranteed"
