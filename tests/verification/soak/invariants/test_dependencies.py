"""The check of dependencies knows which ends meet which conditions."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.soak.invariants.dependencies import check_dependencies
from headway_verification.soak.violations import Violated

AT_LIMIT = [{"secondaryStatus": "MaxRuntimeExceeded"}]
AT_SPOT_LIMIT = [{"secondaryStatus": "MaxWaitTimeExceeded"}]
AGAIN = [*AT_LIMIT, {"secondaryStatus": "Stopped"}]
ENDS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("completed", {"jobState": "completed", "reason": {"code": "Completed"}}, {"ok", "any"}),
    ("failed", {"jobState": "failed", "reason": {"code": "Failed"}}, {"failed", "any"}),
    ("stopped", {"jobState": "stopped", "reason": {"code": "Stopped"}}, {"any"}),
    ("at its limit", {"jobState": "stopped", "reason": {"code": "Stopped"}, "attempts": AT_LIMIT}, {"failed", "any"}),
    (
        "at its limit on spot instances",
        {"jobState": "stopped", "reason": {"code": "Stopped"}, "attempts": AT_SPOT_LIMIT},
        {"failed", "any"},
    ),
    (
        "by the policy, at its limit",
        {"jobState": "stopped", "reason": {"code": "StoppedByPolicy"}, "attempts": AT_LIMIT},
        {"any"},
    ),
    ("after a limit before", {"jobState": "stopped", "reason": {"code": "Stopped"}, "attempts": AGAIN}, {"any"}),
]


def depends(condition: str, **changes: Any) -> dict[str, Any]:
    """A job that depended on ``a``, which has ended."""
    dependency = {"jobName": "a", "condition": condition, "ended": "x"}
    return {"jobState": "running", "reason": {"code": "Started"}, "summary": {"dependsOn": [dependency]}, **changes}


@pytest.mark.parametrize("condition", ["ok", "failed", "any"])
@pytest.mark.parametrize(("ended", "conditions"), [each[1:] for each in ENDS], ids=[each[0] for each in ENDS])
def test_a_job_starts_if_its_condition_is_met_and_is_stopped_if_it_is_not(
    condition: str, ended: dict[str, Any], conditions: set[str]
) -> None:
    started = depends(condition, attempts=[{}])
    unmet = depends(condition, jobState="stopped", reason={"code": "DependencyUnmet"})
    right, wrong = (started, unmet) if condition in conditions else (unmet, started)
    check_dependencies({"a": ended, "b": right})
    with pytest.raises(Violated):
        check_dependencies({"a": ended, "b": wrong})
