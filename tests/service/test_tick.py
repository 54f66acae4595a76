"""What one tick does round by round, and what it does not do."""

from __future__ import annotations

from typing import Any

import pytest

from headway.errors import InvariantViolation
from headway.plan import Plan, Start
from headway.reasons import started
from headway_service import tick
from headway_service.deciding import decide
from tests.service.world import World, on


@pytest.fixture
def world() -> World:
    return World()


def test_of_a_plan_that_breaks_a_promise_nothing_is_carried_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.submit("large", ResourceConfig=on(2))
    world.submit("small")

    def decide_wrongly(*args: Any, **options: Any) -> Any:
        snapshot, _ = decide(*args, **options)
        starts = tuple(Start(job=job.name, demand=job.demand, reason=started(job.demand)) for job in snapshot.waiting)
        return snapshot, Plan(actions=starts, holds=())

    monkeypatch.setattr(tick, "decide", decide_wrongly)
    with pytest.raises(InvariantViolation):
        world.tick()
    assert world.called("CreateTrainingJob") == []
    assert world.states("large", "small") == {"large": "pending", "small": "pending"}
