"""The decoders of the service: bodies, cursors, the configuration, stored items, archives, answers of AWS."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st

from headway.api_documents.dead_letters import LetterQueue
from headway.errors import HeadwayError
from headway_sandbox.inprocess.deployment import ALARM_PREFIX, ALARM_TOPIC_ARN
from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.raw_answers import RawAnswer
from headway_service.api.add_job_body import submission_in
from headway_service.api.request_body import document_in
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.cloudwatch_training_metrics import CloudWatchTrainingMetrics
from headway_service.aws.dynamodb_decoder import decode_item
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.aws.sagemaker_training_plans import SageMakerTrainingPlans
from headway_service.config import document as configuration
from headway_service.dead_letters.parser import content_of
from headway_service.feed.cursor import Cursor
from headway_service.ports.messaging import DeadLetter
from headway_service.ports.training_metrics import JobMetric
from headway_service.response_check import document_in as answer_in
from headway_service.sagemaker_api import request_schema
from headway_service.sagemaker_api.quota_text import parse_quota
from headway_service.store.records.job import JobRecord, StoredRequest
from headway_verification.decoders.decoder import Decoder, Refused
from headway_verification.decoders.inputs.documents import json_texts, texts_in
from headway_verification.decoders.inputs.lines import files
from headway_verification.decoders.inputs.samples import CONFIGURATION, SWEEPS, request

_QUOTAS = (
    (
        "The account-level service limit 'ml.p3.8xlarge for training job usage' is 2 Instances, with current "
        "utilization of 3 Instances and a request delta of 1 Instances. Please contact AWS support."
    ),
    (
        "The account-level service limit for training-job/ml.p2.xlarge is 0 Instances, with current utilization of 0 "
        "Instances and a request delta of 1 Instances."
    ),
    "The requested resource training-job/ml.p2.xlarge is not available in this region",
)

_LETTERS: list[Any] = [
    {"requestPayload": event("observe"), "requestContext": {"condition": "RetriesExhausted"},
     "responsePayload": {"errorType": "KeyError", "errorMessage": "x"}},
    {"DDBStreamBatchInfo": {"batchSize": 3, "approximateArrivalOfFirstRecord": "2026-11-25T10:00:00Z"}},
    event("observe"), event("reconcile"), event("watch-alarm"),
]  # fmt: skip


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _json(content: bytes) -> Any:
    """The JSON value of an input that another decoder has read before."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise Refused("no JSON") from None


def _body(content: bytes) -> None:
    document = document_in("application/json", _text(content))
    submission_in(document)
    if isinstance(document, dict):
        request_schema.check(document)


def _cursor(content: bytes) -> None:
    Cursor.parse(_text(content))


def _configuration(content: bytes) -> None:
    text = _text(content)
    configuration.parse(text)
    # What is accepted is kept, and read again.
    kept = configuration.new_text_to_keep(json.loads(text), region="eu-west-1", account="123456789012")
    configuration.parse(kept)


def _letter(content: bytes) -> None:
    letter = DeadLetter(
        message_id="a", receipt="b", body=_text(content), attributes={"ERROR_CODE": "x"}, sent_ms=1, receive_count=1
    )
    for queue in LetterQueue:
        content_of(queue, letter)


def _quota(content: bytes) -> None:
    parse_quota(_text(content))


def _item(content: bytes) -> None:
    """A stored item, as newer code, a restore or an operator may have left it."""
    item = _json(content)
    if not isinstance(item, dict):
        raise Refused("no item")
    JobRecord.parse(item)


def _stored_request(content: bytes) -> None:
    item = _json(content)
    if not isinstance(item, dict):
        raise Refused("no item")
    StoredRequest.parse(item)


def _answer_body(content: bytes) -> None:
    answer_in(content)


@cache
def _job_item() -> dict[str, Any]:
    image = event("tell")["Records"][0]["dynamodb"]["NewImage"]
    return dict(decode_item(image))


_REQUEST_ITEM = {
    "pk": "job#a", "sk": "request", "schemaVersion": 1, "jobDetails": json.dumps(request()),
    "alternatives": json.dumps([{"ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1}}]),
    "sweep": json.dumps(SWEEPS[0]),
}  # fmt: skip

_TIME = 1_800_000_000

_DESCRIBED = {
    "TrainingJobName": "a", "TrainingJobArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/a",
    "TrainingJobStatus": "Failed", "SecondaryStatus": "Failed", "FailureReason": 'AlgorithmError: x Command "y"',
    "CreationTime": _TIME, "LastModifiedTime": _TIME + 9, "TrainingTimeInSeconds": 9, "BillableTimeInSeconds": 9,
    "SecondaryStatusTransitions": [{"Status": "Training", "StartTime": _TIME, "EndTime": _TIME + 1}],
    "FinalMetricDataList": [{"MetricName": "loss", "Value": 0.5, "Timestamp": _TIME}],
    "WarmPoolStatus": {"Status": "Available", "ReusedByJob": "b"},
    "StoppingCondition": {"MaxPendingTimeInSeconds": 7200},
    "ModelArtifacts": {"S3ModelArtifacts": "s3://a/b"},
    "AlgorithmSpecification": {"TrainingInputMode": "File"},
}  # fmt: skip

_LISTED = {
    "TrainingJobSummaries": [
        {"TrainingJobName": "a", "TrainingJobArn": "b", "CreationTime": _TIME, "LastModifiedTime": _TIME,
         "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training"}
    ]
}  # fmt: skip

_PLAN = {
    "TrainingPlanArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/a", "TrainingPlanName": "a",
    "Status": "Active", "EndTime": _TIME, "TargetResources": ["training-job"], "UnhealthyInstanceCount": 0,
    "ReservedCapacitySummaries": [{"InstanceType": "ml.p5.48xlarge", "TotalInstanceCount": 2, "Status": "Active",
                                   "StartTime": _TIME, "EndTime": _TIME, "ReservedCapacityArn": "a"}],
}  # fmt: skip

_ALARMS = {
    "MetricAlarms": [
        {"AlarmName": f"{ALARM_PREFIX}a-1/idle/1", "AlarmDescription": "Headway's watch `idle` on a-1/algo-1; x",
         "StateValue": "ALARM", "Namespace": "/aws/sagemaker/TrainingJobs", "MetricName": "GPUUtilization",
         "Dimensions": [{"Name": "Host", "Value": "a-1/algo-1"}], "Threshold": 1.0, "Period": 60,
         "EvaluationPeriods": 5}
    ]
}  # fmt: skip

_METRICS = {"MetricDataResults": [{"Id": "m0", "StatusCode": "Complete", "Timestamps": [_TIME], "Values": [0.5]}]}

_answers: dict[str, bytes] = {}


def _answered(service: str, _operation: str, _request: Mapping[str, Any]) -> Mapping[str, Any]:
    raise RawAnswer(200, _answers[service])


@cache
def _client(service: str) -> Any:
    return stub_client(service, lambda operation, asked: _answered(service, operation, asked))


def _with_answer(service: str, ask: Callable[[Any], object]) -> Callable[[bytes], object]:
    """What asks AWS, which answers with the input."""

    def decode(content: bytes) -> object:
        _answers[service] = content
        return ask(_client(service))

    return decode


def _training_jobs(client: Any) -> None:
    SageMakerTrainingJobs(client).describe("a")


def _all_training_jobs(client: Any) -> None:
    SageMakerTrainingJobs(client).live(0, None)


def _plans(client: Any) -> None:
    SageMakerTrainingPlans(client).describe("a")


def _alarms(client: Any) -> None:
    CloudWatchAlarms(client, ALARM_PREFIX, ALARM_TOPIC_ARN).seen()


def _training_metrics(client: Any) -> None:
    CloudWatchTrainingMetrics(client).read([JobMetric("a", "loss")], since_s=_TIME, until_s=_TIME + 60, period_s=60)


DECODERS = (
    Decoder(name="service bodies", inputs=json_texts([request()]), decode=_body, refusals=(HeadwayError,)),
    Decoder(
        name="service cursors", inputs=files(["0000000000001.0", "1800000000000.12"]), decode=_cursor,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="service configuration", inputs=json_texts([CONFIGURATION]), decode=_configuration,
        refusals=(HeadwayError,),
    ),
    Decoder(name="service dead letters", inputs=json_texts(_LETTERS), decode=_letter, refusals=()),
    Decoder(name="service quota texts", inputs=files(_QUOTAS), decode=_quota, refusals=()),
    Decoder(
        name="service stored jobs", inputs=st.builds(_job_item).flatmap(lambda item: json_texts([item])), decode=_item,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="service stored requests", inputs=json_texts([_REQUEST_ITEM]), decode=_stored_request,
        refusals=(HeadwayError,),
    ),
    Decoder(
        name="service answer bodies", inputs=json_texts([_DESCRIBED]), decode=_answer_body, refusals=(HeadwayError,)
    ),
    Decoder(
        name="service answers about a training job", inputs=texts_in([_DESCRIBED]),
        decode=_with_answer("sagemaker", _training_jobs), refusals=(HeadwayError,),
    ),
    Decoder(
        name="service answers about all training jobs", inputs=texts_in([_LISTED]),
        decode=_with_answer("sagemaker", _all_training_jobs), refusals=(HeadwayError,),
    ),
    Decoder(
        name="service answers about a training plan", inputs=texts_in([_PLAN]),
        decode=_with_answer("sagemaker", _plans), refusals=(HeadwayError,),
    ),
    Decoder(
        name="service answers about alarms", inputs=texts_in([_ALARMS]),
        decode=_with_answer("cloudwatch", _alarms), refusals=(HeadwayError,),
    ),
    Decoder(
        name="service answers about metrics", inputs=texts_in([_METRICS]),
        decode=_with_answer("cloudwatch", _training_metrics), refusals=(HeadwayError,),
    ),
)  # fmt: skip
