"""Logs each refusal: caller, action, job and code; never a value of a request."""

from __future__ import annotations

import re
from typing import Any

from headway_service.errors import NotAllowed, RequestError
from headway_service.observability.logging import logger
from headway_service.sagemaker_api.masking import CONFIDENTIAL

_MAX_CHARS = 300

# TrainingJobName's pattern (service model of CreateTrainingJob). What does not keep it may be anything, also a secret.
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}(_[0-9]{1,4})?\Z")


def log_refusal(error: RequestError, *, caller: str, call: str, job: str | None) -> None:
    """Log a refusal.

    Args:
        error: the response. Only its code and the names of its fields are logged: the sentences may quote values.
        caller: the ARN of the caller.
        call: method and path.
        job: the job's name, if the call is about one.
    """
    about = {"code": error.code, "fields": [_field(each.field) for each in error.fields]}
    extra = {**about, "caller": caller, "call": call[:_MAX_CHARS], "job": job}
    # The level separates missing permissions from invalid requests, also where LogLevel is WARN.
    (logger.warning if isinstance(error, NotAllowed) else logger.info)("refused", extra=extra)


def _field(path: str) -> str:
    """The path of a field, but for names of hyperparameters and variables: some put a value where the name belongs."""
    member = re.match(rf"(?:.*\.)?(?:{'|'.join(CONFIDENTIAL)})\b", path)
    return (member[0] if member else path)[:_MAX_CHARS]


def job_named_in(request: Any) -> str | None:
    """The name in an unchecked request; None if it has none."""
    name = request.get("TrainingJobName") if isinstance(request, dict) else None
    return name if isinstance(name, str) and _NAME.match(name) else None


def job_in(path: str) -> str | None:
    """The name of the job that a path is about; None if it is about none."""
    _, noun, name, *_ = [*path.split("/"), "", "", ""]
    return name if noun == "jobs" and _NAME.match(name) else None
