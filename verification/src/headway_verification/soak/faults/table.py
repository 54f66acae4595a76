"""DynamoDB called through a fault injector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from headway_service.ports.table import (
    Check,
    Condition,
    Delete,
    Equals,
    Item,
    Key,
    ListingPage,
    Put,
    ScanPage,
    Tally,
    Update,
    Write,
)
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.faults.injection import FaultInjector, busy_error
from headway_verification.soak.faults.replica import Replica

ITEM_ACTIONS = {Put: "PutItem", Update: "UpdateItem", Delete: "DeleteItem", Check: "ConditionCheckItem"}


class FaultyTable:
    """A table called through a fault injector.

    Args:
        edge: the fault injector.
        random: determines the page sizes of DynamoDB and the age of eventually consistent answers.
        written: called with the keys of each write that takes effect.
    """

    def __init__(
        self,
        table: MemoryTable,
        edge: FaultInjector,
        random: Random,
        *,
        written: Callable[[Iterable[Key]], None] = lambda _: None,
    ) -> None:
        self._table = table
        self._written = written
        self._edge = edge
        #: DynamoDB's pages end at 1 MB. Runs have too few items for that.
        self._page = random.choice([3, 1000])
        self.replica = Replica(random)

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call("GetItem", lambda: self._table.get(key), refused=busy_error)

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call("BatchGetItem", lambda: self._table.get_all(keys), refused=busy_error)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`. The table may change between two pages."""
        found: list[Item] = []
        while len(found) < limit:
            page = self._query(pk, prefix, found[-1]["sk"] if found else after, min(self._page, limit - len(found)))
            found += page
            if len(page) < self._page:
                break
        return tuple(found)

    def _query(self, pk: str, prefix: str, after: str, limit: int) -> tuple[Item, ...]:
        return self._edge.call(
            "Query", lambda: self._table.query(pk, prefix=prefix, after=after, limit=limit), refused=busy_error
        )

    def last_before(self, pk: str, sk: str) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call("Query", lambda: self._table.last_before(pk, sk), refused=busy_error)

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call(
            "Query", lambda: self.replica.read().query(pk, prefix=prefix, limit=limit), refused=busy_error
        )

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call(
            "Query", lambda: self.replica.read().count_before(pk, sk, limit=limit), refused=busy_error
        )

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call(
            "Query", lambda: self.replica.read().keys_before(pk, sk, limit=limit), refused=busy_error
        )

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call(
            "Query", lambda: self.replica.read().tail(pk, attribute, limit=limit), refused=busy_error
        )

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call(
            "Query", lambda: self.replica.read().tally(pk, where, before=before, limit=limit), refused=busy_error
        )

    def listing(
        self,
        name: str,
        *,
        where: Sequence[Condition],
        after: Mapping[str, str] | None,
        limit: int,
        descending: bool = False,
    ) -> ListingPage:
        """See :class:`headway_service.ports.table.Table`."""

        def work() -> ListingPage:
            page = min(limit, self._page)
            return self.replica.read().listing(name, where=where, after=after, limit=page, descending=descending)

        return self._edge.call("Query", work, refused=busy_error)

    def get_listed(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._edge.call("BatchGetItem", lambda: self.replica.read().get_listed(keys), refused=busy_error)

    def scan(self, sort_keys: Sequence[str], *, after: Key | None, limit: int) -> ScanPage:
        """See :class:`headway_service.ports.table.Table`."""

        def work() -> ScanPage:
            return self._table.scan(sort_keys, after=after, limit=min(limit, self._page))

        return self._edge.call("Scan", work, refused=busy_error)

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`.

        A transaction carries a token, so that DynamoDB treats a repetition as the same call. A single write has none:
        when it is repeated, its condition may fail because of its own effect.
        """

        def work() -> None:
            self._table.write(writes)
            self.replica.note(writes)
            self._written(each.key for each in writes if not isinstance(each, Check))

        operation, again = ("PutItem", work) if len(writes) == 1 else ("TransactWriteItems", None)
        # A transaction also needs the permission of each item's operation.
        needs = [f"dynamodb:{ITEM_ACTIONS[type(write)]}" for write in writes]
        self._edge.call(operation, work, about=_describe(writes), needs=needs, refused=busy_error, again=again)


def _describe(writes: Sequence[Write]) -> str:
    """Describe the written items and the kind of each write."""
    kinds = {Put: "=", Update: "~", Delete: "-", Check: "?"}
    keys = [(kinds[type(write)], write.key) for write in writes]
    return " ".join(f"{kind}{key.sk if key.pk in {'ledger', 'config'} else key.pk}" for kind, key in keys)
