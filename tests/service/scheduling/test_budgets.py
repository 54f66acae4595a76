"""Jobs of a budget of which nothing is left wait or are refused, and start again when it is said."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.config.document import validate
from headway_service.errors import BudgetSpent, InvalidConfiguration
from headway_service.store.ledger import read_ledger
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
HOUR_S, DAY_S = 3600, 86_400
TEN_HOURS = {"team": "a", "days": 2, "amount": 10}


def configure(world: World, **budgets: dict[str, Any]) -> None:
    pools = {P5: {"size": 2}, G5: {"size": 2}}
    world.configuration.write({"pools": pools, "teams": {"a": {}, "b": {}}, "budgets": budgets})
    world.tick()


def submit(
    world: World, name: str, team: str = "a", *, hours: float = 1, priority: int | None = None, **changes: Any
) -> None:
    tags = [{"Key": "team", "Value": team}]
    if priority is not None:
        tags.append({"Key": "priority", "Value": str(priority)})
    environment = {"SANDBOX_RUN_SECONDS": str(round(hours * HOUR_S))}
    world.submit(name, Tags=tags, Environment=environment, **changes)


def run(world: World, name: str, *, hours: float, team: str = "a") -> None:
    submit(world, name, team, hours=hours)
    world.tick()
    world.pass_time(hours * HOUR_S + 900)
    assert world.states(name) == {name: "completed"}


def used(world: World, name: str = "speech") -> float:
    configuration, now_ms = world.configured(), world.clocks.training_ms()
    (budget,) = (each for each in configuration.policy().budgets if each.name == name)
    return read_ledger(world.table).budget_use_until(now_ms, [budget])[name].used(budget, now_ms)


@pytest.fixture
def world() -> World:
    found = World()
    configure(found, speech=TEN_HOURS)
    return found


def test_a_job_of_a_spent_budget_waits_and_says_until_when(world: World) -> None:
    run(world, "x", hours=10)
    submit(world, "y")
    submit(world, "z", "b")
    world.tick()
    assert world.states("y", "z") == {"y": "pending", "z": "running"}
    reason = world.seen("y").reason
    assert reason.code == "BudgetSpent"
    assert reason.message.startswith("the budget `speech` is spent: 10.")
    assert " of 10.0; starts from " in reason.message


def test_it_starts_when_it_is_said(world: World) -> None:
    run(world, "x", hours=10)
    submit(world, "y")
    world.tick()
    until = world.seen("y").reason.message.partition("starts from ")[2].partition(" on,")[0]
    for _ in range(3 * 24):
        if world.states("y")["y"] != "pending":
            break
        world.pass_time(HOUR_S)
        world.tick()
    now = world.clocks.training_ms() // 1000
    assert world.states("y")["y"] != "pending"
    assert until.endswith("00:00 UTC")
    assert now % DAY_S < 2 * HOUR_S


def test_what_runs_counts_as_it_runs_and_goes_on(world: World) -> None:
    submit(world, "x", hours=20)
    world.tick()
    world.pass_time(9 * HOUR_S)
    submit(world, "y", hours=20)
    world.tick()
    assert world.states("y") == {"y": "running"}
    world.pass_time(HOUR_S)
    submit(world, "z", hours=1)
    world.tick()
    assert world.states("x", "y", "z") == {"x": "running", "y": "running", "z": "pending"}
    assert used(world) == pytest.approx(11, abs=0.5)


def test_the_end_of_an_attempt_and_its_use_are_one(world: World) -> None:
    run(world, "x", hours=10)
    before = used(world)
    assert before >= 10
    world.reconcile(after_s=0)
    assert not read_ledger(world.table).used
    assert used(world) == pytest.approx(before, abs=0.01)
    world.reconcile(after_s=0)
    assert used(world) == pytest.approx(before, abs=0.01)


def test_a_pool_without_a_charge_is_free() -> None:
    world = World()
    configure(world, speech={**TEN_HOURS, "charges": {P5: 1}})
    run(world, "x", hours=10)
    submit(world, "y")
    submit(world, "z", ResourceConfig=on(1, G5))
    world.tick()
    assert world.states("y", "z") == {"y": "pending", "z": "running"}


def test_charges_may_be_prices() -> None:
    world = World()
    configure(world, speech={**TEN_HOURS, "amount": 1000, "charges": {P5: 98.5}})
    run(world, "x", hours=10)
    assert used(world) == pytest.approx(985, rel=0.05)


def test_a_budget_of_an_owner_leaves_others_alone() -> None:
    world = World()
    configure(world, mine={"owner": ROOT.arn, "days": 2, "amount": 1})
    run(world, "x", hours=2)
    submit(world, "y")
    world.tick()
    assert world.states("y") == {"y": "pending"}
    configure(world, theirs={"owner": "arn:aws:iam::123456789012:user/ada", "days": 2, "amount": 1})
    world.tick()
    assert world.states("y") == {"y": "running"}


def test_a_budget_of_a_tag_leaves_other_values_alone() -> None:
    world = World()
    configure(world, thesis={"tag": {"key": "project", "value": "thesis"}, "days": 2, "amount": 1})
    for name, project in (("x", "thesis"), ("y", "thesis"), ("z", "paper")):
        tags = [{"Key": "project", "Value": project}, {"Key": "team", "Value": "a"}]
        world.submit(name, Tags=tags, Environment={"SANDBOX_RUN_SECONDS": "7200"})
        world.tick()
        world.pass_time(8000)
    world.tick()
    assert world.states("x", "y", "z") == {"x": "completed", "y": "pending", "z": "completed"}


def test_a_spent_budget_that_refuses_does_and_says_until_when() -> None:
    world = World()
    configure(world, speech={**TEN_HOURS, "whenSpent": "refuse"})
    run(world, "x", hours=10)
    for submits in (lambda: submit(world, "y"), lambda: world.forecast_service.dry_run(_of_team("y"), ROOT)):
        with pytest.raises(BudgetSpent, match="the budget `speech` is spent: 10"):
            submits()
    submit(world, "z", "b")
    world.tick()
    assert world.states("z") == {"z": "running"}


def _of_team(name: str) -> dict[str, Any]:
    return request(name, Tags=[{"Key": "team", "Value": "a"}])


def test_a_repeated_submission_of_a_job_that_was_accepted_is_not_refused() -> None:
    world = World()
    configure(world, speech={**TEN_HOURS, "whenSpent": "refuse"})
    run(world, "x", hours=10)
    submit(world, "x", hours=10)
    assert world.states("x") == {"x": "completed"}


def test_a_grant_lets_jobs_start(world: World) -> None:
    run(world, "x", hours=10)
    submit(world, "y")
    world.tick()
    assert world.states("y") == {"y": "pending"}
    configure(world, speech={**TEN_HOURS, "grants": [{"amount": 5, "until": "2999-12-31"}]})
    world.tick()
    assert world.states("y") == {"y": "running"}


def test_another_budget_of_the_same_name_begins_anew(world: World) -> None:
    run(world, "x", hours=10)
    world.reconcile(after_s=0)
    configure(world, speech={**TEN_HOURS, "days": 3})
    assert used(world) == 0
    world.reconcile(after_s=0)
    configure(world, speech=TEN_HOURS)
    assert used(world) == 0


def test_another_amount_keeps_what_was_used(world: World) -> None:
    run(world, "x", hours=10)
    world.reconcile(after_s=0)
    configure(world, speech={**TEN_HOURS, "amount": 20})
    assert used(world) >= 10


def test_without_budgets_nothing_is_kept(world: World) -> None:
    run(world, "x", hours=1)
    world.reconcile(after_s=0)
    configure(world)
    world.reconcile(after_s=0)
    assert (read_ledger(world.table).budget_uses, read_ledger(world.table).used) == ((), ())


def test_a_forecast_has_the_job_start_when_the_budget_begins_again(world: World) -> None:
    run(world, "x", hours=10)
    submit(world, "y")
    world.tick()
    (told,) = world.forecast_service.forecast("y", 1).jobs
    assert told.start_ms is not None
    assert told.start_ms % (DAY_S * 1000) == 0


@pytest.mark.parametrize(
    ("budget", "field"),
    [
        ({"every": "month", "amount": 1}, "budgets.b"),
        ({"team": "a", "amount": 1}, "budgets.b"),
        ({"team": "a", "every": "month", "days": 3, "amount": 1}, "budgets.b"),
        ({"team": "a", "every": "month", "amount": 0}, "budgets.b.amount"),
        ({"team": "a", "every": "year", "amount": 1}, "budgets.b.every"),
        ({"team": "a", "days": 91, "amount": 1}, "budgets.b.days"),
        ({"team": "nobody", "every": "month", "amount": 1}, "budgets.b.team"),
        ({"owner": "ada", "every": "month", "amount": 1}, "budgets.b.owner"),
        ({"team": "a", "every": "month", "amount": 1, "charges": {G5: 1}}, f"budgets.b.charges.{G5}"),
        ({"team": "a", "every": "month", "amount": 1, "charges": {P5: 0}}, "budgets.b.charges"),
        (
            {"team": "a", "every": "month", "amount": 1, "grants": [{"amount": 1, "until": "soon"}]},
            "budgets.b.grants.0.until",
        ),
    ],
)
def test_a_budget_that_says_nothing_is_refused_with_its_field(budget: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        validate({"pools": {P5: {"size": 1}}, "teams": {"a": {}}, "budgets": {"b": budget}})
    assert [each.field for each in caught.value.fields] == [field]


class TestAfter:
    @pytest.fixture
    def world(self) -> World:
        found = World()
        configure(found, speech={**TEN_HOURS, "whenSpent": "after"})
        return found

    def test_a_job_runs_on_what_others_leave_takes_nothing_and_gives_way(self, world: World) -> None:
        run(world, "x", hours=10)
        before = used(world)
        submit(world, "y", hours=50, priority=9)
        world.tick()
        (attempt,) = read_ledger(world.table).attempts
        assert (attempt.job_name, attempt.opportunistic, attempt.beyond_budget) == ("y", True, True)
        assert "its budget is spent, so it is stopped when another job can start" in world.seen("y").reason.message
        world.pass_time(HOUR_S)
        assert used(world) == before
        submit(world, "z", "b", ResourceConfig=on(2))
        world.tick()
        assert world.states("y", "z") == {"y": "stopping", "z": "pending"}
        world.pass_time(300)
        world.tick()
        world.check()
        assert world.states("y", "z") == {"y": "preempted", "z": "running"}
        assert used(world) == before
        assert world.seen("y").reason.message.startswith("the budget `speech` is spent: 10.")
        assert world.seen("y").reason.message.endswith("it runs on what no other job can use")

    def test_it_needs_preemption(self) -> None:
        budget = {**TEN_HOURS, "whenSpent": "after"}
        document = {"pools": {P5: {"size": 2}}, "teams": {"a": {}}, "budgets": {"speech": budget}}
        validate(document)
        with pytest.raises(InvalidConfiguration, match='whenSpent "after" needs preemption'):
            validate({**document, "preemption": {"enabled": False}})

    def test_a_dry_run_tells_when_it_could_start(self, world: World) -> None:
        run(world, "x", hours=10)
        found = world.forecast_service.dry_run(request("y", Tags=[{"Key": "team", "Value": "a"}]), ROOT)
        assert found.expected_start_ms == world.clock()
