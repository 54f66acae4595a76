"""The stream of the queue's table: the table in memory, and what it has written, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from headway_service.ports.table import Key
from headway_service.testing.memory_table import MemoryTable

_serialize = TypeSerializer().serialize

Item = Mapping[str, Any] | None


class StreamedTable(MemoryTable):
    """A table in memory that keeps what its stream brings to the function ``tell``.

    Attributes:
        written: the writes that pass the filters of template.yaml, first come first: key, item before, item after.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written: list[tuple[Key, Item, Item]] = []

    def _store(self, key: Key, item: dict[str, Any] | None) -> None:
        before = self._items.get(key)
        super()._store(key, item)
        # What is stored is never changed in place, so it may be kept. A write that changes nothing is in no stream.
        if before != item and (
            (key.sk == "job" and item is not None)
            or (key.pk == "digest" and before is None)
            or (key.pk == "ledger" and key.sk.startswith("rogue#"))
        ):
            self.written.append((key, before, item))

    def record(self, number: int, time_s: float) -> dict[str, Any]:
        """A stream record, as Lambda hands it to a function.

        Args:
            number: which of :attr:`written`.
            time_s: when it was written, s since the epoch.
        """
        key, before, after = self.written[number]
        stored = {
            "ApproximateCreationDateTime": int(time_s),
            "Keys": _attributes({"pk": key.pk, "sk": key.sk}),
            "SequenceNumber": sequence_number(number),
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        }
        if after is not None:
            stored["NewImage"] = _attributes(after)
        if before is not None:
            stored["OldImage"] = _attributes(before)
        return {
            "eventID": f"{number:032x}",
            "eventName": "INSERT" if before is None else "REMOVE" if after is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "eu-west-1",
            "dynamodb": stored,
        }


def sequence_number(number: int) -> str:
    """The sequence number of a record; as on AWS, texts do not sort as the numbers do."""
    return str(number + 1)


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _serialize(value) for name, value in item.items()}
