from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ParamValidationError, WaiterError
from botocore.stub import Stubber

from headway.errors import HeadwayError
from headway_client.botocore_hooks.handlers import register
from headway_client.botocore_hooks.job_cache import FOREIGN_AGE_S, FOREIGN_S, QueueJobs
from headway_client.botocore_hooks.progress import Progress
from headway_client.errors import BusyError, NotReachableError, ServerFaultError
from headway_client.http.api import HeadwayApi
from tests.client.fakes.aws_stub import AwsStub, training_job
from tests.client.fakes.contract import request
from tests.client.fakes.server import REGION, ContractServer, Fault


def attempt(name: str, number: int, status: str | None, state: str = "live") -> dict[str, Any]:
    return {
        "attemptName": name,
        "number": number,
        "attemptState": state,
        "trainingJobStatus": status,
        "secondaryStatus": status,
        "startedTime": "2026-01-02T03:04:06.000Z",
        "endedTime": None,
        "failureReason": None,
        "reason": None,
    }


def test_create_training_job_goes_to_the_queue_and_not_to_sagemaker(client: Any, aws: AwsStub, server: ContractServer):
    answer = client.create_training_job(**request("job1"))

    assert answer["TrainingJobArn"] == f"arn:aws:sagemaker:{REGION}:123456789012:training-job/job1"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert server.queue.jobs["job1"]["request"] == request("job1")
    assert aws.calls == []


def test_botocores_own_validation_still_comes_first(client: Any, server: ContractServer):
    with pytest.raises(ParamValidationError, match="TrainingJobName"):
        client.create_training_job(RoleArn="x" * 20)
    with pytest.raises(ParamValidationError):
        client.describe_training_job(TrainingJobName=5)
    with pytest.raises(ParamValidationError):
        client.describe_training_job()
    with pytest.raises(ParamValidationError):
        client.stop_training_job()
    assert server.received == []


def test_a_refusal_is_a_client_error_with_every_field(client: Any):
    with pytest.raises(ClientError) as caught:
        client.create_training_job(**request("x" * 70))

    assert caught.value.response["Error"]["Code"] == "ValidationException"
    assert caught.value.response["ResponseMetadata"]["RequestId"] == "req-1"
    assert "TrainingJobName: has 70 characters" in str(caught.value)


@pytest.mark.parametrize("role", ["training", "other"])
def test_a_repeated_name_is_in_use_as_in_sagemaker(client: Any, role: str):
    client.create_training_job(**request("job1"))

    with pytest.raises(client.exceptions.ResourceInUse, match="job1"):
        client.create_training_job(**request("job1", RoleArn=f"arn:aws:iam::123456789012:role/{role}"))


def test_a_lost_answer_does_not_make_the_name_in_use(client: Any, server: ContractServer):
    server.fail(Fault(drop=True, after=True))

    assert client.create_training_job(**request("job1"))["TrainingJobArn"].endswith("/job1")


def test_not_being_allowed_is_access_denied(client: Any, server: ContractServer):
    server.fail(Fault(status=403, body=b'{"message": "Forbidden"}'))

    with pytest.raises(ClientError) as caught:
        client.create_training_job(**request())
    assert caught.value.response["Error"]["Code"] == "AccessDeniedException"


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("describe_training_job", {"TrainingJobName": "job1"}),
        ("stop_training_job", {"TrainingJobName": "job1"}),
        ("list_training_jobs", {}),
        ("list_tags", {"ResourceArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/job1"}),
    ],
)
def test_a_caller_that_is_not_allowed_gets_access_denied_from_every_operation(
    client: Any, server: ContractServer, operation: str, arguments: dict[str, str]
):
    client.create_training_job(**request("job1"))
    server.fail(Fault(status=403, body=b'{"message": "Forbidden"}'))

    with pytest.raises(ClientError) as caught:
        getattr(client, operation)(**arguments)
    assert caught.value.response["Error"]["Code"] == "AccessDeniedException"
    assert caught.value.operation_name.lower() == operation.replace("_", "")


def test_a_waiter_of_a_caller_that_is_not_allowed_raises_a_waiter_error(client: Any, server: ContractServer):
    client.create_training_job(**request("job1"))
    server.fail(Fault(status=403, body=b'{"message": "Forbidden"}'))

    with pytest.raises(WaiterError, match="AccessDeniedException"):
        client.get_waiter("training_job_completed_or_stopped").wait(
            TrainingJobName="job1", WaiterConfig={"Delay": 0, "MaxAttempts": 1}
        )


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(status=503), BusyError),
        (Fault(status=500), ServerFaultError),
        (Fault(drop=True), NotReachableError),
    ],
)
def test_errors_without_a_code_of_sagemaker_are_raised_unchanged(
    client: Any, server: ContractServer, fault: Fault, kind: type[Exception]
):
    server.fail(*[fault] * 4)

    with pytest.raises(kind):
        client.create_training_job(**request())


def test_a_waiting_job_is_described_as_pending_with_its_place(client: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("first")
    server.queue.add("job1")

    described = client.describe_training_job(TrainingJobName="job1")

    assert (described["TrainingJobStatus"], described["SecondaryStatus"]) == ("InProgress", "Pending")
    transition = described["SecondaryStatusTransitions"][-1]
    assert transition["StatusMessage"] == "Headway (place 2 in the queue): Waits for 1 ml.p5.48xlarge."
    assert described["CreationTime"] == datetime(2026, 1, 2, 3, 4, 5, 1000, tzinfo=UTC)
    assert described["LastModifiedTime"] == described["CreationTime"]
    assert described["OutputDataConfig"] == {"KmsKeyId": "", "S3OutputPath": "s3://bucket/out"}
    assert described["ResourceConfig"] == request()["ResourceConfig"]
    assert aws.calls == []


def test_a_description_holds_every_required_member_and_none_that_is_unknown(client: Any, server: ContractServer):
    server.queue.add("job1", request=request("job1", Tags=[{"Key": "a", "Value": "b"}]))

    described = client.describe_training_job(TrainingJobName="job1")

    shape = client.meta.service_model.operation_model("DescribeTrainingJob").output_shape
    described.pop("ResponseMetadata")
    assert set(shape.required_members) <= set(described) <= set(shape.members)


def test_a_waiter_waits_for_the_end_of_a_queued_job(client: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1")
    waiter = client.get_waiter("training_job_completed_or_stopped")
    described = client.describe_training_job

    def progress(**arguments: Any) -> Any:
        answer = described(**arguments)
        job = server.queue.jobs["job1"]
        if job["jobState"] == "pending":
            aws.training_jobs["job1"] = training_job("job1", "InProgress", "Training")
            job.update(jobState="running", liveAttempt="job1", attempts=[attempt("job1", 1, "InProgress")])
        else:
            aws.training_jobs["job1"] = training_job("job1", "Completed", "Completed")
        return answer

    waiter._operation_method = progress
    waiter.wait(TrainingJobName="job1", WaiterConfig={"Delay": 0, "MaxAttempts": 5})

    assert aws.calls == ["DescribeTrainingJob job1"] * 2


def test_a_description_omits_withheld_parts_and_names_them(client: Any, server: ContractServer):
    client.create_training_job(**request("job1", HyperParameters={"lr": "1"}, Environment={"A": "b"}))
    job = server.queue.jobs["job1"]
    job["withheld"] = ["Environment", "HyperParameters"]
    job["request"] = {name: value for name, value in job["request"].items() if name not in job["withheld"]}

    described = client.describe_training_job(TrainingJobName="job1")

    assert not {"Environment", "HyperParameters"} & set(described)
    message = described["SecondaryStatusTransitions"][-1]["StatusMessage"]
    assert message.endswith(" (Environment and HyperParameters withheld from you)")


def test_a_running_job_is_described_by_sagemaker_under_its_own_name(client: Any, server: ContractServer, aws: AwsStub):
    server.queue.add(
        "job1",
        jobState="running",
        liveAttempt="job1-r2",
        attempts=[attempt("job1", 1, "Stopped", "ended"), attempt("job1-r2", 2, "InProgress")],
    )
    aws.training_jobs["job1-r2"] = training_job("job1-r2", "InProgress", "Training")

    described = client.describe_training_job(TrainingJobName="job1")

    assert described["TrainingJobName"] == "job1"
    assert described["SecondaryStatus"] == "Training"
    assert described["TrainingJobArn"].endswith("/job1-r2")
    assert aws.calls == ["DescribeTrainingJob job1-r2"]


def test_a_launch_without_a_known_training_job_is_starting(client: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", jobState="running", liveAttempt="job1", attempts=[attempt("job1", 1, None, "launching")])

    assert client.describe_training_job(TrainingJobName="job1")["SecondaryStatus"] == "Starting"
    assert aws.calls == []


@pytest.mark.parametrize(("job_state", "last"), [("running", "job job1 is"), ("preempted", "preempted, waits")])
@pytest.mark.parametrize("found", ["Stopping", "Stopped", "Failed"])
def test_an_end_that_the_queue_has_not_processed_is_not_described_by_the_reason_of_the_start(
    client: Any, server: ContractServer, aws: AwsStub, found: str, job_state: str, last: str
):
    attempts = [attempt("job1", 1, "InProgress")]
    server.queue.add("job1", jobState=job_state, liveAttempt="job1", attempts=attempts)
    aws.training_jobs["job1"] = training_job("job1", found, "MaxRuntimeExceeded")

    message = client.describe_training_job(TrainingJobName="job1")["SecondaryStatusTransitions"][-1]["StatusMessage"]

    assert last in message
    assert ("Waits for 1" in message) is (job_state == "preempted")


@pytest.mark.parametrize(
    ("job_state", "sagemaker", "expected"),
    [
        ("running", ("InProgress", "Training"), ("InProgress", "Training")),
        # It has ended, whether the queue has observed it or not.
        ("running", ("Completed", "Completed"), ("Completed", "Completed")),
        # The queue decides whether these attempts are retried.
        ("running", ("Failed", "Failed"), ("InProgress", "Starting")),
        ("running", ("Stopped", "Stopped"), ("InProgress", "Starting")),
        ("preempted", ("Stopping", "Stopping"), ("InProgress", "Pending")),
        ("stopping", ("Stopping", "Stopping"), ("Stopping", "Stopping")),
        # It may be preempted, and start again.
        ("stopping", ("Stopped", "Stopped"), ("Stopping", "Stopping")),
        ("stopping", ("Failed", "Failed"), ("Stopping", "Stopping")),
        ("stopping", ("InProgress", "Training"), ("InProgress", "Training")),
        ("stopping", ("Completed", "Completed"), ("Completed", "Completed")),
        ("completed", ("Completed", "Completed"), ("Completed", "Completed")),
        ("stopped", ("Stopped", "MaxRuntimeExceeded"), ("Stopped", "MaxRuntimeExceeded")),
        ("failed", ("Failed", "Failed"), ("Failed", "Failed")),
        # The last attempt was preempted, and then the job failed.
        ("failed", ("Stopped", "Stopped"), ("Failed", "Failed")),
    ],
)
def test_the_end_of_an_attempt_is_not_the_end_of_its_job(
    client: Any,
    server: ContractServer,
    aws: AwsStub,
    job_state: str,
    sagemaker: tuple[str, str],
    expected: tuple[str, str],
):
    live = None if job_state in {"completed", "stopped", "failed"} else "job1"
    server.queue.add("job1", jobState=job_state, liveAttempt=live, attempts=[attempt("job1", 1, sagemaker[0])])
    aws.training_jobs["job1"] = training_job("job1", *sagemaker)

    described = client.describe_training_job(TrainingJobName="job1")

    assert (described["TrainingJobStatus"], described["SecondaryStatus"]) == expected
    assert described["SecondaryStatusTransitions"][-1]["Status"] == expected[1]


def test_an_end_that_the_queue_has_not_processed_has_no_time(client: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("job1", jobState="running", liveAttempt="job1", attempts=[attempt("job1", 1, "InProgress")])
    aws.training_jobs["job1"] = training_job("job1", "Stopped", "Stopped", TrainingEndTime=1767323200)

    assert "TrainingEndTime" not in client.describe_training_job(TrainingJobName="job1")


@pytest.mark.parametrize("job_state", ["running", "stopping"])
def test_a_training_job_that_sagemaker_does_not_find_is_described_as_the_queue_has_it(
    client: Any, server: ContractServer, job_state: str
):
    server.queue.add("job1", jobState=job_state, liveAttempt="job1", attempts=[attempt("job1", 1, "InProgress")])

    described = client.describe_training_job(TrainingJobName="job1")

    assert described["TrainingJobStatus"] == {"running": "InProgress", "stopping": "Stopping"}[job_state]
    assert described["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert "Error" not in described
    assert described["CreationTime"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "error",
    [
        {"__type": "ValidationException", "Message": "Requested resource not found."},
        {"__type": "ResourceNotFound", "Message": "There is none."},
    ],
    ids=["as-it-is-sent", "as-it-is-documented"],
)
def test_sagemaker_says_in_two_ways_that_it_finds_nothing(
    client: Any, server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch, error: dict[str, str]
):
    server.queue.add("job1", jobState="running", liveAttempt="job1", attempts=[attempt("job1", 1, "InProgress")])
    monkeypatch.setattr(aws, "sagemaker", lambda *_: (400, error))

    assert client.describe_training_job(TrainingJobName="job1")["TrainingJobStatus"] == "InProgress"


def test_another_error_of_sagemaker_is_raised(
    client: Any, server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch
):
    server.queue.add("job1", jobState="running", liveAttempt="job1", attempts=[attempt("job1", 1, "InProgress")])
    refused = {"__type": "AccessDeniedException", "Message": "not authorized to perform sagemaker:DescribeTrainingJob"}
    monkeypatch.setattr(aws, "sagemaker", lambda *_: (400, refused))

    with pytest.raises(ClientError, match="AccessDenied"):
        client.describe_training_job(TrainingJobName="job1")


def test_an_ended_job_whose_training_job_was_deleted_is_not_found(client: Any, server: ContractServer):
    attempts = [attempt("job1", 1, "Completed", "ended")]
    server.queue.add("job1", jobState="completed", attempts=attempts, endedTime="2026-01-02T04:00:00.000Z")

    with pytest.raises(client.exceptions.ResourceNotFound):
        client.describe_training_job(TrainingJobName="job1")


def test_a_job_whose_training_job_vanished_has_failed(client: Any, server: ContractServer, aws: AwsStub):
    why = {"code": "Vanished", "message": "SageMaker no longer has the training job."}
    attempts = [attempt("job1", 1, "Stopped", "ended"), attempt("job1-r2", 2, "Deleting", "ended")]
    server.queue.add("job1", jobState="failed", reason=why, attempts=attempts, endedTime="2026-01-02T04:00:00.000Z")

    described = client.describe_training_job(TrainingJobName="job1")

    assert (described["TrainingJobStatus"], described["FailureReason"]) == ("Failed", why["message"])
    assert aws.calls == []


def test_a_job_whose_last_launch_was_refused_has_its_own_reason(client: Any, server: ContractServer, aws: AwsStub):
    why = {"code": "LaunchRefused", "message": "The role can't be passed."}
    attempts = [attempt("job1", 1, "Failed", "ended"), attempt("job1-r2", 2, None, "ended")]
    server.queue.add("job1", jobState="failed", reason=why, attempts=attempts, endedTime="2026-01-02T04:00:00.000Z")
    aws.training_jobs["job1"] = training_job("job1", "Failed", "Failed", FailureReason="InternalServerError")

    assert client.describe_training_job(TrainingJobName="job1")["FailureReason"] == why["message"]


def test_a_job_that_failed_without_an_attempt_has_its_reason(client: Any, server: ContractServer):
    why = {"code": "LaunchRefused", "message": "The role can't be passed."}
    server.queue.add("job1", jobState="failed", reason=why, endedTime="2026-01-02T04:00:00.000Z")

    described = client.describe_training_job(TrainingJobName="job1")

    assert (described["TrainingJobStatus"], described["FailureReason"]) == ("Failed", why["message"])
    assert described["TrainingEndTime"] == datetime(2026, 1, 2, 4, 0, tzinfo=UTC)


def test_other_training_jobs_are_sagemakers(client: Any, aws: AwsStub):
    aws.training_jobs["other"] = training_job("other", "Failed", "Failed", FailureReason="its own")

    assert client.describe_training_job(TrainingJobName="other")["FailureReason"] == "its own"
    client.stop_training_job(TrainingJobName="other")
    with pytest.raises(client.exceptions.ResourceNotFound):
        client.describe_training_job(TrainingJobName="nobody")
    client.list_training_jobs()
    assert aws.calls == [
        "DescribeTrainingJob other",
        "StopTrainingJob other",
        "DescribeTrainingJob nobody",
        "ListTrainingJobs",
    ]


def test_a_stub_answers_with_what_it_was_given(client: Any):
    with Stubber(client) as stub:
        stub.add_response(
            "describe_training_job", {**training_job("other", "Completed", "Completed"), "CreationTime": 5}
        )
        assert client.describe_training_job(TrainingJobName="other")["CreationTime"] == 5


def test_jobs_of_the_queue_are_stopped_there(client: Any, server: ContractServer, aws: AwsStub):
    server.queue.add("waiting")
    server.queue.add("running", jobState="running")

    client.stop_training_job(TrainingJobName="waiting")
    client.stop_training_job(TrainingJobName="running")

    assert [job["jobState"] for job in server.queue.jobs.values()] == ["stopped", "stopping"]
    assert aws.calls == []


@pytest.mark.parametrize(
    ("state", "status"), [("stopped", "Stopped"), ("completed", "Completed"), ("failed", "Failed")]
)
def test_a_job_that_has_ended_is_not_stopped_again_as_in_sagemaker(
    client: Any, server: ContractServer, aws: AwsStub, state: str, status: str
):
    server.queue.add("done", jobState=state)

    with pytest.raises(ClientError) as caught:
        client.stop_training_job(TrainingJobName="done")

    error = caught.value.response["Error"]
    assert error["Code"] == "ValidationException"
    assert error["Message"] == f"The request was rejected because the training job is in status {status}."
    assert "DELETE" not in {call.partition(" ")[0] for call in queue_calls(server)}
    assert aws.calls == []


# -------------------------------------------------------------------------------------------------- names not ours


def queue_calls(server: ContractServer) -> list[str]:
    return [f"{each.method} {each.target.removeprefix('/v1/jobs')}" for each in server.received]


def test_a_name_of_sagemaker_is_requested_from_the_queue_once(client: Any, server: ContractServer, aws: AwsStub):
    aws.training_jobs["tuner-001-abc"] = training_job("tuner-001-abc", "InProgress", "Training")

    for _ in range(3):
        client.describe_training_job(TrainingJobName="tuner-001-abc")
    # A stop asks the queue: another process may have submitted a job of this name since.
    client.stop_training_job(TrainingJobName="tuner-001-abc")

    assert queue_calls(server) == ["GET /tuner-001-abc"] * 2
    assert aws.calls == ["DescribeTrainingJob tuner-001-abc"] * 3 + ["StopTrainingJob tuner-001-abc"]


def test_an_invalid_job_name_is_not_requested_from_the_queue(client: Any, server: ContractServer, aws: AwsStub):
    for name in ("a/b", "..", "-x", "x" * 64, "job.1"):
        with pytest.raises(client.exceptions.ResourceNotFound):
            client.describe_training_job(TrainingJobName=name)
    assert server.received == []


def test_members_of_arrays_are_listed_described_and_stopped(client: Any, server: ContractServer):
    server.queue.add("sweep")
    server.queue.jobs["sweep_0"] = {**server.queue.jobs.pop("sweep"), "jobName": "sweep_0"}
    (listed,) = client.list_training_jobs()["TrainingJobSummaries"]
    assert client.describe_training_job(TrainingJobName=listed["TrainingJobName"])["TrainingJobName"] == "sweep_0"
    client.stop_training_job(TrainingJobName="sweep_0")
    assert server.queue.jobs["sweep_0"]["jobState"] == "stopped"


def test_a_job_that_is_submitted_after_the_question_is_the_queues(
    client: Any, server: ContractServer, aws: AwsStub, monkeypatch: pytest.MonkeyPatch
):
    sagemaker = aws.sagemaker
    created_s = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()

    def submitted_meanwhile(operation: str, asked: dict[str, Any]) -> Any:
        if "job1" not in server.queue.jobs:
            attempts = [attempt("job1", 1, "InProgress")]
            server.queue.add("job1", jobState="running", liveAttempt="job1", attempts=attempts)
            aws.training_jobs["job1"] = training_job("job1", "InProgress", "Starting", CreationTime=created_s)
        return sagemaker(operation, asked)

    monkeypatch.setattr(aws, "sagemaker", submitted_meanwhile)
    # The queue's clock is ahead of SageMaker's.
    monkeypatch.setattr(HeadwayApi, "now_s", lambda _: created_s + FOREIGN_AGE_S)
    client.describe_training_job(TrainingJobName="job1")
    server.queue.jobs["job1"].update(jobState="preempted", liveAttempt=None)
    aws.training_jobs["job1"] = training_job("job1", "Stopped", "Stopped")

    assert client.describe_training_job(TrainingJobName="job1")["TrainingJobStatus"] == "InProgress"


def test_the_cache_of_a_name_expires_although_it_is_used(
    api: HeadwayApi, server: ContractServer, aws: AwsStub, session: boto3.Session
):
    now_s = [0.0]
    jobs = QueueJobs(api, monotonic_s=lambda: now_s[0])
    client = session.client("sagemaker", endpoint_url=aws.url)
    register(client.meta.events, jobs, priority=None, progress=Progress(None))
    aws.training_jobs["job1"] = training_job("job1", "Completed", "Completed")

    for _ in range(5):
        client.describe_training_job(TrainingJobName="job1")
        now_s[0] += FOREIGN_S * 0.6

    assert queue_calls(server) == ["GET /job1"] * 3


@pytest.mark.parametrize("call", ["update_training_job", "delete_training_job"])
def test_an_unused_name_is_not_cached_by_calls_that_change(client: Any, server: ContractServer, call: str):
    with pytest.raises(ClientError):
        getattr(client, call)(TrainingJobName="job1")
    server.queue.add("job1")

    client.stop_training_job(TrainingJobName="job1")
    assert server.queue.jobs["job1"]["jobState"] == "stopped"


def test_an_unused_name_is_not_cached(client: Any, server: ContractServer):
    with pytest.raises(client.exceptions.ResourceNotFound):
        client.describe_training_job(TrainingJobName="job1")
    server.queue.add("job1")

    assert client.describe_training_job(TrainingJobName="job1")["SecondaryStatus"] == "Pending"


def test_a_submitted_name_is_the_queues_from_then_on(client: Any, server: ContractServer, aws: AwsStub):
    aws.training_jobs["job1"] = training_job("job1", "Completed", "Completed")
    client.describe_training_job(TrainingJobName="job1")

    client.create_training_job(**request("job1"))

    assert client.describe_training_job(TrainingJobName="job1")["SecondaryStatus"] == "Pending"


# ---------------------------------------------------------------------------------------------------------- outages


@pytest.mark.parametrize("fault", [Fault(status=503), Fault(status=500), Fault(drop=True)], ids=str)
def test_a_waiting_program_survives_an_outage_of_the_queue(
    client: Any, server: ContractServer, caplog: pytest.LogCaptureFixture, fault: Fault
):
    server.queue.add("job1")
    before = client.describe_training_job(TrainingJobName="job1")
    server.fail(*[fault] * 8)

    assert client.describe_training_job(TrainingJobName="job1")["LastModifiedTime"] == before["LastModifiedTime"]
    assert "Using the last known state of job1" in caplog.text
    with pytest.raises(HeadwayError):
        client.describe_training_job(TrainingJobName="never-seen")


def test_a_changed_job_is_not_read_from_the_cache(client: Any, server: ContractServer):
    server.queue.add("job1")
    client.describe_training_job(TrainingJobName="job1")
    client.stop_training_job(TrainingJobName="job1")
    server.fail(*[Fault(status=500)] * 4)

    with pytest.raises(ServerFaultError):
        client.describe_training_job(TrainingJobName="job1")


def test_a_job_that_sagemaker_has_not_seen_has_its_requests_tags(client: Any, server: ContractServer, aws: AwsStub):
    """SDK 2 lists tags to attach an estimator."""
    arn = client.create_training_job(**request("job1", Tags=[{"Key": "team", "Value": "vision"}]))["TrainingJobArn"]

    assert client.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "vision"}]
    assert aws.calls == []
    server.queue.jobs["job1"].update(
        jobState="running", liveAttempt="job1", attempts=[attempt("job1", 1, "InProgress")]
    )
    client.list_tags(ResourceArn=arn)
    client.list_tags(ResourceArn=arn.replace("training-job/job1", "endpoint/other"))
    assert aws.calls == ["ListTags job1", "ListTags"]


# ----------------------------------------------------------------------------------------------------- preemption


TEAM_TAG = {"Key": "team", "Value": "vision"}
QUEUE_TAGS = [{"Key": "headway:job", "Value": "job1"}, {"Key": "headway:attempt", "Value": "1"}]


def test_tags_of_a_started_job_can_be_copied_into_the_next_request(client: Any, aws: AwsStub, server: ContractServer):
    server.queue.add("job1", jobState="running", attempts=[attempt("job1", 1, "InProgress")], liveAttempt="job1")
    aws.tags["job1"] = [TEAM_TAG, *QUEUE_TAGS]
    arn = f"arn:aws:sagemaker:{REGION}:123456789012:training-job/job1"

    tags = client.list_tags(ResourceArn=arn)["Tags"]
    client.create_training_job(**request("job2", Tags=tags))

    assert tags == server.queue.jobs["job2"]["request"]["Tags"] == [TEAM_TAG]


def test_a_preemption_between_two_calls_is_one_more_transition(client: Any, server: ContractServer, aws: AwsStub):
    """SDK 2 prints the transitions beyond the number that it has printed, so the list must not become shorter."""
    job = server.queue.add("job1")
    seen = []

    def look() -> None:
        described = client.describe_training_job(TrainingJobName="job1")
        transitions = described["SecondaryStatusTransitions"]
        seen.append((described["TrainingJobStatus"], [each["Status"] for each in transitions]))

    def history(state: str, second: int) -> dict[str, Any]:
        reason = {"code": "x", "message": state}
        return {"time": f"2026-01-02T03:04:{second:02}.000Z", "jobState": state, "reason": reason, "attemptName": None}

    look()
    aws.training_jobs["job1"] = training_job("job1", "InProgress", "Training")
    aws.training_jobs["job1"]["SecondaryStatusTransitions"] = [
        {"Status": status, "StartTime": 1767323046.0 + number, "StatusMessage": status}
        for number, status in enumerate(("Starting", "Downloading", "Training"))
    ]
    job.update(jobState="running", liveAttempt="job1", attempts=[attempt("job1", 1, "InProgress")])
    look()
    job.update(jobState="preempted", liveAttempt=None, history=[history("preempted", 30)])
    look()
    look()
    job["reason"] = {"code": "x", "message": "changed its place"}
    changed = client.describe_training_job(TrainingJobName="job1")["SecondaryStatusTransitions"][-1]
    again = {"Status": "Starting", "StartTime": 1767323100.0, "StatusMessage": "again"}
    aws.training_jobs["job1-r2"] = training_job("job1-r2", "InProgress", "Starting")
    aws.training_jobs["job1-r2"]["SecondaryStatusTransitions"] = [again]
    job.update(jobState="running", liveAttempt="job1-r2", attempts=[attempt("job1-r2", 2, "InProgress")])
    look()

    before = ["Pending", "Starting", "Downloading", "Training"]
    assert seen == [
        ("InProgress", ["Pending"]),
        ("InProgress", before),
        ("InProgress", [*before, "Pending"]),
        ("InProgress", [*before, "Pending"]),
        ("InProgress", [*before, "Pending", "Starting"]),
    ]
    assert "preempted, waits for its next turn: changed its place" in changed["StatusMessage"]
