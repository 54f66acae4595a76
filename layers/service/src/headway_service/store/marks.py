"""The marks by which this deployment recognizes its own training jobs, including those that its records have lost.

A mark is the value of the tag ``headway:attempt``: ``<table>/<code>``. Any user can set and copy tags, so the code is a
message authentication code over the names of job and attempt and the entry time of the job. Its key is in the table. It
fits no other training job, as names are unique per account and region.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from headway_service.errors import Conflict
from headway_service.ports.table import Absent, Key, Put, Table
from headway_service.store.schema_version import stamp, upgrade

CODE_CHARS = 32
"""Length of a mark's code: 128 bits as hexadecimal digits."""

KEY = Key("deployment", "deployment")
"""Where the key is kept."""


class Marks:
    """Makes marks.

    Args:
        table: the table; it keeps the key.
        queue: the name of the table, which is unique among the deployments of the account.
        token: a new random text, for the key.
    """

    def __init__(self, table: Table, queue: str, token: Callable[[], str]) -> None:
        self._table = table
        self._prefix = f"{queue}/"
        self._token = token
        self._secret: bytes | None = None

    def of(self, job: str, attempt: str, entry_time_ms: int) -> str:
        """The mark of an attempt.

        Args:
            job: the name of its job; a job may be called what an attempt of another one is.
            attempt: the name of the attempt.
            entry_time_ms: when its job was accepted. A later job of the same name has other marks.

        Raises:
            RetryLater: the table is.
        """
        if self._secret is None:
            self._secret = self._load()
        code = hmac.new(self._secret, f"{job}|{attempt}|{entry_time_ms}".encode(), hashlib.sha256).hexdigest()
        return f"{self._prefix}{code[:CODE_CHARS]}"

    def names_this_queue(self, mark: str) -> bool:
        """Whether a mark claims to be of this deployment. Proof is only that it equals :meth:`of`."""
        return mark.startswith(self._prefix)

    def _load(self) -> bytes:
        """The key. It is created at first use."""
        known = self._stored()
        if known is None:
            item = {"pk": KEY.pk, "sk": KEY.sk, "markKey": self._token()}
            try:
                self._table.write([Put(item=stamp(item), requires=Absent())])
            except Conflict:
                # Another function was first, or an earlier try of this very write.
                known = self._stored()
            else:
                known = str(item["markKey"]).encode()
        if known is None:
            raise LookupError("the key of the marks was deleted while it was read")
        return known

    def _stored(self) -> bytes | None:
        item = self._table.get(KEY)
        return None if item is None else str(upgrade(item)["markKey"]).encode()
