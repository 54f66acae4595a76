"""What a training job runs: its script, its command, or its image. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

SOURCE_CHARS = 12
"""Characters of the digest of a source: jobs keep it, and queue entries are read by the thousand."""

# The tag and the digest of an image, which a new build changes. A colon before a slash is that of a port.
_VERSION = re.compile(r"(?::[^:/@]+)?(?:@.*)?$")


def run_source(request: Mapping[str, Any]) -> str:
    """A digest of what a request runs, by which later jobs that run the same are recognized.

    The script of the SageMaker Python SDK (``sagemaker_program``) counts by its name, as each submission uploads it to
    another place; otherwise the command of the container; otherwise its image or algorithm, without a version.

    Args:
        request: the CreateTrainingJob request; members of another shape count as missing.
    """
    return hashlib.sha256(_source(request).encode()).hexdigest()[:SOURCE_CHARS]


def _source(request: Mapping[str, Any]) -> str:
    parameters = request.get("HyperParameters")
    program = parameters.get("sagemaker_program") if isinstance(parameters, Mapping) else None
    if isinstance(program, str) and program:
        return f"program {program}"
    specification = request.get("AlgorithmSpecification")
    if not isinstance(specification, Mapping):
        return ""
    command = [specification.get("ContainerEntrypoint"), specification.get("ContainerArguments")]
    if any(command):
        return f"command {json.dumps(command, sort_keys=True)}"
    image = specification.get("TrainingImage") or specification.get("AlgorithmName")
    return f"image {_VERSION.sub('', image)}" if isinstance(image, str) else ""
