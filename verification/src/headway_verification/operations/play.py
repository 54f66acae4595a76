"""Plays one state, and says which alarms rang."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from headway_sandbox.local.checkout import Checkout
from headway_verification.alarms.rings import Ring, all_rings
from headway_verification.alarms.template import StackAlarm, alarms_of
from headway_verification.operations.deployment import OperatedDeployment
from headway_verification.operations.healthy import HealthyState
from headway_verification.operations.states import AlarmState, submits

CALM_MIN = 15
"""For how long all is well before something breaks, min. Until the first runs of a new queue some alarms ring."""

MORE_MIN = 5
"""For how long a state is played after the time in which its alarm has to ring, min."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of a state.

    Attributes:
        rang: when each alarm rang for the first time after the begin, min.
        faults: what is not as it should be.
    """

    rang: Mapping[str, float]
    faults: tuple[str, ...]


def stack_alarms() -> dict[str, StackAlarm]:
    """All alarms of the template."""
    return alarms_of(Checkout.here().template())


def play(state: AlarmState, alarms: Mapping[str, StackAlarm]) -> Outcome:
    """Play a state in which an alarm rings: neither too late, nor before it is there, nor others with it."""
    deployment = _begun(state.document)
    if state.jobs:
        submits(*state.jobs)(deployment)
    _run(deployment, CALM_MIN)
    begin_s = deployment.now_s
    state.break_(deployment)
    if state.leap_h:
        deployment.leap(state.leap_h * 3600)
        _run(deployment, CALM_MIN)
        begin_s = deployment.now_s
    for _ in range(state.within_min + MORE_MIN):
        state.each_minute(deployment)
        _run(deployment, 1)
    rang = _first(_rings(deployment, alarms, begin_s), begin_s)
    return Outcome(rang=rang, faults=tuple(_faults_of(state, rang)))


def play_healthy(state: HealthyState, alarms: Mapping[str, StackAlarm]) -> Outcome:
    """Play a healthy state: no alarm rings."""
    deployment = _begun(state.document)
    _run(deployment, CALM_MIN)
    begin_s = deployment.now_s
    state.begin(deployment)
    if state.hourly_h:
        for _ in range(state.hourly_h):
            deployment.leap(3600)
            deployment.run_minute()
        _run(deployment, CALM_MIN)
        begin_s = deployment.now_s
    for minute in range(int((state.hours - state.hourly_h) * 60)):
        state.each_minute(deployment, minute)
        _run(deployment, 1)
    rang = _first(_rings(deployment, alarms, begin_s), begin_s)
    faults = [f"{alarm} rings after {minutes:.0f} min" for alarm, minutes in rang.items()]
    useful = sum(job.status in {"Completed", "InProgress"} for job in deployment.fleet.jobs(now=deployment.now_s))
    if useful < state.runs:
        faults.append(f"{useful} jobs run or have completed, not {state.runs}")
    return Outcome(rang=rang, faults=(*faults, *state.wrong(deployment)))


def _begun(document: Mapping[str, object]) -> OperatedDeployment:
    deployment = OperatedDeployment(document)
    _run(deployment, 3)
    return deployment


def _run(deployment: OperatedDeployment, minutes: int) -> None:
    # To the minute: a function that takes its time is not to shift all that follows.
    deployment.pass_time((deployment.now_s // 60 + minutes) * 60)


def _rings(deployment: OperatedDeployment, alarms: Mapping[str, StackAlarm], begin_s: float) -> list[Ring]:
    return all_rings(alarms, deployment.samples, begin_s=begin_s, end_s=deployment.now_s)


def _first(rings: Collection[Ring], begin_s: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for ring in rings:
        found.setdefault(ring.alarm, (ring.since_s - begin_s) / 60)
    return found


def _faults_of(state: AlarmState, rang: Mapping[str, float]) -> list[str]:
    others = sorted(rang.keys() - state.also - {state.alarm})
    faults = [f"{other} rings, too" for other in others]
    if state.alarm not in rang:
        faults.append(f"{state.alarm} is silent")
    elif rang[state.alarm] > state.within_min:
        faults.append(f"{state.alarm} rings after {rang[state.alarm]:.0f} min, not within {state.within_min}")
    elif rang[state.alarm] <= 0:
        faults.append(f"{state.alarm} rings before anything breaks")
    return faults
