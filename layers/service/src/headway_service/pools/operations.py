"""Pauses, resumes and drains pools, or all of them, at the request of users. The scheduler carries it out."""

from __future__ import annotations

from collections.abc import Callable

from headway_service.actions.action import ActionKind, ActionRecord, Author
from headway_service.config.document import Configuration
from headway_service.errors import RestoreUnfinished, RetryLater
from headway_service.observability.logging import logger
from headway_service.pools.pause_counts import counted_pools
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Put, Table
from headway_service.store import transitions
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.repository import find_pause, find_pool, pool_not_found, retry_on_conflict

MAX_REASON_CHARS = 200
"""Length of the reason for a pause, which every job that waits for the pool shows."""


class PoolOperations:
    """Pauses, resumes and drains pools. Each operation is idempotent.

    A pool is named by its instance type; :attr:`PauseRecord.EVERYTHING` stands for all of them.

    Args:
        wake: requests a tick.
        clocks: training time and machine time.
        configuration: the configuration in effect.
    """

    def __init__(self, *, table: Table, wake: Wake, clocks: Clocks, configuration: Callable[[], Configuration]) -> None:
        self._table = table
        self._wake = wake
        self._clocks = clocks
        self._configuration = configuration

    def pause(self, pool: str, by: str, reason: str, *, stops: bool = False, address: str = "") -> None:
        """Pause a pool: once this returns, no job starts in it, and none is preempted for it.

        Args:
            by: the name of the caller.
            reason: why.
            stops: whether its running jobs are stopped and requeued. For a pool that is paused already, only the first
                such request is recorded, beside the caller and the reason of the pause, which continues.
            address: the IP address of the call.

        Raises:
            PoolNotFound: there is no such pool.
            RetryLater: others keep changing it.
        """
        self._require(pool)
        action = self._action(ActionKind.DRAIN if stops else ActionKind.PAUSE, pool, Author(by, address, reason))

        def pause() -> None:
            known = find_pause(self._table, pool)
            if known is None:
                record = PauseRecord(pool=pool, by=by, reason=reason, since_ms=self._clocks.training_ms(), stops=stops)
                self._table.write([*transitions.pause(record, counted_pools(self._table, pool)), action])
            elif known.restored_ms is not None and not known.stays:
                self._table.write([*transitions.change_pause(known, self._staying(known, by, reason)), action])
            elif stops and not known.stops:
                # The pause keeps its reason: it may have to continue after the drain.
                changed = known.model_copy(update={"stops": True, "drained_by": by, "drain_reason": reason})
                self._table.write([*transitions.change_pause(known, changed), action])

        retry_on_conflict(pause, otherwise=_busy(pool))
        logger.info("paused", extra={"pool": pool, "by": by, "stops": stops})
        # Also if it was paused before: the first call may have died before it sent the wake-up.
        self._wake("paused")

    def resume(self, pool: str, by: str, *, address: str = "") -> None:
        """Let jobs start again in a pool, unless all pools are paused.

        Args:
            pool: the pool. A paused pool that was removed from the configuration can be resumed too.
            by: the name of the caller.
            address: the IP address of the call.

        Raises:
            PoolNotFound: there is no such pool.
            RestoreUnfinished: all pools are paused as the table was restored.
            RetryLater: others keep changing it.
        """
        action = self._action(ActionKind.RESUME, pool, Author(by, address))

        def resume() -> None:
            known = find_pause(self._table, pool)
            if known is None:
                self._require(pool)
            elif known.restored_ms is not None:
                raise RestoreUnfinished(
                    "the table was restored: nothing is launched before the patrol has checked all training jobs; it "
                    "then ends this pause itself, mostly within minutes"
                    + (
                        "; the one by " + known.by + " is not finished, so resume again after that"
                        if known.stays
                        else ""
                    )
                )
            else:
                self._table.write([*transitions.resume(known), action])

        retry_on_conflict(resume, otherwise=_busy(pool))
        logger.info("resumed", extra={"pool": pool, "by": by})
        self._wake("resumed")

    def _staying(self, known: PauseRecord, by: str, reason: str) -> PauseRecord:
        """The pause since a restore, changed so that it continues after the restore is complete."""
        # The new time distinguishes it from the old pause, which the patrol may be about to end.
        since_ms = max(self._clocks.training_ms(), known.since_ms + 1)
        return known.model_copy(update={"by": by, "reason": reason, "since_ms": since_ms, "stays": True})

    def _action(self, kind: ActionKind, pool: str, author: Author) -> Put:
        target = "all pools" if pool == PauseRecord.EVERYTHING else pool
        return ActionRecord.of(kind, target, author, self._clocks).put()

    def _require(self, pool: str) -> None:
        # The ledger still has a pool that was removed from the configuration while its jobs run.
        if pool != PauseRecord.EVERYTHING and find_pool(self._table, pool) is None:
            known = self._configuration().pools
            if pool not in known:
                raise pool_not_found(pool, known)


def _busy(pool: str) -> RetryLater:
    return RetryLater(f"others keep pausing and resuming {pool}; try again in a moment")
