"""A stub of the parts of SageMaker, CloudWatch Logs and S3 that clients call, over HTTP on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from botocore.exceptions import ClientError

from tests.client.fakes.log_store import LogStore

BUCKET = "team-bucket"
_BUCKETS = (
    "<ListAllMyBucketsResult><Buckets><Bucket>"
    f"<Name>{BUCKET}</Name><CreationDate>2026-01-02T03:04:05.000Z</CreationDate>"
    "</Bucket></Buckets></ListAllMyBucketsResult>"
).encode()


class AwsStub:
    """Training jobs with their tags, their logs, S3 objects, and the received calls."""

    def __init__(self) -> None:
        self.training_jobs: dict[str, dict[str, Any]] = {}
        self.tags: dict[str, list[dict[str, str]]] = {}
        self.logs = LogStore()
        self.objects: dict[str, bytes] = {}
        self.calls: list[str] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[AwsStub]:
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def sagemaker(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name = request.get("TrainingJobName") or request.get("ResourceArn", "").partition("training-job/")[2]
        self.calls.append(f"{operation} {name}".strip())
        if operation == "ListTrainingJobs":
            return 200, self._page(request)
        if not operation.endswith("TrainingJob"):
            return 200, {"HyperParameterTuningJobArn": "arn", "Tags": self.tags.get(name, [])}
        if name not in self.training_jobs:
            return 400, {"__type": "ResourceNotFound", "message": "Requested resource not found."}
        return 200, self.training_jobs[name] if operation == "DescribeTrainingJob" else {}

    def _page(self, request: dict[str, Any]) -> dict[str, Any]:
        names = sorted(self.training_jobs)
        first = int(request.get("NextToken", 0))
        end = first + request.get("MaxResults", 10)
        shown = ("TrainingJobName", "TrainingJobArn", "TrainingJobStatus", "CreationTime")
        return {
            "TrainingJobSummaries": [
                {key: self.training_jobs[name][key] for key in shown} for name in names[first:end]
            ],
            **({"NextToken": str(end)} if end < len(names) else {}),
        }

    def cloudwatch_logs(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        methods = {"DescribeLogStreams": self.logs.describe_log_streams, "GetLogEvents": self.logs.get_log_events}
        try:
            return 200, methods[operation](**request)
        except ClientError as error:
            return 400, {"__type": error.response["Error"]["Code"], "message": error.response["Error"]["Message"]}


def training_job(name: str, status: str, secondary: str, **more: Any) -> dict[str, Any]:
    """Return a DescribeTrainingJob document as SageMaker sends it, with times in epoch seconds."""
    return {
        "TrainingJobName": name,
        "TrainingJobArn": f"arn:aws:sagemaker:eu-west-1:123456789012:training-job/{name}",
        "TrainingJobStatus": status,
        "SecondaryStatus": secondary,
        "ModelArtifacts": {"S3ModelArtifacts": "s3://bucket/model.tar.gz"},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "CreationTime": 1767323045.5,
        "SecondaryStatusTransitions": [
            {"Status": secondary, "StartTime": 1767323046.5, "StatusMessage": "as SageMaker says"}
        ],
        **more,
    }


def _handler(stub: AwsStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            service, _, operation = self.headers.get("X-Amz-Target", "").partition(".")
            if service == "SageMaker":
                status, document = stub.sagemaker(operation, json.loads(body))
                return self._answer(status, json.dumps(document).encode())
            if service == "Logs_20140328":
                status, document = stub.cloudwatch_logs(operation, json.loads(body))
                return self._answer(status, json.dumps(document).encode())
            return self._s3(unquote(self.path.partition("?")[0]).strip("/"), body)

        def _s3(self, key: str, body: bytes) -> None:
            if self.command == "PUT":
                stub.objects[key] = body
            if not key:
                return self._answer(200, _BUCKETS)
            # Every bucket, a path without a slash, exists.
            found = stub.objects.get(key, b"" if "/" not in key else None)
            return self._answer(404 if found is None else 200, found if self.command == "GET" and found else b"")

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("ETag", '"etag"')
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Suppress the access log."""

    return Handler
