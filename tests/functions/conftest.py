"""The real handlers, with AWS played by moto and SageMaker by the sandbox's fleet."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headway_sandbox.fleet import Fleet
from headway_service.sagemaker import SageMakerTrainingJobs
from tests.service.test_table import SCHEMA
from tests.service.world import lambda_context, sagemaker_client

ROOT = Path(__file__).parents[2]
REGION = "eu-west-1"


def event(name: str) -> dict[str, Any]:
    """An event of ``events/``, the same that ``sam local invoke`` takes."""
    document: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text())
    return document


class Functions:
    """The deployed functions."""

    def __init__(self, queue_url: str) -> None:
        self.fleet = Fleet()
        self.queue_url = queue_url
        self.sqs = boto3.client("sqs", region_name=REGION)
        self._modules: dict[str, ModuleType] = {}

    def module(self, name: str) -> ModuleType:
        """A function's module, loaded as Lambda loads it: once, by path."""
        if name not in self._modules:
            spec = importlib.util.spec_from_file_location(f"app_{name}", ROOT / "functions" / name / "app.py")
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            client = sagemaker_client(self.fleet, time.time, [])
            module.services.__dict__["training_jobs"] = SageMakerTrainingJobs(client)
            self._modules[name] = module
        return self._modules[name]

    def invoke(self, name: str, payload: dict[str, Any]) -> Any:
        """Invoke a handler."""
        return self.module(name).handler(payload, lambda_context())

    def http(
        self, method: str, path: str, body: Any = None, *, raw: str | None = None, **query: list[str]
    ) -> tuple[int, dict[str, Any]]:
        """Call the API's handler as API Gateway would."""
        payload = event("api-submit")
        payload["httpMethod"] = payload["requestContext"]["httpMethod"] = method
        payload["path"] = path
        payload["body"] = raw if raw is not None else (None if body is None else json.dumps(body))
        payload["multiValueQueryStringParameters"] = query or None
        payload["queryStringParameters"] = {key: values[-1] for key, values in query.items()} or None
        answer = self.invoke("api", payload)
        assert answer["multiValueHeaders"]["Content-Type"] == ["application/json"]
        return answer["statusCode"], json.loads(answer["body"])

    def wakes(self) -> list[str]:
        """Wake-ups sent since the last call."""
        found = []
        while messages := self.sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                found.append(message["Body"])
                self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return found


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Functions]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Headway")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "headway")
    with mock_aws():
        boto3.client("dynamodb").create_table(TableName="queue", **SCHEMA)
        attributes = {"FifoQueue": "true"}
        url = boto3.client("sqs").create_queue(QueueName="wake.fifo", Attributes=attributes)["QueueUrl"]
        document = '{"pools": {"ml.p5.48xlarge": {"size": 2}}}'
        boto3.client("ssm").put_parameter(Name="/headway/config", Value=document, Type="String")
        monkeypatch.setenv("HEADWAY_TABLE", "queue")
        monkeypatch.setenv("HEADWAY_WAKE_QUEUE_URL", url)
        monkeypatch.setenv("HEADWAY_CONFIG_PARAMETER", "/headway/config")
        monkeypatch.setenv("HEADWAY_RETENTION_DAYS", "30")
        yield Functions(url)
