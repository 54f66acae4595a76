"""Each reason has a remedy, and a default for messages."""

from __future__ import annotations

import pytest

from headway.reasons import ReasonCode
from headway.reasons.remedies import NOTIFIED_BY_DEFAULT, REMEDIES, remedy_for

_ON_REQUEST = frozenset(
    {
        ReasonCode.WAITS_FOR_CAPACITY,
        ReasonCode.WAITS_FOR_FREED,
        ReasonCode.WAITS_FOR_CHECKPOINT,
        ReasonCode.WAITS_FOR_BETTER,
        ReasonCode.WAITS_FOR_LIMIT,
        ReasonCode.WOULD_DELAY,
        ReasonCode.WAITS_BEHIND,
        ReasonCode.BACKS_OFF,
        ReasonCode.UNLAUNCHABLE,
        ReasonCode.PAUSED,
        ReasonCode.WAITS_FOR_JOBS,
        ReasonCode.WAITS_FOR_TIME,
        ReasonCode.WAITS_FOR_ARRAY,
        ReasonCode.MEMBERS_LEFT,
        ReasonCode.WAITS_FOR_SIZE,
        ReasonCode.EXCEEDS_POOL,
        ReasonCode.EXCEEDS_LIMIT,
        ReasonCode.BUDGET_SPENT,
        ReasonCode.UNKNOWN_POOL,
        ReasonCode.STARTS_NOW,
        ReasonCode.RESERVATION_RELEASED,
    }
)
"""Reasons that are computed on request: they change no job, so they have no events."""


@pytest.mark.parametrize("code", ReasonCode)
def test_each_reason_either_only_holds_a_job_or_changes_one(code: ReasonCode) -> None:
    assert (code in _ON_REQUEST) != (code in REMEDIES)


@pytest.mark.parametrize("code", NOTIFIED_BY_DEFAULT)
def test_every_message_to_a_user_names_the_next_step(code: ReasonCode) -> None:
    remedy = remedy_for(code)
    assert remedy is not None
    assert remedy.endswith(".")
    assert len(remedy) < 300


@pytest.mark.parametrize(
    "code", [ReasonCode.ENTERED, ReasonCode.STARTED, ReasonCode.COMPLETED, ReasonCode.STOP_REQUESTED]
)
def test_a_user_gets_no_message_about_their_own_action(code: ReasonCode) -> None:
    assert code not in NOTIFIED_BY_DEFAULT
    assert remedy_for(code) is None


@pytest.mark.parametrize("code", sorted(_ON_REQUEST))
def test_a_hold_has_its_remedy_in_its_sentence(code: ReasonCode) -> None:
    assert remedy_for(code) is None
