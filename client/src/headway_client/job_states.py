"""Names of job states in the order in which the client lists them."""

from __future__ import annotations

from headway.lifecycle import ACTIVE, TERMINAL, WAITING, JobState

# Plain strings, as click takes the members of an enum by name.
LIVE_STATES = (
    *(state.value for state in JobState if state in ACTIVE),
    JobState.PREEMPTED.value,
    JobState.PENDING.value,
)
"""States of a job that has not ended."""

WAITING_STATES = tuple(state.value for state in JobState if state in WAITING)
"""States of a job that waits."""

ENDED_STATES = tuple(state.value for state in JobState if state in TERMINAL)
"""States of a job that has ended; it stays readable until its retention time has passed."""

JOB_STATES = LIVE_STATES + ENDED_STATES
"""All states."""

HELD = "held"
"""In filters, waiting jobs that a user holds: their state is pending."""
