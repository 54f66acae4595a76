"""How does the state of a job, an attempt or the ledger change? Each transition as the writes of one transaction.

Pure: records in, writes out. Every write is conditional on the records that were read, so of two concurrent transitions
one fails with a :class:`headway_service.errors.Conflict` and changes nothing (promises 1 and 6).
"""

from headway_service.store.transitions.attempt import (
    apply_policy_action,
    confirm,
    drain,
    note_missing,
    preempt,
    record_status,
    return_lease,
    stop_active,
    stop_for_size,
    stop_sent,
    take_lease,
    touch,
)
from headway_service.store.transitions.dependency import closed, meet_dependency
from headway_service.store.transitions.job import (
    adopt,
    change_priority,
    comment,
    defer_launch,
    end,
    enqueue,
    hold,
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
    remove_calendar,
    remove_pool,
    remove_team,
    resize_pool,
    resume,
    set_calendar,
    set_plan,
    take_out_team,
)
from headway_service.store.transitions.request_change import change_request
from headway_service.store.transitions.retry_plan import RetryPlan
from headway_service.store.transitions.selection import select_pool
from headway_service.store.transitions.unmanaged_job import (
    charge_unmanaged,
    forget_unmanaged,
    request_stop,
    update_unmanaged,
)
from headway_service.store.transitions.warm_pool import (
    change_warm_pool,
    end_warm_pool,
    release_warm_pool,
    release_warm_pool_for,
)

__all__ = [
    "RetryPlan",
    "add_pool",
    "add_team",
    "adopt",
    "apply_policy_action",
    "back_off",
    "change_pause",
    "change_priority",
    "change_request",
    "change_warm_pool",
    "charge_unmanaged",
    "closed",
    "comment",
    "confirm",
    "defer_launch",
    "drain",
    "end",
    "end_restore",
    "end_warm_pool",
    "enqueue",
    "forget_unmanaged",
    "free",
    "hold",
    "meet_dependency",
    "note_missing",
    "pause",
    "preempt",
    "record_status",
    "release",
    "release_warm_pool",
    "release_warm_pool_for",
    "remove_calendar",
    "remove_pool",
    "remove_team",
    "request_stop",
    "resize_pool",
    "resume",
    "return_lease",
    "select_pool",
    "set_calendar",
    "set_plan",
    "start",
    "stop_active",
    "stop_for_size",
    "stop_sent",
    "stop_waiting",
    "take_lease",
    "take_out_team",
    "touch",
    "update_unmanaged",
]
