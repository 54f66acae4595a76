from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from headway_client.cli.exit_codes import exit_code_of
from headway_client.errors import (
    ClientError,
    ConflictError,
    JobFailedError,
    JobNotFoundError,
    JobStoppedError,
    NotAllowedError,
    NoTrainingJobError,
    ServerFaultError,
    UsageError,
    WaitTimeoutError,
)
from headway_client.http.api import HeadwayApi
from headway_client.http.outage import MAX_OUTAGE_S
from headway_client.sagemaker_sdk.queued_job import POLL_S, QueuedJob
from tests.client.fakes.server import ContractServer, Fault

# The message for a missing SDK can only be tested without an SDK, as in the environment of the quick tests.
without_sdks = pytest.mark.skipif(importlib.util.find_spec("sagemaker") is not None, reason="an SDK is installed here")


class Time:
    """A clock that advances in pauses only; each pause applies the next change."""

    def __init__(self, happenings: Iterable[Callable[[], object]] = ()) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []
        self.happenings = iter(happenings)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        next(self.happenings, lambda: None)()


@pytest.fixture
def job(server: ContractServer) -> dict[str, Any]:
    return server.queue.add("job1")


def queued(api: HeadwayApi, time: Time | None = None, name: str = "job1") -> QueuedJob:
    time = time or Time()
    return QueuedJob(api, name, pause=time.pause, clock=lambda: time.now)


def become(job: dict[str, Any], state: str, message: str = "for a reason", **changes: Any) -> Callable[[], object]:
    return lambda: job.update(jobState=state, reason={"code": "SomeReason", "message": message}, **changes)


ATTEMPT = {
    "attemptName": "job1",
    "number": 1,
    "attemptState": "ended",
    "trainingJobStatus": "Failed",
    "secondaryStatus": "Failed",
    "startedTime": "2026-01-02T03:04:05.678Z",
    "endedTime": "2026-01-02T03:14:05.678Z",
    "failureReason": "AlgorithmError: exit code 1",
    "reason": None,
}

# ---------------------------------------------------------------------------------------------------------------- wait


def test_a_wait_ends_with_the_job_and_polls_at_the_given_interval(
    api: HeadwayApi, server: ContractServer, job: dict[str, Any]
):
    time = Time([become(job, "running"), lambda: None, become(job, "completed")])

    details = queued(api, time).wait(tell=None)

    assert details.job.state == "completed"
    assert time.pauses == [POLL_S] * 3
    assert len(server.received) == 4


@pytest.mark.parametrize("wait", [QueuedJob.wait, QueuedJob.result])
@pytest.mark.parametrize("is_told", [True, False])
def test_an_interrupted_wait_says_that_the_job_goes_on_and_how_to_wait_again_and_to_stop_it(
    api: HeadwayApi, job: dict[str, Any], wait: Callable[..., Any], is_told: bool
):
    def interrupt() -> None:
        raise KeyboardInterrupt

    told: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        wait(queued(api, Time([interrupt])), tell=told.append if is_told else None)

    assert (
        told[1:]
        == [
            "job1 stays in the queue; `headway wait job1` waits again, `headway stop job1` stops it",
        ][: int(is_told)]
    )


@pytest.mark.parametrize("state", ["completed", "failed", "stopped"])
def test_a_job_that_has_ended_is_not_waited_for(api: HeadwayApi, job: dict[str, Any], state: str):
    become(job, state)()
    time = Time()

    assert queued(api, time).wait().job.state == state
    assert time.pauses == []


def test_each_change_of_state_or_place_is_reported_once(
    api: HeadwayApi, server: ContractServer, capsys: pytest.CaptureFixture[str]
):
    first, second = server.queue.add("first"), server.queue.add("job1")
    time = Time(
        [
            lambda: None,
            become(second, "pending", "waits longer"),
            become(first, "completed"),
            become(second, "running", "started on 1 ml.p5.48xlarge", liveAttempt="job1"),
            become(second, "preempted", "was preempted for `gpt`", liveAttempt=None),
            become(second, "completed"),
        ]
    )

    queued(api, time).wait()

    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert "place 2 in the queue" in lines[0]
    assert "place 1 in the queue" in next(line for line in lines if "place 2" not in line)
    assert any("started on 1 ml.p5.48xlarge" in line for line in lines)
    assert any("was preempted for `gpt`" in line for line in lines)
    assert all(line.startswith("headway: job1 ") for line in lines)
    assert len(lines) == len(set(lines))


def test_notifications_can_be_captured_or_suppressed(
    api: HeadwayApi, job: dict[str, Any], capsys: pytest.CaptureFixture[str]
):
    told: list[str] = []

    queued(api, Time([become(job, "completed")])).wait(tell=told.append)
    queued(api).wait(tell=None)

    assert len(told) == 2
    assert capsys.readouterr() == ("", "")


def test_text_of_other_users_reaches_the_terminal_escaped(
    api: HeadwayApi, job: dict[str, Any], capsys: pytest.CaptureFixture[str]
):
    become(job, "stopped", "by \x1b[2Jeve")()

    queued(api).wait()

    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("timeout", "pauses"),
    [
        pytest.param(0, [], id="one-look"),
        pytest.param(3, [3], id="less-than-a-pause"),
        pytest.param(12, [5, 5, 2], id="several-looks"),
    ],
)
def test_a_timeout_has_the_current_state_of_the_job(
    api: HeadwayApi, job: dict[str, Any], timeout: float, pauses: list[float]
):
    time = Time()

    details = queued(api, time).wait(timeout, tell=None)

    assert details.job.state == "pending"
    assert time.pauses == pauses


def test_a_wait_survives_outages_and_reports_each_once(api: HeadwayApi, server: ContractServer, job: dict[str, Any]):
    told: list[str] = []
    fail = partial(server.fail, Fault(status=500))
    time = Time([fail, fail, lambda: None, fail, become(job, "completed")])

    assert queued(api, time).wait(tell=told.append).job.state == "completed"
    assert sum("does not respond; retrying" in sentence for sentence in told) == 2


def test_a_long_outage_ends_the_wait(api: HeadwayApi, server: ContractServer, job: dict[str, Any]):
    time = Time()
    time.happenings = iter(lambda: lambda: server.fail(Fault(status=500)), None)

    with pytest.raises(ServerFaultError):
        queued(api, time).wait(poll_s=MAX_OUTAGE_S / 3, tell=None)
    # The outage begins at the call after the first pause.
    assert len(time.pauses) == 5


@pytest.mark.parametrize(
    ("responded", "timeout", "pauses"),
    [
        pytest.param(False, None, None, id="the-endpoint-may-be-wrong"),
        pytest.param(True, None, [5], id="the-queue-has-responded-before"),
        pytest.param(True, 3, [3], id="within-the-timeout"),
        pytest.param(True, 0, None, id="requested-once"),
    ],
)
def test_an_error_of_the_first_request_is_tolerated_from_a_queue_that_has_responded(
    api: HeadwayApi,
    server: ContractServer,
    job: dict[str, Any],
    responded: bool,
    timeout: float | None,
    pauses: list[float] | None,
):
    time = Time([become(job, "completed")])
    server.fail(Fault(status=500))
    wait = partial(queued(api, time).follow, timeout, tell=None, responded=responded)

    if pauses is None:
        with pytest.raises(ServerFaultError):
            wait()
    else:
        assert wait().job.state == "completed"
    assert time.pauses == (pauses or [])


def test_a_timeout_without_any_response_raises_the_error(api: HeadwayApi, server: ContractServer, job: dict[str, Any]):
    time = Time()
    time.happenings = iter(lambda: lambda: server.fail(Fault(status=500)), None)
    server.fail(Fault(status=500))

    with pytest.raises(ServerFaultError):
        queued(api, time).follow(12, tell=None, responded=True)
    assert time.pauses == [5, 5, 2]


@pytest.mark.parametrize(
    ("fault", "error"), [(Fault(status=500), ServerFaultError), (Fault(status=403), NotAllowedError)]
)
def test_a_queue_without_a_response_at_the_start_is_an_error(
    api: HeadwayApi, server: ContractServer, job: dict[str, Any], fault: Fault, error: type[ClientError]
):
    server.fail(fault)
    time = Time()

    with pytest.raises(error):
        queued(api, time).wait()
    assert time.pauses == []


def test_expired_credentials_end_the_wait(api: HeadwayApi, server: ContractServer, job: dict[str, Any]):
    with pytest.raises(NotAllowedError):
        queued(api, Time([lambda: server.fail(Fault(status=403))])).wait(tell=None)


# -------------------------------------------------------------------------------------------------------------- result


def test_the_result_of_a_completed_job_has_all_its_details(api: HeadwayApi, job: dict[str, Any]):
    time = Time([become(job, "completed", attempts=[{**ATTEMPT, "trainingJobStatus": "Completed"}])])

    details = queued(api, time).result(timeout=100, tell=None)

    assert details.attempts[0].status == "Completed"
    assert details.request["TrainingJobName"] == "job1"


@pytest.mark.parametrize(
    ("state", "attempts", "error", "told"),
    [
        pytest.param(
            "failed",
            [ATTEMPT],
            JobFailedError,
            "job1 has failed: for a reason (AlgorithmError: exit code 1)",
            id="a-training-job-that-failed",
        ),
        pytest.param("failed", [], JobFailedError, "job1 has failed: for a reason", id="refused-by-sagemaker"),
        pytest.param(
            "failed",
            [{**ATTEMPT, "failureReason": "for a reason"}],
            JobFailedError,
            "job1 has failed: for a reason",
            id="a-reason-that-says-it-all",
        ),
        pytest.param("stopped", [], JobStoppedError, "job1 was stopped: for a reason", id="stopped"),
    ],
)
def test_a_job_that_did_not_complete_raises_its_reason(
    api: HeadwayApi, job: dict[str, Any], state: str, attempts: list[Any], error: type[ClientError], told: str
):
    become(job, state, attempts=attempts)()

    with pytest.raises(error) as caught:
        queued(api).result(tell=None)

    assert str(caught.value) == told
    assert (caught.value.code, exit_code_of(caught.value)) == ("SomeReason", 8)
    # The same as in AWS Batch's client.
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("state", ["pending", "preempted", "running", "stopping"])
def test_a_late_result_is_a_timeout(api: HeadwayApi, job: dict[str, Any], state: str):
    become(job, state)()

    with pytest.raises(WaitTimeoutError, match=r"had not ended after 0\.5 s, and continues") as caught:
        queued(api).result(timeout=0.5, tell=None)
    assert isinstance(caught.value, TimeoutError)


# --------------------------------------------------------------------------------------------------- terminate, update


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ("pending", "stopped"),
        ("preempted", "stopped"),
        ("running", "stopping"),
        ("stopping", "stopping"),
        ("stopped", "stopped"),
        ("completed", "completed"),
        ("failed", "failed"),
    ],
)
def test_a_job_is_terminated_in_each_state(
    api: HeadwayApi, job: dict[str, Any], state: str, after: str, caplog: pytest.LogCaptureFixture
):
    become(job, state)()
    caplog.set_level("INFO", logger="headway_client")

    assert queued(api).terminate("no longer needed").state == after

    assert "Stopping job1: no longer needed" in caplog.text
    assert job["jobState"] == after


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("no longer needed", "stopped by its owner: no longer needed"),
        (" two\nlines\u202e ", "stopped by its owner: two lines\\u202e"),
        ("x" * 300, "stopped by its owner: " + "x" * 256),
        ("", "Stopped by its owner."),
        (None, "Stopped by its owner."),
    ],
    ids=["a line", "two lines", "a long line", "empty", "none"],
)
def test_any_reason_is_stored_as_the_queue_takes_it(
    api: HeadwayApi, job: dict[str, Any], given: str | None, stored: str
):
    queued(api).terminate(given)

    assert job["reason"]["message"] == stored


def test_terminating_an_unknown_job_is_an_error(api: HeadwayApi):
    with pytest.raises(JobNotFoundError):
        queued(api).terminate()


def test_a_conflict_that_is_not_the_jobs_end_is_not_swallowed(
    api: HeadwayApi, server: ContractServer, job: dict[str, Any]
):
    server.fail(Fault(status=409, body=b'{"error": {"code": "Odd", "message": "Not now.", "fields": []}}'))

    with pytest.raises(ConflictError, match=r"Not now\."):
        queued(api).terminate()


@pytest.mark.parametrize("priority", [0, 9])
def test_a_priority_is_updated(api: HeadwayApi, job: dict[str, Any], priority: int):
    assert queued(api).update(priority).priority == priority
    assert job["priority"] == priority


def test_the_priority_of_an_ended_job_stays(api: HeadwayApi, job: dict[str, Any]):
    become(job, "completed")()

    with pytest.raises(ConflictError, match="has ended already"):
        queued(api).update(5)


# ------------------------------------------------------------------------------------- get_estimator, get_model_trainer

ATTACH = [("get_estimator", "2"), ("get_model_trainer", "3")]


@pytest.mark.parametrize(("method", "version"), ATTACH)
def test_a_job_without_a_training_job_can_not_be_attached(
    api: HeadwayApi, job: dict[str, Any], method: str, version: str
):
    with pytest.raises(NoTrainingJobError, match=r"it is pending: Waits for 1 ml\.p5\.48xlarge"):
        getattr(queued(api), method)()


@without_sdks
@pytest.mark.parametrize(("method", "version"), ATTACH)
def test_a_missing_sdk_is_reported_with_the_command_to_install_it(
    api: HeadwayApi, job: dict[str, Any], method: str, version: str
):
    become(job, "completed", attempts=[ATTEMPT])()

    with pytest.raises(UsageError, match=rf"pip install .*\[sdk{version}\]'"):
        getattr(queued(api), method)()
