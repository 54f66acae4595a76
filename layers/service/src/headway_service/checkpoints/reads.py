"""Looks at the checkpoints of attempts within the bounds of one run of the reconciler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

from headway_service.checkpoints.location import checkpoints_of
from headway_service.checkpoints.newest import newest_ms
from headway_service.errors import RetryLater
from headway_service.observability.logging import logger
from headway_service.places import Places
from headway_service.ports.clocks import Clocks
from headway_service.ports.objects import Objects
from headway_service.ports.table import Table
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.repository import find_request_of

MAX_ATTEMPTS = 100
"""Attempts whose checkpoints one run looks at. With more, chance decides which, so each gets its turn."""

MAX_READS_MS = 5_000
"""No further call of S3 is begun when the looks of one run have taken so long, ms: the run has other work."""


class CheckpointReads:
    """Looks at checkpoints, in one run.

    Args:
        table: has the requests of attempts, which say where the checkpoints are.
        objects: makes the client of S3; called only if a checkpoint is looked for.
        places: which places training roles may read.
        buckets: those that may be listed. With none, nothing is looked for.
        clocks: training time and machine time.
        random: decides which attempts come first.
    """

    def __init__(
        self,
        table: Table,
        objects: Callable[[], Objects],
        places: Places,
        buckets: Collection[str],
        *,
        clocks: Clocks,
        random: Random,
    ) -> None:
        self._table = table
        self._objects = objects
        self._places = places
        self._buckets = buckets
        self._clocks = clocks
        self._random = random
        self._left = MAX_ATTEMPTS
        self._until_ms: int | None = None

    def due(self, attempts: Collection[AttemptRecord]) -> list[AttemptRecord]:
        """Those that train, write checkpoints and are not being stopped, in a random order; none without buckets."""
        if not self._buckets:
            return []
        due = [
            each
            for each in attempts
            if each.checkpoints and each.training_since_ms is not None and each.stop_cause is None
        ]
        return sorted(due, key=lambda _: self._random.random())

    def newer_ms(self, attempt: AttemptRecord) -> int | None:
        """When the newest checkpoint was written that is seen now, training time, ms.

        None if none is newer than the one that is known, or than the start of the training; and if it could not be
        looked for, which is logged.

        Args:
            attempt: one of those that are due.
        """
        if self._until_ms is None:
            self._until_ms = self._clocks.machine_ms() + MAX_READS_MS
        if not self._left or not self._has_time():
            return None
        self._left -= 1
        request = self._request(attempt)
        location = checkpoints_of(request)
        if location is None or location.bucket not in self._buckets:
            return None
        # The owner of the job learns the time of the last checkpoint, so its role has to be allowed to list the folder.
        if not self._places.may_list(request["RoleArn"], location):
            return None
        written_ms = newest_ms(self._objects(), location, self._has_time)
        if written_ms is None:
            return None
        # S3 has the time of machines. Its clock may be ahead of ours, but nothing was written later than now.
        now_ms, machine_ms = self._clocks.training_ms(), self._clocks.machine_ms()
        seen_ms = min(now_ms, written_ms + now_ms - machine_ms)
        known_ms = max(attempt.training_since_ms or 0, attempt.checkpoint_seen_ms or 0)
        return seen_ms if seen_ms > known_ms else None

    def _has_time(self) -> bool:
        return self._until_ms is None or self._clocks.machine_ms() < self._until_ms

    def _request(self, attempt: AttemptRecord) -> Mapping[str, Any]:
        """The request of an attempt; empty if it cannot be read now."""
        try:
            return find_request_of(self._table, attempt) or {}
        except RetryLater as error:
            log = {"attempt": attempt.attempt_name, "error": str(error)}
            logger.warning("checkpoints cannot be looked for now", extra=log)
            return {}
