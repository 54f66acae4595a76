"""Outputs of jobs that have completed, in the channels of a job that depends on them.

A template stands for a whole URI at its beginning: ``{{ jobs.prepare.output }}/train``. It is replaced literally.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from headway_service.errors import FieldError

MAX_URI_CHARS = 1024
"""The longest URI of a channel (API reference, S3DataSource)."""

_TEMPLATE = re.compile(r"\{\{ *jobs\.(?P<job>[^.{} ]+)\.(?P<output>model|output) *\}\}(?P<rest>.*)", re.DOTALL)
_BEGIN = "{{"
_SAMPLE = "s3://outputs"
_PATH = ("DataSource", "S3DataSource", "S3Uri")


def has_templates(request: str) -> bool:
    """Whether a request, as JSON, may have templates."""
    return _BEGIN in request


def has_template_of(request: Mapping[str, Any], job: str) -> bool:
    """Whether a channel of a request has an output of a job.

    Args:
        request: the CreateTrainingJob request.
    """
    return any(found["job"] == job for _, uri in _uris(request) if (found := _TEMPLATE.fullmatch(uri)))


def errors(request: Mapping[str, Any], jobs: Collection[str]) -> Iterator[FieldError]:
    """What is wrong with the templates of a request.

    Args:
        request: the CreateTrainingJob request, of any shape.
        jobs: the jobs that have to complete before it starts.
    """
    for i, uri in _uris(request):
        if not uri.startswith(_BEGIN):
            continue
        field = f"InputDataConfig[{i}].{'.'.join(_PATH)}"
        found = _TEMPLATE.fullmatch(uri)
        if found is None:
            message = f"is {uri!r:.80}; write {{{{ jobs.NAME.model }}}} or {{{{ jobs.NAME.output }}}}"
            yield FieldError(field=field, message=message)
        elif found["job"] not in jobs:
            message = (
                f"names `{found['job']}`, which need not complete first: add it to dependsOn, with the condition ok"
            )
            yield FieldError(field=field, message=message)
        elif found["rest"] and (found["output"] == "model" or not found["rest"].startswith("/")):
            message = "has more after the template: a model is one object; an output may be followed by / and a path"
            yield FieldError(field=field, message=message)


def outputs_of(request: Mapping[str, Any], attempt: str) -> dict[str, str]:
    """Where SageMaker stores the outputs of a training job, by name.

    Without compression there is no archive, and AWS does not document where the model is then.

    Args:
        request: the CreateTrainingJob request of its job.
        attempt: the name of the training job.
    """
    config = request["OutputDataConfig"]
    output = f"{config['S3OutputPath'].rstrip('/')}/{attempt}/output"
    is_archived = config.get("CompressionType") != "NONE"
    return {"output": output, **({"model": f"{output}/model.tar.gz"} if is_archived else {})}


def fill_in(request: Mapping[str, Any], job: str, outputs: Mapping[str, str]) -> dict[str, Any]:
    """The request with the outputs of one job in place of its templates.

    Args:
        job: the job that has completed.
        outputs: where its outputs are, by name.

    Raises:
        KeyError: it has no output of a name.
    """
    return _filled(request, lambda found: outputs[found["output"]] if found["job"] == job else None)


def with_samples(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request with valid URIs in place of all templates, to check the rest of it."""
    return _filled(request, lambda _: _SAMPLE)


def too_long(request: Mapping[str, Any]) -> str | None:
    """The field of a URI that is longer than SageMaker takes; None if there is none."""
    fields = (i for i, uri in _uris(request) if len(uri) > MAX_URI_CHARS)
    return next((f"InputDataConfig[{i}].{'.'.join(_PATH)}" for i in fields), None)


def _filled(request: Mapping[str, Any], value: Callable[[re.Match[str]], str | None]) -> dict[str, Any]:
    changed = copy.deepcopy(dict(request))
    for i, uri in _uris(request):
        found = _TEMPLATE.fullmatch(uri)
        replacement = value(found) if found else None
        if found and replacement is not None:
            changed["InputDataConfig"][i][_PATH[0]][_PATH[1]][_PATH[2]] = replacement + found["rest"]
    return changed


def _uris(request: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """The numbers of the channels that have an S3 URI, and these."""
    channels = request.get("InputDataConfig")
    for i, channel in enumerate(channels if isinstance(channels, list) else ()):
        part = channel
        for member in _PATH:
            part = part.get(member) if isinstance(part, Mapping) else None
        if isinstance(part, str):
            yield i, part
