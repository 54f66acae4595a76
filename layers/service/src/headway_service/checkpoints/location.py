"""Where a job writes its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

_SCHEME = "s3://"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointLocation:
    """A folder of a bucket: what the keys of checkpoints begin with."""

    bucket: str
    #: Ends with a slash, as the checkpoints of `run-10` are none of `run-1`; empty for the whole bucket.
    prefix: str

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Self | None:
        """The location in a CreateTrainingJob request; None if it has none, or one that is no `s3://` URI.

        SageMaker's model allows `https://` URIs too (API reference, CheckpointConfig), whose form differs by region.
        """
        uri = (request.get("CheckpointConfig") or {}).get("S3Uri", "")
        bucket, _, key = uri.removeprefix(_SCHEME).partition("/")
        if not uri.startswith(_SCHEME) or not bucket:
            return None
        folder = key.rstrip("/")
        return cls(bucket=bucket, prefix=f"{folder}/" if folder else "")
