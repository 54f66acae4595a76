"""The training plan of a random run: its reserved capacities, its changes, and its end."""

from __future__ import annotations

from random import Random

from headway.pool_names import PLAN_INFIX
from headway_sandbox.sagemaker.capacity.training_plan import Block, TrainingPlan
from headway_sandbox.sagemaker.request_builder import P5
from headway_service.store.records.capacity.training_plan import CLEARED_MS, STOP_LEAD_MS
from headway_verification.soak.deployment import Deployment

NAME = "spring"

PLAN_POOL = f"{P5}{PLAN_INFIX}{NAME}"

INSTANCES = 2
"""As many as the largest job demands."""

MINUTE_S = 60.0

UNUSED_MINUTES = (CLEARED_MS + STOP_LEAD_MS) // 60_000
"""How long before the end of a reserved capacity its instances are no longer used."""


class SoldPlan:
    """A training plan of the account.

    Args:
        random: determines the plan.
    """

    def __init__(self, queue: Deployment, random: Random) -> None:
        self._queue = queue
        self._random = random
        self._unhealthy = 0
        self._blocks: tuple[Block, ...] = ()
        start, middle, end = sorted(random.sample(range(-10, 75, 5), 3))
        # The first reserved capacity is usable until the middle; the second one follows at once, or later.
        first_end = middle + UNUSED_MINUTES
        second_start = first_end + random.choice([0, 15])
        self._put([(start, first_end), (second_start, second_start + end - middle + UNUSED_MINUTES)])

    @property
    def arn(self) -> str:
        """Its ARN."""
        return self._queue.fleet.arn("").replace("training-job/", f"training-plan/{NAME}")

    def change(self) -> None:
        """Extend its last reserved capacity, or let an instance become unhealthy or healthy again."""
        if self._random.random() < 0.5:
            self._unhealthy = INSTANCES // 2 - self._unhealthy
        else:
            last = self._blocks[-1]
            self._blocks = (*self._blocks[:-1], Block(start=last.start, end=last.end + 30 * MINUTE_S))
        self._set()

    def end_soon(self) -> None:
        """Let the queue's use of it end within a minute."""
        self._unhealthy = 0
        self._put([(-60, UNUSED_MINUTES + 1)])

    def renew(self) -> None:
        """Give it all its instances for a month."""
        self._put([(-60, 30 * 24 * 60)])

    def _put(self, minutes: list[tuple[int, int]]) -> None:
        """Set its reserved capacities, in minutes from now."""
        now_s = self._queue.now_s
        self._blocks = tuple(Block(start=now_s + a * MINUTE_S, end=now_s + b * MINUTE_S) for a, b in minutes)
        self._set()

    def _set(self) -> None:
        plan = TrainingPlan(
            name=NAME,
            instance_type=P5,
            instance_count=INSTANCES,
            blocks=self._blocks,
            unhealthy=self._unhealthy,
        )
        self._queue.fleet.put_plan(plan, now=self._queue.now_s)
