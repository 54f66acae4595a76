"""What teams used lately is in the ledger, exactly once, and the next decision knows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway_service.config.document import validate
from headway_service.errors import Conflict, InvalidConfiguration
from headway_service.pools.capacity import read_capacity
from headway_service.ports.table import Put
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.past_use import PastUseRecord
from headway_service.tracking import used
from headway_service.tracking.used import add_used
from tests.service.world import P5, World

DAY_S = 86_400
TEAMS: dict[str, Any] = {"a": {}, "b": {}}
RUN_S = 20_000


def configure(world: World, *, days: int | None = 7, teams: dict[str, Any] | None = None, size: int = 1) -> None:
    rules = {} if days is None else {"fairShare": {"halfLifeDays": days}}
    world.configuration.write({"pools": {P5: {"size": size}}, "teams": TEAMS if teams is None else teams, **rules})
    world.tick()


@pytest.fixture
def world() -> World:
    found = World()
    configure(found)
    found.reconcile()
    return found


def submit(world: World, name: str, team: str) -> None:
    tags = [{"Key": "team", "Value": team}]
    world.submit(name, Tags=tags, Environment={"SANDBOX_RUN_SECONDS": str(RUN_S)})


def run(world: World, name: str, team: str) -> None:
    """A job runs from now on to its end."""
    submit(world, name, team)
    world.tick()
    world.pass_time(RUN_S + 600)
    assert world.states(name) == {name: "completed"}


def average(world: World, team: str) -> float:
    found = read_ledger(world.table).past_use_until(world.clocks.training_ms())
    return found[team].average.get(P5, 0.0) if team in found else 0.0


def ledger(world: World) -> Ledger:
    return read_ledger(world.table)


def test_what_an_attempt_has_used_counts_from_its_first_moment_to_its_end_and_after(world: World) -> None:
    submit(world, "x", "a")
    world.tick()
    world.pass_time(RUN_S / 2)
    half = average(world, "a")
    assert half > 0
    world.pass_time(RUN_S / 2 + 600)
    assert world.states("x") == {"x": "completed"}
    # The decision after its end knows it, before anything has added it to the averages.
    assert not ledger(world).attempts
    assert [each.attempt_name for each in ledger(world).used] == ["x"]
    ended = average(world, "a")
    assert ended > half
    world.reconcile(after_s=0)
    assert not ledger(world).used
    assert average(world, "a") == pytest.approx(ended, rel=0.01)


def test_the_team_that_used_less_is_next(world: World) -> None:
    run(world, "x", "a")
    submit(world, "first", "a")
    submit(world, "second", "b")
    world.tick()
    assert world.states("first", "second") == {"first": "pending", "second": "running"}


def test_without_the_rule_nothing_is_kept_and_the_first_is_next() -> None:
    world = World()
    configure(world, days=None)
    run(world, "x", "a")
    world.reconcile()
    assert (ledger(world).past_use, ledger(world).used) == (None, ())
    submit(world, "first", "a")
    submit(world, "second", "b")
    world.tick()
    assert world.states("first", "second") == {"first": "running", "second": "pending"}


def test_a_run_that_comes_late_neither_adds_twice_nor_forgets(world: World) -> None:
    run(world, "x", "a")
    late, late_ms = ledger(world), world.clocks.training_ms()
    run(world, "y", "a")
    add_used(world.table, ledger(world), world.clocks.training_ms())
    both = average(world, "a")
    add_used(world.table, late, late_ms)
    assert average(world, "a") == pytest.approx(both)


def test_a_run_that_dies_leaves_all_to_the_next(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run(world, "x", "a")
    before = average(world, "a")

    def dies(*_: object) -> None:
        raise Conflict.stale()

    with monkeypatch.context() as patched:
        patched.setattr(world.table, "write", dies)
        add_used(world.table, ledger(world), world.clocks.training_ms())
    assert average(world, "a") == pytest.approx(before, rel=0.01)
    world.reconcile(after_s=0)
    assert average(world, "a") == pytest.approx(before, rel=0.01)
    assert not ledger(world).used


def test_more_ends_than_one_run_adds_count_meanwhile(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(used, "MAX_ADDED", 1)
    monkeypatch.setattr(used, "MAX_TRANSACTIONS", 2)
    for name in ("x", "y", "z"):
        run(world, name, "a")
    before = average(world, "a")
    add_used(world.table, ledger(world), world.clocks.training_ms())
    assert len(ledger(world).used) == 1
    assert average(world, "a") == pytest.approx(before, rel=0.01)
    add_used(world.table, ledger(world), world.clocks.training_ms())
    assert not ledger(world).used
    assert average(world, "a") == pytest.approx(before, rel=0.01)


def test_a_clock_that_is_behind_loses_nothing(world: World) -> None:
    run(world, "x", "a")
    before = average(world, "a")
    add_used(world.table, ledger(world), world.clocks.training_ms() - 3_600_000)
    assert average(world, "a") == pytest.approx(before, rel=0.01)
    add_used(world.table, ledger(world), world.clocks.training_ms() - 3_600_000)
    assert average(world, "a") == pytest.approx(before, rel=0.01)


def test_an_attempt_that_is_seen_running_and_ended_counts_once(world: World) -> None:
    submit(world, "x", "a")
    world.tick()
    world.pass_time(RUN_S / 2)
    seen = ledger(world)
    (attempt,) = seen.attempts
    both = replace(seen, used=(attempt.used(world.clocks.training_ms()),))
    now_ms = world.clocks.training_ms()
    assert both.past_use_until(now_ms) == seen.past_use_until(now_ms)


def test_an_attempt_that_stops_counts_until_it_has_ended(world: World) -> None:
    submit(world, "x", "a")
    world.tick()
    world.pass_time(RUN_S / 2)
    seen, now_ms = ledger(world), world.clocks.training_ms()
    (attempt,) = seen.attempts
    stops = replace(seen, attempts=(attempt.model_copy(update={"secondary_status": "Stopping"}),))
    assert average(world, "a") > 0
    assert stops.past_use_until(now_ms) == seen.past_use_until(now_ms)


@pytest.mark.parametrize("sk", ["past", "used#damaged"])
def test_what_is_damaged_is_replaced(world: World, sk: str) -> None:
    world.table.write([Put(item={"pk": LEDGER, "sk": sk, "atMs": "never", "schemaVersion": 1})])
    assert [each.kind for each in ledger(world).unreadable] == [sk.partition("#")[0]]
    run(world, "x", "a")
    world.reconcile(after_s=0)
    assert (ledger(world).unreadable, ledger(world).used) == ((), ())
    run(world, "y", "a")
    world.reconcile(after_s=0)
    assert average(world, "a") > 0


def test_what_runs_over_a_change_of_the_half_life_counts_in_both(world: World) -> None:
    configure(world, days=365)
    world.reconcile()
    submit(world, "x", "a")
    world.tick()
    world.pass_time(RUN_S / 2)
    before = average(world, "a")
    configure(world, days=1)
    world.reconcile(after_s=0)
    assert average(world, "a") == pytest.approx(before, rel=0.02)


def test_a_run_with_nothing_to_add_writes_nothing(world: World) -> None:
    record = ledger(world).past_use
    world.reconcile()
    assert ledger(world).past_use == record


def test_the_past_fades_by_the_half_life_that_was_in_force(world: World) -> None:
    run(world, "x", "a")
    world.reconcile(after_s=0)
    before = average(world, "a")
    world.pass_time(7 * DAY_S)
    assert average(world, "a") == pytest.approx(before / 2, rel=0.01)
    configure(world, days=1)
    world.reconcile(after_s=0)
    assert average(world, "a") == pytest.approx(before / 2, rel=0.01)
    world.pass_time(DAY_S)
    assert average(world, "a") == pytest.approx(before / 4, rel=0.01)


def test_a_new_team_is_known_from_now_on_and_one_that_left_is_forgotten(world: World) -> None:
    run(world, "x", "a")
    world.reconcile()
    world.pass_time(DAY_S)
    configure(world, teams={"b": {}, "c": {}})
    world.reconcile()
    record = ledger(world).past_use
    assert record is not None
    assert sorted(record.teams) == ["", "b", "c"]
    assert record.teams["c"].since_ms - record.teams["b"].since_ms >= DAY_S * 1000


def test_where_past_use_counts_no_more_it_is_removed(world: World) -> None:
    run(world, "x", "a")
    configure(world, days=None)
    world.reconcile()
    assert (ledger(world).past_use, ledger(world).used) == (None, ())


def test_an_attempt_that_got_no_instances_has_used_nothing(world: World) -> None:
    world.fleet.faults = world.fleet.faults.with_changes({"capacity": {P5: 0}})
    submit(world, "x", "a")
    world.tick()
    world.pass_time(600)
    assert len(ledger(world).attempts) == 1
    assert average(world, "a") == 0
    world.pass_time(DAY_S)
    assert (ledger(world).used, average(world, "a")) == ((), 0.0)


def test_teams_show_the_part_that_each_used(world: World) -> None:
    run(world, "x", "a")
    found = read_capacity(world.table, world.configured, world.clocks.training_ms())
    assert {each.team: each.used_lately for each in found.teams} == {"a": 1.0, "b": 0.0}


def test_an_explanation_says_what_the_team_used(world: World) -> None:
    run(world, "x", "a")
    submit(world, "y", "b")
    world.tick()
    submit(world, "z", "a")
    turn = world.forecast_service.explain("z").turn
    assert turn is not None
    assert turn.startswith("team `a` used ")
    assert "of what all teams used lately (half-life 7 d), and its weight is " in turn


def test_the_averages_are_small_whole_numbers() -> None:
    record = PastUseRecord.new(0, 1000).with_spans(0, [], ["a", ""])
    new = {"sinceMs": 0, "unknown": 1_000_000}
    assert record.put().item["teams"] == {"a": new, "": new}


@pytest.mark.parametrize(
    ("fair_share", "field"),
    [
        ({"halfLifeDays": 0}, "fairShare.halfLifeDays"),
        ({"halfLifeDays": 366}, "fairShare.halfLifeDays"),
        ({}, "fairShare.halfLifeDays"),
        ({"halfLifeDays": 7, "charges": {"ml.g5.xlarge": 1.0}}, "fairShare.charges.ml.g5.xlarge"),
        ({"halfLifeDays": 7, "charges": {P5: 0}}, "fairShare.charges"),
        ({"halfLifeDays": 7, "charges": {P5: -1}}, f"fairShare.charges.{P5}"),
    ],
)
def test_a_rule_that_says_nothing_is_refused_with_its_field(fair_share: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        validate({"pools": {P5: {"size": 1}}, "teams": {"a": {}}, "fairShare": fair_share})
    assert [each.field for each in caught.value.fields] == [field]


def test_without_teams_there_is_nothing_to_share() -> None:
    with pytest.raises(InvalidConfiguration, match="configure teams, or leave it out"):
        validate({"pools": {P5: {"size": 1}}, "fairShare": {"halfLifeDays": 7}})
