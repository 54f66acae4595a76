"""The digest of all that the result of a job depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway_service.ports.objects import Location, StoredObject
from headway_service.reuse.archives import contents_digest
from headway_service.reuse.members import SUBMIT_DIRECTORY
from headway_service.reuse.reader import Reader, location_of
from headway_service.reuse.request import NotReusable, canonical, is_source, require_reusable, submitted_archive

_PREFIX = "S3Prefix"
_ARCHIVE = ".tar.gz"


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a job computes, and for whom.

    Attributes:
        request: the CreateTrainingJob request.
        alternatives: what its alternatives replace, as JSON; empty for none.
        team: the team that is charged; empty for none.
        unpinned: whether an image without a digest counts as the same.
        member: of a member of an array, its name; empty for other jobs.
    """

    request: Mapping[str, Any]
    alternatives: str
    team: str
    unpinned: bool
    member: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """What the result of a job depends on, at one moment.

    Attributes:
        key: the same for equal jobs.
        seen: differs from an earlier one of the same request if any object was written since, also with the same
            content.
    """

    key: str
    seen: str


class KnownInputs:
    """Objects that several jobs read, as they were when the first of these asked. They stand for no later moment."""

    def __init__(self) -> None:
        self._known: dict[str, list[_Read] | str] = {}

    def read(self, request: Mapping[str, Any], reader: Reader) -> list[_Read]:
        """The objects that a request names.

        Args:
            request: the CreateTrainingJob request.
            reader: reads them, unless they are known.

        Raises:
            NotReusable: they could not be read, for this job or the one that asked first.
        """
        # What one role may not read, another one may.
        inputs = json.dumps([request["RoleArn"], _channels(request), submitted_archive(request)], sort_keys=True)
        if inputs not in self._known:
            try:
                with reader.contained():
                    self._known[inputs] = [*_data(request, reader), *_sources(request, reader)]
            except NotReusable as error:
                self._known[inputs] = str(error)
        found = self._known[inputs]
        if isinstance(found, str):
            raise NotReusable(found)
        return found


def fingerprint(question: Question, reader: Reader, inputs: KnownInputs | None = None) -> Fingerprint:
    """The digest of a job, as of now.

    Args:
        question: what the job computes.
        reader: reads its objects.
        inputs: the objects that jobs have read before this one; None to read all of them now.

    Raises:
        NotReusable: the job is not answered by another one, and answers none.
    """
    request = question.request
    with reader.contained():
        require_reusable(request, unpinned=question.unpinned)
        if SUBMIT_DIRECTORY in question.alternatives:
            raise NotReusable("its alternatives have sources of their own")
        found = (inputs or KnownInputs()).read(request, reader)
        whole = {
            "team": question.team,
            "request": canonical(request, question.member),
            "alternatives": question.alternatives,
            "objects": [each.content for each in found],
        }
        times = [each.times for each in found]
        return Fingerprint(key=_digest(whole), seen=_digest([whole, times]))


def starts_afresh(request: Mapping[str, Any], reader: Reader) -> bool:
    """Whether a job has no checkpoints to continue from.

    Args:
        request: the CreateTrainingJob request.
        reader: reads the place.

    Raises:
        NotReusable: it cannot be read.
    """
    config = request.get("CheckpointConfig")
    with reader.contained():
        return config is None or not reader.holds_any(location_of(config["S3Uri"]))


def outputs_digest(prefix: str, reader: Reader) -> str:
    """A digest of the outputs of a job; empty if there are none.

    Args:
        prefix: where they are.
        reader: reads them.

    Raises:
        NotReusable: they cannot be read.
    """
    with reader.contained():
        found = reader.list(location_of(f"{prefix}/"))
        return _digest([[*_content(each), each.modified_ms] for each in found]) if found else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """Objects that a job reads: what they hold, and when they were written."""

    content: Any
    times: Any


def _data(request: Mapping[str, Any], reader: Reader) -> Iterable[_Read]:
    """The objects of the channels that have data: by their keys, ETags and sizes."""
    for channel in _channels(request):
        if is_source(channel):
            continue
        location = _location(channel)
        found = reader.list(location)
        yield _Read(
            content=[channel["ChannelName"], [_content(each) for each in found]],
            times=[each.modified_ms for each in found],
        )


def _sources(request: Mapping[str, Any], reader: Reader) -> Iterable[_Read]:
    """The objects with sources: by their names and contents, as the SDKs upload them for each job."""
    archive = submitted_archive(request)
    if archive:
        location = location_of(archive)
        found = [each for each in reader.list(location) if each.key == location.key]
        yield _read("", location, found, reader)
    for channel in _channels(request):
        if is_source(channel):
            location = _location(channel)
            yield _read(channel["ChannelName"], location, reader.list(location), reader)


def _read(name: str, location: Location, found: Sequence[StoredObject], reader: Reader) -> _Read:
    # What a container sees are names from the last folder of the prefix on.
    folder = location.key.rpartition("/")[0]
    contents = [
        [each.key.removeprefix(folder), _source_digest(each, content, reader)]
        for each, content in reader.read(location.bucket, found)
    ]
    return _Read(content=[name, contents], times=[[each.key, each.etag, each.modified_ms] for each in found])


def _source_digest(found: StoredObject, content: bytes, reader: Reader) -> str:
    if found.key.endswith(_ARCHIVE):
        return contents_digest(content, reader.unpacking)
    return hashlib.sha256(content).hexdigest()


def _channels(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    return sorted(request.get("InputDataConfig", ()), key=lambda each: str(each["ChannelName"]))


def _location(channel: Mapping[str, Any]) -> Location:
    source = channel["DataSource"].get("S3DataSource")
    if source is None:
        raise NotReusable(f"what its channel {channel['ChannelName']} reads is not in S3, so a change is not noticed")
    if source.get("S3DataType") != _PREFIX:
        raise NotReusable(
            f"its channel {channel['ChannelName']} reads what other objects name; only {_PREFIX} is compared"
        )
    return location_of(source["S3Uri"])


def _content(found: StoredObject) -> list[Any]:
    return [found.key, found.etag, found.size]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
