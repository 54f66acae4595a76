"""SageMaker's training job calls, answered by the queue: handlers in botocore's event system.

This is the one seam for boto3 and both SageMaker SDKs. CreateTrainingJob goes to the queue; DescribeTrainingJob,
StopTrainingJob, ListTrainingJobs and ListTags do so for jobs that the queue holds, and pass on to SageMaker for all
others. Nothing else of SageMaker is touched. The order of the events is that of botocore's
``BaseClient._make_api_call``: ``before-parameter-build`` with the caller's parameters, validation and serialisation,
then ``before-call``, where a handler that returns a response keeps the call from being sent, then ``after-call``.

Logs are read in many calls for one, for which a handler has no client: there a client's methods are replaced
(`headway_client.botocore_hooks.logs_proxy`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from headway_client.botocore_hooks import describe_response, list_response
from headway_client.botocore_hooks.job_cache import OwnJobs
from headway_client.botocore_hooks.logs_proxy import OwnLogs
from headway_client.botocore_hooks.progress import MAX_FOLLOWED_JOBS, Progress, Tell
from headway_client.errors import ClientError, ConflictError, NotAllowedError, RefusedError, UsageError
from headway_client.http.connect import default_api
from headway_client.models import Job, JobDetails
from headway_client.priority_tag import has_priority, with_priority
from headway_client.ttl_cache import Remembered

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

SEEN_FOR_S = 86_400.0
"""For so long the transitions that a client has seen of a job are kept."""

_CONTEXT_KEY = "headway"
"""Where the handlers of one call leave word for each other in the call's context."""

_LOG_METHODS = {"describe_log_streams": "describe", "get_log_events": "get"}
_ORIGINAL = "headway_original"
"""Where a replaced method keeps what it replaced."""

Response = tuple[AWSResponse, dict[str, Any]]


def attach(
    target: Any, api: HeadwayApi | None = None, *, priority: int | None = None, tell: Tell | None = None
) -> None:
    """Let the queue answer for training jobs on a client, or on all clients made of a boto3 session from now on.

    Attaching again replaces what was attached before.

    Args:
        target: a boto3 client of ``sagemaker`` or ``logs``, or a ``boto3.Session``.
        api: the queue; by default the one that the environment or the profile file leads to.
        priority: for requests that have no priority tag of their own; None leaves it to the queue's default.
        tell: is called with a sentence whenever a job that is submitted or described has come to another place or
            state, such as ``print``; None tells nothing.

    Raises:
        ClientError: of `headway_client.errors`: it is no such target, or nothing says where the queue is.
    """
    attach_jobs(
        target, OwnJobs(api or default_api(None if hasattr(target, "meta") else target)), priority=priority, tell=tell
    )


def attach_jobs(target: Any, jobs: OwnJobs, *, priority: int | None = None, tell: Tell | None = None) -> None:
    """The same as `attach`, for whoever asks `jobs` something, too."""
    if not hasattr(target, "meta"):
        _register(target.events, jobs, priority=priority, tell=tell)
        attach_logs(target, jobs)
        return
    service = target.meta.service_model.service_name
    if service == "sagemaker":
        _register(target.meta.events, jobs, priority=priority, tell=tell)
    elif service == "logs":
        attach_logs(target, jobs)
    else:
        raise UsageError(f"A client of {service} has no training jobs: attach to one of sagemaker or logs.")


def attach_logs(target: Any, jobs: OwnJobs) -> None:
    """Give a client of ``logs``, or those made of a boto3 session from now on, the logs of jobs under their names."""
    if hasattr(target, "meta"):
        methods = {name: getattr(type(target), name) for name in _LOG_METHODS}
        methods = {name: getattr(method, _ORIGINAL, method) for name, method in methods.items()}
        own = OwnLogs(jobs, **{_LOG_METHODS[name]: method.__get__(target) for name, method in methods.items()})
        for name in _LOG_METHODS:
            setattr(target, name, getattr(own, name))
        return

    def replace_methods(*, class_attributes: dict[str, Any], **_: Any) -> None:
        class_attributes.update(_log_methods(class_attributes, jobs))

    event, unique_id = "creating-client-class.logs", "headway-logs"
    target.events.unregister(event, unique_id=unique_id)
    target.events.register(event, replace_methods, unique_id=unique_id)


def reads_own_logs(client: Any) -> bool:
    """Whether a client of ``logs`` was made of a session that is attached."""
    return any(hasattr(getattr(type(client), name), _ORIGINAL) for name in _LOG_METHODS)


def _log_methods(class_attributes: dict[str, Any], jobs: OwnJobs) -> dict[str, Callable[..., Any]]:
    originals = {name: class_attributes[name] for name in _LOG_METHODS}
    attribute = "_headway_logs"

    def method(name: str) -> Callable[..., Any]:
        @functools.wraps(originals[name])
        def call(client: Any, *args: Any, **arguments: Any) -> Any:
            own = client.__dict__.get(attribute)
            if own is None:
                own = OwnLogs(jobs, **{_LOG_METHODS[each]: originals[each].__get__(client) for each in _LOG_METHODS})
                client.__dict__[attribute] = own
            return getattr(own, name)(*args, **arguments)

        setattr(call, _ORIGINAL, originals[name])
        return call

    return {name: method(name) for name in _LOG_METHODS}


def _register(events: Any, jobs: OwnJobs, *, priority: int | None, tell: Tell | None) -> None:
    for event, handler in _Handlers(jobs, priority=priority, progress=Progress(tell)).by_event().items():
        name, _, operation = event.partition(".")
        full_name = f"{name}.sagemaker.{operation}"
        # botocore ignores a second handler of the same id, so the first one has to go.
        events.unregister(full_name, unique_id=f"headway-{event}")
        events.register(full_name, handler, unique_id=f"headway-{event}")


class _Handlers:
    def __init__(self, jobs: OwnJobs, *, priority: int | None, progress: Progress) -> None:
        self._jobs = jobs
        self._priority = priority
        self._progress = progress
        self._seen: Remembered[list[dict[str, Any]]] = Remembered(limit=MAX_FOLLOWED_JOBS, for_s=SEEN_FOR_S)

    def by_event(self) -> dict[str, Callable[..., Any]]:
        return {
            "before-parameter-build.CreateTrainingJob": self._keep,
            "before-call.CreateTrainingJob": self._create,
            "before-parameter-build.DescribeTrainingJob": self._look_up,
            "before-call.DescribeTrainingJob": self._describe,
            "after-call.DescribeTrainingJob": self._rename,
            "before-parameter-build.StopTrainingJob": self._keep,
            "before-call.StopTrainingJob": self._stop,
            "before-parameter-build.ListTags": self._keep,
            "before-call.ListTags": self._list_tags,
            "before-parameter-build.ListTrainingJobs": self._list_own,
            "before-call.ListTrainingJobs": self._answer_own_list,
            "after-call.ListTrainingJobs": self._join_lists,
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
            submission = self._jobs.submit(request)
        except ClientError as error:
            return _refusal(error)
        if not submission.created:
            # SageMaker takes a name only once, and callers whose generated names collide must hear of it.
            return _error(400, "ResourceInUse", f"The queue holds a job {name} already, made by the same request.")
        self._progress.see(submission.job)
        return _answer({"TrainingJobArn": describe_response.arn(request, context["client_region"], name)})

    def _look_up(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        name = params.get("TrainingJobName")
        if not isinstance(name, str):
            return  # botocore's own validation tells the caller
        details = self._jobs.find(name)
        if details is None:
            context[_CONTEXT_KEY] = name
            return  # not ours: SageMaker answers
        self._progress.see(details.job)
        context[_CONTEXT_KEY] = details
        attempt = describe_response.shown_attempt(details)
        if attempt is not None:
            params["TrainingJobName"] = attempt.name

    def _describe(self, *, model: Any, context: dict[str, Any], **_: Any) -> Response | None:
        details: JobDetails | str | None = context.get(_CONTEXT_KEY)
        if not isinstance(details, JobDetails) or describe_response.shown_attempt(details) is not None:
            return None
        members = model.output_shape.members
        return _answer(describe_response.describe(details, region=context["client_region"], members=members))

    def _rename(self, *, http_response: Any, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        details: JobDetails | str | None = context.get(_CONTEXT_KEY)
        if isinstance(details, str) and http_response.status_code >= 300:
            self._jobs.is_nobodys(details)
        if not isinstance(details, JobDetails) or http_response.status_code >= 300:
            return
        describe_response.under_own_name(parsed, details)
        name = details.job.name
        transitions = describe_response.after(self._seen.get(name) or [], parsed.get("SecondaryStatusTransitions", []))
        self._seen.put(name, transitions)
        parsed["SecondaryStatusTransitions"] = transitions

    def _stop(self, *, context: dict[str, Any], **_: Any) -> Response | None:
        try:
            job = self._jobs.stop(str(context[_CONTEXT_KEY]["TrainingJobName"]))
        except ClientError as error:
            return _refusal(error)
        if job is None:
            return None
        self._progress.see(job)
        return _answer({})

    def _list_tags(self, *, context: dict[str, Any], **_: Any) -> Response | None:
        # SDK 2 asks for them to attach an estimator. SageMaker knows no tags of a job that it has not seen yet.
        name = str(context[_CONTEXT_KEY].get("ResourceArn")).partition(":training-job/")[2]
        details = self._jobs.find(name)
        if details is None or describe_response.shown_attempt(details) is not None:
            return None
        return _answer({"Tags": [dict(tag) for tag in details.request.get("Tags", [])]})

    def _list_own(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        token = params.get("NextToken")
        jobs = self._jobs.listed(recent=token is not None)
        page = list_response.JobPage(summaries=[], next_token=None)
        if token is None or list_response.is_own_token(token):
            try:
                page = list_response.page(jobs, params, region=context["client_region"])
            except (TypeError, ValueError):
                return  # botocore's own validation tells the caller
            params.pop("NextToken", None)
            if page.next_token is None and page.summaries:
                # What is left of the page is SageMaker's.
                asked = int(params.get("MaxResults", list_response.DEFAULT_RESULTS))
                params["MaxResults"] = asked - len(page.summaries)
        context[_CONTEXT_KEY] = _Listing(jobs=jobs, page=page)

    def _answer_own_list(self, *, context: dict[str, Any], **_: Any) -> Response | None:
        listing: _Listing | None = context.get(_CONTEXT_KEY)
        if listing is None or listing.page.next_token is None:
            return None
        return _answer({"TrainingJobSummaries": [], "NextToken": listing.page.next_token})

    def _join_lists(self, *, http_response: Any, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        listing: _Listing | None = context.get(_CONTEXT_KEY)
        if listing is None or http_response.status_code >= 300:
            return
        own = list_response.names_of(listing.jobs)
        others = [each for each in parsed.get("TrainingJobSummaries", []) if each["TrainingJobName"] not in own]
        parsed["TrainingJobSummaries"] = [*listing.page.summaries, *others]


@dataclass(frozen=True, kw_only=True)
class _Listing:
    jobs: Sequence[Job]
    page: list_response.JobPage


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
