"""Watching running jobs: the alarms follow the attempts, and what fires is acted on with care."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from mypy_boto3_cloudwatch import CloudWatchClient
from mypy_boto3_cloudwatch.literals import StateValueType

from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.errors import OutcomeUnknown, RetryLater
from headway_service.monitoring import utilization_monitor
from headway_service.monitoring.utilization_monitor import MonitorReport, UtilizationMonitor
from headway_service.ports.table import Key, Put, Table
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.repository import MAX_TRIES, find_attempt
from tests.service.world import P5, ROOT, World, on

PREFIX = "headway-watch/"
#: Provisioning and download take less, so that it trains then.
UNTIL_IT_TRAINS_S = 600
#: Warm-up, window and evaluation of the default watch.
UNTIL_IT_IS_WARM_S = 1800 + 900 + 60
LONG = {"SANDBOX_RUN_SECONDS": "86400"}


class Watched:
    """A world whose running jobs are watched."""

    def __init__(self, client: CloudWatchClient, **document: Any) -> None:
        self.client = client
        self.world = World()
        self.configure(**document)
        self.alarms = CloudWatchAlarms(client, PREFIX, "arn:aws:sns:eu-west-1:123456789012:headway-watch")
        self.monitor = UtilizationMonitor(
            table=self.world.table,
            alarms=self.alarms,
            training_jobs=lambda: self.world.training_jobs,
            configuration=self.world.configured,
            clocks=self.world.clocks,
            wake=self.world.wakes.append,
        )

    def watch(self) -> MonitorReport:
        """Run the monitor."""
        return self.monitor.run(read_ledger(self.world.table))

    def configure(self, **document: Any) -> None:
        self.world.configuration.write({"pools": {P5: {"size": 4}, "ml.trn1.32xlarge": {"size": 1}}, **document})

    def train(self, name: str, priority: int | None = None, **changes: Any) -> str:
        """Submit a job and wait until it trains. Returns the name of its attempt."""
        self.world.submit(name, priority, **{"Environment": LONG, **changes})
        self.world.tick()
        self.world.pass_time(UNTIL_IT_TRAINS_S)
        return self.attempt(name)

    def attempt(self, name: str) -> str:
        attempt = self.world.seen(name).job.live_attempt
        assert attempt is not None
        return attempt

    def names(self) -> list[str]:
        """The alarms, without their prefix."""
        return sorted(each.name.removeprefix(PREFIX) for each in self.alarms.seen())

    def say(self, attempt: str, state: StateValueType, *numbers: int, watch: str = "idle") -> None:
        """Alarms take on a state."""
        for number in numbers or (1,):
            name = f"{PREFIX}{attempt}/{watch}/{number}"
            self.client.set_alarm_state(AlarmName=name, StateValue=state, StateReason="a test says so")

    def history(self, name: str) -> list[str]:
        return [str(step.reason.code) for step in self.world.seen(name).job.history]


def idle(client: CloudWatchClient) -> tuple[Watched, str]:
    """A job that is reported as idle after its warm-up, and its attempt."""
    queue = Watched(client)
    attempt = queue.train("a")
    queue.watch()
    queue.world.pass_time(UNTIL_IT_IS_WARM_S)
    queue.say(attempt, "ALARM")
    return queue, attempt


@pytest.fixture
def client() -> Iterator[CloudWatchClient]:
    with mock_aws():
        yield boto3.client("cloudwatch", region_name="eu-west-1")


def test_an_attempt_has_an_alarm_for_each_host_while_it_trains_and_none_after(client: CloudWatchClient) -> None:
    queue = Watched(client)
    queue.world.submit("a", ResourceConfig=on(2), Environment={"SANDBOX_RUN_SECONDS": "3600"})
    queue.world.tick()
    queue.watch()
    assert queue.names() == [], "it does not train yet"
    queue.world.pass_time(UNTIL_IT_TRAINS_S)
    assert queue.watch().made == 2
    attempt = queue.attempt("a")
    assert queue.names() == [f"{attempt}/idle/1", f"{attempt}/idle/2"]
    assert queue.watch().made == 0
    queue.world.pass_time(7200)
    assert queue.watch().removed == 2
    assert queue.names() == []


class Asked:
    """SageMaker, of which only the status of a training job is asked."""

    def __init__(self, world: World, secondary_status: str | None) -> None:
        self._world = world
        self._secondary_status = secondary_status
        self.questions = 0

    def describe(self, name: str) -> TrainingJobStatus | None:
        self.questions += 1
        if self._secondary_status is None:
            return None
        now_ms = self._world.clock()
        return TrainingJobStatus(
            attempt=name,
            status="InProgress",
            secondary_status=self._secondary_status,
            modified_ms=now_ms,
            training_since_ms=now_ms if self._secondary_status == "Training" else None,
        )


@pytest.mark.parametrize(("said", "stops"), [("Training", True), ("Uploading", False), (None, False)])
def test_an_idle_job_is_stopped_only_if_sagemaker_says_that_it_still_trains(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch, said: str | None, stops: bool
) -> None:
    """While it uploads, its instances are idle, and its record does not say that it uploads."""
    queue, _ = idle(client)
    asked = Asked(queue.world, said)
    monkeypatch.setattr(queue.world, "training_jobs", asked)
    assert len(queue.watch().measures) == stops
    assert asked.questions == 1
    assert ("Underused" in queue.history("a")) is stops


def test_an_idle_job_of_which_sagemaker_does_not_answer_is_checked_in_the_next_run(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, _ = idle(client)
    jobs, answers = queue.world.training_jobs, iter([OutcomeUnknown("no answer")])

    def describe(name: str) -> TrainingJobStatus | None:
        if (error := next(answers, None)) is not None:
            raise error
        return whole(name)

    whole = jobs.describe
    monkeypatch.setattr(jobs, "describe", describe)
    assert [len(queue.watch().measures) for _ in range(2)] == [0, 1]


def test_a_job_that_becomes_idle_late_is_stopped(client: CloudWatchClient) -> None:
    queue = Watched(client)
    attempt = queue.train("a")
    queue.watch()
    queue.world.pass_time(40_000)
    queue.say(attempt, "ALARM")
    assert queue.monitor.on_alarm(f"{PREFIX}{attempt}/idle/1")
    assert queue.world.wakes[-1] == f"{attempt} is to stop"
    queue.world.tick()
    assert queue.world.called("StopTrainingJob") == [attempt]
    queue.world.pass_time(600)
    seen = queue.world.seen("a")
    assert (seen.job.job_state, seen.reason.code) == ("stopped", "StoppedByPolicy")
    assert seen.reason.message == (
        "stopped, as its utilization was low (watch `idle`: GPUUtilization was below 1 % of what its hosts could show, "
        "3 times 5 min in a row)"
    )
    queue.world.check()


def test_the_next_run_processes_missed_and_early_alarms(client: CloudWatchClient) -> None:
    queue = Watched(client)
    attempt = queue.train("a")
    queue.watch()
    queue.say(attempt, "ALARM")
    assert not queue.monitor.on_alarm(f"{PREFIX}{attempt}/idle/1"), "it is still warming up"
    assert len(queue.watch().measures) == 0
    queue.world.pass_time(UNTIL_IT_IS_WARM_S)
    assert len(queue.watch().measures) == 1
    assert queue.world.states("a") == {"a": "stopping"}


@pytest.mark.parametrize("key", [request_key("a"), JobRecord.key("a"), Key("ledger", "attempt#a")], ids=str)
def test_an_attempt_whose_records_cannot_be_read_keeps_no_other_from_being_watched(
    client: CloudWatchClient, key: Key
) -> None:
    queue = Watched(client)
    queue.train("a")
    attempt = queue.train("b")
    queue.watch()
    queue.world.pass_time(UNTIL_IT_IS_WARM_S)
    for each in ("a", attempt):
        queue.say(each, "ALARM")
    item = queue.world.table.get(key)
    assert item is not None
    queue.world.table.write([Put(item={**item, "schemaVersion": 99})])
    assert len(queue.watch().measures) == 1
    assert queue.world.seen("b").job.job_state == "stopping"


@pytest.mark.parametrize("state", ["OK", "INSUFFICIENT_DATA"])
def test_the_state_is_read_again_before_anything_is_stopped(client: CloudWatchClient, state: StateValueType) -> None:
    queue, attempt = idle(client)
    queue.say(attempt, state)
    assert not queue.monitor.on_alarm(f"{PREFIX}{attempt}/idle/1")
    assert queue.world.states("a") == {"a": "running"}


def test_one_busy_or_silent_host_keeps_a_job_running(client: CloudWatchClient) -> None:
    queue = Watched(client)
    attempt = queue.train("a", ResourceConfig=on(3))
    queue.watch()
    queue.world.pass_time(UNTIL_IT_IS_WARM_S)
    queue.say(attempt, "ALARM", 1, 2)
    assert len(queue.watch().measures) == 0
    queue.client.delete_alarms(AlarmNames=[f"{PREFIX}{attempt}/idle/3"])
    assert not queue.monitor.on_alarm(f"{PREFIX}{attempt}/idle/1"), "an alarm that is missing says nothing"
    queue.watch()
    queue.say(attempt, "ALARM", 3)
    assert len(queue.watch().measures) == 1


def test_an_alarm_of_an_earlier_attempt_stops_no_later_one(client: CloudWatchClient) -> None:
    queue = Watched(client)
    first = queue.train("a", 1)
    queue.watch()
    queue.world.pass_time(UNTIL_IT_IS_WARM_S)
    queue.say(first, "ALARM")
    queue.world.submit("urgent", 9, ResourceConfig=on(4))
    queue.world.tick()
    queue.world.pass_time(6000)
    second = queue.attempt("a")
    assert second != first
    assert not queue.monitor.on_alarm(f"{PREFIX}{first}/idle/1")
    assert len(queue.watch().measures) == 0
    assert queue.world.states("a") == {"a": "running"}
    assert queue.names() == [f"{second}/idle/1"]


@pytest.mark.parametrize(
    "name", [f"{PREFIX}nobody/idle/1", f"{PREFIX}", "another-alarm", f"{PREFIX}nobody", f"{PREFIX}a/b/c/d/e"]
)
def test_an_alarm_without_an_attempt_is_ignored(client: CloudWatchClient, name: str) -> None:
    assert not Watched(client).monitor.on_alarm(name)


def test_a_policy_action_is_taken_once_for_repeated_alarms(client: CloudWatchClient) -> None:
    queue = Watched(client, watches={"idle": {"action": "notify"}})
    attempt = queue.train("a")
    queue.watch()
    queue.world.pass_time(UNTIL_IT_IS_WARM_S)
    queue.say(attempt, "ALARM")
    assert queue.monitor.on_alarm(f"{PREFIX}{attempt}/idle/1")
    assert not queue.monitor.on_alarm(f"{PREFIX}{attempt}/idle/1")
    assert len(queue.watch().measures) == 0
    assert queue.history("a").count("Underused") == 1
    assert queue.world.states("a") == {"a": "running"}


def test_a_job_is_requeued_lower_once_and_stopped_the_second_time(client: CloudWatchClient) -> None:
    queue = Watched(client, watches={"idle": {"action": "requeue", "requeuePriority": 2}})
    queue.train("a", 7)
    for state, priority in (("running", 2), ("stopped", 2)):
        attempt = queue.attempt("a")
        queue.watch()
        queue.world.pass_time(UNTIL_IT_IS_WARM_S)
        queue.say(attempt, "ALARM")
        queue.watch()
        queue.world.tick()
        queue.world.pass_time(600)
        queue.world.pass_time(UNTIL_IT_TRAINS_S)
        job = queue.world.seen("a").job
        assert (job.job_state, job.priority) == (state, priority)
    assert "had been requeued for that before" in queue.world.seen("a").reason.message


def test_trainium_has_no_alarm_and_reports_it_unless_it_has_a_separate_watch(client: CloudWatchClient) -> None:
    queue = Watched(client)
    on_trainium = {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}
    attempt = queue.train("a", ResourceConfig=on_trainium)
    assert queue.watch().missing == 0
    assert queue.names() == []
    (covered,) = queue.world.queries.show("a", ROOT)[3]
    assert "does not watch ml.trn1.32xlarge, which has no GPU" in covered.note
    own = {"metric": "neuroncore_utilization", "namespace": "Neuron", "fullScale": 100, "instanceTypes": ["ml.trn*"]}
    queue.configure(watches={"idle": {"instanceTypes": ["ml.p*", "ml.g*"]}, "neuron": own})
    queue.world.tick()
    queue.watch()
    assert queue.names() == [f"{attempt}/neuron/1"]
    assert [(each.watch.name, each.note) for each in queue.world.queries.show("a", ROOT)[3]] == [
        ("idle", ""),
        ("neuron", ""),
    ]


def test_a_changed_policy_changes_existing_alarms(client: CloudWatchClient) -> None:
    queue = Watched(client)
    attempt = queue.train("a")
    queue.watch()
    queue.configure(
        watches={"idle": {"belowPercent": 5}, "low": {"belowPercent": 80, "action": "notify", "periods": 12}}
    )
    queue.world.tick()
    queue.watch()
    queue.watch()
    found = {each.alarm.watch: each.alarm.threshold for each in queue.alarms.seen() if each.alarm}
    assert found == {"idle": 40.0, "low": 640.0}
    queue.configure(watches={"idle": None})
    queue.world.tick()
    queue.watch()
    assert queue.names() == []
    assert queue.world.seen("a").job.live_attempt == attempt


def test_one_run_creates_a_bounded_number_of_alarms_and_the_next_continues(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utilization_monitor, "MAX_PUTS", 3)
    queue = Watched(client)
    queue.train("a", ResourceConfig=on(4))
    first, second = queue.watch(), queue.watch()
    assert [(each.made, each.missing) for each in (first, second)] == [(3, 1), (1, 0)]


def test_alarms_beyond_what_a_queue_may_have_are_counted_as_missing(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utilization_monitor, "MAX_ALARMS", 3)
    queue = Watched(client)
    queue.train("a", ResourceConfig=on(4))
    assert [(each.made, each.missing) for each in (queue.watch(), queue.watch())] == [(3, 1), (0, 1)]


def test_an_alarm_that_cannot_be_created_does_not_block_others(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, _ = idle(client)
    queue.train("b")

    def refuse(_: object) -> None:
        raise RetryLater("CloudWatch cannot answer now")

    monkeypatch.setattr(queue.alarms, "put", refuse)
    report = queue.watch()
    assert (report.made, report.missing, len(report.measures)) == (0, 1, 1)


def refuse_namespace(client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """CloudWatch refuses the namespace ``:custom``. Returns the names of the alarms that it is asked to make."""
    put, asked = client.put_metric_alarm, []

    def refusing(**request: Any) -> Any:
        asked.append(request["AlarmName"].removeprefix(PREFIX))
        if request["Namespace"] == ":custom":
            told: Any = {"Error": {"Code": "ValidationError"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
            raise ClientError(told, "PutMetricAlarm")
        return put(**request)

    monkeypatch.setattr(client, "put_metric_alarm", refusing)
    return asked


REFUSED: dict[str, Any] = {"bad": {"namespace": ":custom", "metric": "x", "fullScale": 100}}


def test_a_watch_that_cloudwatch_refuses_disables_no_other_watch_and_no_early_action(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = refuse_namespace(client, monkeypatch)
    monkeypatch.setattr(utilization_monitor, "MAX_PUTS", 3)
    queue = Watched(client, watches={**REFUSED, "idle": {}})
    first = queue.train("a", ResourceConfig=on(2))
    report = queue.watch()
    assert (report.made, report.missing) == (2, 2)
    assert asked == [f"{first}/bad/1", f"{first}/idle/1", f"{first}/idle/2"], "a watch is tried once in a run"
    second = queue.train("b")
    report = queue.watch()
    assert (report.made, report.missing) == (1, 3)
    assert queue.names() == [f"{first}/idle/1", f"{first}/idle/2", f"{second}/idle/1"]


@pytest.mark.parametrize("limit", ["MAX_PUTS", "MAX_ALARMS"])
def test_refused_alarms_do_not_count_as_made(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    refuse_namespace(client, monkeypatch)
    monkeypatch.setattr(utilization_monitor, limit, 2)
    queue = Watched(client, watches={**REFUSED, "idle": {}})
    attempt = queue.train("a", ResourceConfig=on(3))
    report = queue.watch()
    assert (report.made, report.missing) == (2, 4)
    assert queue.names() == [f"{attempt}/idle/1", f"{attempt}/idle/2"]


@pytest.mark.parametrize("operation", ["put", "delete"])
def test_a_lost_report_of_an_alarm_is_recovered_by_a_run_that_fails_or_dies_later(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    queue = Watched(client)
    attempt, gone = queue.train("a"), queue.train("gone")
    queue.watch()
    queue.world.pass_time(UNTIL_IT_IS_WARM_S)
    queue.world.fleet.finish(gone, now=queue.world.now_s)
    queue.world.pass_time(60)
    queue.say(attempt, "ALARM")
    queue.train("new")

    def die(_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(queue.alarms, operation, die)
    with pytest.raises(TimeoutError):
        queue.watch()
    assert queue.world.states("a") == {"a": "stopping"}


def test_an_attempt_that_ends_meanwhile_is_left_alone(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, attempt = idle(client)
    seen = queue.alarms.seen

    def and_it_ends(attempt_name: str | None = None) -> object:
        found = seen(attempt_name)
        queue.world.fleet.finish(attempt, now=queue.world.now_s)
        queue.world.pass_time(1)
        return found

    monkeypatch.setattr(queue.alarms, "seen", and_it_ends)
    assert not queue.monitor.on_alarm(f"{PREFIX}{attempt}/idle/1")
    assert queue.world.states("a") == {"a": "completed"}
    assert queue.world.table.get(AttemptRecord.key(attempt)) is None
    assert queue.world.table.get(JobRecord.key("a")) is not None


def test_an_attempt_that_its_owner_stops_meanwhile_is_left_alone(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, _ = idle(client)
    seen = queue.alarms.seen

    def and_it_stops(attempt_name: str | None = None) -> object:
        found = seen(attempt_name)
        queue.world.commands.stop("a", ROOT)
        return found

    monkeypatch.setattr(queue.alarms, "seen", and_it_stops)
    assert len(queue.watch().measures) == 0
    queue.world.tick()
    queue.world.pass_time(600)
    assert queue.world.seen("a").reason.message == "stopped by root"


@pytest.mark.parametrize(("changes", "measures"), [(1, 1), (MAX_TRIES - 1, 1), (MAX_TRIES, 0)])
def test_an_attempt_that_the_reconciler_changes_at_the_same_time_is_read_again_a_few_times(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch, changes: int, measures: int
) -> None:
    queue, _ = idle(client)
    left = [changes]

    def and_it_changes(table: Table, name: str) -> AttemptRecord | None:
        found = find_attempt(table, name)
        if found is not None and left[0] > 0:
            left[0] -= 1
            table.write(transitions.touch(found, queue.world.machine_clock()))
        return found

    monkeypatch.setattr(utilization_monitor, "find_attempt", and_it_changes)
    assert len(queue.watch().measures) == measures
    assert len(queue.watch().measures) == 1 - measures, "the next run does what this one could not"
    assert queue.world.states("a") == {"a": "stopping"}


def test_a_stopping_job_that_its_owner_also_stops_ends_at_the_owners_request(client: CloudWatchClient) -> None:
    queue, _ = idle(client)
    queue.watch()
    queue.world.commands.stop("a", ROOT)
    queue.world.tick()
    queue.world.pass_time(600)
    assert queue.world.seen("a").reason.message == "stopped by root"


class Counted:
    """Alarms, and the number of reads of all of them."""

    def __init__(self, queue: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
        self.questions = 0
        self._seen = queue.alarms.seen
        monkeypatch.setattr(queue.alarms, "seen", self._count)

    def _count(self, attempt: str | None = None) -> object:
        self.questions += 1
        return self._seen(attempt)


def test_a_queue_at_rest_reads_alarms_once_an_hour(client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Watched(client)
    counted = Counted(queue, monkeypatch)
    for _ in range(120):
        queue.watch()
        queue.world.pass_time(60)
    assert counted.questions == 2


def test_alarms_are_read_every_minute_while_a_job_trains_and_until_none_is_left(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Watched(client)
    counted = Counted(queue, monkeypatch)
    queue.watch()
    queue.train("a", Environment={"SANDBOX_RUN_SECONDS": "3600"})
    counted.questions = 0
    assert [queue.watch().made for _ in range(3)] == [1, 0, 0]
    queue.world.pass_time(7200)
    assert [queue.watch().removed for _ in range(4)] == [1, 0, 0, 0]
    # Each run with the job, the one that removes its alarm, and the one that finds none.
    assert counted.questions == 3 + 2
    assert queue.names() == []


def test_alarms_are_not_read_for_a_job_without_a_watch(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Watched(client, watches={"idle": None})
    counted = Counted(queue, monkeypatch)
    queue.watch()
    queue.train("a", Environment={"SANDBOX_RUN_SECONDS": "3600"})
    assert [queue.watch().made for _ in range(3)] == [0, 0, 0]
    assert counted.questions == 1


def test_alarms_left_by_another_invocation_are_deleted_within_the_hour(client: CloudWatchClient) -> None:
    queue = Watched(client)
    queue.watch()
    attempt = queue.train("a", Environment={"SANDBOX_RUN_SECONDS": "1800"})
    other = UtilizationMonitor(
        table=queue.world.table,
        alarms=queue.alarms,
        training_jobs=lambda: queue.world.training_jobs,
        configuration=queue.world.configured,
        clocks=queue.world.clocks,
        wake=queue.world.wakes.append,
    )
    other.run(read_ledger(queue.world.table))
    assert queue.names() == [f"{attempt}/idle/1"]
    queue.world.pass_time(utilization_monitor.REST_MS / 1000)
    assert queue.world.states("a") == {"a": "completed"}
    assert queue.watch().removed == 1
    assert queue.names() == []


def test_a_run_interrupted_after_creating_alarms_is_distinguished_from_one_without_alarms(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Watched(client)
    queue.watch()
    queue.train("a", Environment={"SANDBOX_RUN_SECONDS": "1200"})
    with monkeypatch.context() as cut_off:
        cut_off.setattr(utilization_monitor, "MonitorReport", lambda **_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            queue.watch()
    assert len(queue.names()) == 1
    queue.world.pass_time(1500)
    assert queue.world.states("a") == {"a": "completed"}
    assert queue.watch().removed == 1
