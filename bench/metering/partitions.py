"""DynamoDB's units by where in the table they fall, and how often a second the hottest of these places bears it.

Source: DynamoDB developer guide, "Best practices for designing and using partition keys effectively" (a partition takes
3,000 read and 1,000 write units a second) and "Using global secondary indexes" (an index has separate partitions, and
one that is throttled throttles the writes of its table).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.metering.dynamodb_units import WRITE_BYTES, MeteredTable, index_units, item_bytes
from bench.queues.full_queues import HeadwayQueue
from headway_service.ports.table import Check, Delete, Equals, Item, Key, Tally, Write

WRITES_A_SECOND, READS_A_SECOND = 1_000, 3_000
"""What one partition takes, units."""

WRITTEN, READ = "write units at ", "read units at "
LISTING = "listing "

Units = dict[str, float]
"""Units by place."""


class PartitionMeter(MeteredTable):
    """A metered table that counts its units by location too, such as `write units at ledger pool`."""

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        self._place = place_of(key)
        return super().get(key)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        self._place = place_of(Key(pk, ""))
        return super().query(pk, prefix=prefix, after=after, limit=limit)

    def last_before(self, pk: str, sk: str) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        self._place = place_of(Key(pk, ""))
        return super().last_before(pk, sk)

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        self._place = place_of(Key(pk, ""))
        return super().query_for_display(pk, prefix=prefix, limit=limit)

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.table.Table`."""
        self._place = place_of(Key(pk, ""))
        return super().count_before(pk, sk, limit=limit)

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        self._place = place_of(Key(pk, ""))
        return super().keys_before(pk, sk, limit=limit)

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """See :class:`headway_service.ports.table.Table`."""
        self._place = place_of(Key(pk, ""))
        return super().tail(pk, attribute, limit=limit)

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """See :class:`headway_service.ports.table.Table`."""
        self._place = place_of(Key(pk, ""))
        return super().tally(pk, where, before=before, limit=limit)

    _place = "listing"
    """The location of a read; only a listing has no key."""

    def _read(self, call: str, items: Sequence[Item], *, each: float = 1.0) -> None:
        counted = self._count
        place, self._place = self._place, "listing"

        def also_by_place(kind: str, number: float) -> None:
            counted(kind, number)
            if kind == "read units":
                counted(f"{READ}{place}", number)

        self._count = also_by_place
        try:
            super()._read(call, items, each=each)
        finally:
            self._count = counted

    def _written(self, writes: Sequence[Write], before: Sequence[Item | None], after: Sequence[Item | None]) -> None:
        super()._written(writes, before, after)
        times = 2 if len(writes) > 1 or isinstance(writes[0], Check) else 1
        for write, was, is_now in zip(writes, before, after, strict=True):
            size = max(item_bytes(was or {}), 0 if isinstance(write, Delete) else item_bytes(is_now or {}))
            self._count(f"{WRITTEN}{place_of(write.key)}", times * max(1, -(-size // WRITE_BYTES)))
            self._count_index(was, is_now)

    def _count_index(self, was: Item | None, is_now: Item | None) -> None:
        """The index is partitioned by listing: a job that leaves one and enters another is written in both."""
        left, entered = (item["listing"] if item and "listing" in item else "" for item in (was, is_now))
        if left == entered:
            self._count(f"{WRITTEN}{LISTING}{left}", index_units(was, is_now))
            return
        for listing, pair in ((left, (was, None)), (entered, (None, is_now))):
            if listing:
                self._count(f"{WRITTEN}{LISTING}{listing}", index_units(*pair))


def place_of(key: Key) -> str:
    """The location of an item, in a few words: the ledger's by their kind, since one of them can be hot alone."""
    part, _, _ = key.pk.partition("#")
    kind, _, _ = key.sk.partition("#")
    return f"{part} {kind}".strip() if part in {"ledger", "job"} else part


@dataclass(frozen=True, kw_only=True)
class Bound:
    """How often a second something can be done, by one place.

    Attributes:
        place: a partition, or a single item of the ledger.
        write_units, read_units: the units that it uses there each time.
        a_second: so often at most.
    """

    place: str
    write_units: float
    read_units: float
    a_second: float


def units_of_steps(waiting: int, rounds: int) -> dict[str, Units]:
    """What a submission, a start, and the news of a training job from its launch to its end use, by place.

    Args:
        waiting: the number of waiting jobs, in eleven queues of one pool whose instances are in use.
        rounds: the number of jobs that the means are taken of.
    """
    queue = HeadwayQueue(PartitionMeter)
    queue.fill(waiting)
    steps: dict[str, Units] = {}
    for _ in range(rounds):
        for step, functions in (
            (queue.submit_one, {"api": "a submission", "schedule": "a pass that starts nothing"}),
            (queue.end_one, {"schedule": "a pass that starts a job", "observe": "the news of a job"}),
            (queue.quiet_down, {"observe": "the news of a job"}),
        ):
            queue.reset()
            step()
            for (function, kind), number in queue.used.items():
                _, _, name = kind.partition("DynamoDB ")
                if function in functions and name.startswith((WRITTEN, READ)):
                    units = steps.setdefault(functions[function], defaultdict(float))
                    units[name] += number / rounds
    return {name: {kind: round(number, 2) for kind, number in units.items() if number} for name, units in steps.items()}


def bounds(units: Mapping[str, float]) -> list[Bound]:
    """What each place allows, the tightest first.

    The ledger's items are listed one by one and together: its partition is one at first, and may be split
    between its items, never within one.

    Args:
        units: by place, of one time.
    """
    places: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for name, number in units.items():
        column = 0 if name.startswith(WRITTEN) else 1
        place = name.removeprefix(WRITTEN).removeprefix(READ)
        # Each job is a separate item collection, so no two jobs share one.
        if place.startswith("job"):
            continue
        places[place][column] += number
        if place.startswith("ledger "):
            places["ledger"][column] += number
    found = [
        Bound(
            place=place,
            write_units=round(writes, 2),
            read_units=round(reads, 2),
            a_second=round(1 / max(writes / WRITES_A_SECOND, reads / READS_A_SECOND), 1),
        )
        for place, (writes, reads) in places.items()
        if writes or reads
    ]
    return sorted(found, key=lambda bound: bound.a_second)
