"""Instances that are kept for some jobs, and limits of owners, through ticks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from headway.forecasting.forecast import Cancel
from headway_service.config.authorization import Caller
from headway_service.config.bookings import MAX_KEPT_OF_POOL
from headway_service.config.document import validate
from headway_service.errors import Conflict, ImpossibleDemand, InvalidConfiguration
from headway_service.pools.capacity import PoolUse
from headway_service.store.ledger import read_ledger
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.start_count import StartCountRecord
from tests.service.world import ADA, BOB, P5, ROOT, World, on, request

HOUR_S = 3600
LONG = {"SANDBOX_RUN_SECONDS": "900000"}
HOURS_10 = {"MaxRuntimeInSeconds": 36_000}
MINUTES_10 = {"MaxRuntimeInSeconds": 600}


def at(world: World, seconds: float) -> str:
    return datetime.fromtimestamp(world.now_s + seconds, UTC).isoformat()


def configure(world: World, **rules: Any) -> None:
    document = {"pools": {P5: {"size": 3}}, "teams": {"a": {}, "b": {}}, "overheadSeconds": 0, **rules}
    world.configuration.write(document)
    world.tick()


def book(world: World, in_s: float, for_s: float = HOUR_S, **more: Any) -> None:
    whole = {"pool": P5, "instances": 2, "team": "a", "from": at(world, in_s), "to": at(world, in_s + for_s), **more}
    configure(world, bookings={"night": whole})


def submit(world: World, name: str, team: str = "b", caller: Caller = ROOT, **changes: Any) -> None:
    tags = [{"Key": "team", "Value": team}]
    world.submitter.submit(request(name, Tags=tags, **{"Environment": LONG, **changes}), caller)


def pool(world: World) -> PoolUse:
    (found,) = world.capacity()
    return found


@pytest.fixture
def world() -> World:
    return World(pools={P5: 3})


class TestBookings:
    def test_before_it_begins_short_jobs_of_others_start_and_long_ones_get_the_rest(self, world: World) -> None:
        book(world, HOUR_S)
        for name in ("long-1", "long-2"):
            submit(world, name, StoppingCondition=HOURS_10)
        submit(world, "short", StoppingCondition=MINUTES_10)
        world.tick()
        assert world.states("long-1", "long-2", "short") == {
            "long-1": "running",
            "long-2": "pending",
            "short": "running",
        }
        assert "booking `night` leaves others only 1 ml.p5.48xlarge" in world.seen("long-2").reason.message

    def test_in_its_window_its_jobs_start_at_once_and_others_after_it(self, world: World) -> None:
        book(world, -60)
        for name in ("x", "y"):
            submit(world, name, StoppingCondition=HOURS_10)
        world.tick()
        submit(world, "mine", "a", StoppingCondition=MINUTES_10)
        world.tick()
        assert world.states("x", "y", "mine") == {"x": "running", "y": "pending", "mine": "running"}
        assert "beside booking `night`, which leaves others 1" in world.seen("y").reason.message
        world.pass_time(HOUR_S + 60)
        world.tick()
        world.check()
        assert world.states("y") == {"y": "running"}

    def test_what_nobody_uses_is_given_back_and_capacity_shows_it(self, world: World) -> None:
        book(world, -60, giveBackAfterSeconds=600)
        shown = pool(world).bookings[0]
        assert (shown.booking.name, shown.booking.count, shown.kept) == ("night", 2, 2)
        assert shown.window is not None
        for name in ("x", "y", "z"):
            submit(world, name, StoppingCondition=HOURS_10)
        world.tick()
        assert world.states("x", "y", "z") == {"x": "running", "y": "pending", "z": "pending"}
        world.pass_time(600)
        world.tick()
        assert world.states("y", "z") == {"y": "running", "z": "running"}
        assert pool(world).bookings[0].kept == 0

    def test_a_forecast_has_others_start_when_it_ends_and_its_jobs_at_once(self, world: World) -> None:
        book(world, -60)
        end_ms = world.clock() + (HOUR_S - 60) * 1000
        tags = {team: [{"Key": "team", "Value": team}] for team in "ab"}
        theirs = world.forecast_service.dry_run(
            request("x", Tags=tags["b"], ResourceConfig=on(2), StoppingCondition=HOURS_10), ROOT
        )
        mine = world.forecast_service.dry_run(request("m", Tags=tags["a"], ResourceConfig=on(2)), ROOT)
        assert (theirs.expected_start_ms, mine.expected_start_ms) == (end_ms, world.clock())
        submit(world, "x", StoppingCondition=HOURS_10, ResourceConfig=on(2))
        assert world.forecast_service.what_if([Cancel(job="x")], ROOT) is not None

    def test_for_a_tag_and_for_an_owner(self, world: World) -> None:
        book(world, -60, team=None, tag={"key": "project", "value": "thesis"}, instances=3)
        submit(world, "x")
        tags = [{"Key": "project", "Value": "thesis"}, {"Key": "team", "Value": "b"}]
        world.submit("thesis", Tags=tags, Environment=LONG)
        world.tick()
        assert world.states("x", "thesis") == {"x": "pending", "thesis": "running"}
        book(world, -60, team=None, owner=BOB.arn, instances=2)
        submit(world, "bobs", caller=BOB)
        submit(world, "adas", caller=ADA)
        world.tick()
        assert world.states("bobs", "adas") == {"bobs": "running", "adas": "pending"}

    def test_a_decision_from_before_another_start_does_not_exceed_what_is_left(self, world: World) -> None:
        book(world, -60)
        submit(world, "x", StoppingCondition=HOURS_10)

        def meanwhile() -> None:
            submit(world, "y", StoppingCondition=HOURS_10)
            world.tick()

        world.interrupted_tick(meanwhile)
        world.tick()
        assert sorted(world.states("x", "y").values()) == ["pending", "running"]
        assert read_ledger(world.table).start_count_of(P5).starts == 1

    def test_a_start_is_conditional_on_those_before_it(self, world: World) -> None:
        book(world, -60)
        submit(world, "x", StoppingCondition=HOURS_10)
        submit(world, "m", "a", StoppingCondition=HOURS_10)
        before = read_ledger(world.table)
        stale = world.intent_to_start("x", before)
        world.table.write(world.intent_to_start("m", before).writes)
        with pytest.raises(Conflict):
            world.table.write(stale.writes)
        world.table.write(world.intent_to_start("x").writes)
        assert read_ledger(world.table).start_count_of(P5).starts == 2

    def test_where_nothing_is_booked_no_start_is_counted(self, world: World) -> None:
        configure(world)
        submit(world, "x")
        world.tick()
        assert world.states("x") == {"x": "running"}
        assert not world.table.query(LEDGER, prefix="starts#", limit=1)

    def test_the_count_of_a_pool_goes_with_the_pool(self, world: World) -> None:
        book(world, -60)
        submit(world, "m", "a", Environment={"SANDBOX_RUN_SECONDS": "60"})
        world.tick()
        assert world.table.get(StartCountRecord.key(P5)) is not None
        world.pass_time(900)
        world.configuration.write({"pools": {"ml.g5.xlarge": {"size": 1}}})
        for _ in range(3):
            world.tick()
        assert world.table.get(StartCountRecord.key(P5)) is None


class TestLimits:
    def test_an_owner_uses_no_more_than_the_limit(self, world: World) -> None:
        configure(world, limits={"instancesPerOwner": {P5: 1}})
        for name, caller in (("a1", ADA), ("a2", ADA), ("b1", BOB)):
            submit(world, name, caller=caller)
        world.tick()
        assert world.states("a1", "a2", "b1") == {"a1": "running", "a2": "pending", "b1": "running"}
        assert "within the limit of its owner, who may use 1" in world.seen("a2").reason.message
        with pytest.raises(ImpossibleDemand, match="may use 1 instances of the pool"):
            submit(world, "large", caller=ADA, ResourceConfig=on(2))

    def test_many_jobs_of_an_owner_at_the_limit_hide_none_of_others(self, world: World) -> None:
        configure(world, limits={"instancesPerOwner": {P5: 1}}, backfill={"window": 50})
        for number in range(40):
            submit(world, f"a{number}", caller=ADA)
        submit(world, "b", caller=BOB)
        world.tick()
        assert world.states("b") == {"b": "running"}

    def test_in_a_team_each_owner_has_the_limit_of_the_team(self, world: World) -> None:
        configure(world, teams={"a": {}, "b": {"limitPerOwner": {P5: 1}}})
        for name, team in (("b1", "b"), ("b2", "b"), ("a1", "a")):
            submit(world, name, team, caller=ADA)
        world.tick()
        assert world.states("b1", "b2", "a1") == {"b1": "running", "b2": "pending", "a1": "running"}

    def test_a_guarantee_that_is_not_lent_is_never_used_by_others(self, world: World) -> None:
        configure(world, teams={"a": {"guaranteed": {P5: 2}, "lend": {P5: 1}}, "b": {}})
        for name in ("x", "y", "z"):
            submit(world, name)
        world.tick()
        assert sorted(world.states("x", "y", "z").values()) == ["pending", "running", "running"]
        said = next(s.reason.message for s in map(world.seen, "xyz") if s.job.job_state == "pending")
        assert "beside the guarantee of team `a`, which leaves others 2" in said
        submit(world, "mine", "a")
        world.tick()
        assert world.states("mine") == {"mine": "running"}
        with pytest.raises(ImpossibleDemand, match="may use 2 instances of the pool"):
            submit(world, "large", ResourceConfig=on(3))


BOOKING = {"pool": P5, "instances": 1, "team": "a", "from": "2026-12-01T18:00Z", "to": "2026-12-02T06:00Z"}


def refusal(**rules: Any) -> tuple[str, str]:
    document = {"pools": {P5: {"size": 3}}, "teams": {"a": {"guaranteed": {P5: 2}}}, **rules}
    with pytest.raises(InvalidConfiguration) as refused:
        validate(document)
    (error, *_) = refused.value.fields
    return error.field, error.message


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "field", "words"),
        [
            ({"team": "c"}, "bookings.b.team", "there is no team c"),
            ({"pool": "ml.g5.xlarge"}, "bookings.b.pool", "there is no pool"),
            ({"instances": 4}, "bookings.b.instances", "4 is more than the 3 instances of the pool"),
            ({"instances": 0}, "bookings.b.instances", "1"),
            ({"team": None}, "bookings.b", "is for nobody"),
            ({"from": "tomorrow"}, "bookings.b", "times with their zone, such as 2026-12-01T18:00Z"),
            ({"to": "2026-12-01T18:00Z"}, "bookings.b", "has to end after it begins"),
            ({"to": "2027-12-01T18:00Z"}, "bookings.b", "within 90 days"),
            ({"every": "week", "to": "2026-12-08T18:01Z"}, "bookings.b", "lasts longer than the week"),
            ({"every": "day"}, "bookings.b.every", "week"),
        ],
    )
    def test_a_booking_that_makes_no_sense_is_refused_with_its_field(
        self, changes: dict[str, Any], field: str, words: str
    ) -> None:
        found, message = refusal(bookings={"b": {**BOOKING, **changes}})
        assert found == field
        assert words in message

    def test_too_many_of_one_pool(self) -> None:
        many = {f"b{number}": BOOKING for number in range(MAX_KEPT_OF_POOL)}
        validate({"pools": {P5: {"size": 3}}, "teams": {"a": {"guaranteed": {P5: 2}}}, "bookings": many})
        kept = {"a": {"guaranteed": {P5: 2}, "lend": {P5: 0}}}
        field, message = refusal(bookings=many, teams=kept)
        assert field == "bookings"
        assert f"{MAX_KEPT_OF_POOL + 1} bookings and guarantees that are not lent" in message

    @pytest.mark.parametrize(
        ("rules", "field", "words"),
        [
            ({"teams": {"a": {"lend": {P5: 1}}}}, f"teams.a.lend.{P5}", "not be above the 0"),
            ({"teams": {"a": {"lend": {"ml.g5.xlarge": 0}}}}, "teams.a.lend.ml.g5.xlarge", "there is no pool"),
            ({"teams": {"a": {"limitPerOwner": {"ml.g5.xlarge": 1}}}}, "teams.a.limitPerOwner.ml.g5.xlarge", "no pool"),
            (
                {"limits": {"instancesPerOwner": {"ml.g5.xlarge": 1}}},
                "limits.instancesPerOwner.ml.g5.xlarge",
                "no pool",
            ),
        ],
    )
    def test_limits_of_what_is_not_there(self, rules: dict[str, Any], field: str, words: str) -> None:
        found, message = refusal(**rules)
        assert found == field
        assert words in message
