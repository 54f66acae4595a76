"""One run: the concurrent actors, and when it ends."""

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
from headway_verification.chaos.invariants import Invariants, Violation
from headway_verification.chaos.lambda_invoker import RECONCILE, SCHEDULE, Functions
from headway_verification.chaos.raw_state import FINAL, WAITING, RawState, StateReader
from headway_verification.chaos.workload import Workload

POOLS = {P5: 8, G5: 12}
SPEED = 100.0
DURATIONS = Durations(provisioning_s=40, download_s=10, upload_s=10, release_s=10)
PARAMETERS = {"ReconcileAfterSeconds": "1"}

SCHEDULER_TIMEOUT_S = 15
"""So that a launch may be taken over from a scheduler that died after 20 s, not 35: they pass at no greater speed."""

LOOK_S = 1.0
"""The time between two observations of the table and SageMaker."""

MINUTE_S = 2.0
"""Between two runs of the reconciler. A schedule starts it once a minute, and training is faster by more than this."""

TELL_S = 10.0
"""The time between two lines of progress."""

ACCIDENT_S = 0.8
"""Between two accidents, on average."""

ACCIDENTS_PART = 0.5
"""The part of the time allowed after which nothing goes wrong any more, so that there is time to come to rest."""

ENDED_PART = 0.85
"""The part of the jobs that have ended when accidents stop: they happen while jobs run."""

_OUTAGES = (OSError, SandboxError, BotoCoreError, ClientError)
"""The errors of readers while the sandbox is restarted or a function is killed."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run went."""

    took_s: float
    look: RawState
    people: Workload
    accidents: FaultPlan
    looks: int
    violations: list[Violation]
    at_restart: Counter[str]
    """Jobs by state when the sandbox was stopped; empty if it was not."""


class Run:
    """Lets people, accidents and the passing of time loose on a sandbox, side by side.

    Args:
        sandbox: a new one, with `SPEED`, `DURATIONS` and `PARAMETERS`.
        jobs: how many are submitted.
        seed: the seed of all random choices; the interleaving depends on the machine.
        minutes: when it ends at the latest, even if jobs have not.
        tell: called with each line of progress.
    """

    def __init__(
        self, sandbox: Sandbox, *, jobs: int, seed: int, minutes: float, tell: Callable[[str], None] = print
    ) -> None:
        self._jobs = jobs
        self._tell = tell
        self._began = time.monotonic()
        self._time_s = minutes * 60
        self._random = Random(seed)
        self._onlooker = StateReader(sandbox)
        self._functions = Functions(sandbox)
        self._people = Workload(sandbox, Random(self._random.random()), jobs=jobs)
        self._accidents = FaultPlan(sandbox, self._functions, Random(self._random.random()))
        self._invariants = Invariants(POOLS)
        self._at_restart: Counter[str] = Counter()
        self._states: Counter[str] = Counter()
        self._over = threading.Event()

    def play(self) -> Outcome:
        """Run until all jobs have ended, or the time is up."""
        self._prepare()
        acts: Sequence[Callable[[], None]] = (
            self._people.hand_in,
            self._people.change_minds,
            lambda: self._repeat(LOOK_S, self._look),
            lambda: self._repeat(TELL_S, self._tell_progress),
            lambda: self._repeat(MINUTE_S, lambda: self._functions.begin(RECONCILE)),
        )
        with ThreadPoolExecutor(len(acts)) as others:
            tasks = [others.submit(act) for act in acts]
            try:
                self._let_accidents_happen(tasks)
                self._come_to_rest(tasks)
            finally:
                self._people.go_home()
                self._over.set()
            for task in tasks:
                task.result()
        look = self._onlooker.look()
        self._invariants.check_end(look, self._people.accepted)
        return Outcome(
            took_s=self._passed_s(),
            look=look,
            people=self._people,
            accidents=self._accidents,
            looks=self._invariants.looks,
            violations=self._invariants.violations,
            at_restart=self._at_restart,
        )

    def _prepare(self) -> None:
        self._functions.limit(SCHEDULE, timeout_s=SCHEDULER_TIMEOUT_S)
        self._people.set_pools(POOLS)
        while {item["pool"]: item["size"] for item in self._onlooker.look().pools} != POOLS and self._has_time(1.0):
            time.sleep(LOOK_S)

    def _let_accidents_happen(self, tasks: Sequence[Future[None]]) -> None:
        while self._has_time(ACCIDENTS_PART):
            _raise_errors(tasks)
            if not self._at_restart and self._ended >= self._jobs / 2:
                self._restart_amid_all()
            if self._people.all_handed_in.is_set() and self._ended >= self._jobs * ENDED_PART:
                break
            self._accidents.happen()
            time.sleep(self._random.expovariate(1 / ACCIDENT_S))
        if not self._at_restart:
            self._restart(self._onlooker.look())
        self._accidents.end()

    def _restart_amid_all(self) -> None:
        """Stop and start the sandbox if jobs wait, run and stop right now; one that runs is stopped before."""
        running = [name for name, job in self._onlooker.look().jobs.items() if job["jobState"] == "running"]
        if running:
            self._people.stop(self._random.choice(running))
        look = self._onlooker.look()
        if look.states.keys() & WAITING and look.states.keys() >= {"running", "stopping"}:
            self._restart(look)

    def _restart(self, look: RawState) -> None:
        self._at_restart = look.states
        self._accidents.restart()

    def _come_to_rest(self, tasks: Sequence[Future[None]]) -> None:
        while self._has_time(1.0):
            _raise_errors(tasks)
            if self._people.all_handed_in.is_set():
                self._people.go_home()
                with suppress(*_OUTAGES):
                    if self._onlooker.look().is_at_rest:
                        return
            time.sleep(LOOK_S)
        self._invariants.violations.append(Violation(f"no rest within {self._time_s / 60:g} minutes"))

    def _look(self) -> None:
        accepted = set(self._people.accepted)
        look = self._onlooker.look()
        self._invariants.check(look, accepted)
        self._states = look.states

    @property
    def _ended(self) -> int:
        return sum(self._states[state] for state in FINAL)

    def _tell_progress(self) -> None:
        states = ", ".join(f"{count} {state}" for state, count in sorted(self._states.items()))
        self._tell(f"{self._passed_s():4.0f} s, {self._accidents.counted.total()} accidents: {states}")

    def _repeat(self, pause_s: float, act: Callable[[], object]) -> None:
        while not self._over.wait(pause_s):
            with suppress(*_OUTAGES):
                act()

    def _has_time(self, part: float) -> bool:
        return self._passed_s() < self._time_s * part

    def _passed_s(self) -> float:
        return time.monotonic() - self._began


def _raise_errors(tasks: Sequence[Future[None]]) -> None:
    """Raise the error of an actor that failed, so that the run ends."""
    for task in tasks:
        if task.done():
            task.result()
