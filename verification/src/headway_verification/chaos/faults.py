"""What goes wrong: one accident after the other, drawn by weight, and counted as it really happened."""

from __future__ import annotations

import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_verification.chaos.lambda_invoker import API, OBSERVE, PATROL, RECONCILE, SCHEDULE, TELL, WATCH, Functions

CALLS = {"CreateTrainingJob": 2, "StopTrainingJob": 6, "DescribeTrainingJob": 6, "ListTags": 6}
"""What the functions call of SageMaker, and how many calls in a row go wrong at most.

More than two reach the function. For launches that is a rare accident.
"""

TRIES = 3
"""Of each call that the functions' client library makes before it gives up."""

RARE = 2
"""How often each rare accident happens at most: what meets one waits for a minute or so, and others wait with it."""

SHORTAGE_S = 1.5
"""How long a quota or a want of capacity lasts."""

_WAKE = "-wake.fifo"
_REMEMBERED = 400


class FaultPlan:
    """Lets accidents happen to a sandbox.

    Args:
        sandbox: the sandbox whose messages, processes and SageMaker get the faults.
        functions: its functions.
        random: draws what happens.

    Attributes:
        counted: the number of faults of each kind: processes killed, calls refused, messages returned.
    """

    def __init__(self, sandbox: Sandbox, functions: Functions, random: Random) -> None:
        self._sandbox = sandbox
        self._functions = functions
        self._sqs = sandbox.client("sqs")
        (self._wake_url,) = [url for url in self._sqs.list_queues()["QueueUrls"] if url.endswith(_WAKE)]
        self._random = random
        self._events: list[dict[str, Any]] = []
        self._given: dict[str, Mapping[str, int]] = {}
        self.counted: Counter[str] = Counter()
        self._kinds: dict[Callable[[], None], int] = {
            self._kill: 8,
            self._kill_a_caller: 2,
            self._give_back: 5,
            self._wake_again: 3,
            self._tell_again: 6,
            self._disturb_events: 4,
            self._throttle: 4,
            self._lose_answers: 4,
            self._want_capacity: 1,
            self._have_a_rare_one: 2,
        }
        self._rare: list[Callable[[], None]] = [self._lower_quota, self._turn_launches_away] * RARE
        random.shuffle(self._rare)

    def happen(self) -> None:
        """Have one accident."""
        self._remember_events()
        self._random.choices(list(self._kinds), list(self._kinds.values()))[0]()

    def restart(self) -> None:
        """Stop the sandbox cleanly and start it again."""
        log = self._sandbox.state_dir / "server.log"
        shutil.copy(log, log.with_name("server-before.log"))  # the new server begins its own
        self._sandbox.restart()
        self.counted["sandbox stopped and started"] += 1

    def end(self) -> None:
        """Nothing goes wrong any more."""
        self._count_given()
        self._sandbox.clear_faults()
        self._give_back()

    def _have_a_rare_one(self) -> None:
        if self._rare:
            self._rare.pop()()

    # ----------------------------------------------------------------------------------------------- functions

    def _kill(self) -> None:
        killed = self._sandbox.kill_functions(
            self._random.choice([None, API, SCHEDULE, OBSERVE, RECONCILE, PATROL, WATCH, TELL]),
            busy_only=self._random.random() < 0.5,
        )
        for worker in killed:
            self.counted[f"processes of {worker['function'].split('-')[2]} killed"] += 1
        if self._random.random() < 0.7:
            self._give_back()

    def _kill_a_caller(self) -> None:
        self._give("kill_caller", self._random.choice(["CreateTrainingJob", "StopTrainingJob"]), 1)

    # ------------------------------------------------------------------------------------------------ messages

    def _give_back(self) -> None:
        """Also what a scheduler holds that lives, so that two of them run."""
        self.counted["wake-ups given back"] += self._sandbox.release_messages(_WAKE)

    def _wake_again(self) -> None:
        for _ in range(self._random.randint(1, 8)):
            self._sqs.send_message(
                QueueUrl=self._wake_url,
                MessageBody="chaos",
                MessageGroupId="schedule",
                MessageDeduplicationId=str(uuid.uuid4()),
            )
            self.counted["wake-ups for nothing"] += 1

    def _remember_events(self) -> None:
        """Of the newest training jobs, which are those that run or have just ended."""
        self._events += map(_event, self._sandbox.jobs()[-20:])
        del self._events[:-_REMEMBERED]

    def _tell_again(self) -> None:
        for event in self._random.sample(self._events, k=min(3, len(self._events))):
            self._functions.begin(OBSERVE, event)
            self.counted["old events delivered again"] += 1

    def _disturb_events(self) -> None:
        random = self._random
        self._sandbox.set_faults(
            event_drop=random.choice([0.0, 0.2, 0.6]),
            event_duplicate=random.choice([0.0, 0.5]),
            event_delay=random.choice([0.0, 0.5]),
            event_delay_s=random.choice([30, 300]),
            event_shuffle=random.choice([0.0, 1.0]),
        )
        self.counted["delivery of events changed (lost, doubled, late, out of order)"] += 1

    # ----------------------------------------------------------------------------------------------- SageMaker

    def _throttle(self) -> None:
        self._give("throttle", *self._some_calls())

    def _lose_answers(self) -> None:
        self._give("lose_answer", *self._some_calls())

    def _turn_launches_away(self) -> None:
        self._give("throttle", "CreateTrainingJob", TRIES)

    def _some_calls(self) -> tuple[str, int]:
        operation = self._random.choice(list(CALLS))
        return operation, self._random.randint(1, CALLS[operation])

    def _give(self, switch: str, operation: str, count: int) -> None:
        self._count_given()
        self._given[switch] = {operation: count}
        self._sandbox.set_faults(**{switch: self._given[switch]})

    def _count_given(self) -> None:
        """Count what has been used of the faults that hit a number of calls."""
        left = self._sandbox.faults()
        for switch, given in self._given.items():
            for operation, count in given.items():
                self.counted[f"{switch} {operation}"] += count - left[switch].get(operation, 0)
        self._given = {switch: left[switch] for switch in self._given}

    def _want_capacity(self) -> None:
        self._be_short("capacity", {P5: 1, G5: 2})

    def _lower_quota(self) -> None:
        self._be_short("quotas", self._random.choice([{P5: 2}, {G5: 4}]))

    def _be_short(self, switch: str, counts: Mapping[str, int]) -> None:
        self._sandbox.set_faults(**{switch: counts})
        time.sleep(SHORTAGE_S)
        self._sandbox.set_faults(**{switch: {}})
        self.counted[f"spells of a low {switch}"] += 1


def _event(job: Mapping[str, Any]) -> dict[str, Any]:
    """A training job's current state as SageMaker's events contain it: times are epoch milliseconds."""
    names = ("TrainingJobName", "TrainingJobArn", "TrainingJobStatus", "SecondaryStatus", "FailureReason", "Tags")
    detail = {name: job[name] for name in names}
    times = {name: round(job[name] * 1000) for name in ("CreationTime", "LastModifiedTime")}
    return {
        "detail-type": "SageMaker Training Job State Change",
        "source": "aws.sagemaker",
        "resources": [job["TrainingJobArn"]],
        "detail": {**detail, **times},
    }
