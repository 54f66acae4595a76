"""How far all training jobs were gone through."""

from __future__ import annotations

from typing import ClassVar

from headway_service.ports.table import Key, Put
from headway_service.store.records.base import Record


class ScanRecord(Record):
    """The start of the next page of all training jobs, during a listing."""

    created_after_ms: int
    token: str
    #: When the listing began, ms.
    began_ms: int = 0

    KEY: ClassVar[Key] = Key("sweep", "sweep")

    def put(self) -> Put:
        """The write that stores it."""
        return Put(item={"pk": self.KEY.pk, "sk": self.KEY.sk, **self.fields()})
