"""People at work while stacks are updated, and whether they are answered."""

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
"""The time between two reads of the queue through the API."""

MINUTE_S = 5.0
"""Between two runs of the reconciler. A schedule starts it once a minute, and training is faster by more than this."""

SUBMIT_S = 2.0
"""Between two submissions, on average."""

MOST_JOBS = 1000
"""More are not submitted, however long the updates take."""

REST_S = 240.0
"""The longest time until all jobs have ended after the last submission."""

_WAKE = "-wake.fifo"
_OUTAGES = (OSError, SandboxError, BotoCoreError, ClientError)


@dataclass
class Answers:
    """The number of responses to reads of the queue, and the longest time without one."""

    answered: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    longest_silence_s: float = 0.0


class Traffic:
    """Submits jobs, stops them, changes priorities and reads, until it is ended.

    Args:
        sandbox: with a queue that is deployed.
        seed: the seed of the submitted jobs.
    """

    def __init__(self, sandbox: Sandbox, *, seed: int) -> None:
        self._sandbox = sandbox
        self._onlooker = StateReader(sandbox)
        self._functions = Functions(sandbox)
        self._invariants = Invariants(POOLS)
        self._over = threading.Event()
        self._answers = Answers()
        self._answered_at = time.monotonic()
        self.people = Workload(sandbox, Random(seed), jobs=MOST_JOBS, pause_s=SUBMIT_S)
        acts: Sequence[Callable[[], None]] = (
            self.people.hand_in,
            self.people.change_minds,
            self._read,
            lambda: self._repeat(LOOK_S, self._look),
            lambda: self._repeat(MINUTE_S, lambda: self._functions.begin(RECONCILE)),
        )
        self._executor = ThreadPoolExecutor(len(acts))
        self._acts = acts
        self._tasks: list[Future[None]] = []

    @property
    def violations(self) -> list[Violation]:
        """The violations until now."""
        return self._invariants.violations

    def begin(self) -> None:
        """Set the pools, and start all users."""
        self.people.set_pools(POOLS)
        self._until(lambda: {item["pool"]: item["size"] for item in self._onlooker.look().pools} == POOLS)
        self._tasks = [self._executor.submit(act) for act in self._acts]

    def wait_for_work(self) -> RawState:
        """Wait until jobs wait and run at once."""
        self._until(lambda: self._onlooker.look().states.keys() >= {"running", "pending"})
        return self._onlooker.look()

    def look(self) -> RawState:
        """Observe the table and SageMaker."""
        return self._onlooker.look()

    def answers(self) -> Answers:
        """The responses since the last call."""
        answers, self._answers = self._answers, Answers()
        answers.longest_silence_s = max(answers.longest_silence_s, time.monotonic() - self._answered_at)
        return answers

    def until_answered(self) -> None:
        """Wait until the queue has answered since the call."""
        self._answers = Answers()
        self._until(lambda: self._answers.answered > 0)

    def until_unanswered(self) -> None:
        """Wait until a request to the queue fails."""
        self._answers = Answers()
        self._until(lambda: self._answers.unanswered.total() > 0)

    def end(self) -> RawState:
        """Stop submitting, wait until all jobs have ended, and check the final invariants."""
        self.people.submit_no_more()
        # What a version that failed held of the wake-ups comes back now, not after the queue's visibility timeout.
        self._sandbox.release_messages(_WAKE)
        self._until(self.people.all_handed_in.is_set)
        self.people.go_home()
        self._until(lambda: self._onlooker.look().is_at_rest)
        self.stop()
        look = self._onlooker.look()
        self._invariants.check_end(look, self.people.accepted)
        return look

    def stop(self) -> None:
        """Stop all users."""
        self.people.submit_no_more()
        self.people.go_home()
        self._over.set()
        self._executor.shutdown()
        for task in self._tasks:
            task.result()

    def _look(self) -> None:
        accepted = set(self.people.accepted)
        self._invariants.check(self._onlooker.look(), accepted)

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
                raise SandboxError(f"The queue did not come there within {REST_S:g} s: {self._onlooker.look().states}")
            for task in self._tasks:
                if task.done():
                    task.result()
            time.sleep(0.2)
