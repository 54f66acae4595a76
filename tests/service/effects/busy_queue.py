"""A busy queue, on which risky configurations are tried: what a dry run says of each, and what then happens."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from headway_sandbox.errors import AwsError
from headway_service.effects.effect import Effect, Effects
from headway_service.effects.service import ConfigurationEffects
from tests.service.world import P5, World, on, request

G5 = "ml.g5.xlarge"
LONG = {"SANDBOX_RUN_SECONDS": "86400"}
DENIED = AwsError("AccessDeniedException", "User: x is not authorized to perform: kms:CreateGrant on resource: y")

DOCUMENT: dict[str, Any] = {
    "pools": {P5: {"size": 4}, G5: {"size": 2}},
    "teams": {
        "red": {"members": ["user/ada", "user/eve"], "leads": ["user/eve"]},
        "blue": {},
    },
    "access": {"admins": ["user/ada", "user/bob"]},
    "preemption": {"enabled": False},
}


class BusyQueue:
    """Four jobs run and three wait, one of which SageMaker refuses; a training job runs outside the queue."""

    def __init__(self) -> None:
        self.world = world = World()
        world.configuration.write(DOCUMENT)
        world.tick()
        self._refuse("denied")
        world.fleet.create(request("rogue", ResourceConfig=on(1, "ml.g5.2xlarge"), Environment=LONG), now=world.now_s)
        for name, priority, team, config in (
            ("high", 8, "red", on(1)),
            ("low", 1, "blue", on(1)),
            ("wide", 1, "blue", on(2)),
            ("small", 1, "red", on(1, G5)),
            ("denied", 9, "red", on(1, G5)),
        ):
            self._submit(name, priority, team, config)
        self.play(30)
        self._submit("urgent", 9, "red", on(2))
        self._submit("whole", 0, "red", on(4))
        self.play(5)
        assert self.states() == {
            "high": "running",
            "low": "running",
            "wide": "running",
            "small": "running",
            "denied": "pending",
            "urgent": "pending",
            "whole": "pending",
        }

    def _submit(self, name: str, priority: int, team: str, config: Mapping[str, Any]) -> None:
        tags = [{"Key": "priority", "Value": str(priority)}, {"Key": "team", "Value": team}]
        self.world.submit(name, ResourceConfig=config, Environment=LONG, Tags=tags)

    def _refuse(self, name: str) -> None:
        real: Callable[..., Any] = self.world.fleet.call

        def call(operation: str, asked: Mapping[str, Any], *, now: float) -> Any:
            if operation == "CreateTrainingJob" and str(asked["TrainingJobName"]).partition("-")[0] == name:
                raise DENIED
            return real(operation, asked, now=now)

        self.world.fleet.call = call  # type: ignore[method-assign,assignment]

    def play(self, minutes: int) -> None:
        """Let time pass, in steps of five minutes."""
        for _ in range(minutes // 5):
            self.world.pass_time(300)
            self.world.reconcile()
            self.world.patrol()
            self.world.tick()

    def effects(self, document: Mapping[str, Any]) -> Effects:
        """What a dry run says of a document."""
        service = ConfigurationEffects(table=self.world.table, clocks=self.world.clocks, in_force=self.world.in_force)
        return service.of(document)

    def set(self, document: Mapping[str, Any]) -> None:
        """Put a document in force."""
        self.world.configuration.write(document)
        self.world.tick()

    def states(self) -> dict[str, str]:
        """States of all jobs."""
        return self.world.states("high", "low", "wide", "small", "denied", "urgent", "whole")

    def happened_to(self, *names: str) -> dict[str, str]:
        """The code of the last step of each job."""
        return {name: str(self.world.seen(name).job.history[-1].reason.code) for name in names}


def changed(**members: Any) -> dict[str, Any]:
    """The document with other members; those of an object are put in it, and None removes one."""
    return _merged(copy.deepcopy(DOCUMENT), members)


def _merged(into: dict[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in members.items():
        if value is None:
            del into[name]
        elif isinstance(value, dict) and isinstance(into.get(name), dict):
            into[name] = _merged(into[name], value)
        else:
            into[name] = value
    return into


def told(effects: Effects) -> dict[str, list[str]]:
    """The names of each effect, sorted, by its code."""
    return {str(each.code): sorted(each.names) for each in effects.effects}


def sentence(effects: Effects, code: str) -> str:
    """The sentence of the only effect with a code."""
    (found,) = (each for each in effects.effects if each.code == code)
    assert isinstance(found, Effect)
    return found.message
