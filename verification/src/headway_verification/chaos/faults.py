"""Fault injection: one fault at a time, selected by weight, and counted by its actual effect."""

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
"""The SageMaker calls of the functions, with the maximum number of consecutive failures.

More than two failures reach the function. For launches that is a rare fault.
"""

TRIES = 3
"""The number of tries of the functions' client library."""

RARE = 2
"""The maximum number of each rare fault: an affected job waits for a minute or so, and delays others."""

SHORTAGE_S = 1.5
"""The duration of a reduced quota or capacity."""

_WAKE = "-wake.fifo"
_REMEMBERED = 400


class FaultPlan:
    """Injects faults into a sandbox.

    Args:
        random: selects the faults.

    Attributes:
        counted: the number of faults by kind: processes killed, calls rejected, messages redelivered.
    """

    def __init__(self, sandbox: Sandbox, functions: Functions, random: Random) -> None:
        self._sandbox = sandbox
        self._functions = functions
        self._sqs = sandbox.client("sqs")
        (self._wake_url,) = [url for url in self._sqs.list_queues()["QueueUrls"] if url.endswith(_WAKE)]
        self._random = random
        self._events: list[dict[str, Any]] = []
        self._active: dict[str, Mapping[str, int]] = {}
        self.counted: Counter[str] = Counter()
        self._kinds: dict[Callable[[], None], int] = {
            self._kill: 8,
            self._kill_caller: 2,
            self._redeliver: 5,
            self._wake_again: 3,
            self._repeat_events: 6,
            self._disturb_events: 4,
            self._throttle: 4,
            self._lose_answers: 4,
            self._reduce_capacity: 1,
            self._inject_rare: 2,
        }
        self._rare: list[Callable[[], None]] = [self._lower_quota, self._reject_launches] * RARE
        random.shuffle(self._rare)

    def inject(self) -> None:
        """Inject a fault."""
        self._remember_events()
        self._random.choices(list(self._kinds), list(self._kinds.values()))[0]()

    def restart(self, *, kill: bool) -> None:
        """Stop the sandbox and start it again.

        Args:
            kill: whether to kill its server, in place of a clean stop.
        """
        log = self._sandbox.state_dir / "server.log"
        shutil.copy(log, log.with_name("server-before.log"))  # the new server starts its own
        self._sandbox.restart(kill=kill)
        self.counted["sandbox killed" if kill else "sandbox restarted"] += 1

    def clear(self) -> None:
        """End all faults."""
        self._count_effects()
        self._sandbox.clear_faults()
        self._redeliver()

    def _inject_rare(self) -> None:
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
            self._redeliver()

    def _kill_caller(self) -> None:
        self._set_fault("kill_caller", self._random.choice(["CreateTrainingJob", "StopTrainingJob"]), 1)

    # ------------------------------------------------------------------------------------------------ messages

    def _redeliver(self) -> None:
        """Redeliver messages, also those of a running scheduler, so that two of them run."""
        self.counted["wake-ups redelivered"] += self._sandbox.release_messages(_WAKE)

    def _wake_again(self) -> None:
        for _ in range(self._random.randint(1, 8)):
            self._sqs.send_message(
                QueueUrl=self._wake_url,
                MessageBody="chaos",
                MessageGroupId="schedule",
                MessageDeduplicationId=str(uuid.uuid4()),
            )
            self.counted["unnecessary wake-ups"] += 1

    def _remember_events(self) -> None:
        """Record the events of the newest training jobs, which are running or have just ended."""
        self._events += map(_event, self._sandbox.jobs()[-20:])
        del self._events[:-_REMEMBERED]

    def _repeat_events(self) -> None:
        for event in self._random.sample(self._events, k=min(3, len(self._events))):
            self._functions.begin(OBSERVE, event)
            self.counted["old events redelivered"] += 1

    def _disturb_events(self) -> None:
        random = self._random
        self._sandbox.set_faults(
            event_drop=random.choice([0.0, 0.2, 0.6]),
            event_duplicate=random.choice([0.0, 0.5]),
            event_delay=random.choice([0.0, 0.5]),
            event_delay_s=random.choice([30, 300]),
            event_shuffle=random.choice([0.0, 1.0]),
        )
        self.counted["delivery of events changed (lost, duplicated, late, reordered)"] += 1

    # ----------------------------------------------------------------------------------------------- SageMaker

    def _throttle(self) -> None:
        self._set_fault("throttle", *self._some_calls())

    def _lose_answers(self) -> None:
        self._set_fault("lose_answer", *self._some_calls())

    def _reject_launches(self) -> None:
        self._set_fault("throttle", "CreateTrainingJob", TRIES)

    def _some_calls(self) -> tuple[str, int]:
        operation = self._random.choice(list(CALLS))
        return operation, self._random.randint(1, CALLS[operation])

    def _set_fault(self, switch: str, operation: str, count: int) -> None:
        self._count_effects()
        self._active[switch] = {operation: count}
        self._sandbox.set_faults(**{switch: self._active[switch]})

    def _count_effects(self) -> None:
        """Count the effects of the faults with a limited number of calls."""
        left = self._sandbox.faults()
        for switch, given in self._active.items():
            for operation, count in given.items():
                self.counted[f"{switch} {operation}"] += count - left[switch].get(operation, 0)
        self._active = {switch: left[switch] for switch in self._active}

    def _reduce_capacity(self) -> None:
        self._reduce("capacity", {P5: 1, G5: 2})

    def _lower_quota(self) -> None:
        self._reduce("quotas", self._random.choice([{P5: 2}, {G5: 4}]))

    def _reduce(self, switch: str, counts: Mapping[str, int]) -> None:
        self._sandbox.set_faults(**{switch: counts})
        time.sleep(SHORTAGE_S)
        self._sandbox.set_faults(**{switch: {}})
        self.counted[f"periods of reduced {switch}"] += 1


def _event(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return a training job's current state as an event of SageMaker: times are epoch milliseconds."""
    names = ("TrainingJobName", "TrainingJobArn", "TrainingJobStatus", "SecondaryStatus", "FailureReason", "Tags")
    detail = {name: job[name] for name in names}
    times = {name: round(job[name] * 1000) for name in ("CreationTime", "LastModifiedTime")}
    return {
        "detail-type": "SageMaker Training Job State Change",
        "source": "aws.sagemaker",
        "resources": [job["TrainingJobArn"]],
        "detail": {**detail, **times},
    }
