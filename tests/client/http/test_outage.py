"""Polling continues without responses for a time, which begins with the first call without one."""

from __future__ import annotations

import pytest

from headway_client.errors import BusyError
from headway_client.http.outage import MAX_OUTAGE_S, Outage


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_an_outage_is_tolerated_for_a_time_since_the_first_call_without_a_response() -> None:
    clock, error = Clock(), BusyError("busy")
    outage = Outage(clock)
    # The calls of a slow poll are this far apart.
    clock.now_s += 2 * MAX_OUTAGE_S
    outage.tolerate(error)
    outage.over()
    outage.tolerate(error)
    clock.now_s += MAX_OUTAGE_S
    outage.tolerate(error)
    clock.now_s += 1
    with pytest.raises(BusyError, match="busy"):
        outage.tolerate(error)


def test_only_the_first_call_without_a_response_begins_an_outage() -> None:
    outage, error = Outage(Clock()), BusyError("busy")
    assert [outage.tolerate(error) for _ in range(3)] == [True, False, False]
    outage.over()
    assert outage.tolerate(error)
