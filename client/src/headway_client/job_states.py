"""The states of a job, as the API spells them."""

from __future__ import annotations

WAITING_STATES = ("preempted", "pending")
"""The states of a job that waits for instances."""

LIVE_STATES = ("running", "stopping", *WAITING_STATES)
"""The states of a job that has not ended."""

ENDED_STATES = ("completed", "failed", "stopped")
"""The states of a job that has ended; it stays readable until its retention time has passed."""

JOB_STATES = LIVE_STATES + ENDED_STATES
