"""Reasons are bounded and name what they are about."""

from __future__ import annotations

from headway.policy import Policy
from headway.reasons import MAX_MESSAGE_CHARS, Reason, ReasonCode, waits_for_capacity
from tests.core.builders import NOW_MS, P5, held, job


def test_a_long_sentence_is_cut() -> None:
    reason = Reason(code=ReasonCode.FAILED, message="x" * 5000)
    assert len(reason.message) == MAX_MESSAGE_CHARS
    assert reason.message.endswith("…")


def test_of_many_holders_three_are_named() -> None:
    holders = tuple(held(f"h{i}", 9) for i in range(5))
    reason = waits_for_capacity(job("a", 1, count=5), {P5: 5}, holders, None, NOW_MS, Policy())
    assert reason.jobs == ("h0", "h1", "h2")
    assert reason.message.endswith("and 2 more")
