"""Healthy states, in which no alarm may ring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headway.lifecycle import JobState
from headway_verification.operations.deployment import OperatedDeployment
from headway_verification.operations.states import BUSY, Act, all_of, call, calls, submits
from headway_verification.refusals.jobs import P5, Job, several

DAY_S = 86_400
LONGEST_S = 28 * DAY_S
"""The longest run time of a training job (API reference, StoppingCondition), s."""

ROOM: Mapping[str, Any] = {"limits": {"waitingPerTeam": 10_000, "waitingPerOwner": 10_000}}


@dataclass(frozen=True, kw_only=True)
class HealthyState:
    """A state in which all is well.

    Attributes:
        what: what it is.
        hours: how long it is played, h.
        begin: what happens at its begin.
        each_minute: what happens in each minute, which is counted from 0.
        hourly_h: for how long the functions run once an hour at first, and no alarm is looked at, h.
        runs: how many training jobs have completed, or run, at its end: otherwise it was another state.
        settings: members of the configuration document beside a pool of 8.
        wrong: what shows that the state was another one.
    """

    what: str
    hours: float
    begin: Act = lambda _: None
    each_minute: Callable[[OperatedDeployment, int], None] = lambda *_: None
    hourly_h: int = 0
    runs: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    wrong: Callable[[OperatedDeployment], list[str]] = lambda _: []

    @property
    def document(self) -> dict[str, Any]:
        """The configuration document."""
        return {"pools": {P5: {"size": 8}}, **self.settings}


def _busy(count: int, name: str, run_h: float, **terms: Any) -> tuple[Job, ...]:
    environment = {**BUSY, "SANDBOX_RUN_SECONDS": str(int(run_h * 3600))}
    limit_s = min(LONGEST_S, int(run_h * 3600) + 3600)
    changes = {"Environment": environment, "Tags": [{"Key": "team", "Value": "red"}]}
    return several(count, name, limit_s=limit_s, changes=changes, **terms)


def _burst(deployment: OperatedDeployment) -> None:
    """1,000 submissions in a batch after the other, of which API Gateway refuses some at first."""
    deployment.outages.refuses_callers = 429
    calls(300, "POST", "/job-batches")(deployment)
    deployment.outages.refuses_callers = 0
    submits(*_busy(1_000, "burst", 0.2))(deployment)
    calls(1_000)(deployment)


def _deploys(deployment: OperatedDeployment, minute: int) -> None:
    """In one minute of each half hour functions are replaced, and their mappings updated, which invoke nothing then."""
    _works(deployment, minute)
    if minute % 30 == 3:
        deployment.outages.disabled.update({"schedule", "tell"})
        deployment.replace_functions()
    if minute % 30 == 5:
        deployment.outages.disabled.clear()


def _works(deployment: OperatedDeployment, minute: int) -> None:
    if minute % 20 == 0:
        submits(*_busy(2, f"work-{minute}", 0.5))(deployment)
    calls(3)(deployment)


def _downloads_long(deployment: OperatedDeployment) -> None:
    settings = deployment.fleet.settings
    deployment.fleet.settings = replace(settings, durations=replace(settings.durations, download_s=5 * 3600.0))
    submits(*_busy(2, "large-data", 7.0))(deployment)


def _waits(name: str) -> Callable[[OperatedDeployment], list[str]]:
    def wrong(deployment: OperatedDeployment) -> list[str]:
        state = deployment.call_api("GET", f"/jobs/{name}")[1]["jobState"]
        return [] if state == JobState.PENDING else [f"{name} is {state}"]

    return wrong


HEALTHY: tuple[HealthyState, ...] = (
    HealthyState(what="a night: nobody submits, nothing runs", hours=10),
    HealthyState(what="a weekend: a few jobs run through, nobody looks", hours=48,
        begin=submits(*_busy(3, "run", 60)), runs=3),
    HealthyState(what="a working day: jobs come and end", hours=8, each_minute=_works, runs=40),
    HealthyState(what="a burst of 1,000 jobs, of whose calls API Gateway throttles some", hours=4, begin=_burst,
        settings=ROOM, runs=100),
    HealthyState(what="a deployment every half hour", hours=3, each_minute=_deploys, runs=12),
    HealthyState(what="a job of 28 days, and its end", hours=28 * 24 + 3, hourly_h=28 * 24 - 12,
        begin=submits(*_busy(1, "long", 28 * 24 - 2)), runs=1),
    HealthyState(what="a pause of a night, with jobs that wait", hours=12,
        begin=all_of(call("POST", f"/pools/{P5}/pause", {"reason": "maintenance"}), submits(*_busy(3, "waits", 1))),
        wrong=_waits("waits-0")),
    HealthyState(what="a team at its limit, beside free instances", hours=6,
        settings={"teams": {"red": {"limit": {P5: 2}}}},
        begin=submits(*_busy(2, "runs", 100), *_busy(3, "waits", 1)), runs=2, wrong=_waits("waits-2")),
    HealthyState(what="data that takes five hours to download", hours=6, begin=_downloads_long,
        runs=2),
)  # fmt: skip
"""All of them."""
