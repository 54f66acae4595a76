"""Users at work while stacks are updated, and the availability of the API."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError, ClientError

from headway_client.errors import ClientError as NotAnswered
from headway_client.http.api import HeadwayApi
from headway_sandbox.errors import SandboxError
from headway_sandbox.local.sandbox import Sandbox
from headway_verification.chaos.invariants import Invariants, Violation
from headway_verification.chaos.lambda_invoker import RECONCILE, Functions
from headway_verification.chaos.raw_state import RawState, StateReader
from headway_verification.chaos.run import LOOK_S, POOLS
from headway_verification.chaos.workload import Workload

READ_S = 1.0
"""The interval between two reads of the queue through the API."""

MINUTE_S = 5.0
"""The interval between two runs of the reconcile function: a schedule's minute, reduced like the training times."""

SUBMIT_S = 2.0
"""The mean interval between two submissions."""

MOST_JOBS = 1000
"""The maximum number of jobs, regardless of the duration of the updates."""

REST_S = 240.0
"""The time limit for the queue to come to rest without submissions."""

_WAKE = "-wake.fifo"
_OUTAGES = (OSError, SandboxError, BotoCoreError, ClientError)


@dataclass
class Answers:
    """The number of answered and unanswered reads, and the longest outage."""

    answered: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    longest_silence_s: float = 0.0


class Traffic:
    """Submits jobs, stops them, changes priorities and reads until it ends.

    Args:
        sandbox: a sandbox with a deployed queue.
        seed: the random seed of the requests.
    """

    def __init__(self, sandbox: Sandbox, *, seed: int) -> None:
        self._sandbox = sandbox
        self._reader = StateReader(sandbox)
        self._functions = Functions(sandbox)
        self._invariants = Invariants(POOLS)
        self._over = threading.Event()
        self._answers = Answers()
        self._answered_at = time.monotonic()
        self.people = Workload(sandbox, Random(seed), jobs=MOST_JOBS, pause_s=SUBMIT_S)
        acts: Sequence[Callable[[], None]] = (
            self.people.submit_all,
            self.people.change_jobs,
            self._read,
            lambda: self._repeat(LOOK_S, self._look),
            lambda: self._repeat(MINUTE_S, lambda: self._functions.begin(RECONCILE)),
        )
        self._executor = ThreadPoolExecutor(len(acts))
        self._acts = acts
        self._tasks: list[Future[None]] = []

    @property
    def violations(self) -> list[Violation]:
        """The violations so far."""
        return self._invariants.violations

    def begin(self) -> None:
        """Set the pools, and start the workload."""
        self.people.set_pools(POOLS)
        self._until(lambda: {item["pool"]: item["size"] for item in self._reader.observe().pools} == POOLS)
        self._tasks = [self._executor.submit(act) for act in self._acts]

    def wait_for_work(self) -> RawState:
        """Wait until jobs are waiting and running."""
        self._until(lambda: self._reader.observe().states.keys() >= {"running", "pending"})
        return self._reader.observe()

    def allow(self, pool: str, size: int) -> None:
        """Expect that a pool is resized, for a time."""
        self._invariants.allow(pool, size)

    def observe(self) -> RawState:
        """Read the table and SageMaker."""
        return self._reader.observe()

    def answers(self) -> Answers:
        """Return the answers since the previous call."""
        answers, self._answers = self._answers, Answers()
        answers.longest_silence_s = max(answers.longest_silence_s, time.monotonic() - self._answered_at)
        return answers

    def until_answered(self) -> None:
        """Wait until a read has been answered since this call."""
        self._answers = Answers()
        self._until(lambda: self._answers.answered > 0)

    def until_unanswered(self) -> None:
        """Wait until a read has failed since this call."""
        self._answers = Answers()
        self._until(lambda: self._answers.unanswered.total() > 0)

    def end(self) -> RawState:
        """Stop submitting, wait until all jobs have ended, and check the invariants at rest."""
        self.people.stop_submitting()
        # Wake-ups received by a failed version are redelivered now, not after the queue's visibility timeout.
        self._sandbox.release_messages(_WAKE)
        self._until(self.people.all_submitted.is_set)
        self.people.end()
        self._until(lambda: self._reader.observe().is_at_rest)
        self.stop()
        observed = self._reader.observe()
        self._invariants.check_end(observed, self.people.accepted)
        return observed

    def stop(self) -> None:
        """End the workload."""
        self.people.stop_submitting()
        self.people.end()
        self._over.set()
        self._executor.shutdown()
        for task in self._tasks:
            task.result()

    def _look(self) -> None:
        accepted = set(self.people.accepted)
        self._invariants.check(self._reader.observe(), accepted)

    def _read(self) -> None:
        info = self._sandbox.info
        credentials = Credentials(info.access_key, info.secret_key)
        api = HeadwayApi(self._sandbox.endpoint, region=info.region, credentials=credentials)
        while not self._over.wait(READ_S):
            answers = self._answers
            try:
                api.capacity()
            except NotAnswered as error:
                answers.unanswered[type(error).__name__] += 1
            else:
                now = time.monotonic()
                answers.answered += 1
                answers.longest_silence_s = max(answers.longest_silence_s, now - self._answered_at)
                self._answered_at = now

    def _repeat(self, pause_s: float, act: Callable[[], object]) -> None:
        while not self._over.wait(pause_s):
            with suppress(*_OUTAGES):
                act()

    def _until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + REST_S
        while not condition():
            if time.monotonic() > deadline:
                raise SandboxError(
                    f"The queue did not reach the state within {REST_S:g} s: {self._reader.observe().states}"
                )
            for task in self._tasks:
                if task.done():
                    task.result()
            time.sleep(0.2)
