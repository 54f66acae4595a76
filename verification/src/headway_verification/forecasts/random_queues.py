"""Random queues with arrays, and what their forecasts say."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from headway.sweeps import member_name
from headway_service.errors import ImpossibleDemand, RequestError
from headway_service.store.repository import find_job
from headway_verification.forecasts.deployment import CALLER, LimitedDeployment

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
ONE_EACH: tuple[Mapping[str, int], ...] = ({P5: 1}, {P5: 1}, {G5: 1})
DEMANDS = (*ONE_EACH, *ONE_EACH, {P5: 2}, {G5: 2})
MAX_PRIORITY = 3
MAX_QUESTIONS = 12
"""Moments of one queue at which its forecast is asked for."""


@dataclass(frozen=True, slots=True)
class Late:
    """A job that started later than it was told: the queue, and times in ms."""

    seed: int
    job: str
    asked_ms: int
    told_ms: int
    #: None if it never started.
    started_ms: int | None

    def __str__(self) -> str:
        told = f"seed {self.seed}: {self.job} was told {_hours(self.told_ms - self.asked_ms)} h"
        if self.started_ms is None:
            return f"{told} and never started"
        return f"{told} and started after {_hours(self.started_ms - self.asked_ms)} h"


@dataclass(kw_only=True, slots=True)
class Outcome:
    """What became of forecasts.

    Attributes:
        forecasts: how many were asked for while members of arrays were in no queue yet.
        starts: how many starts these told.
        exact: how many of these came at the very moment.
        unknown: how many jobs were told no start.
        late: the jobs that started later than told.
    """

    forecasts: int = 0
    starts: int = 0
    exact: int = 0
    unknown: int = 0
    late: list[Late] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Count those of another queue as well."""
        self.forecasts += other.forecasts
        self.starts += other.starts
        self.exact += other.exact
        self.unknown += other.unknown
        self.late += other.late


def examine(seed: int) -> Outcome:
    """Fill a queue, ask for forecasts while it runs empty, and compare them with what happens.

    Args:
        seed: draws the queue.
    """
    rng = Random(seed)
    preempts = rng.random() < 0.5
    deployment = LimitedDeployment({P5: rng.randint(1, 5), G5: rng.randint(1, 3)}, **_settings(rng, preempts=preempts))
    # A tick reads no jobs behind those that could get all instances that it might free, but a forecast does: it would
    # let small jobs preempt past large ones, and before jobs of several pools.
    demands = ONE_EACH if preempts else DEMANDS
    for number in range(rng.randint(4, 10)):
        is_array = number < 2 or rng.random() < 0.3
        _submit(deployment, rng, f"job-{number}", rng.choice(demands), is_array=is_array)
        if rng.random() < 0.5:
            deployment.pass_time(rng.choice((0, 7, 1800)))
            deployment.tick()
    _command(deployment, rng)
    deployment.tick()
    outcome = Outcome()
    asked: list[tuple[int, Mapping[str, int | None]]] = []
    while True:
        if len(asked) < MAX_QUESTIONS and rng.random() < 0.3 and _are_any_to_come(deployment):
            found = deployment.container.forecast_service.forecast(None, 100)
            asked.append((deployment.clock(), {each.seen.job.job_name: each.start_ms for each in found.jobs}))
        if not deployment.step():
            break
    for asked_ms, starts in asked:
        outcome.forecasts += 1
        for job, told_ms in starts.items():
            if told_ms is None:
                outcome.unknown += 1
                continue
            started_ms = min((ms for ms in deployment.started_ms.get(job, ()) if ms >= asked_ms), default=None)
            outcome.starts += 1
            outcome.exact += started_ms == told_ms
            if started_ms is None or started_ms > told_ms:
                outcome.late.append(Late(seed, job, asked_ms, told_ms, started_ms))
    return outcome


def _settings(rng: Random, *, preempts: bool) -> dict[str, Any]:
    return {
        # Decisions follow ends only, not the passing of time.
        "preemption": {"enabled": preempts, "minRunTimeSeconds": 0},
        "backfill": {"enabled": rng.random() < 0.8, "reservedHeads": rng.choice((1, 1, 2))},
    }


def _submit(
    deployment: LimitedDeployment, rng: Random, name: str, demand: Mapping[str, int], *, is_array: bool
) -> None:
    beside: dict[str, Any] = {}
    if is_array:
        sweep = {"list": [{"seed": seed} for seed in range(rng.randint(2, 25))]}
        beside = {"sweep": sweep, "at_once": rng.choice((None, None, 1, 2, 3))}
    run_s = rng.choice((600, 1800, 3600, 7200))
    # One that demands more than a pool has is refused.
    with suppress(ImpossibleDemand):
        deployment.submit(name, demand, run_s, rng.randint(0, MAX_PRIORITY), **beside)


def _command(deployment: LimitedDeployment, rng: Random) -> None:
    """Hold an array, give one another priority, or change members before their turn."""
    commands, priority = deployment.container.job_commands, rng.randint(0, MAX_PRIORITY)
    for array in ("job-0", "job-1"):
        found = find_job(deployment.table, array)
        if found is None or found.array is None:
            continue
        # Some have started, or ended, by now.
        with suppress(RequestError):
            member = member_name(array, rng.randrange(found.array.count), found.array.count)
            match rng.randrange(6):
                case 0:
                    commands.hold(array, CALLER)
                case 1:
                    commands.set_priority(array, priority, CALLER)
                case 2:
                    commands.set_priority(member, priority, CALLER)
                case 3:
                    commands.hold(member, CALLER)
                case _:
                    pass


def _are_any_to_come(deployment: LimitedDeployment) -> bool:
    arrays = (find_job(deployment.table, f"job-{number}") for number in range(10))
    return any(
        each is not None and each.array is not None and each.ending is None and each.array.unmade for each in arrays
    )


def _hours(ms: int) -> float:
    return round(ms / 3_600_000, 2)
