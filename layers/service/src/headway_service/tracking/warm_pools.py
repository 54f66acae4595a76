"""Warm pools in SageMaker: which an attempt has left, who uses them, and that they are released.

No event has their status (EventBridge reference, SageMaker events), so it is polled. SageMaker decides which warm pool
a training job uses, if any. So the queue relies on none: a warm pool is charged until SageMaker reports that its
instances are used by another training job, which is charged for them itself, or are no longer kept. An answer without
a status proves nothing at first, as for a training job that is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headway.vectors import minus, overlap, plus, positive, total
from headway_service.config.warm_pools import KeptWarmPools
from headway_service.errors import Conflict, NothingToStop, OutcomeUnknown, UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobs, TrainingJobStatus
from headway_service.sagemaker_api.status import STARTING
from headway_service.sagemaker_api.visibility import is_proven
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.capacity.warm_pool import NOBODY, WarmPoolRecord
from headway_service.store.repository import find_attempt, find_job, find_reservation
from headway_service.tracking.turns import in_turn

MAX_DESCRIBED = 50
"""Warm pools that one invocation describes: DescribeTrainingJob is throttled per account. The next one begins with
others."""

SEND_AGAIN_S = 60
"""Time after which SageMaker is asked again to release a warm pool that it still shows as available."""

_GONE = frozenset({"Reused", "Terminated"})
"""Statuses of a warm pool without instances (guide: WarmPoolStatus)."""


def left_by(attempt: AttemptRecord, sighting: TrainingJobStatus | None, now_ms: int) -> WarmPoolRecord | None:
    """The warm pool that an attempt leaves which ends; None if it leaves none.

    SageMaker keeps nothing of an attempt that never had instances. A failure may leave a warm pool or not (guide: none
    if the failure may harm the cluster), which its status tells later.

    Args:
        sighting: its final status; None if it was never launched.
        now_ms: the training time, ms.
    """
    if not attempt.keep_s or sighting is None or sighting.warm_pool in _GONE:
        return None
    if sighting.status != "Completed" and not sighting.provisioned:
        return None
    # A job that a user has stopped may be submitted again in a moment. Any other stop was for instances.
    release = attempt.freed_for is not None or attempt.stop_cause not in {None, StopCause.REQUEST}
    return WarmPoolRecord.left_by(attempt, now_ms, release=release)


def surplus(ledger: Ledger, rules: KeptWarmPools | None) -> Iterator[WarmPoolRecord]:
    """The warm pools that the policy does not keep: those that end first are released first.

    Args:
        rules: the limits of the policy; None if it keeps none.
    """
    drained = {each.pool for each in ledger.pauses if each.stops}
    kept = total(each.demand for each in ledger.warm_pools if each.release_ms is None)
    excess = positive({pool: kept.get(pool, 0) - most for pool, most in (rules.max_instances if rules else {}).items()})
    # What has to be freed of pools that were made smaller than their use, beside what is soon known to be gone.
    soon = total(
        (
            *(each.demand for each in ledger.warm_pools if each.may_free),
            *(each.demand for each in ledger.attempts if each.stop_cause is not None),
        )
    )
    over = positive({each.pool: -each.free - soon.get(each.pool, 0) for each in ledger.pools})
    for pool in sorted(ledger.warm_pools, key=lambda each: (each.since_ms + each.keep_s * 1000, each.attempt_name)):
        if pool.may_free:
            continue
        if rules is None or not drained.isdisjoint(pool.demand) or overlap(pool.demand, plus(over, excess)):
            yield pool
            over, excess = positive(minus(over, pool.demand)), positive(minus(excess, pool.demand))


class WarmPoolTracker:
    """Applies SageMaker's status of warm pools, and has them released.

    Args:
        training_jobs: SageMaker.
        machine_clock: the machine time, ms.
        releases: whether this invocation may have warm pools released.
    """

    def __init__(
        self, table: Table, training_jobs: TrainingJobs, machine_clock: Callable[[], int], *, releases: bool
    ) -> None:
        self._releases = releases
        self._table = table
        self._training_jobs = training_jobs
        self._machine_clock = machine_clock
        #: As they were read, and changed since.
        self._known: dict[str, WarmPoolRecord] = {}
        #: Those that this invocation has described.
        self._described: set[str] = set()

    def track(
        self,
        pools: Iterable[WarmPoolRecord],
        now_ms: int,
        *,
        soon_gone: bool = False,
        has_time: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Ask SageMaker about warm pools, each once in an invocation, and send the releases that were decided.

        Args:
            pools: all warm pools.
            now_ms: the training time, ms.
            soon_gone: only those that are being released, and those that a started attempt may be using.
            has_time: whether there is time for another one.

        Returns:
            Whether instances came free, so that another decision is due.
        """
        self._known = {each.attempt_name: each for each in pools}
        claimed = {each.warm_key for each in self._known.values() if each.claimed_by != NOBODY}
        due = [
            each
            for each in self._known.values()
            if each.attempt_name not in self._described
            and (not soon_gone or each.release_ms is not None or each.warm_key in claimed)
        ]
        freed = False
        chosen = self._in_turn(due)[: MAX_DESCRIBED - len(self._described)]
        # An attempt may be using another warm pool than the one that it was started in.
        for name in sorted((each.attempt_name for each in chosen), key=self._is_claimed):
            if not has_time():
                break
            self._described.add(name)
            try:
                freed |= self._look(self._known[name], now_ms)
            except (Conflict, OutcomeUnknown, UnreadableRecord) as error:
                logger.warning(
                    "SageMaker is not asked about the warm pool now", extra={"attempt": name, "error": str(error)}
                )
        return freed

    def _is_claimed(self, name: str) -> bool:
        return self._known[name].claimed_by != NOBODY

    def _in_turn(self, pools: Iterable[WarmPoolRecord]) -> list[WarmPoolRecord]:
        """Those that are soon gone, then the others, beginning with another one each minute."""
        order = sorted(pools, key=lambda each: each.attempt_name)
        return sorted(in_turn(order, self._machine_clock(), step=MAX_DESCRIBED), key=lambda each: not each.may_free)

    def _look(self, pool: WarmPoolRecord, now_ms: int) -> bool:
        sighting = self._training_jobs.describe(pool.attempt_name)
        status = None if sighting is None else sighting.warm_pool
        if sighting is None or status is None:
            return self._missing(pool)
        if status in _GONE or (status == "InUse" and sighting.reused_by):
            self._end(pool, status, sighting.reused_by)
            return True
        if pool.missing_since_ms is not None:
            pool = self._change(pool, missing_since_ms=None)
        if status == "Available":
            if pool.release_ms is None and self._is_unused(pool):
                pool = self._change(pool, release_ms=now_ms)
            if pool.release_ms is not None and self._releases:
                self._send(pool)
        return False

    def _missing(self, pool: WarmPoolRecord) -> bool:
        """SageMaker shows no warm pool. There is none if it still shows none when it has had time to."""
        if pool.missing_since_ms is None:
            self._change(pool, missing_since_ms=self._machine_clock())
            return False
        if not is_proven(pool.missing_since_ms, self._machine_clock()):
            return False
        self._end(pool, "none")
        return True

    def _is_unused(self, pool: WarmPoolRecord) -> bool:
        """Whether the attempt that was started in an available warm pool trains without it, or has ended.

        SageMaker did not use it for a job that matches, so there is no reason to keep it for another one.
        """
        if pool.claimed_by == NOBODY:
            return False
        attempt = find_attempt(self._table, pool.claimed_by)
        if attempt is None:
            return True
        return attempt.secondary_status is not None and attempt.secondary_status not in STARTING

    def _send(self, pool: WarmPoolRecord) -> None:
        machine_ms = self._machine_clock()
        if pool.sent_ms is not None and machine_ms < pool.sent_ms + SEND_AGAIN_S * 1000:
            return
        log = {"job": pool.job_name, "attempt": pool.attempt_name}
        try:
            self._training_jobs.release_warm_pool(pool.attempt_name)
        except NothingToStop as error:
            # A job has started in it, it is terminated, or it cannot be updated: its status tells.
            logger.info("the release of a warm pool was refused", extra={**log, "error": str(error)})
        else:
            logger.info("a warm pool is released", extra=log)
        self._change(pool, sent_ms=machine_ms)

    def _end(self, pool: WarmPoolRecord, status: str, reused_by: str = "") -> None:
        others = (each for each in self._known.values() if each.attempt_name != pool.attempt_name)
        left = next((each for each in others if reused_by and each.claimed_by == reused_by), None)
        if left is not None:
            self._table.write(transitions.swap_warm_pools(pool, left))
            self._note(left, **transitions.lent_over(pool))
        else:
            preemptor = find_job(self._table, pool.freed_for) if pool.freed_for else None
            if preemptor is not None and not preemptor.is_queued:
                preemptor = None
            reservation = find_reservation(self._table, preemptor.job_name) if preemptor is not None else None
            self._table.write(transitions.end_warm_pool(pool, preemptor, reservation))
        del self._known[pool.attempt_name]
        log = {"job": pool.job_name, "attempt": pool.attempt_name, "status": status, "reused_by": reused_by}
        logger.info("a warm pool is gone", extra=log)

    def _change(self, pool: WarmPoolRecord, **changes: int | None) -> WarmPoolRecord:
        self._table.write([transitions.change_warm_pool(pool, **changes)])
        return self._note(pool, **changes)

    def _note(self, pool: WarmPoolRecord, **changes: Any) -> WarmPoolRecord:
        """The warm pool as it was just written."""
        moved = pool.model_copy(update={"version": pool.version + 1, **changes})
        self._known[pool.attempt_name] = moved
        return moved
