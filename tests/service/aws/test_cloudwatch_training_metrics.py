"""The metrics that training jobs report: one contract for CloudWatch's answers and for the double in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws

from headway_service.aws.cloudwatch_training_metrics import MAX_PAGES, CloudWatchTrainingMetrics
from headway_service.errors import MetricsRefused, RetryLater
from headway_service.ports.training_metrics import MAX_METRICS, JobMetric, Series, TrainingMetrics
from headway_service.testing.memory_training_metrics import MemoryTrainingMetrics

START_S = 1_700_000_040  # the start of a minute
LOSS, EPOCH = JobMetric("a-1", "loss"), JobMetric("a-1", "epoch")

Put = Callable[[JobMetric, float, int], None]


def client() -> Any:
    return boto3.client("cloudwatch", region_name="eu-west-1", aws_access_key_id="k", aws_secret_access_key="s")


@pytest.fixture(params=["CloudWatch", "memory"])
def port(request: pytest.FixtureRequest) -> Iterator[tuple[TrainingMetrics, Put]]:
    if request.param == "memory":
        memory = MemoryTrainingMetrics()
        yield memory, lambda metric, value, at_s: memory.put(metric.training_job, metric.metric, value, at_s=at_s)
        return
    with mock_aws():
        cloudwatch = client()

        def put(metric: JobMetric, value: float, at_s: int) -> None:
            datum = {
                "MetricName": metric.metric,
                "Dimensions": [{"Name": "TrainingJobName", "Value": metric.training_job}],
                "Timestamp": datetime.fromtimestamp(at_s, UTC),
                "Value": value,
            }
            cloudwatch.put_metric_data(Namespace="/aws/sagemaker/TrainingJobs", MetricData=[datum])

        yield CloudWatchTrainingMetrics(cloudwatch), put


def read(metrics: TrainingMetrics, *wanted: JobMetric, period_s: int = 60) -> Mapping[JobMetric, Series]:
    return metrics.read(wanted, since_s=START_S, until_s=START_S + 600, period_s=period_s)


class TestContract:
    def test_values_of_a_period_are_averaged_and_in_the_order_of_time(self, port: tuple[TrainingMetrics, Put]) -> None:
        metrics, put = port
        for value, at_s in ((5.0, 130), (1.0, 10), (3.0, 50)):
            put(LOSS, value, START_S + at_s)
        assert read(metrics, LOSS) == {LOSS: ((START_S, 2.0), (START_S + 120, 5.0))}

    def test_metrics_are_kept_apart(self, port: tuple[TrainingMetrics, Put]) -> None:
        metrics, put = port
        other = JobMetric("a-2", "loss")
        for metric, value in ((LOSS, 1.0), (EPOCH, 2.0), (other, 3.0)):
            put(metric, value, START_S)
        found = read(metrics, LOSS, EPOCH, other)
        assert {metric: series[0][1] for metric, series in found.items()} == {LOSS: 1.0, EPOCH: 2.0, other: 3.0}

    def test_a_metric_without_values_has_an_empty_series(self, port: tuple[TrainingMetrics, Put]) -> None:
        assert read(port[0], LOSS) == {LOSS: ()}

    def test_values_before_and_after_are_left_out(self, port: tuple[TrainingMetrics, Put]) -> None:
        metrics, put = port
        for at_s in (-60, 60, 660):
            put(LOSS, 1.0, START_S + at_s)
        assert read(metrics, LOSS) == {LOSS: ((START_S + 60, 1.0),)}


def answered(*pages: dict[str, Any]) -> CloudWatchTrainingMetrics:
    """CloudWatch with these pages."""
    cloudwatch = client()
    stubber = Stubber(cloudwatch)
    for page in pages:
        stubber.add_response("get_metric_data", page)
    stubber.activate()
    return CloudWatchTrainingMetrics(cloudwatch)


def result(key: str, value: float, at_s: int, status: str = "Complete") -> dict[str, Any]:
    return {"Id": key, "Timestamps": [datetime.fromtimestamp(at_s, UTC)], "Values": [value], "StatusCode": status}


def test_pages_are_put_together() -> None:
    metrics = answered(
        {"MetricDataResults": [result("m0", 1.0, START_S, "PartialData")], "NextToken": "t"},
        {"MetricDataResults": [result("m0", 2.0, START_S + 60), result("m1", 3.0, START_S)]},
    )
    assert read(metrics, LOSS, EPOCH) == {LOSS: ((START_S, 1.0), (START_S + 60, 2.0)), EPOCH: ((START_S, 3.0),)}


@pytest.mark.parametrize("status", ["PartialData", "InternalError", "Forbidden"])
def test_a_metric_that_is_not_complete_is_not_known(status: str) -> None:
    metrics = answered({"MetricDataResults": [result("m0", 1.0, START_S, status), result("m1", 3.0, START_S)]})
    assert read(metrics, LOSS, EPOCH) == {EPOCH: ((START_S, 3.0),)}


def test_a_metric_that_is_complete_and_then_not_is_not_known() -> None:
    metrics = answered(
        {"MetricDataResults": [result("m0", 1.0, START_S)], "NextToken": "t"},
        {"MetricDataResults": [result("m0", 2.0, START_S + 60, "InternalError")]},
    )
    assert read(metrics, LOSS) == {}


def test_a_metric_that_was_not_asked_for_is_left_out() -> None:
    metrics = answered({"MetricDataResults": [result("m7", 1.0, START_S), result("m0", 3.0, START_S)]})
    assert read(metrics, LOSS) == {LOSS: ((START_S, 3.0),)}


def test_of_an_answer_with_too_many_pages_nothing_is_known() -> None:
    pages = [
        {"MetricDataResults": [result("m0", 1.0, START_S + 60 * number)], "NextToken": f"t{number}"}
        for number in range(MAX_PAGES + 1)
    ]
    assert read(answered(*pages), LOSS) == {}


def test_too_many_metrics_are_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="501 metrics"):
        read(answered(), *(JobMetric("a", str(number)) for number in range(MAX_METRICS + 1)))


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("Throttling", 400, RetryLater),
        ("InternalServiceFault", 500, RetryLater),
        ("AccessDenied", 403, ClientError),
        ("InvalidParameterValue", 400, MetricsRefused),
    ],
)
def test_errors_that_pass_are_tried_again_and_others_are_raised(
    code: str, status: int, expected: type[Exception]
) -> None:
    cloudwatch = client()
    stubber = Stubber(cloudwatch)
    stubber.add_client_error("get_metric_data", code, http_status_code=status)
    stubber.activate()
    with pytest.raises(expected):
        read(CloudWatchTrainingMetrics(cloudwatch), LOSS)


def test_an_answer_without_results_is_no_answer() -> None:
    with pytest.raises(RetryLater):
        read(answered({}), LOSS)
