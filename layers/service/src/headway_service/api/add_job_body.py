"""The body of ``POST /add-job``: a CreateTrainingJob request, or the founding article's item with one inside.

The article's clients send the item that its queue stored: ``jobName``, ``entryTime``, ``jobState``, ``priority`` and
``jobDetails``. Here the queue sets the time of entry and the state itself, so it ignores those two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_service.admission.submission import Submission
from headway_service.api.request_body import document_in
from headway_service.errors import FieldError, InvalidRequest
from headway_service.sagemaker_api.tags import PRIORITY_TAGS

_DETAILS = "jobDetails"
_ARTICLE = ("jobName", "entryTime", "jobState", "priority", _DETAILS)
_REUSE = ("reuse", "reuseUnpinned")
_ARRAY = ("sweep", "atOnce", "maxFailures", "earlyStopping")
_MEMBERS = (*_ARTICLE, "alternatives", "waitAtMostSeconds", "portableCheckpoint", "dependsOn", *_REUSE, *_ARRAY)


def submission_in(body: Any) -> Any:
    """Return what a body submits, unchecked: a request, or a request with its alternatives and dependencies.

    Args:
        body: see :func:`training_request_in`; an item may have ``alternatives`` and ``dependsOn`` beside its request.

    Raises:
        InvalidRequest: see :func:`training_request_in`.
    """
    if not isinstance(body, Mapping) or _DETAILS not in body:
        return body
    return Submission(
        request=dict(training_request_in(body)),
        alternatives=body.get("alternatives"),
        wait_at_most_s=body.get("waitAtMostSeconds", 0),
        portable_checkpoint=body.get("portableCheckpoint", False),
        depends_on=body.get("dependsOn"),
        sweep=body.get("sweep"),
        at_once=body.get("atOnce"),
        max_failures=body.get("maxFailures"),
        early_stopping=body.get("earlyStopping"),
        reuse=body.get("reuse", False),
        reuse_unpinned=body.get("reuseUnpinned", False),
    )


def training_request_in(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the CreateTrainingJob request of a body, unchecked.

    Args:
        body: the request, or the article's item. The item's ``jobDetails`` is the request, as an object or as JSON
            text; its ``jobName`` and ``priority`` may be left out.

    Raises:
        InvalidRequest: the item has an unknown member, its request is not an object, or a member contradicts it.
    """
    if _DETAILS not in body:
        return body
    unknown = sorted(set(body) - set(_MEMBERS))
    if unknown:
        known = ", ".join(_MEMBERS)
        raise _invalid(unknown[0], f"is not a member of a job; members: {known}. Put the request into {_DETAILS}")
    details = body[_DETAILS]
    if isinstance(details, str):
        details = document_in("", details)
    if not isinstance(details, dict):
        raise _invalid(_DETAILS, "has to be a CreateTrainingJob request, as an object or as JSON text")
    return _with_priority(_with_name(details, body.get("jobName")), body.get("priority"))


def _with_name(request: Mapping[str, Any], name: Any) -> Mapping[str, Any]:
    if name is None:
        return request
    own = request.get("TrainingJobName", name)
    if own != name:
        raise _invalid("jobName", f"is not the TrainingJobName of {_DETAILS}; leave one of them out")
    return {**request, "TrainingJobName": name}


def _with_priority(request: Mapping[str, Any], priority: Any) -> Mapping[str, Any]:
    if priority is None:
        return request
    # The tag is checked like every other; a number that is not whole becomes a text that is refused.
    value = priority if isinstance(priority, str) else str(priority)
    tags = request.get("Tags", [])
    if not isinstance(tags, list):
        return request
    own = [tag.get("Value") for tag in tags if isinstance(tag, dict) and tag.get("Key") in PRIORITY_TAGS]
    if any(each != value for each in own):
        raise _invalid("priority", f"is not the priority in the tags of {_DETAILS}; leave one of them out")
    return request if own else {**request, "Tags": [*tags, {"Key": PRIORITY_TAGS[0], "Value": value}]}


def _invalid(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{field} {message}", [FieldError(field=field, message=message)])
