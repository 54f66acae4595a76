"""Where a job writes its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headway_service.ports.objects import Location


def checkpoints_of(request: Mapping[str, Any]) -> Location | None:
    """What the keys of a job's checkpoints begin with; None if it writes none, or not to an `s3://` URI.

    It ends with a slash, as the checkpoints of `run-10` are none of `run-1`; the key is empty for a whole bucket.

    Args:
        request: the CreateTrainingJob request.
    """
    location = Location.of_uri((request.get("CheckpointConfig") or {}).get("S3Uri", ""))
    if location is None:
        return None
    folder = location.key.rstrip("/")
    return replace(location, key=f"{folder}/" if folder else "")
