"""Pools that have left the configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headway_service.pools.removed_pools import forget_removed_pools
from headway_service.store.ledger import read_ledger
from tests.service.world import P5, World, isolation, on

G5 = "ml.g5.xlarge"


def world_with_removed_pool() -> World:
    """A world in which the last job of a pool that was removed has ended, and no tick has run since."""
    world = World()
    configure(world, P5, G5)
    world.submit("j", ResourceConfig=on(1, G5))
    world.tick()
    configure(world, P5)
    world.tick()
    return world


def configure(world: World, *pools: str) -> None:
    world.configuration.write({"pools": {pool: {"size": 2} for pool in pools}})


def pools(world: World) -> list[str]:
    return [pool.pool for pool in read_ledger(world.table).pools]


def forget(world: World, **changes: Any) -> bool:
    return forget_removed_pools(
        world.table, replace(world.in_force(), **changes), read_ledger(world.table), isolation()
    )


def test_a_tick_removes_a_removed_pool_when_its_last_job_has_ended() -> None:
    world = world_with_removed_pool()
    world.tick()
    assert pools(world) == [G5, P5]
    world.pass_time(1000, tick=False)
    assert world.states("j") == {"j": "completed"}
    assert pools(world) == [G5, P5]
    world.tick()
    assert pools(world) == [P5]
    world.check()


def test_a_removed_pool_is_kept_while_its_instances_are_held() -> None:
    world = world_with_removed_pool()
    assert not forget(world)
    assert pools(world) == [G5, P5]


def test_an_empty_pool_of_the_configuration_is_kept() -> None:
    world = World()
    world.configuration.write({"pools": {P5: {"size": 2}, G5: {"size": 0}}})
    world.tick()
    assert not forget(world)
    assert pools(world) == [G5, P5]


def test_nothing_is_removed_while_a_configuration_is_applied() -> None:
    world = world_with_removed_pool()
    world.pass_time(1000, tick=False)
    assert not forget(world, queue_teams=None)
    assert pools(world) == [G5, P5]


def test_a_removed_pool_that_a_newer_configuration_has_again_is_kept() -> None:
    world = world_with_removed_pool()
    world.pass_time(1000, tick=False)
    before, ledger = world.in_force(), read_ledger(world.table)
    configure(world, P5, G5)
    assert forget_removed_pools(world.table, before, ledger, isolation())
    assert pools(world) == [G5, P5]
    # Nor one that has no instances in it: the configuration is not the one that was read.
    world.configuration.write({"pools": {P5: {"size": 2}, G5: {"size": 0}}})
    assert forget_removed_pools(world.table, before, read_ledger(world.table), isolation())
    assert pools(world) == [G5, P5]
