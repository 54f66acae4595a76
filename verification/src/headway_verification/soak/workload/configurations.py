"""The configurations that users set, and the pools that they pause and resize."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headway.policy import PREDICTED_ORDERS, Order
from headway.pool_names import SERVERLESS
from headway_sandbox.sagemaker.request_builder import G5, P5
from headway_verification.soak.training_plan import PLAN_POOL
from headway_verification.soak.workload.people import ALL, G5_SPOT, People

WATCHES = [
    {"idle": {"periodSeconds": 60, "periods": 2, "warmUpSeconds": warm_up_s, "action": action}}
    for action in ("stop", "requeue", "notify")
    for warm_up_s in (0, 120)
]
"""Short periods, so that idle jobs are detected before they end."""

RETRIES = {"capacity": {"maxPerJob": 2}, "code": {"maxPerJob": 1, "backoffSeconds": 0}}
"""Fewer and earlier retries than usual, so that they end within a run."""

SMALL_ONLY = {"small": {"require": {"maxInstances": 1}, "onStart": "stop"}}

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

TEAMS: list[dict[str, Any]] = [
    {},
    {"a": {"maxWaitSeconds": 1200}, "default": {"weight": 3}},
    {"a": {"guaranteed": {P5: 1}, "limit": {G5: 2}}, "b": {"guaranteed": {G5: 1}, "maxPriority": 2}},
]

LENDS_LITTLE = {"lend": {P5: 0}, "limitPerOwner": {P5: 1}}
"""What a team with a guarantee has beside it, in some configurations."""

BUDGETS = [
    {"of-a": {"team": "a", "days": 1, "amount": 0.3, "whenSpent": when_spent}} for when_spent in ("refuse", "after")
]
"""Spent within minutes; the runs come to rest without it."""

WAITING_FOR_CHECKPOINTS = {"checkpointsEverySeconds": 400, "waitForCheckpointSeconds": 600}
"""Rules with which preemptions wait for the checkpoints of jobs that run for some minutes."""


class Operators(People):
    """Users who operate the queue. See :class:`People`."""

    def _configure(self) -> None:
        random, newest = self.random, self.queue.configuration.version
        teams: dict[str, Any]
        # Usually based on the newest version, sometimes on an older one, or unconditional.
        made_from = random.choice([newest, newest, max(1, newest - 1), None])
        self.queue.ask(
            "PUT",
            "/config",
            document_of(
                sizes := {
                    P5: random.choice([1, 2, 2, 3]),
                    **random.choice([{G5: 1}, {G5: 3}, {G5: 3}, {}]),
                    **random.choice([{}, {}, {G5_SPOT: 1}, {G5_SPOT: 3}]),
                    **random.choice([{}, {}, {SERVERLESS: 1}]),
                    **({PLAN_POOL: random.choice([1, 2, 3])} if self.plan and random.random() < 0.9 else {}),
                },
                teams := self._teams(random.choice(TEAMS if G5 in sizes else TEAMS[:2])),
                backfill=self._backfill(),
                preemption={
                    "maxPerJob": random.choice([1, 10]),
                    "minRunTimeSeconds": random.choice([0, 0, 200]),
                    **(WAITING_FOR_CHECKPOINTS if self.waits and newest % 3 else {}),
                },
                ageing=random.choice([None, None, {"intervalSeconds": 60, "cap": 2}]),
                rogues=random.choice([{}, {"charge": False}, {"action": "stop"}]),
                watches=random.choice([*WATCHES, {"idle": None}]),
                rules=random.choice([{}, {}, {}, SMALL_ONLY]),
                maxPendingSeconds=random.choice([None, 600, 600, 1800]),
                schedules={
                    **({P5: self._schedule()} if random.random() < 0.5 else {}),
                    **({PLAN_POOL: {"plan": self.plan.arn}} if self.plan else {}),
                },
                warmPools=random.choice(["leaveOut", {}, {}, {"acrossTeams": True}, {"maxInstances": {P5: 1}}]),
                # From the order to the default and back again, without a draw.
                **(
                    {}
                    if self.order is Order.FIFO
                    else {"priority": priority_of(self.order if newest % 3 else Order.FIFO, predicts=self.predicts)}
                ),
                # Of each half-life, and without: no draw either.
                **({"fairShare": {"halfLifeDays": 1 + newest % 2}} if teams and newest % 3 else {}),
                **({"budgets": BUDGETS[newest % 4 == 1]} if "a" in teams and newest % 2 else {}),
                **({"bookings": self._bookings()} if "a" in teams and newest % 2 else {}),
                **({"limits": {"instancesPerOwner": {P5: 1}}} if newest % 3 == 2 else {}),
                **({"predictions": True} if self.predicts else {}),
                **({} if made_from is None else {"version": made_from}),
            ),
            headers={"If-Match": "*"} if made_from is None else None,
        )

    def _teams(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """The teams, some of which do not lend what they are guaranteed in some configurations: no draw."""
        if self.queue.configuration.version % 3:
            return drawn
        return {name: {**team, **LENDS_LITTLE} if "guaranteed" in team and P5 in team["guaranteed"] else team
                for name, team in drawn.items()}  # fmt: skip

    def _bookings(self) -> dict[str, Any]:
        """An instance for a team in some of the next hours: no draw."""
        number, minute = self.queue.configuration.version, self.queue.now_s // 60 * 60
        begin_s = minute + 300 * (number % 3)
        times = [datetime.fromtimestamp(at_s, UTC).isoformat() for at_s in (begin_s, begin_s + 7200)]
        back = {"giveBackAfterSeconds": 300} if number % 4 == 1 else {}
        return {"night": {"pool": P5, "instances": 1, "team": "a", "from": times[0], "to": times[1], **back}}

    def _backfill(self) -> dict[str, Any]:
        """Where jobs pass others, they also fill gaps in some configurations: no draw."""
        random, number = self.random, self.queue.configuration.version
        enabled = random.random() < 0.7
        fill = {"fill": "checkpointing"} if enabled and number % 2 else {}
        return {"enabled": enabled, "reservedHeads": random.choice([1, 2]), **fill}

    def _schedule(self) -> dict[str, Any]:
        """Sizes of a pool in the next minutes."""
        random = self.random
        times = sorted(random.sample(range(-10, 60), 4))
        now = [datetime.fromtimestamp(self.queue.now_s + minutes * 60, UTC) for minutes in times]
        entries = [
            {"days": DAYS, "from": f"{begin:%H:%M}", "to": f"{end:%H:%M}", "size": random.choice([0, 1, 1, 2, 3])}
            for begin, end in (now[:2], now[2:])
        ]
        return {"schedule": entries[: random.choice([1, 2])], "atShrink": random.choice(["run", "run", "stop"])}

    def _pause(self) -> None:
        """Pause a pool or all pools, or drain a pool."""
        calls: list[tuple[str, dict[str, Any]]] = [("/pause", {}), *((f"/pools/{pool}/pause", {}) for pool in ALL)]
        calls += [(f"/pools/{pool}/drain", {"stop": stop}) for pool in ALL for stop in (False, True)]
        path, more = self.random.choice(calls)
        self.queue.ask("POST", path, {"reason": "so it is", **more})

    def _resume(self) -> None:
        self.queue.ask("POST", self.random.choice(["/resume", *(f"/pools/{pool}/resume" for pool in ALL)]))

    def _resize(self) -> None:
        self.queue.ask("PATCH", f"/pools/{self.random.choice(ALL)}", {"size": self.random.choice([1, 2, 3])})


def priority_of(order: Order, *, predicts: bool) -> dict[str, Any]:
    """Return the rules of a document on priorities.

    Args:
        order: the order among equals.
        predicts: whether predicted run times count in the orders that compare run times.
    """
    return {"order": order, **({"byPredictions": True} if predicts and order in PREDICTED_ORDERS else {})}


def document_of(
    sizes: Mapping[str, int],
    teams: Mapping[str, Any],
    schedules: Mapping[str, Mapping[str, Any]] | None = None,
    **rules: Any,
) -> dict[str, Any]:
    """Return a configuration document.

    Args:
        sizes: the number of instances of each pool.
        schedules: further members of pools, such as their schedules.
        rules: further members of the document.
    """
    pools = {pool: {"size": size, **(schedules or {}).get(pool, {})} for pool, size in sizes.items()}
    usual = {"retries": RETRIES, "spot": {"maxInterruptions": 1}, "watches": WATCHES[0]}
    return {"pools": pools, "teams": teams, **usual, **rules}
