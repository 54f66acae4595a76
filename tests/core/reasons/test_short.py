from __future__ import annotations

import pytest

from headway.reasons import ReasonCode
from headway.reasons.short import short_form

MAX_CHARS = 30

TOLD_IN_FULL = {
    *(ReasonCode.SELECTED, ReasonCode.ADOPTED, ReasonCode.RETURNED_TO_LINE, ReasonCode.WARM_POOL_RELEASED),
    *(ReasonCode.RESERVATION_RELEASED, ReasonCode.PRIORITY_CHANGED, ReasonCode.CHANGED, ReasonCode.HELD),
    *(ReasonCode.RELEASED, ReasonCode.DEPENDENCY_ENDED, ReasonCode.TAKEN_IN, ReasonCode.SET_ASIDE),
    *(ReasonCode.NOT_REUSED, ReasonCode.STOP_REQUESTED, ReasonCode.BREAKS_RULES, ReasonCode.UNDERUSED),
    *(ReasonCode.WORSE_THAN_MEDIAN, ReasonCode.INTERRUPTED, ReasonCode.NO_INSTANCES, ReasonCode.POOL_SHRANK),
    *(ReasonCode.FAILED, ReasonCode.RETRIED, ReasonCode.STOPPED, ReasonCode.STOPPED_BY_POLICY),
    *(ReasonCode.STOPPED_EARLY, ReasonCode.STOPPED_OUTSIDE, ReasonCode.DEPENDENCY_UNMET, ReasonCode.REQUEUED),
    *(ReasonCode.ON_DEMAND, ReasonCode.LAUNCH_POSTPONED, ReasonCode.LAUNCH_REFUSED, ReasonCode.NAME_TAKEN),
    *(ReasonCode.TIME_CAME, ReasonCode.EXPIRED),
    *(ReasonCode.VANISHED, ReasonCode.OUTSIDE, ReasonCode.OUTSIDE_BREAKS_RULES, ReasonCode.OUTSIDE_STOPPED),
    *(ReasonCode.OUTSIDE_NOT_STOPPED, ReasonCode.OUTSIDE_GONE, ReasonCode.WEEKLY_DIGEST, ReasonCode.OPERATOR_ACTION),
}


@pytest.mark.parametrize("code", ReasonCode)
def test_each_reason_has_a_short_form_or_is_told_in_full(code: ReasonCode) -> None:
    assert (short_form(code, ()) is None) is (code in TOLD_IN_FULL)
    assert len(short_form(code, ()) or "") <= MAX_CHARS


def test_a_short_form_names_the_jobs_of_the_reason() -> None:
    assert short_form("WaitsForCapacity", ("a", "b")) == "waits for a, b"
    assert short_form("WouldDelay", ("big",)) == "would delay big"
    assert short_form("WaitsForJobs", ("prepare",)) == "after prepare"
    assert short_form("Started", ("warm",)) == "in the warm pool of warm"


def test_a_reason_that_has_no_jobs_has_a_form_without_them() -> None:
    assert short_form("WaitsBehind", ()) == "behind others"
    assert short_form("Started", ()) == ""
    assert short_form("Paused", ("unknown",)) == "paused"


def test_a_reason_of_a_later_release_has_none() -> None:
    assert short_form("Teleported", ("a",)) is None
