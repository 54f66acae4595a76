"""The part of a request that its result depends on, apart from the objects that it names. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headway.errors import HeadwayError
from headway_service.reuse.members import (
    IGNORED_RESOURCES,
    JOB_NAME,
    MEMBERS,
    SOURCE_CHANNELS,
    SUBMIT_DIRECTORY,
    Role,
)

_PINNED = re.compile(r".+@sha256:[0-9a-f]{64}")

# SDK 2 writes all values as JSON. Its own URIs need no escapes; what has any is a value as any other, and not decoded.
_ARCHIVE = re.compile(r'(?P<quote>"?)(?P<uri>s3://[^"\\\x00-\x1f]*)(?P=quote)')


class NotReusable(HeadwayError):
    """A job is not answered by another one, and answers no other one; the message is a clause that says why."""


def require_reusable(request: Mapping[str, Any], *, unpinned: bool) -> None:
    """Check that equal requests compute the same, as far as the request tells.

    Args:
        request: the CreateTrainingJob request.
        unpinned: whether an image whose content may change counts as the same.

    Raises:
        NotReusable: they may not.
    """
    for member in sorted(request):
        if MEMBERS.get(member, Role.NEVER) is Role.NEVER:
            raise NotReusable(f"jobs with {member} always do")
    algorithm = request.get("AlgorithmSpecification", {})
    if not unpinned and not _PINNED.fullmatch(algorithm.get("TrainingImage", "")):
        raise NotReusable(
            "its image may have changed: name the image with its digest (@sha256:...), or submit with --reuse-unpinned"
        )


def canonical(request: Mapping[str, Any], member: str = "") -> dict[str, Any]:
    """A request without what its result does not depend on, and without the places of its sources.

    Args:
        request: the CreateTrainingJob request, for which :func:`require_reusable` raises no error.
        member: of a member of an array, its name, which its checkpoint location ends with; empty for other jobs.
    """
    kept = {member: value for member, value in request.items() if MEMBERS[member] in {Role.PART, Role.STATE}}
    if "ResourceConfig" in kept:
        kept["ResourceConfig"] = _without(kept["ResourceConfig"], IGNORED_RESOURCES)
    if "HyperParameters" in kept:
        places = (SUBMIT_DIRECTORY,) if submitted_archive(request) else ()
        kept["HyperParameters"] = _without(kept["HyperParameters"], (JOB_NAME, *places))
    if "InputDataConfig" in kept:
        channels = [_without_place(each) for each in kept["InputDataConfig"]]
        kept["InputDataConfig"] = sorted(channels, key=lambda each: str(each["ChannelName"]))
    if member and "CheckpointConfig" in kept:
        location = kept["CheckpointConfig"]["S3Uri"].removesuffix(f"/{member}")
        kept["CheckpointConfig"] = {**kept["CheckpointConfig"], "S3Uri": location}
    return kept


def submitted_archive(request: Mapping[str, Any]) -> str:
    """The URI of the archive of the sources in the hyperparameters; empty if there is none."""
    found = _ARCHIVE.fullmatch(request.get("HyperParameters", {}).get(SUBMIT_DIRECTORY, ""))
    return found["uri"] if found else ""


def is_source(channel: Mapping[str, Any]) -> bool:
    """Whether a channel has sources, whose place does not matter."""
    return channel["ChannelName"] in SOURCE_CHANNELS and "S3DataSource" in channel["DataSource"]


def _without_place(channel: Mapping[str, Any]) -> dict[str, Any]:
    if not is_source(channel):
        return dict(channel)
    return {**channel, "DataSource": {"S3DataSource": _without(channel["DataSource"]["S3DataSource"], ("S3Uri",))}}


def _without(members: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in names}


def account_in(request: Mapping[str, Any]) -> str:
    """The account of the queue: that of each training role (API reference, CreateTrainingJob, RoleArn)."""
    return str(request["RoleArn"].split(":")[4])
