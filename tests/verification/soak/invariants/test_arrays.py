"""Whether there is something to do for an array that rests."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.soak.invariants.arrays import check_resting
from headway_verification.soak.violations import Violated


def jobs(array: dict[str, Any], *members: dict[str, Any], made: int = 2) -> dict[str, dict[str, Any]]:
    """An array of two members, and those that are made."""
    summary = {"array": {"count": 2, "made": made}, **array.pop("summary", {})}
    found = {"a": {"jobName": "a", "jobState": "running", "summary": summary, **array}}
    for index, member in enumerate(members):
        of_array = {"memberOf": "a", "index": index, "isSetAside": member.pop("aside", True)}
        found[f"a_{index}"] = {"jobName": f"a_{index}", "jobState": "pending", "summary": of_array, **member}
    return found


HELD: dict[str, Any] = {"held": True}
AWAITS: dict[str, Any] = {"summary": {"dependsOn": [{"jobName": "b"}]}}


COUNTED: dict[str, Any] = {"summary": {"array": {"count": 2, "made": 2, "completed": 1, "stopped": 1}}}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(lambda: jobs({}, {**HELD}, {**HELD}), id="people hold its members"),
        pytest.param(lambda: jobs({}, {**HELD}, {"jobState": "stopped"}), id="or they have ended"),
        pytest.param(lambda: jobs({**HELD}, {}, made=1), id="it is held"),
        pytest.param(lambda: jobs({**AWAITS, "jobState": "pending"}, made=0), id="it waits for a job"),
    ],
)
def test_an_array_may_rest(found: Any) -> None:
    check_resting(found(), ["a"])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param(lambda: jobs({"jobState": "stopping"}, {**HELD}), "a is stopping", id="it stops"),
        pytest.param(lambda: jobs({"jobState": "stopped"}, {**HELD}), "a is stopped", id="it has ended"),
        pytest.param(lambda: jobs({}, {"aside": False}, {**HELD}), "in the queue or run", id="a member waits"),
        pytest.param(lambda: jobs({**HELD}, {"jobState": "running"}), "in the queue or run", id="a member runs"),
        pytest.param(lambda: jobs({}, {**HELD}, made=1), "not made", id="a member is not made"),
        pytest.param(lambda: jobs({}, {}, {**HELD}), "could enter", id="a member may be taken in"),
        pytest.param(
            lambda: jobs(COUNTED, {"jobState": "completed"}, {"jobState": "stopped"}), "counted", id="it has to end"
        ),
    ],
)
def test_an_array_may_not_rest(found: Any, message: str) -> None:
    with pytest.raises(Violated, match=message):
        check_resting(found(), ["a"])
