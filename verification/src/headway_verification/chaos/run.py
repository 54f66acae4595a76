"""A run: its concurrent actors, and its end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from botocore.exceptions import BotoCoreError, ClientError

from headway_sandbox.errors import SandboxError
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_sandbox.sagemaker.training_job import Durations
from headway_verification.chaos.faults import FaultPlan
from headway_verification.chaos.idle import IdleTimes
from headway_verification.chaos.invariants import Invariants, Violation
from headway_verification.chaos.lambda_invoker import RECONCILE, SCHEDULE, Functions
from headway_verification.chaos.raw_state import FINAL, WAITING, RawState, StateReader
from headway_verification.chaos.workload import Workload

POOLS = {P5: 8, G5: 12}
SPEED = 100.0
DURATIONS = Durations(provisioning_s=40, download_s=10, upload_s=10, release_s=10)
PARAMETERS = {"ReconcileAfterSeconds": "1"}

SCHEDULER_TIMEOUT_S = 15
"""Short, so that a launch may be taken over from a crashed scheduler after 20 s instead of 35: these waits are not
accelerated.
"""

LOOK_S = 1.0
"""The interval between two observations of the table and SageMaker."""

MINUTE_S = 2.0
"""The interval between two runs of the reconcile function: a schedule's minute, reduced like the training times."""

TELL_S = 10.0
"""The interval between two progress lines."""

FAULT_S = 0.8
"""The mean interval between two faults."""

FAULTS_PART = 0.5
"""The part of the time limit after which no more faults are injected, so that the queue can come to rest."""

ENDED_PART = 0.85
"""The part of ended jobs at which faults stop: they are injected while jobs run."""

_OUTAGES = (OSError, SandboxError, BotoCoreError, ClientError)
"""Errors of observers while the sandbox is restarted or a function is killed."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a run."""

    took_s: float
    observed: RawState
    people: Workload
    faults: FaultPlan
    observations: int
    violations: list[Violation]
    at_restart: Counter[str]
    """Jobs by state when the sandbox was restarted; empty if it was not."""
    idle_s: Counter[str]
    """For how long each pool idled after the last fault at most, s."""


class Run:
    """Runs users, faults and time concurrently on a sandbox.

    Args:
        sandbox: a new sandbox with `SPEED`, `DURATIONS` and `PARAMETERS`.
        jobs: the number of jobs to submit.
        seed: the random seed; concurrency is not determined by it.
        minutes: the time limit.
        report: called with each progress line.
    """

    def __init__(
        self, sandbox: Sandbox, *, jobs: int, seed: int, minutes: float, tell: Callable[[str], None] = print
    ) -> None:
        self._jobs = jobs
        self._tell = tell
        self._began = time.monotonic()
        self._time_s = minutes * 60
        self._random = Random(seed)
        self._reader = StateReader(sandbox)
        self._functions = Functions(sandbox)
        self._people = Workload(sandbox, Random(self._random.random()), jobs=jobs)
        self._faults = FaultPlan(sandbox, self._functions, Random(self._random.random()))
        self._invariants = Invariants(POOLS)
        self._is_killed = False
        self._at_restart: Counter[str] = Counter()
        self._states: Counter[str] = Counter()
        self._over = threading.Event()
        self._no_more_faults = threading.Event()
        self._idle = IdleTimes()

    def play(self) -> Outcome:
        """Run until all jobs have ended, or the time limit is reached."""
        self._prepare()
        acts: Sequence[Callable[[], None]] = (
            self._people.submit_all,
            self._people.change_jobs,
            lambda: self._repeat(LOOK_S, self._look),
            lambda: self._repeat(TELL_S, self._tell_progress),
            lambda: self._repeat(MINUTE_S, lambda: self._functions.begin(RECONCILE)),
        )
        with ThreadPoolExecutor(len(acts)) as others:
            tasks = [others.submit(act) for act in acts]
            try:
                self._inject_faults(tasks)
                self._come_to_rest(tasks)
            finally:
                self._people.end()
                self._over.set()
            for task in tasks:
                task.result()
        observed = self._reader.observe()
        self._invariants.check_end(observed, self._people.accepted)
        return Outcome(
            took_s=self._passed_s(),
            observed=observed,
            people=self._people,
            faults=self._faults,
            observations=self._invariants.observations,
            violations=self._invariants.violations,
            at_restart=self._at_restart,
            idle_s=self._idle.longest_s,
        )

    def _prepare(self) -> None:
        self._functions.limit(SCHEDULE, timeout_s=SCHEDULER_TIMEOUT_S)
        self._people.set_pools(POOLS)
        while {item["pool"]: item["size"] for item in self._reader.observe().pools} != POOLS and self._has_time(1.0):
            time.sleep(LOOK_S)

    def _inject_faults(self, tasks: Sequence[Future[None]]) -> None:
        while self._has_time(FAULTS_PART):
            _raise_errors(tasks)
            if not self._is_killed and self._ended >= self._jobs / 4:
                self._is_killed = True
                self._faults.restart(kill=True)
            if not self._at_restart and self._ended >= self._jobs / 2:
                self._restart_under_load()
            if self._people.all_submitted.is_set() and self._ended >= self._jobs * ENDED_PART:
                break
            self._faults.inject()
            time.sleep(self._random.expovariate(1 / FAULT_S))
        if not self._at_restart:
            self._restart(self._reader.observe())
        self._faults.clear()
        self._no_more_faults.set()

    def _restart_under_load(self) -> None:
        """Restart the sandbox if jobs are waiting, running and stopping; stop a running one first."""
        running = [name for name, job in self._reader.observe().jobs.items() if job["jobState"] == "running"]
        if running:
            self._people.stop(self._random.choice(running))
        observed = self._reader.observe()
        if observed.states.keys() & WAITING and observed.states.keys() >= {"running", "stopping"}:
            self._restart(observed)

    def _restart(self, observed: RawState) -> None:
        self._at_restart = observed.states
        self._faults.restart(kill=False)

    def _come_to_rest(self, tasks: Sequence[Future[None]]) -> None:
        while self._has_time(1.0):
            _raise_errors(tasks)
            if self._people.all_submitted.is_set():
                self._people.end()
                with suppress(*_OUTAGES):
                    if self._reader.observe().is_at_rest:
                        return
            time.sleep(LOOK_S)
        self._invariants.violations.append(Violation(f"not at rest within {self._time_s / 60:g} minutes"))

    def _look(self) -> None:
        accepted = set(self._people.accepted)
        observed = self._reader.observe()
        self._invariants.check(observed, accepted)
        self._states = observed.states
        if self._no_more_faults.is_set():
            self._idle.observe(observed, time.monotonic())

    @property
    def _ended(self) -> int:
        return sum(self._states[state] for state in FINAL)

    def _tell_progress(self) -> None:
        states = ", ".join(f"{count} {state}" for state, count in sorted(self._states.items()))
        self._tell(f"{self._passed_s():4.0f} s, {self._faults.counted.total()} faults: {states}")

    def _repeat(self, pause_s: float, act: Callable[[], object]) -> None:
        while not self._over.wait(pause_s):
            with suppress(*_OUTAGES):
                act()

    def _has_time(self, part: float) -> bool:
        return self._passed_s() < self._time_s * part

    def _passed_s(self) -> float:
        return time.monotonic() - self._began


def _raise_errors(tasks: Sequence[Future[None]]) -> None:
    """Raise the exception of a failed actor, so that the others do not continue without it."""
    for task in tasks:
        if task.done():
            task.result()
