"""Members of an array that are worse than the median of others are stopped, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from headway.early_stopping import Curve, EarlyStopping
from headway.lifecycle import AttemptState, JobState
from headway_service.admission.submission import Submission
from headway_service.early_stopping import members as compared
from headway_service.early_stopping import stopper
from headway_service.early_stopping.members import ComparedMember
from headway_service.early_stopping.stopper import EarlyStopper
from headway_service.errors import Conflict, InvalidRequest, MetricsRefused, NameInUse, OutcomeUnknown
from headway_service.ports.table import Delete
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.ports.training_metrics import JobMetric, Series
from headway_service.sagemaker_api.names import attempt_name
from headway_service.store.ledger import read_ledger
from headway_service.store.records.array import ArrayRecord, MemberResultRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_attempt, find_job, get_job
from headway_service.testing.memory_training_metrics import MemoryTrainingMetrics
from tests.service.world import P5, ROOT, World, request

LONG = {"SANDBOX_RUN_SECONDS": "80000"}
GRID = {"grid": {"lr": [1, 2, 3, 4]}}
BY_STEP = {"metric": "loss", "goal": "minimize", "stepMetric": "epoch", "minMembers": 2, "minSteps": 2}
BY_TIME = {"metric": "loss", "goal": "minimize", "minMembers": 2, "minTrainingSeconds": 300}


class Arrays:
    """A world with an array of four members, all of which have started."""

    def __init__(
        self, early_stopping: dict[str, Any] | None = None, *, size: int = 4, trains: bool = True, **more: Any
    ) -> None:
        self.world = World(pools={P5: size})
        self.metrics = MemoryTrainingMetrics()
        self.submit("sweep", early_stopping or BY_STEP, **more)
        self.world.tick()
        if trains:
            self.world.pass_time(400)

    def submit(self, name: str, early_stopping: Any = None, **more: Any) -> None:
        document = more.pop("document", GRID)
        environment = more.pop("Environment", LONG)
        submission = Submission(
            request=request(name, Environment=environment, **more), sweep=document, early_stopping=early_stopping
        )
        self.world.submitter.submit(submission, ROOT)

    def attempt(self, index: int, array: str = "sweep") -> str:
        return get_job(self.world.table, f"{array}_{index}").live_attempt or ""

    def report(self, attempt: str, *losses: float, since_s: float | None = None, first: int = 1) -> None:
        """A script has printed an epoch and its loss in each of the last minutes."""
        start_s = self.world.now_s - 60 * len(losses) if since_s is None else since_s
        for number, loss in enumerate(losses):
            at_s = start_s + 60 * number
            self.metrics.put(attempt, "epoch", first + number, at_s=at_s)
            self.metrics.put(attempt, "loss", loss, at_s=at_s)

    def compare(self) -> int:
        return self.stopper().run(read_ledger(self.world.table))

    def stopper(self) -> EarlyStopper:
        return EarlyStopper(
            self.world.table,
            lambda: self.metrics,
            lambda: self.world.training_jobs,
            clocks=self.world.clocks,
            wake=self.world.wakes.append,
        )

    def states(self) -> list[str]:
        return list(self.world.states(*(f"sweep_{index}" for index in range(4))).values())

    def numbers(self) -> ArrayRecord:
        found = get_job(self.world.table, "sweep").array
        assert found is not None
        return found

    def finish(self, seconds: float = 400) -> None:
        """Ticks stop what is to stop, SageMaker ends it, and the array counts it."""
        self.world.tick()
        self.world.pass_time(seconds)
        self.world.tick()
        self.world.check()


def reported(*losses: float) -> Arrays:
    """Four members, each with one loss in each of three epochs."""
    arrays = Arrays()
    for index, loss in enumerate(losses):
        arrays.report(arrays.attempt(index), loss, loss, loss)
    return arrays


def test_a_member_that_is_worse_than_the_others_is_stopped_with_the_figures() -> None:
    arrays = reported(1, 2, 3, 9)
    assert arrays.compare() == 2, "3 is worse than the median of 1, 2 and 9, and 9 than that of 1, 2 and 3"
    assert arrays.world.wakes[-1].endswith("is to stop")
    steps = get_job(arrays.world.table, "sweep_3").history
    assert (steps[-1].reason.code, steps[-1].job_state) == ("WorseThanMedian", JobState.STOPPING)
    message = "early: its best loss is 9, and the median of 3 other members at epoch 3 is 2"
    assert steps[-1].reason.message == f"is being stopped {message}"
    arrays.finish()
    ended = get_job(arrays.world.table, "sweep_3")
    assert (ended.job_state, ended.reason.code) == (JobState.STOPPED, "StoppedEarly")
    assert ended.reason.message == f"stopped {message}"
    assert arrays.states() == ["running", "running", "stopped", "stopped"]
    assert (arrays.numbers().stopped, arrays.numbers().stopped_early) == (2, 2)


@pytest.mark.parametrize("answers", [True, False])
def test_a_member_that_uploads_or_of_which_sagemaker_does_not_answer_is_not_stopped(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    arrays = reported(1, 2, 3, 9)
    whole = arrays.world.training_jobs.describe

    def describe(name: str) -> TrainingJobStatus | None:
        found = whole(name)
        if found is None or name != arrays.attempt(3):
            return found
        if not answers:
            raise OutcomeUnknown("no answer")
        return replace(found, secondary_status="Uploading", training_since_ms=None)

    monkeypatch.setattr(arrays.world.training_jobs, "describe", describe)
    assert arrays.compare() == 1
    assert arrays.states() == ["running", "running", "stopping", "running"]


def test_an_array_whose_members_completed_or_were_stopped_early_has_completed() -> None:
    arrays = reported(1, 2, 3, 9)
    arrays.compare()
    arrays.finish(90_000)
    array = get_job(arrays.world.table, "sweep")
    assert array.job_state is JobState.COMPLETED
    assert array.reason.message == "2 of 4 members completed, 2 stopped early"


def test_an_array_with_a_member_that_a_user_stopped_has_not_completed() -> None:
    arrays = reported(1, 2, 3, 9)
    arrays.compare()
    arrays.world.commands.stop("sweep_0", ROOT, "")
    arrays.finish(90_000)
    assert get_job(arrays.world.table, "sweep").job_state is JobState.STOPPED


def test_a_user_may_stop_a_member_that_is_being_stopped_early() -> None:
    arrays = reported(1, 2, 3, 9)
    arrays.compare()
    arrays.world.commands.stop("sweep_3", ROOT, "a typo")
    arrays.finish()
    assert get_job(arrays.world.table, "sweep_3").reason.code == "Stopped"
    assert (arrays.numbers().stopped, arrays.numbers().stopped_early) == (2, 1)


def test_a_member_that_completes_although_it_is_being_stopped_has_completed() -> None:
    arrays = Arrays(Environment={"SANDBOX_RUN_SECONDS": "600"})
    for index, loss in enumerate((1, 2, 3, 9)):
        arrays.report(arrays.attempt(index), loss, loss, loss)
    arrays.compare()
    # No tick asks SageMaker to stop it.
    arrays.world.pass_time(900, tick=False)
    arrays.world.tick()
    assert arrays.states() == ["completed"] * 4
    assert arrays.numbers().stopped_early == 0


def test_nothing_is_read_or_asked_for_arrays_without_early_stopping() -> None:
    arrays = Arrays()
    arrays.world = World(pools={P5: 4})
    arrays.submit("sweep")
    arrays.world.tick()
    arrays.world.pass_time(400)
    ledger = read_ledger(arrays.world.table)
    with mock.patch.object(arrays.world, "table", None):
        assert arrays.stopper().run(ledger) == 0
    assert arrays.metrics.asked == []


def test_members_are_compared_by_the_values_of_the_same_step() -> None:
    arrays = Arrays()
    for index in (0, 1, 2):
        arrays.report(arrays.attempt(index), 9, 8, 7, 1)
    arrays.report(arrays.attempt(3), 8.4, 8.4, 8.4)
    assert arrays.compare() == 1
    assert "at epoch 3 is 8" in get_job(arrays.world.table, "sweep_3").reason.message


@pytest.mark.parametrize(
    ("changes", "stopped"),
    [
        ({"minMembers": 3}, 2),
        ({"minMembers": 4}, 0),
        ({"minSteps": 3}, 2),
        ({"minSteps": 4}, 0),
        ({"goal": "maximize"}, 2),
    ],
    ids=str,
)
def test_members_and_steps_have_to_suffice(changes: dict[str, Any], stopped: int) -> None:
    arrays = Arrays({**BY_STEP, **changes})
    for index, loss in enumerate((1, 2, 3, 9)):
        arrays.report(arrays.attempt(index), loss, loss, loss)
    assert arrays.compare() == stopped


def test_without_a_step_metric_members_are_compared_by_training_time() -> None:
    arrays = Arrays(BY_TIME)
    for index, loss in enumerate((1, 1, 1, 9)):
        arrays.report(arrays.attempt(index), *[loss] * 4)
    assert arrays.compare() == 0, "240 s are less than minTrainingSeconds"
    arrays.world.now_s += 60
    for index, loss in enumerate((1, 1, 1, 9)):
        arrays.report(arrays.attempt(index), loss)
    assert arrays.compare() == 1
    assert "at 300 s of training is 1" in get_job(arrays.world.table, "sweep_3").reason.message


def test_a_metric_without_a_step_at_its_time_is_left_out() -> None:
    arrays = Arrays()
    for index, loss in enumerate((1, 2, 3)):
        arrays.report(arrays.attempt(index), loss, loss, loss)
    for minute in range(3):
        arrays.metrics.put(arrays.attempt(3), "loss", 99, at_s=arrays.world.now_s - 60 * minute)
    assert arrays.compare() == 1, "only the third of those whose steps are known"
    assert arrays.states()[3] == "running"


@pytest.mark.parametrize("metric", ["loss", "epoch"])
def test_a_member_whose_values_are_not_all_known_is_neither_stopped_nor_compared(metric: str) -> None:
    arrays = reported(1, 2, 3, 9)
    arrays.metrics.unknown = {JobMetric(arrays.attempt(3), metric)}
    assert arrays.compare() == 1
    assert arrays.states() == ["running", "running", "stopping", "running"]


def test_members_that_completed_or_were_stopped_early_are_compared_and_others_are_not() -> None:
    arrays = Arrays({**BY_STEP, "minMembers": 3})
    ended = {}
    for index, loss in enumerate((1, 2, 3, 9)):
        ended[index] = arrays.attempt(index)
        arrays.report(ended[index], loss, loss, loss)
    arrays.world.commands.stop("sweep_0", ROOT, "")
    arrays.finish()
    assert arrays.compare() == 0, "a member that a user has stopped is not compared"
    arrays = reported(1, 2, 3, 9)
    arrays.compare()
    arrays.finish()
    assert arrays.states() == ["running", "running", "stopped", "stopped"]
    arrays.metrics.asked.clear()
    arrays.compare()
    assert {each.training_job for each in arrays.metrics.asked[0]} >= set(ended.values())


def test_a_member_that_was_preempted_is_compared_by_the_values_of_all_its_attempts() -> None:
    arrays = Arrays()
    first = arrays.attempt(0)
    for index in (1, 2, 3):
        arrays.report(arrays.attempt(index), 5, 5, 5)
    arrays.report(first, 9, 1, 9)
    arrays.world.submit("urgent", 99)
    arrays.finish()
    assert arrays.states()[0] == "preempted"
    arrays.finish(2000)
    second = arrays.attempt(0)
    assert second != first
    arrays.report(second, 9, 9, first=3)
    assert arrays.compare() == 0, "its best value is of the first attempt"
    arrays.report(second, 9, first=2, since_s=arrays.world.now_s - 180)
    assert arrays.compare() == 1, "the second attempt repeats the epoch of that value"


def test_the_values_of_an_array_of_that_name_before_are_not_compared() -> None:
    arrays = reported(1, 1, 1, 9)
    array = get_job(arrays.world.table, "sweep")
    assert compared.ended_members(array, [result(0, array.accepted_time - 1)]) == []
    assert len(compared.ended_members(array, [result(0, array.accepted_time)])) == 1


def result(index: int, accepted_ms: int, **changes: Any) -> MemberResultRecord:
    members = {"job_state": JobState.COMPLETED, "attempt_name": attempt_name(f"sweep_{index}", 2), **changes}
    return MemberResultRecord(array="sweep", index=index, accepted_ms=accepted_ms, expires_at=0, **members)


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"job_state": JobState.FAILED}, 0),
        ({"job_state": JobState.STOPPED}, 0),
        ({"job_state": JobState.STOPPED, "stopped_early": True}, 1),
        ({"attempt_name": None}, 0),
    ],
    ids=str,
)
def test_only_members_that_trained_well_or_were_stopped_early_are_compared(changes: dict[str, Any], count: int) -> None:
    array = get_job(Arrays().world.table, "sweep")
    assert len(compared.ended_members(array, [result(0, array.accepted_time, **changes)])) == count


def test_nothing_is_asked_with_too_few_members() -> None:
    arrays = Arrays(size=2)
    assert arrays.compare() == 0, "two members train, and minMembers is 2"
    assert arrays.metrics.asked == []


def test_nothing_is_read_as_long_as_no_member_trains() -> None:
    arrays = Arrays(trains=False)
    ledger = read_ledger(arrays.world.table)
    with mock.patch.object(arrays.world, "table", None):
        assert arrays.stopper().run(ledger) == 0


def test_values_are_not_compared_when_cloudwatch_has_dropped_those_of_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = reported(1, 2, 3, 9)
    arrays.world.now_s += 600
    monkeypatch.setattr(stopper, "MAX_AGE_MS", 300_000)
    assert arrays.compare() == 0
    monkeypatch.setattr(stopper, "MAX_AGE_MS", 1_200_000)
    assert arrays.compare() == 2


STEPS = EarlyStopping.parse(BY_STEP)
TWO_ATTEMPTS = ComparedMember(attempts=("a", "b"), trained_ms=0)


def series(**values: tuple[tuple[int, float], ...]) -> dict[JobMetric, Series]:
    return {JobMetric(*name.split("_")): each for name, each in values.items()}


def test_a_value_counts_at_the_step_of_the_same_time() -> None:
    found = series(
        a_loss=((60, 9.0), (120, 8.0)), a_epoch=((120, 1.0),), b_loss=((300, 7.0),), b_epoch=((300, 2.0), (360, 3.0))
    )
    assert compared.curve(TWO_ATTEMPTS, STEPS, found, 60) == Curve((1.0, 2.0), (8.0, 7.0))


@pytest.mark.parametrize("unknown", ["a_loss", "a_epoch", "b_loss", "b_epoch"])
def test_a_member_with_a_metric_that_is_not_known_has_no_curve(unknown: str) -> None:
    known = {"a_loss": ((60, 9.0),), "a_epoch": ((60, 1.0),), "b_loss": ((300, 7.0),), "b_epoch": ((300, 2.0),)}
    del known[unknown]
    assert compared.curve(TWO_ATTEMPTS, STEPS, series(**known), 60) is None


def test_waits_between_attempts_are_no_training_time() -> None:
    found = series(a_loss=((60, 9.0), (180, 8.0)), b_loss=((6000, 7.0), (6060, 6.0)))
    by_time = compared.curve(TWO_ATTEMPTS, EarlyStopping.parse(BY_TIME), found, 60)
    assert by_time == Curve((60.0, 180.0, 240.0, 300.0), (9.0, 8.0, 7.0, 6.0))


def test_a_member_that_does_not_train_yet_or_is_being_stopped_is_not_compared() -> None:
    arrays = Arrays()
    attempts = read_ledger(arrays.world.table).attempts
    starting = replace_training(attempts, 0, training_since_ms=None)
    stopping = replace_training(attempts, 1, attempt_state=AttemptState.STOPPING)
    for changed in (starting, stopping):
        assert len(compared.running_members("sweep", changed, 0)) == 3
    assert len(compared.running_members("sweep", attempts, 0)) == 4


def replace_training(attempts: Sequence[AttemptRecord], at: int, **changes: Any) -> list[AttemptRecord]:
    return [each.model_copy(update=changes) if index == at else each for index, each in enumerate(attempts)]


def test_the_metric_of_training_time_alone_has_to_be_defined() -> None:
    arrays = Arrays()
    algorithm = request("a")["AlgorithmSpecification"] | {"MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.*)"}]}
    arrays.submit("other", BY_TIME, AlgorithmSpecification=algorithm)
    assert get_job(arrays.world.table, "other").array is not None


def test_nothing_is_compared_while_cloudwatch_does_not_answer() -> None:
    arrays = reported(1, 2, 3, 9)
    arrays.metrics.fails = True
    assert arrays.compare() == 0
    arrays.metrics.fails = False
    assert arrays.compare() == 2


def test_an_array_that_cannot_be_compared_does_not_keep_others_from_it() -> None:
    arrays = Arrays(size=8)
    arrays.submit("other", BY_STEP)
    arrays.world.tick()
    arrays.world.pass_time(400)
    for name in ("sweep", "other"):
        for index, loss in enumerate((1, 1, 1, 9)):
            arrays.report(arrays.attempt(index, name), loss, loss, loss)
    found = EarlyStopper._stop

    def fail(self: EarlyStopper, member: str, *more: Any) -> bool:
        if member.startswith("other"):
            raise Conflict([0])
        return found(self, member, *more)

    with mock.patch.object(EarlyStopper, "_stop", fail):
        assert arrays.compare() == 1
    assert arrays.compare() == 1, "the next run compares the other one"


def test_an_array_whose_metrics_cloudwatch_refuses_does_not_keep_others_from_being_compared() -> None:
    arrays = Arrays(size=8)
    # It is compared first.
    arrays.submit("another", {**BY_STEP, "metric": "perte"})
    arrays.world.tick()
    arrays.world.pass_time(400)
    for index, loss in enumerate((1, 1, 1, 9)):
        arrays.report(arrays.attempt(index), loss, loss, loss)
    read = arrays.metrics.read

    def refusing(metrics: Sequence[JobMetric], **more: Any) -> Mapping[JobMetric, Series]:
        if any(each.metric == "perte" for each in metrics):
            raise MetricsRefused("ValidationError")
        return read(metrics, **more)

    with mock.patch.object(arrays.metrics, "read", refusing):
        assert arrays.compare() == 1


def test_a_member_that_has_ended_meanwhile_is_left_alone() -> None:
    arrays = reported(1, 1, 1, 9)
    ledger = read_ledger(arrays.world.table)
    arrays.world.commands.stop("sweep_3", ROOT, "")
    arrays.finish()
    assert arrays.stopper().run(ledger) == 0


def test_a_member_that_a_user_stops_is_left_alone() -> None:
    arrays = reported(1, 1, 1, 9)
    ledger = read_ledger(arrays.world.table)
    arrays.world.commands.stop("sweep_3", ROOT, "a typo")
    assert arrays.stopper().run(ledger) == 0
    attempt = find_attempt(arrays.world.table, arrays.attempt(3))
    assert attempt is not None
    assert (attempt.stop_reason, attempt.stops_early) == ("a typo", False)


@pytest.mark.parametrize("gone", [["sweep_2"], ["sweep_2", "sweep"]], ids=["a member", "a member and its array"])
def test_a_member_that_the_table_does_not_have_keeps_no_other_one_from_being_compared(gone: list[str]) -> None:
    arrays = reported(1, 2, 3, 9)
    ledger, seen = read_ledger(arrays.world.table), [get_job(arrays.world.table, "sweep")]
    for name in gone:
        arrays.world.table.write([Delete(key=JobRecord.key(name))])
    with mock.patch.object(stopper, "find_job", lambda table, name: seen.pop() if seen else find_job(table, name)):
        assert arrays.stopper().run(ledger) == 1
    assert get_job(arrays.world.table, "sweep_3").job_state is JobState.STOPPING


def test_the_members_of_an_array_that_stops_are_left_alone() -> None:
    arrays = reported(1, 1, 1, 9)
    arrays.world.commands.stop("sweep", ROOT, "")
    assert arrays.compare() == 0


def test_of_many_arrays_each_is_compared_in_some_run(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = Arrays(size=12)
    for name in ("other", "third"):
        arrays.submit(name, BY_STEP)
    arrays.world.tick()
    arrays.world.pass_time(400)
    monkeypatch.setattr(stopper, "MAX_ARRAYS", 2)
    seen = []
    for _ in range(3):
        arrays.metrics.asked.clear()
        arrays.world.now_s += 60
        arrays.compare()
        seen.append({each.training_job.partition("-")[0] for asked in arrays.metrics.asked for each in asked})
    assert [len(each) for each in seen] == [2, 2, 2]
    assert set.union(*seen) == {"sweep", "other", "third"}


def test_as_many_metrics_are_read_as_one_call_takes() -> None:
    settings = EarlyStopping.parse(BY_STEP)
    many = [ComparedMember(attempts=tuple(f"{index}-{n}" for n in range(3)), trained_ms=0) for index in range(100)]
    kept = compared.fitting(many, settings)
    assert len(compared.metrics_of(kept, settings)) == 498
    assert kept == many[:83]
    assert len(compared.fitting(many, EarlyStopping.parse(BY_TIME))) == 100
    assert len(compared.fitting([replace(many[0], attempts=("a",))] * 200, settings)) == 100


def test_only_the_last_attempts_of_a_member_are_read() -> None:
    array = get_job(Arrays().world.table, "sweep")
    (member,) = compared.ended_members(
        array, [result(1, array.accepted_time, attempt_name=attempt_name("sweep_1", 12))]
    )
    assert [each.rpartition("-")[2] for each in member.attempts] == ["8", "9", "10", "11", "12"]


@pytest.mark.parametrize("attempt", ["other", "other-12", attempt_name("other", 3), attempt_name("sweep_2", 2)])
def test_a_member_that_another_job_has_answered_is_compared_by_the_values_of_that(attempt: str) -> None:
    array = get_job(Arrays().world.table, "sweep")
    answered = result(1, array.accepted_time, attempt_name=attempt, ended_ms=array.accepted_time)
    assert compared.ended_members(array, [answered]) == [ComparedMember(attempts=(attempt,), trained_ms=0)]


@pytest.mark.parametrize(("trained_s", "period_s"), [(0, 60), (12_000, 60), (12_001, 120), (86_400, 480)])
def test_longer_trainings_have_longer_periods(trained_s: int, period_s: int) -> None:
    assert compared.period_s([ComparedMember(attempts=("a",), trained_ms=trained_s * 1000)]) == period_s


def test_the_results_of_the_last_members_are_read() -> None:
    arrays = Arrays(size=2, document={"grid": {"lr": list(range(150))}}, Environment={"SANDBOX_RUN_SECONDS": "60"})
    array = get_job(arrays.world.table, "sweep")
    assert array.members is not None
    for index in range(120):
        arrays.world.table.write([result(index, array.accepted_time).put()])
    for made, first in ((100, 0), (101, 1), (120, 20)):
        members = array.members.model_copy(update={"next_index": made})
        found = arrays.stopper()._results(array.model_copy(update={"members": members}))
        assert found[0].index == first
        assert len(found) == 100


@pytest.mark.parametrize(
    ("early_stopping", "changes", "field", "message"),
    [
        ("loss", {}, "earlyStopping", "has to be an object"),
        ({**BY_STEP, "goal": "best"}, {}, "earlyStopping.goal", "write minimize or maximize"),
        (
            BY_STEP,
            {"metrics": ["loss", "accuracy"]},
            "earlyStopping.stepMetric",
            "MetricDefinitions has accuracy, loss",
        ),
        (BY_STEP, {"metrics": ["epoch"]}, "earlyStopping.metric", "is 'loss'; MetricDefinitions has epoch"),
        (BY_STEP, {"document": None}, "earlyStopping", "is for arrays: add a sweep"),
    ],
)
def test_early_stopping_that_cannot_work_is_refused(
    early_stopping: Any, changes: dict[str, Any], field: str, message: str
) -> None:
    arrays = Arrays()
    changes = dict(changes)
    if metrics := changes.pop("metrics", None):
        changes["AlgorithmSpecification"] = {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/t:1",
            "TrainingInputMode": "File",
            "MetricDefinitions": [{"Name": name, "Regex": f"{name}=(.*)"} for name in metrics],
        }
    with pytest.raises(InvalidRequest) as caught:
        arrays.submit("refused", early_stopping, **changes)
    assert [each.field for each in caught.value.fields] == [field]
    assert message in caught.value.fields[0].message


def test_the_same_submission_with_another_early_stopping_is_another_one() -> None:
    arrays = Arrays()
    arrays.submit("sweep", BY_STEP)
    with pytest.raises(NameInUse):
        arrays.submit("sweep", BY_TIME)
    with pytest.raises(NameInUse):
        arrays.submit("sweep")
