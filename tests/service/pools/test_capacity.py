"""The use of the pools by team."""

from __future__ import annotations

from headway_service.pools.capacity import TeamUse
from tests.service.scheduling.test_teams import tags, world_of
from tests.service.world import P5, World, on

G5 = "ml.g5.xlarge"


def teams(world: World) -> dict[str, TeamUse]:
    return {use.team: use for use in world.container.capacity().teams}


def test_what_a_team_uses_beyond_its_guarantee_is_borrowed() -> None:
    world = world_of({"a": {"guaranteed": {P5: 1}, "limit": {P5: 3}, "weight": 2}, "b": {}}, pools={P5: 4, G5: 1})
    world.submit("a0", Tags=tags("a"), ResourceConfig=on(3))
    world.submit("b0", Tags=tags("b"), ResourceConfig=on(1, G5))
    world.tick()
    world.submit("b1", Tags=tags("b"), ResourceConfig=on(2))
    world.submit("b2", Tags=tags("b"), ResourceConfig=on(1, G5))

    a, b = teams(world)["a"], teams(world)["b"]

    assert (a.policy.weight, a.policy.guaranteed, a.policy.limit) == (2, {P5: 1}, {P5: 3})
    assert (a.used, a.borrowed, a.waiting) == ({P5: 3}, {P5: 2}, {})
    assert (b.used, b.borrowed, b.waiting) == ({G5: 1}, {G5: 1}, {P5: 1, G5: 1})


def test_jobs_without_a_team_are_shown_only_while_there_are_some() -> None:
    world = world_of({"a": {}})
    assert list(teams(world)) == ["a"]


def test_without_teams_in_the_configuration_there_are_none() -> None:
    world = world_of(pools={P5: 2})
    world.submit("x")
    assert teams(world) == {}
