"""Forecasts come true."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.forecasting.forecast import Cancel, Reprioritize, Resize
from headway.model import STOP_MS
from headway.reasons import ReasonCode
from headway.reasons.remedies import remedy_for
from headway_sandbox.inprocess.deployment import START_S
from headway_service.admission.queues.limits import QueueLimits
from headway_service.admission.submission import Submission
from headway_service.errors import (
    ImpossibleDemand,
    InvalidRequest,
    JobNotFound,
    NameInUse,
    RequestError,
    RuleViolation,
)
from headway_service.forecast import service, snapshot
from headway_service.forecast.service import Edit, SubmitRequest
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
START_MS = int(START_S * 1000)
HOUR_MS = 3_600_000
OVERHEAD_MS = 1_800_000


def limited(hours: float) -> dict[str, Any]:
    """A StoppingCondition with which, including the overhead, the job holds its instances for this many hours."""
    return {"MaxRuntimeInSeconds": int(hours * 3600) - OVERHEAD_MS // 1000}


def hours(time_ms: int | None) -> float | None:
    return None if time_ms is None else (time_ms - START_MS) / HOUR_MS


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def full() -> World:
    """Two jobs run, for two and for three hours at most, and one waits."""
    world = World()
    world.submit("two", 5, StoppingCondition=limited(2))
    world.submit("three", 5, StoppingCondition=limited(3))
    world.tick()
    world.submit("early", 5, StoppingCondition=limited(1))
    return world


def contents(world: World) -> Any:
    """All that is kept, and all wake-ups."""
    assert isinstance(world.table, MemoryTable)
    return copy.deepcopy((world.table._items, world.wakes))


# ------------------------------------------------------------------------------------------------------------ dry runs


def test_a_dry_run_returns_place_reason_and_start_and_changes_nothing(full: World) -> None:
    before = contents(full)
    told = full.forecast_service.dry_run(request("mine", 5, StoppingCondition=limited(1)), ROOT)
    assert (told.seen.job.job_name, told.seen.job.job_state, told.seen.job.owner) == ("mine", "pending", ROOT.arn)
    assert told.seen.place == 2
    assert told.seen.reason.code is ReasonCode.WAITS_BEHIND
    # `early` starts when `two` has ended, this one when `early` and `three` have.
    assert hours(told.expected_start_ms) == 3
    assert (told.preempts, told.delays) == ([], [])
    assert "every job runs until its limit" in told.note
    assert contents(full) == before


def test_a_dry_run_of_a_job_that_fits_starts_now(world: World) -> None:
    told = world.forecast_service.dry_run(request("mine"), ROOT)
    assert (told.expected_start_ms, told.seen.reason.code) == (START_MS, ReasonCode.STARTS_NOW)


def test_a_dry_run_names_jobs_that_would_be_preempted_or_delayed(full: World) -> None:
    told = full.forecast_service.dry_run(request("urgent", 9, ResourceConfig=on(2), StoppingCondition=limited(4)), ROOT)
    assert sorted(told.preempts) == ["three", "two"]
    assert told.seen.reason.code is ReasonCode.WAITS_FOR_FREED
    assert told.expected_start_ms == START_MS + STOP_MS
    assert [(move.job, hours(move.before_ms), hours(move.after_ms)) for move in told.delays] == [
        ("early", 2, 4 + STOP_MS / HOUR_MS)
    ]


def test_a_dry_run_lists_only_preemptions_by_the_job_itself(full: World) -> None:
    full.submit("boss", 8, ResourceConfig=on(1))
    assert full.forecast_service.dry_run(request("mine", 1), ROOT).preempts == []


REFUSED: list[tuple[str, dict[str, Any], type[RequestError]]] = [
    ("a request that SageMaker would not take", {"RoleArn": None}, InvalidRequest),
    ("a demand beyond the pool", {"ResourceConfig": on(3)}, ImpossibleDemand),
    ("a request that breaks a rule", {"StoppingCondition": {"MaxRuntimeInSeconds": 90_000}}, RuleViolation),
]


@pytest.mark.parametrize(("changes", "error"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_dry_run_refuses_what_a_submission_refuses(changes: dict[str, Any], error: type[RequestError]) -> None:
    world = World()
    rules = {"traced": {"require": {"maxRunTimeSeconds": 80_000}}} if error is RuleViolation else {}
    world.configuration.write({"pools": {P5: {"size": 2}}, "rules": rules})
    with pytest.raises(error) as told:
        world.forecast_service.dry_run(request("mine", **changes), ROOT)
    with pytest.raises(error) as real:
        world.submitter.submit(request("mine", **changes), ROOT)
    assert (str(told.value), told.value.fields) == (str(real.value), real.value.fields)


def test_a_dry_run_refuses_a_name_in_use_even_by_the_same_request(full: World) -> None:
    with pytest.raises(NameInUse, match="`early`"):
        full.forecast_service.dry_run(request("early", 5, StoppingCondition=limited(1)), ROOT)


def test_a_dry_run_refuses_a_name_under_which_another_request_enters_meanwhile(
    full: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = QueueLimits.require

    def require(limits: QueueLimits, job: JobRecord) -> None:
        monkeypatch.undo()
        real(limits, job)
        full.submit("mine", 5, StoppingCondition=limited(1))

    monkeypatch.setattr(QueueLimits, "require", require)
    with pytest.raises(NameInUse, match="`mine`"):
        full.forecast_service.dry_run(request("mine"), ROOT)


def test_the_number_of_delays_is_limited(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(5):
        full.submit(f"w{i}", 5, StoppingCondition=limited(1))
    monkeypatch.setattr(service, "MAX_DELAYS", 2)
    urgent = request("urgent", 6, ResourceConfig=on(2), StoppingCondition=limited(1))
    assert [move.job for move in full.forecast_service.dry_run(urgent, ROOT).delays] == ["early", "w0"]


# -------------------------------------------------------------------------------------------------------- explanations


def test_the_explanation_of_a_waiting_job_has_the_holders_of_its_pools_and_the_jobs_ahead(full: World) -> None:
    full.submit("mine", 5, StoppingCondition=limited(1))
    told = full.forecast_service.explain("mine")
    assert [(each.job, each.job_state, hours(each.started_ms), hours(each.expected_end_ms)) for each in told.ahead] == [
        ("two", "running", 0, 2),
        ("three", "running", 0, 3),
        ("early", "pending", None, 3),
    ]
    assert {each.owner for each in told.ahead} == {ROOT.arn}
    assert (told.seen.place, hours(told.expected_start_ms), hours(told.expected_end_ms)) == (2, 3, 4)
    assert told.more == 0
    assert told.remedy is None, "the reason says it"
    assert [(pool.pool, pool.allocated, pool.free, pool.waiting) for pool in told.pools] == [(P5, 2, 0, 2)]


def test_a_preempted_job_ahead_is_reported_as_preempted(full: World) -> None:
    full.submit("urgent", 9, ResourceConfig=on(1))
    full.tick()
    full.pass_time(200)
    full.submit("last", 1)
    ahead = {each.job: str(each.job_state) for each in full.forecast_service.explain("last").ahead}
    assert ahead == {"two": "running", "urgent": "running", "early": "pending", "three": "preempted"}


def test_a_limited_number_is_named_and_the_rest_is_counted(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(6):
        full.submit(f"w{i}", 6)
    monkeypatch.setattr(service, "MAX_AHEAD", 3)
    told = full.forecast_service.explain("early")
    assert ([each.job for each in told.ahead], told.more) == (["two", "three", "w0"], 5)


def test_more_holders_than_the_limit_leave_no_space_for_the_jobs_ahead(
    full: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    full.submit("mine", 5)
    monkeypatch.setattr(service, "MAX_AHEAD", 1)
    told = full.forecast_service.explain("mine")
    assert ([each.job for each in told.ahead], told.more) == (["two"], 2)


def test_jobs_in_other_pools_are_ignored() -> None:
    world = World(pools={P5: 1, G5: 1})
    for name, pool in (("a", P5), ("b", G5)):
        world.submit(f"{name}-runs", ResourceConfig=on(1, pool))
    world.tick()
    for name, pool in (("a", P5), ("b", G5)):
        world.submit(name, ResourceConfig=on(1, pool))
    told = world.forecast_service.explain("b")
    assert [each.job for each in told.ahead] == ["b-runs"]
    assert [pool.pool for pool in told.pools] == [G5]


def test_a_running_job_has_its_latest_end(full: World) -> None:
    told = full.forecast_service.explain("two")
    assert (told.expected_start_ms, hours(told.expected_end_ms), told.ahead, told.more) == (None, 2, (), 0)
    assert told.note == "It has ended by then: its limit and the time for its provisioning and stop are over."


def test_a_held_job_has_no_expected_start_and_a_note_with_the_remedy(full: World) -> None:
    full.commands.hold("early", ROOT)
    told = full.forecast_service.explain("early")
    assert (told.seen.job.held, told.seen.place, told.expected_start_ms, told.ahead) == (True, None, None, ())
    assert told.seen.reason.code is ReasonCode.HELD
    assert "`headway release early`" in told.note
    (expected,) = full.forecast_service.forecast(None, 100).jobs
    assert (expected.seen.job.job_name, expected.seen.job.held, expected.start_ms) == ("early", True, None)


def test_an_ended_job_has_no_forecast(full: World) -> None:
    full.commands.stop("early", ROOT)
    told = full.forecast_service.explain("early")
    assert (told.expected_start_ms, told.expected_end_ms, told.ahead, told.pools) == (None, None, (), ())
    assert told.note == "The job has ended."


def test_the_remedy_is_added_if_the_reason_does_not_contain_it(full: World) -> None:
    full.commands.stop("early", ROOT)
    full.submit("wrong", 9, Environment={"SANDBOX_OUTCOME": "what SageMaker refuses"})
    full.tick()
    full.pass_time(300)
    told = full.forecast_service.explain("wrong")
    assert (told.seen.reason.code, told.seen.job.job_state) == (ReasonCode.LAUNCH_REFUSED, "failed")
    assert told.remedy == remedy_for(ReasonCode.LAUNCH_REFUSED) is not None


def test_an_unknown_job_cannot_be_explained(world: World) -> None:
    with pytest.raises(JobNotFound, match="nobody"):
        world.forecast_service.explain("nobody")
    with pytest.raises(JobNotFound, match="nobody"):
        world.forecast_service.forecast("nobody", 100)


# ----------------------------------------------------------------------------------------------------------- forecasts


def test_a_forecast_lists_waiting_jobs_by_start_and_then_by_place(full: World) -> None:
    full.submit("large", 5, ResourceConfig=on(2), StoppingCondition=limited(1))
    full.submit("small", 5, StoppingCondition=limited(0.6))
    full.submit("held", 9)
    full.commands.hold("held", ROOT)
    told = full.forecast_service.forecast(None, 100)
    assert [(each.seen.job.job_name, each.seen.place, hours(each.start_ms)) for each in told.jobs] == [
        ("early", 1, 2),
        ("large", 2, 3),
        ("small", 3, 4),
        ("held", None, None),
    ]
    assert (told.as_of_ms, told.until_ms, told.more) == (START_MS, None, False)


def test_a_forecast_lists_the_first_jobs_and_indicates_more(full: World) -> None:
    full.submit("mine", 5, StoppingCondition=limited(1))
    told = full.forecast_service.forecast(None, 1)
    assert ([each.seen.job.job_name for each in told.jobs], told.more) == (["early"], True)


def test_a_forecast_may_concern_one_job(full: World) -> None:
    full.submit("mine", 5, StoppingCondition=limited(1))
    told = full.forecast_service.forecast("mine", 100)
    assert [(each.seen.job.job_name, hours(each.start_ms)) for each in told.jobs] == [("mine", 3)]
    assert full.forecast_service.forecast("two", 100).jobs == [], "it waits no more"


def test_a_look_ahead_that_ends_early_is_marked(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    full.submit("mine", 5, StoppingCondition=limited(1))
    monkeypatch.setattr(snapshot, "MAX_FORESEEN_TURNS", 2)
    told = full.forecast_service.forecast(None, 100)
    assert [hours(each.start_ms) for each in told.jobs] == [2, None]
    assert hours(told.until_ms) == 2
    assert "Simulated until" in told.note


def test_jobs_behind_the_examined_ones_have_no_expected_start(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(6):
        full.submit(f"w{i}", 5, StoppingCondition=limited(1))
    monkeypatch.setattr(snapshot, "MAX_FORESEEN", 3)
    told = full.forecast_service.forecast(None, 100)
    assert [each.seen.job.job_name for each in told.jobs if each.start_ms is not None] == ["early", "w0", "w1"]
    assert "Only the first 3 jobs in the queue were simulated" in told.note
    alone = full.forecast_service.explain("w5")
    assert (alone.expected_start_ms, alone.seen.place, alone.more + len(alone.ahead)) == (None, 7, 8)
    assert [each.job for each in alone.ahead][:3] == ["two", "three", "early"]
    assert full.forecast_service.dry_run(request("z-late", 5), ROOT).expected_start_ms is None
    assert full.forecast_service.dry_run(request("soon", 6), ROOT).expected_start_ms is not None


@pytest.mark.parametrize(
    ("lengths", "share"),
    [([], 1), ([0], 500), ([700], 500), ([600, 600], 250), ([10, 600], 490), ([10, 20, 600], 470), ([600] * 1000, 1)],
    ids=str,
)
def test_long_queues_share_the_remainder_of_short_ones(lengths: list[int], share: int) -> None:
    counted: list[int] = []

    def count(queue: tuple[str, str], limit: int) -> int:
        counted.append(min(limit, lengths[int(queue[0])]))
        return counted[-1]

    queues = [(str(number), "") for number in range(len(lengths))]
    longer = [queue for queue, length in zip(queues, lengths, strict=True) if length > share]
    assert snapshot.even_share(queues, count) == (share, longer)
    assert max(counted, default=0) <= share + 1


# ------------------------------------------------------------------------------------------------------------- what-if


def test_what_if_a_pool_grew(full: World) -> None:
    before = contents(full)
    told = full.forecast_service.what_if([Resize(pool=P5, size=3)], ROOT)
    assert (told.starts, told.preempts) == (("early",), ())
    assert [(move.job, hours(move.before_ms), hours(move.after_ms)) for move in told.moved] == [("early", 2, 0)]
    assert contents(full) == before


def test_what_if_a_job_had_another_priority_or_left(full: World) -> None:
    full.submit("mine", 1, StoppingCondition=limited(1))
    told = full.forecast_service.what_if([Reprioritize(job="mine", priority=9)], ROOT)
    assert len(told.preempts) == 1
    told = full.forecast_service.what_if([Cancel(job="early")], ROOT)
    assert [(move.job, hours(move.before_ms), hours(move.after_ms)) for move in told.moved] == [
        ("early", 2, None),
        ("mine", 3, 2),
    ]


def test_what_if_a_job_were_submitted_to_an_enlarged_pool(full: World) -> None:
    changes: list[Edit] = [Resize(pool=P5, size=6), SubmitRequest(request=request("large", 9, ResourceConfig=on(4)))]
    assert full.forecast_service.what_if(changes, ROOT).starts == ("large",)
    with pytest.raises(ImpossibleDemand, match=r"changes\.0"):
        full.forecast_service.what_if(changes[1:], ROOT)


def test_a_change_may_concern_a_job_that_an_earlier_change_submits(full: World) -> None:
    changes: list[Edit] = [SubmitRequest(request=request("mine", 1)), Reprioritize(job="mine", priority=9)]
    assert len(full.forecast_service.what_if(changes, ROOT).preempts) == 1


def test_a_job_far_back_is_moved_to_the_front(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(6):
        full.submit(f"w{i}", 4, StoppingCondition=limited(1))
    monkeypatch.setattr(snapshot, "MAX_FORESEEN", 2)
    told = full.forecast_service.what_if([Reprioritize(job="w5", priority=5)], ROOT)
    assert ("w5", None, 3) in [(move.job, hours(move.before_ms), hours(move.after_ms)) for move in told.moved]


WRONG: list[tuple[str, list[Any], str, str]] = [
    ("a running job withdrawn", [Cancel(job="two")], "changes.0.jobName", "only a job that waits"),
    ("an ended job", [Reprioritize(job="ended", priority=1)], "changes.0.jobName", "stopped already"),
    ("a held job", [Cancel(job="held")], "changes.0.jobName", "held"),
    ("a priority too high", [Reprioritize(job="two", priority=10_000)], "changes.0.priority", "0 to 9999"),
    ("the second change", [Resize(pool=P5, size=1), Cancel(job="two")], "changes.1.jobName", "only a job that waits"),
    ("withdrawn twice", [Cancel(job="early"), Cancel(job="early")], "changes.1", "no job `early` waits"),
    (
        "withdrawn twice after a submission that waits for another job",
        [
            SubmitRequest(request=Submission(request=request("x"), depends_on=[{"job": "early"}])),
            Cancel(job="early"),
            Cancel(job="early"),
        ],
        "changes.2",
        "no job `early` waits",
    ),
    (
        "withdrawn before the job that it waits for has ended",
        [
            SubmitRequest(request=Submission(request=request("x"), depends_on=[{"job": "early"}])),
            Cancel(job="x"),
        ],
        "changes.1",
        "no job `x` waits",
    ),
    ("a wrong request", [SubmitRequest(request=request("x", RoleArn=None))], "changes.0.request.RoleArn", "RoleArn"),
    (
        "the same name twice",
        [SubmitRequest(request=request("x")), SubmitRequest(request=request("x"))],
        "changes.1",
        "already",
    ),
]


@pytest.mark.parametrize(("changes", "field", "word"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_change_is_named(full: World, changes: list[Any], field: str, word: str) -> None:
    for name in ("ended", "held"):
        full.submit(name)
    full.commands.stop("ended", ROOT)
    full.commands.hold("held", ROOT)
    with pytest.raises(InvalidRequest, match=word) as told:
        full.forecast_service.what_if(changes, ROOT)
    assert told.value.fields[0].field == field


@pytest.mark.parametrize("change", [Cancel(job="nobody"), Reprioritize(job="nobody", priority=1)])
def test_a_change_of_an_unknown_job_is_not_found_and_said_once(full: World, change: Any) -> None:
    with pytest.raises(JobNotFound) as told:
        full.forecast_service.what_if([Resize(pool=P5, size=1), change], ROOT)
    (field,) = told.value.fields
    assert field.field == "changes.1.jobName"
    assert str(told.value) == f"changes.1.jobName: {field.message}"


def test_a_limited_number_of_moved_jobs_is_listed(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(4):
        full.submit(f"w{i}", 5, StoppingCondition=limited(1))
    monkeypatch.setattr(service, "MAX_MOVED", 2)
    assert len(full.forecast_service.what_if([Resize(pool=P5, size=1)], ROOT).moved) == 2


# ---------------------------------------------------------------------------------------------------------- properties

JOBS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 2), st.sampled_from([1.0, 2.0, 3.0])), min_size=1, max_size=8
)


def queue(jobs: list[tuple[int, int, float]], ticked: int) -> World:
    """A queue of these jobs: priority, instances, hours. They train until their limits."""
    world = World()
    for i, (priority, count, hours_) in enumerate(jobs):
        if i == ticked:
            world.tick()
        world.submit(
            f"j{i}",
            priority,
            ResourceConfig=on(count),
            StoppingCondition=limited(hours_),
            Environment={"SANDBOX_RUN_SECONDS": "1000000"},
        )
    return world


@given(jobs=JOBS, ticked=st.integers(0, 8), last=st.tuples(st.integers(0, 3), st.integers(1, 2)))
@settings(max_examples=10, deadline=None)
def test_a_dry_run_changes_nothing_and_predicts_a_submission_right_after_it(
    jobs: list[tuple[int, int, float]], ticked: int, last: tuple[int, int]
) -> None:
    world = queue(jobs, ticked)
    priority, count = last
    asked = request("last", priority, ResourceConfig=on(count), StoppingCondition=limited(1))
    before = contents(world)
    told = world.forecast_service.dry_run(asked, ROOT)
    assert contents(world) == before

    seen, new = world.submitter.submit(asked, ROOT)
    assert new
    assert told.seen.place == seen.place
    assert told.seen.job == seen.job
    explained = world.forecast_service.explain("last")
    assert told.seen.reason == explained.seen.reason
    assert told.expected_start_ms == explained.expected_start_ms
    running = {name for name, state in world.states(*(f"j{i}" for i in range(len(jobs)))).items() if state == "running"}
    world.tick()
    stopped = {name for name in running if world.seen(name).job.job_state == "stopping"}
    assert set(told.preempts) <= stopped
    assert (told.expected_start_ms == START_MS) == (world.seen("last").job.job_state == "running")


@given(jobs=JOBS, ticked=st.integers(1, 8))
@settings(max_examples=10, deadline=None)
def test_the_job_expected_first_starts_by_its_expected_time(jobs: list[tuple[int, int, float]], ticked: int) -> None:
    world = queue(jobs, ticked)
    expected = [each for each in world.forecast_service.forecast(None, 100).jobs if each.start_ms is not None]
    world.tick()
    for first in expected[:1]:
        assert first.start_ms is not None
        world.pass_time(first.start_ms / 1000 - world.now_s)
        world.tick()
        assert world.seen(first.seen.job.job_name).job.attempt_count > 0


# --------------------------------------------------------------------------------------------------------- predictions


def learned(document: dict[str, Any]) -> World:
    """A queue on which ten jobs of ten minutes have completed, one runs, and one waits; all may run for a day."""
    world = World(pools={P5: 1})
    world.configuration.write({"pools": {P5: {"size": 10}}, **document})
    for number in range(10):
        world.submit(f"bert-{number}")
    world.tick()
    world.pass_time(3000)
    for number in range(10):
        world.container.accountant.account([world.seen(f"bert-{number}").job])
    world.configuration.write({"pools": {P5: {"size": 1}}, **document})
    # Run times that were read before are used for some minutes.
    world.pass_time(600)
    world.submit("bert-10")
    world.tick()
    world.submit("bert-11", 0)
    return world


def test_starts_are_predicted_by_how_long_jobs_have_run_beside_those_by_limits() -> None:
    world = learned({"predictions": True})
    (found,) = world.forecast_service.forecast(None, 10).jobs
    assert found.predicted_start is not None
    assert found.start_ms is not None
    now_ms = world.clock()
    assert found.start_ms - now_ms == 86_400_000 + OVERHEAD_MS
    # Ten minutes of training, and what SageMaker needs beside it.
    assert found.predicted_start.from_ms - now_ms > 600_000
    assert found.predicted_start.until_ms - now_ms < 1_200_000
    told = world.forecast_service.explain("bert-11")
    assert told.predicted_start == found.predicted_start
    assert (told.expected_start_ms, told.note.count("prove nothing")) == (found.start_ms, 1)
    assert "prove nothing" in world.forecast_service.forecast("bert-11", 1).note


def test_the_end_of_a_running_job_is_predicted_unless_it_is_stopping() -> None:
    world = learned({"predictions": True})
    told = world.forecast_service.explain("bert-10")
    found = told.predicted_end
    assert found is not None
    assert (told.expected_end_ms or 0) - world.clock() == 86_400_000 + OVERHEAD_MS
    assert 600_000 < found.from_ms - world.clock() <= found.until_ms - world.clock() < 1_200_000
    world.commands.stop("bert-10", ROOT)
    assert world.forecast_service.explain("bert-10").predicted_end is None


def test_without_predictions_in_the_configuration_nothing_is_predicted() -> None:
    world = learned({})
    (found,) = world.forecast_service.forecast(None, 10).jobs
    assert (found.predicted_start, world.seen("bert-11").job.source) == (None, "")
    assert "prove" not in world.forecast_service.explain("bert-11").note
    assert world.forecast_service.explain("bert-10").predicted_end is None


def test_predictions_end_when_they_are_switched_off() -> None:
    world = learned({"predictions": True})
    world.configuration.write({"pools": {P5: {"size": 1}}})
    world.tick()
    (found,) = world.forecast_service.forecast(None, 10).jobs
    assert found.predicted_start is None


def test_jobs_beyond_the_part_of_the_queue_that_was_read_have_no_likely_start(monkeypatch: pytest.MonkeyPatch) -> None:
    world = learned({"predictions": True})
    for number in range(12, 16):
        world.submit(f"bert-{number}", 0)
    monkeypatch.setattr(snapshot, "MAX_FORESEEN", 2)
    starts = {each.seen.job.job_name: each.predicted_start for each in world.forecast_service.forecast(None, 10).jobs}
    proven = {each.seen.job.job_name: each.start_ms for each in world.forecast_service.forecast(None, 10).jobs}
    assert {name for name, start in starts.items() if start} == {name for name, start in proven.items() if start}
    assert None in starts.values()
    last = world.forecast_service.forecast("bert-15", 1).jobs[0]
    assert last.predicted_start is None
