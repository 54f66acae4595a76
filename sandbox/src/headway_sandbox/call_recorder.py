"""What functions ask of AWS, as it is kept of each run.

`headway_verification.least_privilege` compares it with their policies.

Equal calls are one record with a count. Of the resources it keeps only what they have in common, so a record stays
small and names no job: `…:training-job/*`. A run is a file of JSON lines, the first of which says what run it was.
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
"""Different calls that one run keeps; how many more there were is kept too, and no proof can be made of it."""

MAX_RUNS = 100
"""Runs in one folder; older ones are removed."""


class Decision(StrEnum):
    """What IAM said to a call."""

    ALLOWED = "allowed"
    #: No policy allows it.
    REFUSED = "refused"
    #: A policy forbids it. The template's policies forbid nothing, so it is somebody's own.
    FORBIDDEN = "forbidden"
    #: A simulation made it: nobody was asked.
    SIMULATED = "simulated"


@dataclass(frozen=True, kw_only=True)
class Call:
    """Calls that are alike."""

    role: str
    """Name of the role that asks, as it is in the account; in a simulation its logical id in the template."""
    action: str
    """Such as `dynamodb:PutItem`."""
    decision: Decision
    sid: str = ""
    """Of the statement that allows it; empty if none does, or if the resource's own policy does."""
    position: int = 0
    """Which of that statement's resources it is allowed on."""
    granted: str = ""
    """That resource as it is granted: an ARN, maybe with wildcards."""
    resource: str = ""
    """What it was called on: one ARN, or what all of them begin with and `*`."""
    count: int = 1

    @property
    def kind(self) -> tuple[object, ...]:
        """All but what was called on and how often: equal for calls that are one record."""
        return (self.role, self.action, self.decision, self.sid, self.position, self.granted)

    def with_more(self, other: Call) -> Call:
        """Both as one record."""
        return replace(self, count=self.count + other.count, resource=common(self.resource, other.resource))


def common(one: str, other: str) -> str:
    """What two resources begin with, and `*`; or the one, if they are the same.

    >>> common("job/a-1", "job/a-2")
    'job/a-*'
    """
    if one == other:
        return one
    pairs = zip(one.removesuffix("*"), other.removesuffix("*"), strict=False)
    return "".join(mine for mine, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) + "*"


def merged(calls: Iterable[Call]) -> list[Call]:
    """One record for calls that are alike, sorted."""
    found: dict[tuple[object, ...], Call] = {}
    for call in calls:
        before = found.get(call.kind)
        found[call.kind] = before.with_more(call) if before else call
    return [found[kind] for kind in sorted(found, key=str)]


class Calls:
    """The calls of a run that goes on. It is told of them on several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[object, ...], Call] = {}
        self.dropped = 0
        """Calls that had no place any more."""

    def note(self, call: Call) -> None:
        """Take a call in."""
        with self._lock:
            before = self._found.get(call.kind)
            if before is None and len(self._found) >= MAX_CALLS:
                self.dropped += call.count
            else:
                self._found[call.kind] = before.with_more(call) if before else call

    def all(self) -> list[Call]:
        """All so far, sorted."""
        with self._lock:
            return merged(self._found.values())

    def replace(self, calls: Iterable[Call]) -> None:
        """Begin anew with these."""
        with self._lock:
            self._found, self.dropped = {call.kind: call for call in merged(calls)}, 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run and its calls."""

    name: str
    """What kind of run: `sandbox`, `soak`…"""
    sources: str
    """Of what was run: `Checkout.code_hash()`."""
    calls: tuple[Call, ...]
    dropped: int = 0


class Record:
    """A run that goes on, and the file that it leaves.

    Args:
        folder: for the file; without, there is none.
        name: what kind of run.
        sources: of what is run.
    """

    def __init__(self, folder: Path | None, *, name: str, sources: str) -> None:
        self.calls = Calls()
        self._path = folder and folder / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.jsonl"
        self._name, self._sources = name, sources
        self._kept: list[tuple[object, ...]] = []

    def keep(self) -> None:
        """Write it if there is a call of a new kind: who is killed then loses no more than counts."""
        if [call.kind for call in self.calls.all()] != self._kept:
            self.finish()

    def finish(self) -> None:
        """Write all of it. A folder that can't be written to is told in the log: nobody's run ends for that."""
        found = self.calls.all()
        if self._path is None or not found:
            return
        run = Run(name=self._name, sources=self._sources, calls=tuple(found), dropped=self.calls.dropped)
        try:
            write(self._path, run)
        except OSError:
            _log.exception("what functions asked of AWS could not be kept")
        self._kept = [call.kind for call in found]


def write(path: Path, run: Run) -> None:
    """Keep a run, in place of what was kept of it before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"name": run.name, "sources": run.sources, "dropped": run.dropped}
    lines = [head, *(asdict(call) for call in run.calls)]
    draft = path.with_suffix(".tmp")
    draft.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    draft.replace(path)
    for old in sorted(path.parent.glob("*.jsonl"), key=lambda each: each.stat().st_mtime)[:-MAX_RUNS]:
        old.unlink(missing_ok=True)


def read(folder: Path) -> Iterator[Run]:
    """The runs in a folder, none if it is not there.

    Raises:
        SandboxError: a file is no run.
    """
    for path in sorted(folder.glob("*.jsonl")):
        try:
            head, *lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
            yield Run(**head, calls=tuple(map(of_document, lines)))
        except (KeyError, TypeError, ValueError) as error:
            raise SandboxError(f"{path} is no record of calls: remove it, and run again what wrote it.") from error


def of_document(document: Mapping[str, Any]) -> Call:
    """A call as `asdict` gave it."""
    return Call(**{**document, "decision": Decision(document["decision"])})
