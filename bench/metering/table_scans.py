"""What reading a whole table consumes, counted by DynamoDB's own rules.

Source: DynamoDB developer guide, "Working with scans in DynamoDB": a Scan reads every item of the table, whatever its
filter and projection keep; a call reads 1 MB at most, and is eventually consistent by default.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metering.dynamodb_units import EVENTUALLY, Count, MeteredTable, item_bytes
from headway_service.ports.table import Item, Key
from headway_service.testing.memory_table import MemoryTable

PAGE_BYTES = 1024 * 1024


class ScannedTable(MeteredTable):
    """A metered table that can be scanned as a whole, as the article's scheduler does.

    Args:
        table: the called table.
        count: see :class:`bench.metering.dynamodb_units.MeteredTable`.

    Attributes:
        first_page: how many items the first page of the last scan had.
    """

    def __init__(self, table: MemoryTable, count: Count) -> None:
        super().__init__(table, count)
        self._whole = table
        self.first_page = 0

    def scan_all(self) -> Sequence[Item]:
        """Every item, in no order, by as many calls as there are pages. To be read only."""
        with self._answering():
            items = self._whole.items()
        with self._metering():
            pages = _pages(items)
            self.first_page = len(pages[0])
        for page in pages:
            self._read("Scan", page, each=EVENTUALLY)
        return items

    def get_eventually(self, key: Key) -> Item | None:
        """The item, eventually consistent as GetItem is by default."""
        with self._answering():
            item = self._table.get(key)
        self._read("GetItem", [item] if item else [], each=EVENTUALLY)
        return item


def _pages(items: Sequence[Item]) -> list[list[Item]]:
    """The items by pages; there is one page of an empty table as well."""
    pages: list[list[Item]] = [[]]
    filled = 0
    for item in items:
        size = item_bytes(item)
        if filled + size > PAGE_BYTES:
            pages.append([])
            filled = 0
        pages[-1].append(item)
        filled += size
    return pages
