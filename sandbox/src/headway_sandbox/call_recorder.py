"""Records which AWS calls the functions make in a run.

`headway_verification.least_privilege` compares the records with the functions' policies.

Similar calls are one record with a count. The record keeps only the common prefix of their resources, so it stays small
and contains no job name: `…:training-job/*`. A run is a file of JSON lines; the first line describes the run.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import Any

from headway_sandbox.errors import SandboxError

_log = logging.getLogger("headway.sandbox")

MAX_CALLS = 2000
"""Different calls recorded per run. The run counts the calls beyond that, and no proof can use such a run."""

MAX_RUNS = 100
"""Runs kept in one folder. Older runs are removed."""


class Decision(StrEnum):
    """IAM's decision on a call."""

    ALLOWED = "allowed"
    #: No policy allows it.
    REFUSED = "refused"
    #: A policy explicitly denies it. The template's policies deny nothing, so a policy from outside does.
    FORBIDDEN = "forbidden"
    #: An in-process simulation made the call, without IAM.
    SIMULATED = "simulated"


@dataclass(frozen=True, kw_only=True)
class Call:
    """Similar calls."""

    role: str
    """Name of the calling role in the account; in a simulation its logical id in the template."""
    action: str
    """Such as `dynamodb:PutItem`."""
    decision: Decision
    sid: str = ""
    """Of the statement that allows it; empty if no statement does, or if a resource policy does."""
    position: int = 0
    """Index of the matching resource in that statement."""
    granted: str = ""
    """That resource: an ARN, possibly with wildcards."""
    resource: str = ""
    """Resource of the calls: one ARN, or the common prefix of all ARNs and `*`."""
    count: int = 1

    @property
    def kind(self) -> tuple[object, ...]:
        """All members but the resource and the count: equal for calls that share a record."""
        return (self.role, self.action, self.decision, self.sid, self.position, self.granted)

    def with_more(self, other: Call) -> Call:
        """Return one record for both."""
        return replace(self, count=self.count + other.count, resource=common_prefix(self.resource, other.resource))


def common_prefix(one: str, other: str) -> str:
    """Return the common prefix of two resources and `*`; the resource itself if both are equal.

    >>> common_prefix("job/a-1", "job/a-2")
    'job/a-*'

    Args:
        one: a resource.
        other: another resource.
    """
    if one == other:
        return one
    pairs = zip(one.removesuffix("*"), other.removesuffix("*"), strict=False)
    return "".join(mine for mine, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) + "*"


def merged(calls: Iterable[Call]) -> list[Call]:
    """Return one record per kind of call, sorted."""
    found: dict[tuple[object, ...], Call] = {}
    for call in calls:
        before = found.get(call.kind)
        found[call.kind] = before.with_more(call) if before else call
    return [found[kind] for kind in sorted(found, key=str)]


class Calls:
    """The calls of the current run. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[object, ...], Call] = {}
        self.dropped = 0
        """Calls that were not recorded because of `MAX_CALLS`."""

    def add(self, call: Call) -> None:
        """Record a call."""
        with self._lock:
            before = self._found.get(call.kind)
            if before is None and len(self._found) >= MAX_CALLS:
                self.dropped += call.count
            else:
                self._found[call.kind] = before.with_more(call) if before else call

    def all(self) -> list[Call]:
        """Return all calls so far, sorted."""
        with self._lock:
            return merged(self._found.values())

    def replace(self, calls: Iterable[Call]) -> None:
        """Replace all recorded calls by these."""
        with self._lock:
            self._found, self.dropped = {call.kind: call for call in merged(calls)}, 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run and its calls."""

    name: str
    """Kind of the run: `sandbox`, `soak`…"""
    sources: str
    """Hash of the sources: `Checkout.code_hash()`."""
    calls: tuple[Call, ...]
    dropped: int = 0


class RunRecorder:
    """Records the current run and writes its file.

    Args:
        folder: Folder of the file. None: no file is written.
        name: Kind of the run.
        sources: Hash of the sources.
    """

    def __init__(self, folder: Path | None, *, name: str, sources: str) -> None:
        self.calls = Calls()
        self._path = folder and folder / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.jsonl"
        self._name, self._sources = name, sources
        self._written: list[tuple[object, ...]] = []

    def write_if_new(self) -> None:
        """Write the file if there is a new kind of call, so that a killed process loses no more than counts."""
        if [call.kind for call in self.calls.all()] != self._written:
            self.write()

    def write(self) -> None:
        """Write the file. A failure is logged: it does not end the run."""
        found = self.calls.all()
        if self._path is None or not found:
            return
        run = Run(name=self._name, sources=self._sources, calls=tuple(found), dropped=self.calls.dropped)
        try:
            write(self._path, run)
        except OSError:
            _log.exception("cannot write the record of the functions' AWS calls")
        self._written = [call.kind for call in found]


def write(path: Path, run: Run) -> None:
    """Write a run's file, replacing an older version of it, and remove old runs.

    Args:
        path: The file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"name": run.name, "sources": run.sources, "dropped": run.dropped}
    lines = [head, *(asdict(call) for call in run.calls)]
    draft = path.with_suffix(".tmp")
    draft.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    draft.replace(path)
    for old in sorted(path.parent.glob("*.jsonl"), key=lambda each: each.stat().st_mtime)[:-MAX_RUNS]:
        old.unlink(missing_ok=True)


def read(folder: Path) -> Iterator[Run]:
    """Return the runs in a folder; nothing if the folder does not exist.

    Raises:
        SandboxError: A file is not a run.
    """
    for path in sorted(folder.glob("*.jsonl")):
        try:
            head, *lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
            yield Run(**head, calls=tuple(map(call_from_document, lines)))
        except (KeyError, TypeError, ValueError) as error:
            raise SandboxError(f"{path} is not a record of calls: remove it and repeat the run.") from error


def call_from_document(document: Mapping[str, Any]) -> Call:
    """Return a call from its `asdict` form."""
    return Call(**{**document, "decision": Decision(document["decision"])})
