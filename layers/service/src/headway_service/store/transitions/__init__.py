"""How does the state of a job, an attempt or the ledger change? Each transition as the writes of one transaction.

Pure: records in, writes out. Every write is conditional on the records that were read, so of two concurrent transitions
one fails with a :class:`headway_service.errors.Conflict` and changes nothing (promises 1 and 6).
"""

from headway_service.store.transitions.attempt import (
    confirm,
    drain,
    miss,
    preempt,
    return_lease,
    sighted,
    still,
    stop_holding,
    stop_sent,
    take_lease,
    take_measure,
)
from headway_service.store.transitions.job import (
    accept,
    adopt,
    change_priority,
    end,
    hold,
    postpone,
    release,
    start,
    stop_waiting,
)
from headway_service.store.transitions.ledger import (
    add_pool,
    add_team,
    back_off,
    change_pause,
    end_restore,
    free,
    pause,
    remove_pool,
    remove_team,
    resize_pool,
    resume,
    take_out_team,
)
from headway_service.store.transitions.retry_plan import Retrial
from headway_service.store.transitions.unmanaged_job import ask_to_stop, change_rogue, forget_rogue, see_rogue

__all__ = [
    "Retrial",
    "accept",
    "add_pool",
    "add_team",
    "adopt",
    "ask_to_stop",
    "back_off",
    "change_pause",
    "change_priority",
    "change_rogue",
    "confirm",
    "drain",
    "end",
    "end_restore",
    "forget_rogue",
    "free",
    "hold",
    "miss",
    "pause",
    "postpone",
    "preempt",
    "release",
    "remove_pool",
    "remove_team",
    "resize_pool",
    "resume",
    "return_lease",
    "see_rogue",
    "sighted",
    "start",
    "still",
    "stop_holding",
    "stop_sent",
    "stop_waiting",
    "take_lease",
    "take_measure",
    "take_out_team",
]
