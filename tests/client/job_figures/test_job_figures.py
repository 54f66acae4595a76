"""The figures that advice rests on: what is requested of AWS, and what its answers mean."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headway.advice import Host, JobFigures
from headway_client.http.decode import decode
from headway_client.job_figures.read import read_figures
from headway_client.job_figures.training_job import figures_of
from headway_client.job_figures.utilization import MAX_HOSTS, MAX_PAGES, MAX_POINTS, read_hosts
from headway_client.models import JobDetails
from headway_sandbox.inprocess.stub_client import stub_client
from tests.client.fakes.contract import Queue

T0 = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)
NOW_S = (T0 + timedelta(hours=2)).timestamp()
DAY_S = 86_400
G5 = "ml.g5.xlarge"


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


class CloudWatch:
    """Answers GetMetricData; botocore has checked the requests.

    Attributes:
        values: by host, metric and statistic.
        requests: the requests.
    """

    def __init__(self, values: Mapping[tuple[str, str, str], Sequence[float]]) -> None:
        self.values = values
        self.requests: list[Mapping[str, Any]] = []
        self.is_refused = False
        self.page_size = 1000

    def client(self) -> Any:
        return stub_client("cloudwatch", self._answer)

    def _answer(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        assert operation == "GetMetricData"
        if self.is_refused:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, operation)
        self.requests.append(request)
        first = int(request.get("NextToken", "0"))
        queries = request["MetricDataQueries"]
        assert len(queries) <= 500
        results = [{"Id": each["Id"], "Values": self._of(each["MetricStat"])} for each in queries]
        page = {"MetricDataResults": results[first : first + self.page_size]}
        more = first + self.page_size < len(results)
        return page | ({"NextToken": str(first + self.page_size)} if more else {})

    def _of(self, stat: Mapping[str, Any]) -> list[float]:
        metric = stat["Metric"]
        assert metric["Namespace"] == "/aws/sagemaker/TrainingJobs"
        (dimension,) = metric["Dimensions"]
        assert dimension["Name"] == "Host"
        return list(self.values.get((dimension["Value"], metric["MetricName"], stat["Stat"]), []))


STARVED = {
    ("job1/algo-1", "CPUUtilization", "Average"): [300.0, 400.0],
    ("job1/algo-1", "GPUUtilization", "Average"): [20.0, 30.0],
    ("job1/algo-1", "GPUUtilization", "Maximum"): [60.0, 50.0],
    ("job1/algo-1", "GPUMemoryUtilization", "Maximum"): [40.0, 45.0],
    ("job1/algo-2", "CPUUtilization", "Average"): [700.0],
}


def hosts(cloudwatch: CloudWatch, *types: str, start_s: float = NOW_S - 1200, end_s: float = NOW_S) -> tuple[Host, ...]:
    return read_hosts(cloudwatch.client(), "job1", types, start_s=start_s, end_s=end_s, now_s=NOW_S)


def test_the_values_of_each_host_are_averages_and_peaks():
    first, second = hosts(CloudWatch(STARVED), G5, "ml.c5.2xlarge")
    assert first == Host(
        instance_type=G5, minutes=2, cpu_percent=350.0, gpu_percent=25.0, gpu_peak_percent=60.0,
        gpu_memory_peak_percent=45.0,
    )  # fmt: skip
    assert second == Host(instance_type="ml.c5.2xlarge", minutes=1, cpu_percent=700.0)


def test_all_pages_of_an_answer_are_read_but_not_endless_ones():
    cloudwatch = CloudWatch(STARVED)
    cloudwatch.page_size = 1
    assert hosts(cloudwatch, G5) == hosts(CloudWatch(STARVED), G5)
    cloudwatch = CloudWatch({})
    cloudwatch.page_size = 1
    hosts(cloudwatch, *[G5] * MAX_HOSTS)
    assert len(cloudwatch.requests) == MAX_PAGES


def test_the_metrics_of_a_job_of_many_hosts_are_read_in_one_call():
    cloudwatch = CloudWatch({})
    assert len(hosts(cloudwatch, *[G5] * 200)) == MAX_HOSTS
    assert len(cloudwatch.requests) == 1


def test_without_hosts_nothing_is_requested():
    cloudwatch = CloudWatch({})
    assert hosts(cloudwatch) == ()
    assert cloudwatch.requests == []


@pytest.mark.parametrize(
    ("run_s", "age_s", "period_s"),
    [
        (60.0, 0.0, 60),
        (60.0 * MAX_POINTS, 0.0, 60),
        (60.0 * MAX_POINTS + 1, 0.0, 120),
        (28 * DAY_S, 0.0, 12_300),
        (600.0, 15 * DAY_S - 600, 60),
        (600.0, 15 * DAY_S, 300),
        (600.0, 63 * DAY_S, 3600),
    ],
)
def test_the_period_fits_the_run_time_and_what_cloudwatch_keeps(run_s: float, age_s: float, period_s: int):
    cloudwatch = CloudWatch({})
    hosts(cloudwatch, G5, start_s=NOW_S - age_s - run_s, end_s=NOW_S - age_s)
    assert {each["MetricStat"]["Period"] for each in cloudwatch.requests[0]["MetricDataQueries"]} == {period_s}


def described(**changes: Any) -> dict[str, Any]:
    """Return a description as boto3 returns it: 10 minutes of downloads and 50 of training."""
    phases = [("Starting", 0, 5), ("Downloading", 5, 15), ("Training", 15, 60), ("Uploading", 60, 61)]
    return {
        "TrainingJobName": "job1", "TrainingJobArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/job1",
        "ModelArtifacts": {"S3ModelArtifacts": "s3://b/m"}, "TrainingJobStatus": "Completed",
        "SecondaryStatus": "Completed", "CreationTime": T0,
        "ResourceConfig": {"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 30},
        "AlgorithmSpecification": {"TrainingInputMode": "File"},
        "InputDataConfig": [{"ChannelName": "train", "DataSource": {}}],
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
        "SecondaryStatusTransitions": [
            {"Status": status, "StartTime": at(start), "EndTime": at(end)} for status, start, end in phases
        ],
        "TrainingEndTime": at(61),
    } | changes  # fmt: skip


def test_a_description_has_hosts_phases_and_the_limit():
    found = figures_of(described(), NOW_S)
    assert (found.types, found.limit_s, found.reads_files) == ((G5,), 86_400, True)
    assert (found.downloading_s, found.run_s(NOW_S)) == (600.0, 61 * 60.0)
    assert (found.training_s, found.end_s) == (at(15).timestamp(), at(61).timestamp())


def test_a_phase_that_has_not_ended_counts_until_now():
    phases = [{"Status": "Downloading", "StartTime": at(60)}]
    found = figures_of(described(SecondaryStatusTransitions=phases, TrainingEndTime=None), NOW_S)
    assert (found.downloading_s, found.run_s(NOW_S), found.training_s) == (3600.0, 3600.0, None)


def test_a_training_without_downloads_has_copied_nothing_and_one_that_has_not_begun_is_unknown():
    training = [{"Status": "Training", "StartTime": at(1)}]
    assert figures_of(described(SecondaryStatusTransitions=training), NOW_S).downloading_s == 0.0
    pending = figures_of(described(SecondaryStatusTransitions=[]), NOW_S)
    assert (pending.downloading_s, pending.run_s(NOW_S)) == (None, None)


@pytest.mark.parametrize(
    ("resources", "types"),
    [
        ({"InstanceType": G5, "InstanceCount": 2}, (G5, G5)),
        (
            {"InstanceGroups": [
                {"InstanceGroupName": "t", "InstanceType": G5, "InstanceCount": 1},
                {"InstanceGroupName": "d", "InstanceType": "ml.c5.xlarge", "InstanceCount": 2},
            ]},
            (G5, "ml.c5.xlarge", "ml.c5.xlarge"),
        ),
        ({"VolumeSizeInGB": 30}, ()),
    ],
)  # fmt: skip
def test_hosts_are_numbered_by_group(resources: dict[str, Any], types: tuple[str, ...]):
    assert figures_of(described(ResourceConfig=resources), NOW_S).types == types


@pytest.mark.parametrize(
    ("mode", "channels", "reads_files"),
    [
        ("File", [{}], True),
        ("File", [{"InputMode": "FastFile"}], False),
        ("Pipe", [{}], False),
        ("Pipe", [{"InputMode": "FastFile"}, {"InputMode": "File"}], True),
        ("File", [], False),
    ],
)
def test_a_channel_has_the_mode_of_the_algorithm_unless_it_has_its_own(
    mode: str, channels: list[dict[str, Any]], reads_files: bool
):
    changed = described(AlgorithmSpecification={"TrainingInputMode": mode}, InputDataConfig=channels)
    assert figures_of(changed, NOW_S).reads_files is reads_files


def attempt(number: int, code: str | None, start: float, end: float | None, status: str = "Stopped") -> dict[str, Any]:
    def time(minutes: float) -> str:
        return at(minutes).isoformat().replace("+00:00", "Z")

    return {
        "attemptName": f"job{number}", "number": number, "attemptState": "ended" if code else "live",
        "trainingJobStatus": status, "secondaryStatus": None, "startedTime": time(start),
        "endedTime": None if end is None else time(end), "failureReason": None,
        "reason": {"code": code, "message": "why"} if code else None,
    }  # fmt: skip


def details(*attempts: dict[str, Any], **request: Any) -> JobDetails:
    queue = Queue()
    job = queue.add("job1", attempts=list(attempts))
    return decode(JobDetails, {**job, "request": {**job["request"], **request}})


def read(job: JobDetails, cloudwatch: CloudWatch, description: dict[str, Any] | ClientError) -> Any:
    asked: list[str] = []

    def answer(_: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(request["TrainingJobName"])
        if isinstance(description, ClientError):
            raise description
        answered: Mapping[str, Any] = json.loads(json.dumps(description, default=datetime.timestamp))
        return answered

    clients = {"sagemaker": stub_client("sagemaker", answer), "cloudwatch": cloudwatch.client()}
    return read_figures(job, now_s=NOW_S, **clients), asked


def test_the_figures_are_of_the_newest_attempt_and_of_all_preemptions():
    job = details(
        attempt(1, "ReturnedToLine", 0, 10), attempt(2, "Retried", 20, 25), attempt(3, "ReturnedToLine", 30, 35),
        attempt(4, "Completed", 40, 100, "Completed"), CheckpointConfig={"S3Uri": "s3://b/c"},
    )  # fmt: skip
    found, asked = read(job, CloudWatch(STARVED), described())
    assert (found.attempt, asked, found.refused) == ("job4", ["job4"], ())
    assert found.figures.preempted_s == (600.0, 300.0)
    assert found.figures.completed_s == 3600.0
    assert (found.figures.checkpoints, found.figures.downloading_s, found.figures.limit_s) == (True, 600.0, 86_400)


def test_the_utilization_of_a_job_that_trains_is_read_until_now():
    cloudwatch = CloudWatch(STARVED)
    training = [{"Status": "Training", "StartTime": at(15)}]
    found, _ = read(
        details(attempt(1, None, 0, None, "InProgress")),
        cloudwatch,
        described(SecondaryStatusTransitions=training, TrainingEndTime=None),
    )
    assert [each.gpu_percent for each in found.figures.hosts] == [25.0]
    (request,) = cloudwatch.requests
    assert (request["StartTime"], request["EndTime"]) == (at(15).timestamp(), NOW_S)
    assert found.figures.completed_s is None


def test_the_utilization_of_a_job_that_does_not_train_yet_is_not_requested():
    cloudwatch = CloudWatch(STARVED)
    downloading = [{"Status": "Downloading", "StartTime": at(15)}]
    attempts = details(attempt(1, None, 0, None, "InProgress"))
    found, _ = read(attempts, cloudwatch, described(SecondaryStatusTransitions=downloading, TrainingEndTime=None))
    assert (found.figures.hosts, cloudwatch.requests) == ((), [])
    assert found.figures.downloading_s == 105 * 60


def test_a_job_that_was_not_launched_has_no_figures_and_nothing_is_requested():
    cloudwatch = CloudWatch({})
    found, asked = read(details(), cloudwatch, described())
    assert (found.figures, found.attempt, asked, cloudwatch.requests) == (JobFigures(), None, [], [])


def test_calls_that_are_refused_are_named_and_the_other_figures_are_kept():
    denied = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeTrainingJob")
    job = details(attempt(1, "ReturnedToLine", 0, 20))
    found, _ = read(job, CloudWatch(STARVED), denied)
    assert found.refused == ("sagemaker:DescribeTrainingJob was refused: AccessDeniedException",)
    assert found.figures == JobFigures(preempted_s=(1200.0,))

    cloudwatch = CloudWatch(STARVED)
    cloudwatch.is_refused = True
    found, _ = read(job, cloudwatch, described())
    assert found.refused == ("cloudwatch:GetMetricData was refused: AccessDenied",)
    assert (found.figures.hosts, found.figures.downloading_s) == ((), 600.0)
