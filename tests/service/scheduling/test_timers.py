"""A job enters the queue when its time has come, and has failed if it has not started by another one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_service.admission.checks.times import MAX_DAYS_AHEAD
from headway_service.admission.submission import Submission
from headway_service.api.documents.jobs import job_document
from headway_service.api.times import time_text
from headway_service.config.document import MIN_MAX_WAIT_S
from headway_service.errors import InvalidRequest, QueueFull
from headway_service.forecast.service import SubmitRequest
from headway_service.jobs.position import JobView
from headway_service.launching.executor import Executor
from headway_service.reuse.precedence import goes_first
from headway_service.scheduling import timers
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.store.records.timer import TIMERS
from tests.service.scheduling.test_refused_jobs import deny
from tests.service.world import P5, ROOT, World, on, request

LONG = {"SANDBOX_RUN_SECONDS": "90000"}
HOUR_S = 3600
TEAM = [{"Key": "team", "Value": "nlp"}]


def at(world: World, seconds: float) -> str:
    """A time so many seconds from now, as a tag has it."""
    return datetime.fromtimestamp(world.now_s + seconds, UTC).isoformat(timespec="seconds")


def tags(world: World, *, begin: float | None = None, by: float | None = None) -> list[dict[str, str]]:
    times = {"headway:not-before": begin, "headway:start-by": by}
    return [{"Key": key, "Value": at(world, each)} for key, each in times.items() if each is not None]


def submit(
    world: World, name: str, *others: str, begin: float | None = None, by: float | None = None, **changes: Any
) -> JobView[JobRecord]:
    asked = request(name, Tags=tags(world, begin=begin, by=by) + changes.pop("Tags", []), **changes)
    listed = [{"job": each} for each in others] or None
    return world.submitter.submit(Submission(request=asked, depends_on=listed), ROOT)[0]


def wait(world: World, seconds: float) -> None:
    """Let time pass, with a tick each minute."""
    while seconds > 0:
        step = min(60.0, seconds)
        world.pass_time(step)
        world.tick()
        world.check()
        seconds -= step


def left(world: World) -> list[str]:
    """The jobs that have timers."""
    return [each["sk"].partition("#")[2] for each in world.table.query(TIMERS, limit=100)]


@pytest.fixture
def world() -> World:
    return World(pools={P5: 2})


class TestNotBefore:
    def test_a_job_is_in_no_queue_before_its_time_and_says_when_that_comes(self, world: World) -> None:
        seen = submit(world, "later", begin=2 * HOUR_S)
        said = datetime.fromtimestamp(world.now_s + 2 * HOUR_S, UTC).strftime("%H:%M UTC")
        assert seen.reason.message == f"accepted; enters the queue for 1 {P5} at {said}"
        world.tick()
        seen = world.seen("later")
        assert (seen.job.job_state, seen.place, seen.reason.code) == ("pending", None, "WaitsForTime")
        assert seen.reason.message == f"enters the queue at {said} (headway:not-before)"
        assert job_document(seen).not_before == time_text(seen.job.begin_ms)
        assert seen.job.live_attempt is None

    def test_it_starts_within_a_tick_of_its_time_which_is_its_entry_time(self, world: World) -> None:
        accepted_ms, begin_ms = world.clock(), world.clock() + 600_000
        submit(world, "later", begin=600)
        wait(world, 599)
        assert world.states("later") == {"later": "pending"}
        wait(world, 31)
        job = world.seen("later").job
        assert (job.job_state, job.accepted_time, job.entry_time) == ("running", accepted_ms, begin_ms)
        assert job.history[1].reason.message.endswith(" has come; entered the queue")
        assert left(world) == []

    def test_others_that_came_before_its_time_go_first(self, world: World) -> None:
        submit(world, "later", begin=600)
        world.pass_time(300)
        world.submit("between", ResourceConfig=on(2), Environment=LONG)
        wait(world, 600)
        assert world.states("later", "between") == {"later": "pending", "between": "running"}

    def test_a_time_that_is_past_keeps_no_job_back(self, world: World) -> None:
        assert submit(world, "now", begin=-60).place == 1
        assert left(world) == []

    def test_it_counts_against_the_limits_of_its_queue(self, world: World) -> None:
        world.configuration.write({**world.configuration.document, "limits": {"waitingPerOwner": 2}})
        submit(world, "first", begin=600)
        submit(world, "second", begin=600)
        with pytest.raises(QueueFull):
            submit(world, "third", begin=600)

    def test_a_held_job_stays_held_when_its_time_comes_and_starts_when_it_is_released(self, world: World) -> None:
        submit(world, "later", begin=600)
        world.commands.hold("later", ROOT)
        wait(world, 660)
        seen = world.seen("later")
        assert (seen.job.job_state, seen.job.held, seen.reason.code) == ("pending", True, "Held")
        world.commands.release("later", ROOT)
        world.tick()
        assert world.states("later") == {"later": "running"}

    def test_a_job_that_is_released_before_its_time_still_waits_for_it(self, world: World) -> None:
        submit(world, "later", begin=600)
        world.commands.hold("later", ROOT)
        world.commands.release("later", ROOT)
        world.tick()
        assert world.seen("later").reason.code == "WaitsForTime"

    @pytest.mark.parametrize("first", ["time", "job"])
    def test_it_waits_for_other_jobs_and_for_its_time_whichever_comes_first(self, world: World, first: str) -> None:
        run_s = 1200 if first == "time" else 300
        world.submit("other", Environment={"SANDBOX_RUN_SECONDS": str(run_s)})
        seen = submit(world, "later", "other", begin=900)
        assert "when `other` has completed, and not before " in seen.reason.message
        wait(world, 840 if first == "job" else 1140)
        assert world.states("later") == {"later": "pending"}
        code = "WaitsForTime" if first == "job" else "WaitsForJobs"
        assert world.seen("later").reason.code == code
        wait(world, 480)
        assert world.states("later") == {"later": "running"}

    def test_the_step_of_a_job_that_waits_on_names_what_is_left(self, world: World) -> None:
        world.submit("other", Environment={"SANDBOX_RUN_SECONDS": "300"})
        submit(world, "later", "other", begin=3600)
        wait(world, 600)
        said = world.seen("later").job.history[-1].reason.message
        assert said.startswith("`other` has completed; waits until ")
        assert said.endswith(" UTC")

    def test_an_array_makes_no_member_before_its_time(self, world: World) -> None:
        sweep = {"grid": {"lr": [1, 2]}}
        asked = request("grid", Tags=tags(world, begin=600))
        world.submitter.submit(Submission(request=asked, sweep=sweep), ROOT)
        wait(world, 540)
        assert world.seen("grid").job.array is not None
        assert world.seen("grid").job.array.made == 0  # type: ignore[union-attr]
        wait(world, 120)
        assert world.states("grid_0", "grid_1") == {"grid_0": "running", "grid_1": "running"}

    def test_a_dry_run_names_no_start_and_the_explanation_says_what_it_waits_for(self, world: World) -> None:
        asked = request("later", Tags=tags(world, begin=600))
        found = world.forecast_service.dry_run(asked, ROOT)
        assert found.expected_start_ms is None
        assert found.note == ("It is in no queue until its time has come. Its start is not forecast before.")
        what_if = world.forecast_service.what_if([SubmitRequest(request=asked)], ROOT)
        assert what_if is not None
        submit(world, "later", begin=600)
        assert world.forecast_service.explain("later").note == found.note

    def test_a_user_may_stop_it_before_its_time_and_the_timer_does_nothing_then(self, world: World) -> None:
        submit(world, "later", begin=600)
        world.commands.stop("later", ROOT)
        wait(world, 660)
        assert (world.states("later"), left(world)) == ({"later": "stopped"}, [])
        assert job_document(world.seen("later")).not_before is None

    def test_an_equal_job_does_not_wait_for_one_whose_time_has_not_come(self, world: World) -> None:
        source = submit(world, "source", begin=600).job
        other = submit(world, "other").job
        assert not goes_first(source, other, world.clock())
        assert goes_first(other, source, world.clock())


class TestStartBy:
    def test_a_job_that_has_not_started_by_its_time_has_failed_and_says_what_kept_it(self, world: World) -> None:
        world.submit("long", ResourceConfig=on(2), Environment=LONG)
        world.tick()
        submit(world, "late", by=600)
        wait(world, 540)
        assert world.states("late") == {"late": "pending"}
        wait(world, 120)
        job = world.seen("late").job
        assert job.job_state == "failed"
        assert job.reason.code == "Expired"
        assert job.reason.message.startswith("did not start by ")
        assert f"(headway:start-by): needs 1 more {P5}" in job.reason.message
        assert tuple(job.reason.jobs) == ("long",)
        assert left(world) == []

    def test_one_that_has_started_goes_on_and_may_wait_again_after_that(self, world: World) -> None:
        submit(world, "early", by=600, ResourceConfig=on(2), Environment=LONG)
        world.tick()
        world.submit("urgent", 9, ResourceConfig=on(2), Environment=LONG)
        world.tick()
        wait(world, 900)
        assert world.states("early", "urgent") == {"early": "preempted", "urgent": "running"}
        assert left(world) == []

    def test_jobs_that_depend_on_it_end_too(self, world: World) -> None:
        world.submit("long", ResourceConfig=on(2), Environment=LONG)
        world.tick()
        submit(world, "late", by=600)
        submit(world, "after", "late")
        wait(world, 720)
        assert world.states("late", "after") == {"late": "failed", "after": "stopped"}

    def test_it_ends_while_it_is_held_or_waits_for_other_jobs(self, world: World) -> None:
        world.submit("long", ResourceConfig=on(2), Environment=LONG)
        submit(world, "after", "long", by=600)
        submit(world, "held", by=600)
        world.commands.hold("held", ROOT)
        wait(world, 720)
        assert world.states("after", "held") == {"after": "failed", "held": "failed"}
        assert not world.seen("held").job.held

    def test_a_launch_that_comes_back_counts_as_no_start(self, world: World) -> None:
        submit(world, "late", by=600)
        deny(world, "late")
        wait(world, 900)
        job = world.seen("late").job
        assert (job.job_state, job.reason.code) == ("failed", "Expired")

    def test_a_launch_under_way_when_its_time_comes_is_waited_for(self, world: World) -> None:
        submit(world, "late", by=90)
        world.table.write(world.intent_to_start("late").writes)
        world.now_s += 120
        assert world.states("late") == {"late": "running"}
        with pytest.MonkeyPatch.context() as patched:
            # The launch has to wait in this tick.
            patched.setattr(Executor, "execute_left", lambda *_: False)
            world.tick()
        assert left(world) == ["late"]
        wait(world, 180)
        assert world.states("late") == {"late": "running"}
        assert left(world) == []

    def test_both_times_hold_one_after_the_other(self, world: World) -> None:
        world.submit("long", ResourceConfig=on(2), Environment=LONG)
        world.tick()
        submit(world, "late", begin=600, by=1200)
        wait(world, 660)
        assert world.seen("late").reason.code == "WaitsForCapacity"
        assert left(world) == ["late"]
        wait(world, 600)
        assert world.states("late") == {"late": "failed"}

    def test_the_reason_of_one_that_its_time_ends_in_an_array_is_a_refusal(self, world: World) -> None:
        asked = request("grid", Tags=tags(world, by=600))
        with pytest.raises(InvalidRequest, match="is for one job"):
            world.submitter.submit(Submission(request=asked, sweep={"grid": {"lr": [1, 2]}}), ROOT)


class TestMaxWait:
    @pytest.fixture
    def world(self) -> World:
        world = World(pools={P5: 2})
        world.configuration.write(
            {**world.configuration.document, "teams": {"nlp": {"maxWaitSeconds": 1800}, "default": {}}}
        )
        world.submit("long", ResourceConfig=on(2), Environment=LONG)
        world.tick()
        return world

    def test_a_job_that_waits_longer_than_its_team_allows_has_failed(self, world: World) -> None:
        submit(world, "late", Tags=TEAM)
        submit(world, "other")
        wait(world, 1740)
        assert world.states("late", "other") == {"late": "pending", "other": "pending"}
        wait(world, 120)
        assert world.states("late", "other") == {"late": "failed", "other": "pending"}
        said = world.seen("late").job.reason.message
        assert said.startswith("has waited in the queue for 30 min, the most for team nlp (teams.nlp.maxWaitSeconds): ")

    def test_the_time_before_it_enters_its_queue_does_not_count(self, world: World) -> None:
        submit(world, "late", begin=3000, Tags=TEAM)
        wait(world, 3000 + 1740)
        assert world.states("late") == {"late": "pending"}
        wait(world, 180)
        assert world.states("late") == {"late": "failed"}

    def test_nor_does_the_time_for_which_it_waits_for_other_jobs(self, world: World) -> None:
        world.submit("first", 9, Environment={"SANDBOX_RUN_SECONDS": "600"})
        submit(world, "late", "first", Tags=TEAM)
        world.commands.hold("first", ROOT)
        wait(world, 2400)
        assert world.states("late") == {"late": "pending"}
        world.commands.stop("long", ROOT)
        world.commands.release("first", ROOT)
        world.submit("next", 5, ResourceConfig=on(2), Environment=LONG)
        wait(world, 1320)
        entered_ms = world.seen("late").job.entry_time
        assert world.seen("late").job.is_queued
        wait(world, (entered_ms / 1000 + 1800) - world.now_s - 60)
        assert world.states("late") == {"late": "pending"}
        wait(world, 180)
        assert world.states("late") == {"late": "failed"}

    def test_the_earlier_of_both_limits_counts_and_is_named(self, world: World) -> None:
        submit(world, "late", by=600, Tags=TEAM)
        wait(world, 720)
        assert "(headway:start-by)" in world.seen("late").job.reason.message

    def test_a_limit_of_a_team_that_changes_counts_for_jobs_that_come_then(self, world: World) -> None:
        submit(world, "late", Tags=TEAM)
        document = {**world.configuration.document, "teams": {"nlp": {"maxWaitSeconds": 86_400}, "default": {}}}
        world.configuration.write(document)
        wait(world, 1920)
        assert world.states("late") == {"late": "failed"}

    def test_the_shortest_limit_is_longer_than_any_lost_message_lasts(self, world: World) -> None:
        assert MIN_MAX_WAIT_S >= 240


class TestRefusals:
    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("headway:not-before", "tomorrow"),
            ("headway:not-before", "2026-12-01T08:00"),
            ("headway:start-by", "2026-13-01T08:00Z"),
            ("headway:start-by", ""),
        ],
    )
    def test_a_tag_that_names_no_time_is_refused_with_an_example(self, world: World, key: str, value: str) -> None:
        with pytest.raises(InvalidRequest, match="it is a time with its zone such as 2026-12-01T08:00Z") as refused:
            world.submit("a", Tags=[{"Key": key, "Value": value}])
        assert refused.value.fields[0].field == "Tags[0].Value"

    def test_a_start_before_the_entry_is_refused(self, world: World) -> None:
        with pytest.raises(InvalidRequest, match="when the job only enters the queue or before"):
            submit(world, "a", begin=600, by=600)

    def test_a_start_by_a_time_that_is_past_is_refused_but_a_repeated_call_gets_its_job(self, world: World) -> None:
        asked = request("a", Tags=tags(world, by=60))
        world.submitter.submit(asked, ROOT)
        world.now_s += 120
        assert world.submitter.submit(asked, ROOT)[0].job.job_name == "a"
        with pytest.raises(InvalidRequest, match="headway:start-by is past"):
            world.submitter.submit({**asked, "TrainingJobName": "b"}, ROOT)

    @pytest.mark.parametrize("times", [{"begin": MAX_DAYS_AHEAD * 86_400 + 60}, {"by": MAX_DAYS_AHEAD * 86_400 + 60}])
    def test_a_time_too_far_ahead_is_refused(self, world: World, times: dict[str, float]) -> None:
        with pytest.raises(InvalidRequest, match="more than 90 days ahead"):
            submit(world, "a", **times)
        with pytest.raises(InvalidRequest, match="more than 90 days ahead"):
            world.forecast_service.dry_run(request("a", Tags=tags(world, **times)), ROOT)

    def test_no_start_is_written_for_a_job_whose_time_has_not_come(self, world: World) -> None:
        submit(world, "later", begin=600)
        with pytest.raises(Exception, match="waiting for its time"):
            world.intent_to_start("later")


def test_a_timer_whose_job_was_changed_meanwhile_stays_for_the_next_tick(world: World) -> None:
    submit(world, "later", begin=600)
    world.now_s += 660
    real = transitions.begin
    changed: list[JobView[JobRecord]] = []

    def begin(job: JobRecord, *args: Any, **more: Any) -> Any:
        if not changed:
            changed.append(world.commands.set_comment("later", "x", ROOT))
        return real(job, *args, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(transitions, "begin", begin)
        world.tick()
    assert (world.states("later"), left(world)) == ({"later": "pending"}, ["later"])
    world.tick()
    assert world.states("later") == {"later": "running"}


def test_timers_behind_the_most_of_one_tick_come_with_the_next(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "MAX_DUE", 2)
    for number in range(5):
        submit(world, f"later-{number}", begin=60)
    world.now_s += 90
    counts = []
    for _ in range(3):
        world.tick()
        counts.append(len(left(world)))
    assert counts == [3, 1, 0]


@settings(max_examples=20)
@given(
    asked=st.lists(
        st.tuples(
            st.integers(0, 40), st.none() | st.integers(-5, 40), st.none() | st.integers(1, 60), st.integers(1, 40)
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_job_starts_before_its_time_or_waits_after_the_other(
    asked: list[tuple[int, int | None, int | None, int]],
) -> None:
    """Jobs of (minute of submission, minutes until it enters and until it has to start from then, minutes of run)."""
    world, times = World(pools={P5: 1}), {}
    for minute in range(90):
        for number, (submitted, begin, by, runs) in enumerate(asked):
            if submitted == minute and not (begin is not None and by is not None and by <= begin):
                name = f"j{number}"
                submit(
                    world,
                    name,
                    begin=None if begin is None else begin * 60,
                    by=None if by is None else by * 60,
                    Environment={"SANDBOX_RUN_SECONDS": str(runs * 60)},
                )
                times[name] = (
                    world.clock() + (begin or 0) * 60_000,
                    None if by is None else world.clock() + by * 60_000,
                )
        world.tick()
        for name, (begin_ms, by_ms) in times.items():
            job = world.seen(name).job
            started_ms = job.usage.started_ms
            assert started_ms is None or started_ms >= begin_ms
            assert job.begin_ms is None or world.clock() < job.begin_ms
            if by_ms is not None and world.clock() >= by_ms:
                assert job.job_state != "pending" or started_ms is not None
            if job.reason.code == "Expired":
                assert by_ms is not None
                assert world.clock() >= by_ms
        world.pass_time(60)
    world.pass_time(3600)
    world.tick()
    assert left(world) == []
