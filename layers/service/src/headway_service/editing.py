"""Changes the configuration document, one change at a time, so that none is lost to another.

Parameter Store writes without conditions. So whoever changes the document through the API holds a lease in the table
meanwhile, which ends after the invocation can no longer live.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from headway_service import configuration
from headway_service.errors import Busy, Conflict
from headway_service.lookup import no_pool
from headway_service.pools import InForce, apply_configuration
from headway_service.ports import Absent, ConfigurationStore, Delete, Equals, Key, Put, Table
from headway_service.schema import stamped, upgraded

_LEASE = Key("config", "lease")


class Editor:
    """Changes the document.

    Args:
        table: the table.
        store: where the document is.
        clock: now, ms.
        holder: names this invocation, and no other.
        lease_until_ms: when this invocation can no longer live, ms.
    """

    def __init__(
        self, *, table: Table, store: ConfigurationStore, clock: Callable[[], int], holder: str, lease_until_ms: int
    ) -> None:
        self._table = table
        self._store = store
        self._clock = clock
        self._holder = holder
        self._lease_until_ms = lease_until_ms

    def replace(self, document: Any) -> InForce:
        """Check a document, keep it and apply it.

        Raises:
            InvalidConfiguration: the document is not valid; nothing was changed.
            Busy: somebody else changes the document now.
        """
        text = configuration.text_to_keep(document)
        with self._alone():
            self._store.write(text)
            return apply_configuration(self._table, self._store, self._clock)

    def resize(self, pool: str, size: int) -> InForce:
        """Change the size of one pool in the stored document, and apply it.

        Raises:
            PoolNotFound: the document has no such pool.
            InvalidConfiguration: the stored document is not valid, or would not be with this size.
            Busy: somebody else changes the document now.
        """
        with self._alone():
            text = self._store.read().text
            known = configuration.parse(text).pools
            if pool not in known:
                raise no_pool(pool, known)
            document = json.loads(text)
            document["pools"][pool]["size"] = size
            self._store.write(configuration.text_to_keep(document))
            return apply_configuration(self._table, self._store, self._clock)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lease."""
        item = self._table.get(_LEASE)
        if item is not None and int(upgraded(item)["untilMs"]) >= self._clock():
            raise _somebody_else()
        lease = {"pk": _LEASE.pk, "sk": _LEASE.sk, "holder": self._holder, "untilMs": self._lease_until_ms}
        requires = Absent() if item is None else Equals("holder", item["holder"])
        try:
            self._table.write([Put(item=stamped(lease), requires=requires)])
        except Conflict:
            raise _somebody_else() from None
        try:
            yield
        finally:
            # If it is not given back, it passes.
            with suppress(Conflict, Busy):
                self._table.write([Delete(key=_LEASE, requires=Equals("holder", self._holder))])


def _somebody_else() -> Busy:
    return Busy("somebody else changes the configuration at this moment; try again in a moment")
