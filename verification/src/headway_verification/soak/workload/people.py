"""What all kinds of actions share: who acts, on which queue, and the names that they choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from headway.policy import Order
from headway.pool_names import SERVERLESS, SPOT_SUFFIX
from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_service.sagemaker_api.names import attempt_name
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.training_plan import SoldPlan

T = TypeVar("T")

NAMES = [attempt_name(f"j{number}", attempt) for number in range(10) for attempt in (1, 2)]
"""Half are the names that the queue gives to the second attempts of the others."""

G5_SPOT = G5 + SPOT_SUFFIX
ALL = [P5, G5, G5_SPOT, SERVERLESS]
"""All pools that there may be."""

SMALL = [[(P5, 1)], [(G5, 1)]]
LARGE = [[(P5, 2)], [(G5, 2)], [(G5, 3)], [(P5, 1), (G5, 1)]]
"""Instances requested by jobs."""

ACTS = 40
"""User actions in one run."""


class People:
    """Users of the queue, and of the same account outside of it.

    Args:
        random: determines the actions.
        plan: the training plan of the account, if it has one.
        order: the order among equals that they set, most of the time.
        waits: whether preemptions wait for checkpoints, most of the time.
        predicts: whether run times are predicted, and the order compares them most of the time.

    Attributes:
        acts: the actions performed, by kind.
        names_each: whether each job gets a name of its own.
    """

    def __init__(
        self,
        queue: Deployment,
        random: Random,
        plan: SoldPlan | None = None,
        order: Order = Order.FIFO,
        *,
        waits: bool = False,
        predicts: bool = False,
    ) -> None:
        self.queue = queue
        self.order = order
        self.waits = waits
        self.predicts = predicts
        self.random = random
        self.plan = plan
        self.acts: Counter[str] = Counter()
        #: In some runs later jobs have higher priorities and demands, so that many are preempted.
        self._rises = random.random() < 0.5
        #: How many of the jobs ask for a warm pool.
        self._keeping = random.choice([0.3, 0.9])
        #: How many jobs have got a name of their own.
        self._named = 0
        self.names_each = False

    def _mostly(self, likely: Sequence[T], others: Sequence[T]) -> T:
        return self.random.choice(likely if likely and self.random.random() < 0.9 else others)

    def _new_name(self) -> str:
        """Return a name, usually an unused one."""
        if self.names_each:
            self._named += 1
            return f"k{self._named}"
        used = {item["jobName"] for item in self.queue.table.items() if item["sk"] == "job"}
        return self._mostly([name for name in NAMES if name not in used], NAMES)

    def _some_job(self) -> str:
        """Return a name, usually of a job that is about to change: there are only few of those at a time."""
        items = self.queue.table.items()
        attempts = [item for item in items if item["sk"].startswith("attempt#")]
        launching = sorted(str(item["jobName"]) for item in attempts if item["attemptState"] == "launching")
        holding = sorted(str(item["jobName"]) for item in attempts)
        first = sorted(str(item["jobName"]) for item in items if item["pk"].startswith("line#"))[:3]
        arrays = sorted(str(item["jobName"]) for item in items if item["sk"].startswith("array#"))
        members = [f"{name}_{index}" for name in arrays for index in range(4)]
        known = (launching, holding, first, NAMES, arrays + members)
        return self.random.choice(self.random.choice([names for names in known if names]))
