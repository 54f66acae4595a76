"""The real handlers, with AWS played by moto and SageMaker by the sandbox's fleet."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headway_sandbox.inprocess.lambda_loader import Context, event, http_event, load_handler
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from tests.functions import published
from tests.service.schema import SCHEMA

REGION = "eu-west-1"
ANY_VERSION = {"If-Match": "*"}
"""For a configuration that replaces whatever there is."""

CONTEXT = Context(get_remaining_time_in_millis=lambda: 30_000)


def state_change(**changes: Any) -> dict[str, Any]:
    """The event of ``events/observe.json`` for a training job that was created just now.

    The functions run by the time of this machine, and the event of an older training job is not the attempt's.

    Args:
        changes: other members of its detail.
    """
    document = event("observe")
    document["detail"] |= {"CreationTime": round(time.time() * 1000), **changes}
    return document


class Functions:
    """The deployed functions. Their modules live as long as a test module, as a warm Lambda process would."""

    def __init__(self) -> None:
        self.fleet = FakeSageMaker()
        self.dynamodb = boto3.client("dynamodb")
        self.sqs = boto3.client("sqs")
        self.queue_url = self.sqs.create_queue(QueueName="wake.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        self._modules: dict[str, ModuleType] = {}

    def reset(self) -> None:
        """An empty queue."""
        self.fleet = FakeSageMaker()
        if self.dynamodb.list_tables()["TableNames"]:
            self.dynamodb.delete_table(TableName="queue")
        self.dynamodb.create_table(TableName="queue", **SCHEMA)
        self.wakes()

    def module(self, name: str) -> ModuleType:
        """A function's module, loaded as Lambda loads it: once, by path."""
        if name not in self._modules:
            module = load_handler(name, {})
            client = stub_client("sagemaker", self._call_sagemaker)
            module.container.__dict__["training_jobs"] = SageMakerTrainingJobs(client)
            self._modules[name] = module
        return self._modules[name]

    def _call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.fleet.call(operation, request, now=time.time())

    def invoke(self, name: str, payload: dict[str, Any]) -> Any:
        """Invoke a handler."""
        return self.module(name).handler(payload, CONTEXT)

    def http(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: str | None = None,
        query: Mapping[str, list[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        caller: str | None = "user/ada",
    ) -> tuple[int, dict[str, Any]]:
        """Call the API's handler as API Gateway would, as a principal of the account, or as none."""
        content = raw if raw is not None else (None if body is None else json.dumps(body))
        payload = http_event(method, path, content, query, headers)
        arn = caller and f"arn:aws:iam::{payload['requestContext']['accountId']}:{caller}"
        payload["requestContext"]["identity"]["userArn"] = arn
        answer = self.invoke("api", payload)
        assert answer["multiValueHeaders"]["Content-Type"] == ["application/json"]
        published.check(method, path, answer["statusCode"], answer["body"])
        return answer["statusCode"], json.loads(answer["body"])

    def wakes(self) -> list[str]:
        """Wake-ups sent since the last call."""
        found = []
        while messages := self.sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                found.append(message["Body"])
                self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return found


@pytest.fixture(scope="module")
def deployed() -> Iterator[Functions]:
    with pytest.MonkeyPatch.context() as environment, mock_aws():
        environment.setenv("AWS_DEFAULT_REGION", REGION)
        environment.setenv("POWERTOOLS_SERVICE_NAME", "headway")
        functions = Functions()
        environment.setenv("HEADWAY_TABLE", "queue")
        environment.setenv("HEADWAY_WAKE_QUEUE_URL", functions.queue_url)
        environment.setenv("HEADWAY_FIRST_CONFIGURATION", '{"pools": {"ml.p5.48xlarge": {"size": 2}}}')
        environment.setenv("HEADWAY_RETENTION_DAYS", "30")
        environment.setenv("HEADWAY_ALARM_PREFIX", "headway-watch/")
        environment.setenv("HEADWAY_ALARM_TOPIC_ARN", f"arn:aws:sns:{REGION}:123456789012:headway-watch")
        yield functions


@pytest.fixture
def functions(deployed: Functions) -> Functions:
    deployed.reset()
    return deployed
