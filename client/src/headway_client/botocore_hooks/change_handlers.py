"""Handlers of the calls that change an existing training job: its tags, its settings, its deletion.

A job with a training job in SageMaker is changed there, under its current attempt. Tags of a job that waits are changed
in the queue, where its request is admitted again. Other calls are refused for it with a sentence that names the queue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headway_client.botocore_hooks import describe_response
from headway_client.botocore_hooks.arns import name_in, with_name
from headway_client.botocore_hooks.job_cache import QueueJobs
from headway_client.botocore_hooks.responses import Response, answer, error_response, refusal
from headway_client.errors import ConflictError, NotAllowedError, RefusedError
from headway_client.models import Job
from headway_client.request_tags import QUEUE_TAGS

_OPERATIONS = ("AddTags", "DeleteTags", "UpdateTrainingJob", "DeleteTrainingJob")

_CONTEXT_KEY = "headway"


class ChangeHandlers:
    """The handlers of one client.

    Args:
        jobs: the queue's jobs.
    """

    def __init__(self, jobs: QueueJobs) -> None:
        self._jobs = jobs

    def by_event(self) -> dict[str, Callable[..., Any]]:
        """Return the handlers by event, without the name of the service."""
        return {
            event: handler
            for operation in _OPERATIONS
            for event, handler in (
                (f"before-parameter-build.{operation}", self._redirect),
                (f"before-call.{operation}", self._answer),
            )
        }

    def _redirect(self, *, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        # The parameters are not validated yet; what is not text is left to botocore.
        context[_CONTEXT_KEY] = call = _Call(params)
        arn = params.get("ResourceArn")
        of_tags = name_in(arn) is not None
        name = name_in(arn) if of_tags else params.get("TrainingJobName")
        if not isinstance(name, str):
            return
        try:
            details = self._jobs.find(name, changes=True)
        except NotAllowedError as error:
            call.answer = refusal(error)
            return
        if details is None:
            return  # not in the queue: SageMaker answers
        attempt = describe_response.shown_attempt(details)
        if attempt is None and of_tags and not details.job.has_ended:
            call.waiting = name
        elif attempt is None:
            call.answer = error_response(400, "ValidationException", _nothing_to_change(details.job))
        elif of_tags:
            params["ResourceArn"] = with_name(str(arn), attempt.name)
        else:
            params["TrainingJobName"] = attempt.name

    def _answer(self, *, context: dict[str, Any], **_: Any) -> Response | None:
        call: _Call = context[_CONTEXT_KEY]
        if name_in(call.params.get("ResourceArn")) is not None:
            added = {tag["Key"]: tag["Value"] for tag in call.params.get("Tags", ())}
            removed = list(call.params.get("TagKeys", ()))
            reserved = next((key for key in (*removed, *added) if key in QUEUE_TAGS), None)
            if reserved is not None:
                message = f"The queue identifies its training jobs by the tag {reserved}; leave it out of the call."
                return error_response(400, "ValidationException", message)
            if call.waiting is not None:
                return self._change_tags(call.waiting, added, removed)
        return call.answer

    def _change_tags(self, name: str, added: dict[str, str], removed: list[str]) -> Response:
        try:
            tags = self._jobs.change_tags(name, added, removed)
        except (ConflictError, NotAllowedError, RefusedError) as error:
            return refusal(error)
        # DeleteTags has no response members.
        return answer({"Tags": tags} if added else {})


@dataclass
class _Call:
    """A call on its way.

    Attributes:
        params: its parameters.
        answer: the queue's answer; SageMaker answers if there is none.
        waiting: the job whose tags the queue changes, if it waits.
    """

    params: dict[str, Any]
    answer: Response | None = None
    waiting: str | None = None


def _nothing_to_change(job: Job) -> str:
    if job.has_ended:
        return f"{job.name} ended in the queue before SageMaker had a training job of it; there is nothing to change."
    return (
        f"{job.name} waits in the queue, and SageMaker has no training job of it yet. Stop it with StopTrainingJob and "
        "submit the changed request, or repeat this call once it runs."
    )
