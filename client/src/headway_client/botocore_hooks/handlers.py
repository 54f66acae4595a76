"""Handlers of botocore's events that answer SageMaker's training job calls from the queue.

One place serves boto3 and both SageMaker SDKs. CreateTrainingJob goes to the queue. DescribeTrainingJob,
StopTrainingJob, ListTrainingJobs and ListTags are answered for jobs of the queue, and passed on to SageMaker for all
others; calls that change a training job (`headway_client.botocore_hooks.change_handlers`) go to SageMaker under the
name of the current attempt. No other operation of SageMaker is affected. The order of the events is that of botocore's
``BaseClient._make_api_call``: ``before-parameter-build`` with the caller's parameters, validation and serialization,
then ``before-call``, where a handler that returns a response keeps the call from being sent, then ``after-call``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headway_client.botocore_hooks import describe_response, list_response
from headway_client.botocore_hooks.arns import arn_of, name_in, with_name
from headway_client.botocore_hooks.change_handlers import ChangeHandlers
from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.botocore_hooks.progress import MAX_FOLLOWED_JOBS, Progress
from headway_client.botocore_hooks.responses import Response, answer, error_response, refusal, says_not_found
from headway_client.errors import ClientError, NotAllowedError
from headway_client.models import Job, JobDetails
from headway_client.request_tags import QUEUE_TAGS, with_default_priority
from headway_client.ttl_cache import TtlCache

SEEN_FOR_S = 86_400.0
"""How long the transitions that a client has received of a job are kept."""

_CONTEXT_KEY = "headway"
"""The key in a call's context under which its handlers pass values to each other."""


def register(
    events: Any, jobs: QueueJobs, *, priority: int | None, progress: Progress, elsewhere: str | None = None
) -> None:
    """Register the handlers, in place of those registered before.

    Args:
        events: the event system of a boto3 client of ``sagemaker``.
        jobs: the queue's jobs, as the client sees them.
        priority: for requests without a priority tag; None for the queue's default.
        progress: notifies about changes of jobs.
        elsewhere: why the client's training jobs can't be in the queue: then it creates none, and all other calls go
            to SageMaker. None if they can.
    """
    handlers = _Handlers(jobs, priority=priority, progress=progress).by_event()
    if elsewhere is not None:
        handlers = dict.fromkeys(handlers, _pass_on) | {"before-call.CreateTrainingJob": _refuse_with(elsewhere)}
    for event, handler in handlers.items():
        name, _, operation = event.partition(".")
        full_name = f"{name}.sagemaker.{operation}"
        # botocore ignores a second handler with the same id, so the first one has to be removed.
        events.unregister(full_name, unique_id=f"headway-{event}")
        events.register(full_name, handler, unique_id=f"headway-{event}")


class _Handlers:
    def __init__(self, jobs: QueueJobs, *, priority: int | None, progress: Progress) -> None:
        self._jobs = jobs
        self._priority = priority
        self._progress = progress
        self._seen: TtlCache[list[dict[str, Any]]] = TtlCache(max_size=MAX_FOLLOWED_JOBS, ttl_s=SEEN_FOR_S)

    def by_event(self) -> dict[str, Callable[..., Any]]:
        return {
            "before-parameter-build.CreateTrainingJob": self._keep,
            "before-call.CreateTrainingJob": self._create,
            "before-parameter-build.DescribeTrainingJob": self._find,
            "before-call.DescribeTrainingJob": self._describe,
            "after-call.DescribeTrainingJob": self._rename,
            "before-parameter-build.StopTrainingJob": self._keep,
            "before-call.StopTrainingJob": self._stop,
            "before-parameter-build.ListTags": self._find_tagged,
            "before-call.ListTags": self._list_tags,
            "after-call.ListTags": self._hide_queue_tags,
            "before-parameter-build.ListTrainingJobs": self._list,
            "before-call.ListTrainingJobs": self._answer_list,
            "after-call.ListTrainingJobs": self._merge_lists,
            **ChangeHandlers(self._jobs).by_event(),
        }

    def _keep(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        # The caller's parameters: before-call only receives them serialized.
        context[_CONTEXT_KEY] = params

    def _create(self, *, context: dict[str, Any], **_: Any) -> Response:
        request = with_default_priority(context[_CONTEXT_KEY], self._priority)
        name = str(request["TrainingJobName"])
        try:
            submission = self._jobs.submit(request)
        except ClientError as error:
            return refusal(error)
        if not submission.created:
            # SageMaker refuses a name in use, and a caller whose generated names collide has to notice.
            message = f"The queue already has a job {name} from the same request."
            return error_response(400, "ResourceInUse", message)
        self._progress.follow(submission.job)
        return answer({"TrainingJobArn": arn_of(request, context["client_region"], name)})

    def _find(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        name = params.get("TrainingJobName")
        if not isinstance(name, str):
            return  # left to botocore's validation
        asked_s = None if self._jobs.is_foreign(name) else self._jobs.now_s()
        try:
            details = self._jobs.find(name)
        except NotAllowedError as error:
            context[_CONTEXT_KEY] = error
            return  # answered before the call
        if details is None:
            if asked_s is not None:
                context[_CONTEXT_KEY] = _Foreign(name=name, asked_s=asked_s)
            return  # not in the queue: SageMaker answers
        self._progress.update(details.job)
        context[_CONTEXT_KEY] = details
        attempt = describe_response.shown_attempt(details)
        if attempt is not None:
            params["TrainingJobName"] = attempt.name

    def _describe(self, *, model: Any, context: dict[str, Any], **_: Any) -> Response | None:
        found: _Found = context.get(_CONTEXT_KEY)
        if isinstance(found, NotAllowedError):
            return refusal(found)
        if not isinstance(found, JobDetails) or describe_response.shown_attempt(found) is not None:
            return None
        return answer(_own_description(found, model, context))

    def _rename(
        self, *, http_response: Any, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any
    ) -> None:
        details: _Found = context.get(_CONTEXT_KEY)
        failed = http_response.status_code >= 300
        if isinstance(details, _Foreign) and not failed:
            created = parsed.get("CreationTime")
            # A Stubber answers with what it was given, such as a number.
            if isinstance(created, datetime):
                self._jobs.keep_foreign(details.name, created_s=created.timestamp(), asked_s=details.asked_s)
        if not isinstance(details, JobDetails):
            return
        if failed and not details.job.has_ended and says_not_found(parsed):
            # One such answer proves nothing, and what follows is the queue's decision: botocore returns the document
            # of a response with this status.
            response, own = answer(_own_description(details, model, context))
            http_response.status_code = response.status_code
            parsed.clear()
            parsed.update(own)
        elif failed:
            return
        describe_response.rename_to_job(parsed, details)
        name = details.job.name
        transitions = describe_response.merge_transitions(
            self._seen.get(name) or [], parsed.get("SecondaryStatusTransitions", [])
        )
        self._seen.put(name, transitions)
        parsed["SecondaryStatusTransitions"] = transitions

    def _stop(self, *, context: dict[str, Any], **_: Any) -> Response | None:
        try:
            job = self._jobs.stop(str(context[_CONTEXT_KEY]["TrainingJobName"]))
        except ClientError as error:
            return refusal(error)
        if job is None:
            return None
        self._progress.follow(job)
        return answer({})

    def _find_tagged(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        # AddTags and DeleteTags change those of the same attempt.
        arn = params.get("ResourceArn")
        name = name_in(arn)
        try:
            context[_CONTEXT_KEY] = details = None if name is None else self._jobs.find(name)
        except NotAllowedError as error:
            context[_CONTEXT_KEY] = error
            return
        attempt = None if details is None else describe_response.shown_attempt(details)
        if attempt is not None:
            params["ResourceArn"] = with_name(str(arn), attempt.name)

    def _list_tags(self, *, context: dict[str, Any], **_: Any) -> Response | None:
        # SDK 2 lists tags to attach an estimator. SageMaker has none for a job that was never launched.
        found: _Found = context.get(_CONTEXT_KEY)
        if isinstance(found, NotAllowedError):
            return refusal(found)
        if not isinstance(found, JobDetails) or describe_response.shown_attempt(found) is not None:
            return None
        return answer({"Tags": [dict(tag) for tag in found.request.get("Tags", [])]})

    def _hide_queue_tags(self, *, parsed: dict[str, Any], **_: Any) -> None:
        # Programs copy the tags of a training job into the request of the next one, as ``Estimator.attach`` does.
        if "Tags" in parsed:
            parsed["Tags"] = [tag for tag in parsed["Tags"] if tag.get("Key") not in QUEUE_TAGS]

    def _list(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        token = params.get("NextToken")
        try:
            jobs = self._jobs.list_recent(recent=token is not None)
        except NotAllowedError as error:
            context[_CONTEXT_KEY] = error
            return  # answered before the call
        page = list_response.JobPage(summaries=[], next_token=None)
        if token is None or list_response.is_own_token(token):
            try:
                page = list_response.page(jobs, params, region=context["client_region"])
            except (TypeError, ValueError):
                return  # left to botocore's validation
            params.pop("NextToken", None)
            if page.next_token is None and page.summaries:
                # SageMaker fills the rest of the page.
                asked = int(params.get("MaxResults", list_response.DEFAULT_RESULTS))
                params["MaxResults"] = asked - len(page.summaries)
        context[_CONTEXT_KEY] = _Listing(jobs=jobs, page=page)

    def _answer_list(self, *, context: dict[str, Any], **_: Any) -> Response | None:
        listing: _Listing | NotAllowedError | None = context.get(_CONTEXT_KEY)
        if isinstance(listing, NotAllowedError):
            return refusal(listing)
        if listing is None or listing.page.next_token is None:
            return None
        return answer({"TrainingJobSummaries": [], "NextToken": listing.page.next_token})

    def _merge_lists(self, *, http_response: Any, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        listing: _Listing | NotAllowedError | None = context.get(_CONTEXT_KEY)
        if not isinstance(listing, _Listing) or http_response.status_code >= 300:
            return
        own = list_response.Represented(listing.jobs)
        others = [each for each in parsed.get("TrainingJobSummaries", []) if each["TrainingJobName"] not in own]
        parsed["TrainingJobSummaries"] = [*listing.page.summaries, *others]


def _pass_on(**_: Any) -> None:
    return None


def _refuse_with(message: str) -> Callable[..., Response]:
    return lambda **_: error_response(400, "ValidationException", message)


def _own_description(details: JobDetails, model: Any, context: dict[str, Any]) -> dict[str, Any]:
    return describe_response.describe(details, region=context["client_region"], members=model.output_shape.members)


@dataclass(frozen=True, kw_only=True)
class _Foreign:
    """A name that was not in the queue.

    Attributes:
        name: the name.
        asked_s: when the queue was asked, by its clock, s since 1970.
    """

    name: str
    asked_s: float


_Found = JobDetails | NotAllowedError | _Foreign | None
"""What a handler passes to those after it: the job, why its answer is refused, or that it is not in the queue."""


@dataclass(frozen=True, kw_only=True)
class _Listing:
    jobs: Sequence[Job]
    page: list_response.JobPage
