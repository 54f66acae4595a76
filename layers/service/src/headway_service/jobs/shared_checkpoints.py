"""Jobs in the queue whose checkpoints another job would overwrite, as its location is theirs, or below or above it.

A job that waits for another one to end may continue from its checkpoints, and one that is being stopped has given its
location up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.lifecycle import TERMINAL, JobState
from headway_service.config.authorization import Access, Caller
from headway_service.errors import UnreadableRecord
from headway_service.ports.objects import Location
from headway_service.ports.table import Item, Key, Table, Write
from headway_service.store.records.checkpoints import CheckpointsRecord, WriterRecord
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.repository import find_job_items

MAX_LOCATIONS = 20
"""Locations that are looked at for a submission below its own, and as many above it. Those of jobs that have ended
count, for as long as they are kept."""

MAX_LOCATIONS_OF_RULE = 200
"""Locations below its own that are looked at for a submission that a rule wants to have its location for itself."""

MAX_WRITERS = 10
"""Jobs that a warning names, and that are kept of one location."""

MAX_LOCATION_BYTES = 1000
"""Longer locations are not looked up: a sort key has 1024 bytes."""

KEPT_S = 90 * 86_400
"""How long the location of a job is known, s: a job that is in the queue for longer is in no warning."""

_HIDDEN = "a job whose details you may not see"
_GONE = TERMINAL | {JobState.STOPPING}


@dataclass(frozen=True, kw_only=True, slots=True)
class LocationNote:
    """The writes with which a job is known at its location.

    Attributes:
        within: a part of the transaction in which the job is accepted. It fails if another job was accepted with that
            location meanwhile.
        after: written once the job is accepted. Many jobs may have one location, and their transactions would fail for
            each other; a warning is not worth that.
    """

    within: tuple[Write, ...] = ()
    after: tuple[Write, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedCheckpoints:
    """The location of a job that is submitted, and who writes there already.

    Attributes:
        location: where the job writes its checkpoints.
        known: what is stored of that very location; None for nothing.
        is_damaged: whether that cannot be read, so that nothing is kept of the location.
        beside: the jobs in the queue that write to that very location.
        writers: those that write there, or below or above it, and that the job does not wait for.
        is_exclusive: whether a rule wants no other job to write there.
    """

    location: Location
    known: CheckpointsRecord | None
    is_damaged: bool
    beside: Sequence[ListedJob]
    writers: Sequence[ListedJob]
    is_exclusive: bool

    def told(self, caller: Caller, access: Access) -> tuple[str, ...]:
        """These jobs in words, without the names of those whose details a caller may not see.

        Args:
            access: the rules on callers.
        """
        words = (
            f"`{each.job_name}`" if access.may_see_details(caller, each.owner, each.team) else _HIDDEN
            for each in self.writers
        )
        return tuple(dict.fromkeys(words))

    def note(self, job: JobRecord, machine_ms: int) -> LocationNote:
        """The writes that keep the location of the job.

        Args:
            machine_ms: when the job is accepted.
        """
        if self.is_damaged:
            return LocationNote()
        record = CheckpointsRecord(
            job_name=job.job_name,
            accepted_ms=job.accepted_time,
            beside=tuple(WriterRecord(job_name=each.job_name, accepted_ms=each.accepted_time) for each in self.beside),
            expires_at=machine_ms // 1000 + KEPT_S,
        )
        if self.is_exclusive:
            return LocationNote(within=(record.put_after(self.location, self.known),))
        return LocationNote(after=(record.put(self.location),))


def find_shared(
    table: Table, location: Location, job: str, depends_on: Iterable[DependencyRecord], *, is_exclusive: bool = False
) -> SharedCheckpoints:
    """Look up who writes to the location of a job. It reads a bounded number of items, however long the queue is.

    Args:
        location: where the job writes its checkpoints (:func:`headway_service.checkpoints.location.checkpoints_of`).
        job: the name of the job.
        depends_on: its dependencies.
        is_exclusive: see :class:`SharedCheckpoints`.
    """
    key = CheckpointsRecord.key(location)
    items = [
        *table.query(key.pk, prefix=key.sk, limit=MAX_LOCATIONS_OF_RULE if is_exclusive else MAX_LOCATIONS),
        *table.get_all(_above(location)),
    ]
    records = {item["sk"]: _parsed(item) for item in items}
    noted: dict[str, int] = {}
    for each in (writer for record in records.values() if record for writer in record.writers):
        # Of two jobs of one name the later one may be in the queue.
        noted[each.job_name] = max(each.accepted_ms, noted.get(each.job_name, 0))
    live = _in_queue(table, noted)
    before = _awaited([each.job_name for each in depends_on], live)
    writers = [each for name, each in live.items() if name != job and name not in before]
    known = records.get(key.sk)
    same = [each.job_name for each in known.writers if each.job_name != job] if known is not None else []
    return SharedCheckpoints(
        location=location,
        known=known,
        is_damaged=known is None and key.sk in records,
        beside=[live[name] for name in same if name in live][:MAX_WRITERS],
        writers=writers[:MAX_WRITERS],
        is_exclusive=is_exclusive,
    )


def _parsed(item: Item) -> CheckpointsRecord | None:
    """The record in an item; None if it is damaged, which costs warnings and nothing else."""
    try:
        return CheckpointsRecord.parse(item)
    except UnreadableRecord:
        return None


def _above(location: Location) -> list[Key]:
    """The keys of the nearest locations above one."""
    folders = location.key.split("/")[:-1]
    above = [f"{'/'.join(folders[:depth])}/" if depth else "" for depth in range(len(folders))]
    return [CheckpointsRecord.key(Location(bucket=location.bucket, key=each)) for each in above[-MAX_LOCATIONS:]]


def _in_queue(table: Table, noted: dict[str, int]) -> dict[str, ListedJob]:
    """Those of the jobs, each with the time at which it was accepted, that are in the queue, by name."""
    found: dict[str, ListedJob] = {}
    for name, item in find_job_items(table, list(noted)).items():
        try:
            job = ListedJob.parse(item)
        except UnreadableRecord:
            # It concerns that job alone.
            continue
        if job.accepted_time == noted[name] and job.job_state not in _GONE:
            found[name] = job
    return found


def _awaited(names: list[str], jobs: dict[str, ListedJob]) -> set[str]:
    """The jobs that end before one that depends on some, as far as they are among the jobs."""
    found = set[str]()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names += [each.job_name for each in jobs[name].depends_on] if name in jobs else []
    return found
