"""SageMaker's training job calls, answered by the queue: handlers in botocore's event system.

This is the one seam for boto3 and both SageMaker SDKs. CreateTrainingJob goes to the queue; DescribeTrainingJob
and StopTrainingJob do so for jobs that the queue holds, and pass on to SageMaker for all others. Nothing else is
touched. The order of the events is that of botocore's ``BaseClient._make_api_call``: ``before-parameter-build``
with the caller's parameters, validation and serialisation, then ``before-call``, where a handler that returns a
response keeps the call from being sent, then ``after-call``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from headway_client import training_job
from headway_client.documents import JobDetails
from headway_client.errors import ClientError, ConflictError, JobNotFoundError, NotAllowedError, RefusedError
from headway_client.priority_tag import has_priority, with_priority

if TYPE_CHECKING:
    from headway_client.api import HeadwayApi

_CONTEXT_KEY = "headway"
"""Where the handlers of one call leave word for each other in the call's context."""

Response = tuple[AWSResponse, dict[str, Any]]


def attach(target: Any, api: HeadwayApi, *, priority: int | None = None) -> None:
    """Let the queue answer for training jobs on a client, or on all clients made of a boto3 session from now on.

    Attaching again replaces what was attached before.

    Args:
        target: a boto3 client of ``sagemaker``, or a ``boto3.Session``.
        api: the queue.
        priority: for requests that have no priority tag of their own; None leaves it to the queue's default.
    """
    events = target.meta.events if hasattr(target, "meta") else target.events
    for event, handler in _Handlers(api, priority=priority).by_event().items():
        name, _, operation = event.partition(".")
        full_name = f"{name}.sagemaker.{operation}"
        # botocore ignores a second handler of the same id, so the first one has to go.
        events.unregister(full_name, unique_id=f"headway-{event}")
        events.register(full_name, handler, unique_id=f"headway-{event}")


class _Handlers:
    def __init__(self, api: HeadwayApi, *, priority: int | None) -> None:
        self._api = api
        self._priority = priority

    def by_event(self) -> dict[str, Callable[..., Any]]:
        return {
            "before-parameter-build.CreateTrainingJob": self._keep,
            "before-call.CreateTrainingJob": self._create,
            "before-parameter-build.DescribeTrainingJob": self._look_up,
            "before-call.DescribeTrainingJob": self._describe,
            "after-call.DescribeTrainingJob": self._rename,
            "before-parameter-build.StopTrainingJob": self._keep,
            "before-call.StopTrainingJob": self._stop,
        }

    def _keep(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        # The parameters as the caller gave them; by the time of before-call they are bytes of some protocol.
        context[_CONTEXT_KEY] = params

    def _create(self, *, context: dict[str, Any], **_: Any) -> Response:
        request: dict[str, Any] = context[_CONTEXT_KEY]
        if self._priority is not None and not has_priority(request):
            request = with_priority(request, self._priority)
        name = str(request["TrainingJobName"])
        try:
            submission = self._api.submit(request)
        except ClientError as error:
            return _refusal(error)
        if not submission.created:
            # SageMaker takes a name only once, and callers whose generated names collide must hear of it.
            return _error(400, "ResourceInUse", f"The queue holds a job {name} already, made by the same request.")
        return _answer({"TrainingJobArn": training_job.arn(request, context["client_region"], name)})

    def _look_up(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        name = params.get("TrainingJobName")
        if not isinstance(name, str) or not name:
            return  # botocore's own validation tells the caller
        try:
            details = self._api.get_job(name)
        except JobNotFoundError:
            return  # not ours: SageMaker answers
        context[_CONTEXT_KEY] = details
        attempt = training_job.shown_attempt(details)
        if attempt is not None:
            params["TrainingJobName"] = attempt.name

    def _describe(self, *, model: Any, context: dict[str, Any], **_: Any) -> Response | None:
        details: JobDetails | None = context.get(_CONTEXT_KEY)
        if details is None or training_job.shown_attempt(details) is not None:
            return None
        members = model.output_shape.members
        return _answer(training_job.describe(details, region=context["client_region"], members=members))

    def _rename(self, *, http_response: Any, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        details: JobDetails | None = context.get(_CONTEXT_KEY)
        if details is not None and http_response.status_code < 300:
            training_job.under_own_name(parsed, details)

    def _stop(self, *, context: dict[str, Any], **_: Any) -> Response | None:
        try:
            self._api.stop_job(str(context[_CONTEXT_KEY]["TrainingJobName"]))
        except JobNotFoundError:
            return None
        except ClientError as error:
            return _refusal(error)
        return _answer({})


def _refusal(error: ClientError) -> Response:
    """Return an error of the queue as one of SageMaker's, so that callers handle it as they always did.

    What SageMaker has no word for (the queue is not reachable, is busy, or failed) is raised as it is, like
    botocore's own errors on connections.
    """
    if isinstance(error, ConflictError):
        code = "ResourceInUse" if error.code == "NameInUse" else "ValidationException"
    elif isinstance(error, RefusedError):
        code = "ValidationException"
    elif isinstance(error, NotAllowedError) and error.status is not None:
        code = "AccessDeniedException"
    else:
        raise error
    return _error(error.status or 400, code, error.full_message(), request_id=error.request_id)


def _answer(document: dict[str, Any]) -> Response:
    return _response(200, document, request_id=None)


def _error(status: int, code: str, message: str, *, request_id: str | None = None) -> Response:
    return _response(status, {"Error": {"Code": code, "Message": message}}, request_id=request_id)


def _response(status: int, document: dict[str, Any], *, request_id: str | None) -> Response:
    document["ResponseMetadata"] = {
        "RequestId": request_id or "",
        "HTTPStatusCode": status,
        "HTTPHeaders": {},
        "RetryAttempts": 0,
    }
    return AWSResponse("headway", status, HTTPHeaders(), None), document
