"""Gauges of the queue: waiting jobs, instances in use, and what does not progress.

Pure except for :func:`gauges` and :func:`next_decision`, which read the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from headway.lifecycle import AttemptState
from headway.plan import Start
from headway.refusals import is_unlaunchable
from headway.scheduling.alternatives import chosen
from headway.vectors import total
from headway_service.errors import RetryLater
from headway_service.monitoring.neglected import neglected, neglected_figures
from headway_service.monitoring.queue_depth import Backlog, backlogs
from headway_service.monitoring.unlaunchable import UnlaunchableJob, unlaunchable_jobs
from headway_service.observability import metrics
from headway_service.observability.logging import logger
from headway_service.observability.metrics import MetricValue
from headway_service.pools.apply_config import find_applied
from headway_service.ports.table import Table
from headway_service.sagemaker_api.status import STARTING
from headway_service.scheduling.decide import Decided, decide
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.tracking.attempt_checks import round_s

STUCK_LAUNCHING_S = 900
"""A launch that is not settled after this time is stuck: longer than the longest back-off of a pool and a lease."""

STUCK_STARTING_S = 3600
"""An accepted attempt that does not train after this time is stuck, such as for lack of capacity or a large image."""

STUCK_DOWNLOADING_S = 21_600
"""The same for one that has its instances, and downloads its data or image to them: that may take hours."""

STUCK_STOPPING_S = 1800
"""An attempt that has not ended this long after the decision to stop it is stuck: it has 120 s, and then uploads."""

UNCONFIRMED_S = 900
"""Instances of an attempt whose status SageMaker has not confirmed for longer count as drift."""

_MAX_NAMED = 10
"""Attempts, jobs or pools that one log entry names."""


def gauges(table: Table, ledger: Ledger, now_ms: int, machine_ms: int, after_s: int) -> list[MetricValue]:
    """All gauges; none if the table cannot answer now.

    Args:
        ledger: the ledger as just read.
        now_ms: the training time, ms.
        after_s: the reconciler asks SageMaker about an attempt whose status was not confirmed for this long.
    """
    in_training_time = ledger.in_training_time(now_ms, machine_ms)
    try:
        queues = list(backlogs(table, ledger))
        decided = next_decision(table, in_training_time, queues, now_ms)
        unlaunchable = unlaunchable_jobs(table, in_training_time, queues, now_ms)
    except RetryLater as error:
        logger.warning("no gauges this time", extra={"error": str(error)})
        return []
    startable = startable_jobs(decided, now_ms)
    left = list(neglected(in_training_time, queues, None if decided is None else decided.snapshot, now_ms))
    stuck = stuck_attempts(ledger.attempts, now_ms, machine_ms)
    drift = drift_by_pool(ledger, machine_ms, after_s)
    for what, names in (
        ("jobs could start now", startable),
        ("jobs are unlaunchable", [f"{each.name}: {each.code}" for each in unlaunchable]),
        ("states wait for a person", [f"{each.name}: {each.code}" for each in left]),
        ("attempts are stuck", [each.attempt_name for each in stuck]),
        ("the ledger and SageMaker differ", list(drift)),
    ):
        if names:
            logger.warning(what, extra={"count": len(names), "names": sorted(names)[:_MAX_NAMED]})
    return [
        *pool_figures(ledger, queues, now_ms),
        *team_figures(ledger, queues, now_ms),
        *unlaunchable_figures(unlaunchable),
        *neglected_figures(left),
        metrics.STARTABLE.of(len(startable)),
        metrics.STUCK.of(len(stuck)),
        metrics.DRIFT.of(sum(drift.values())),
        # Without it nobody could tell whether nothing is wrong, or nothing is measured.
        metrics.MEASURED.of(1),
    ]


def pool_figures(ledger: Ledger, queues: Iterable[Backlog], now_ms: int) -> Iterator[MetricValue]:
    """The use of each pool, and the jobs that wait for it.

    Args:
        queues: the waiting jobs of each queue.
    """
    allocated = total(each.demand for each in ledger.attempts)
    reserved = total(each.demand for each in ledger.reservations)
    rogue = total(each.charged for each in ledger.rogues)
    warm = total(each.demand for each in ledger.warm_pools)
    waits = list(queues)
    for pool in ledger.pools:
        name = pool.pool
        held = allocated.get(name, 0)
        yield metrics.ALLOCATED.of(held, name)
        yield metrics.RESERVED.of(reserved.get(name, 0), name)
        yield metrics.ROGUE.of(rogue.get(name, 0), name)
        taken = held + sum(each.get(name, 0) for each in (reserved, rogue, warm))
        # In an unused pool all instances are free: an idle queue publishes nothing on it.
        if taken:
            yield metrics.FREE.of(pool.size - taken, name)
        # A pool of size 0 counts as fully used while a job runs in it.
        yield metrics.UTILISATION.of(100 * held / pool.size if pool.size else 100.0 * bool(held), name)
        mine = [each for each in waits if each.pool == name]
        yield metrics.WAITING_IN_POOL.of(sum(each.waiting for each in mine), name)
        yield metrics.OLDEST_IN_POOL.of(_longest_s(mine, now_ms), name)


def team_figures(ledger: Ledger, queues: Iterable[Backlog], now_ms: int) -> Iterator[MetricValue]:
    """The waiting jobs of each team. Jobs without a team do not count; a job that demands two pools counts in both.

    Args:
        queues: the waiting jobs of each queue.
    """
    waits = list(queues)
    for team in ledger.teams:
        mine = [each for each in waits if each.team == team.team]
        yield metrics.WAITING_OF_TEAM.of(sum(each.waiting for each in mine), team.team)
        yield metrics.OLDEST_OF_TEAM.of(_longest_s(mine, now_ms), team.team)


def unlaunchable_figures(jobs: Collection[UnlaunchableJob]) -> Iterator[MetricValue]:
    """How many jobs are unlaunchable, by pool and by code; one that could use two pools counts in both."""
    yield metrics.UNLAUNCHABLE.of(len(jobs))
    for pool, count in sorted(Counter(pool for each in jobs for pool in each.pools).items()):
        yield metrics.UNLAUNCHABLE_IN_POOL.of(count, pool)
    for code, count in sorted(Counter(each.code for each in jobs).items()):
        yield metrics.UNLAUNCHABLE_BY_CODE.of(count, code)


def next_decision(table: Table, ledger: Ledger, queues: Collection[Backlog], now_ms: int) -> Decided | None:
    """What a decision would do now, with pauses, back-offs, team limits and reserved starts.

    It reads nothing if no job waits for a pool with free or reserved instances: then it is None.

    Args:
        ledger: the ledger as just read.
        queues: the queues that are not empty.
    """
    usable = {pool.pool for pool in ledger.pools if pool.free > 0} | total(e.demand for e in ledger.reservations).keys()
    force = find_applied(table) if any(each.pool in usable for each in queues) else None
    return None if force is None else decide(table, ledger, now_ms, policy=force.configuration.policy())


def startable_jobs(decided: Decided | None, now_ms: int) -> list[str]:
    """Waiting jobs that a decision would start now. The next tick should start them.

    Those that are unlaunchable do not count: of many, one is due for a further try in most minutes, so that
    nothing stands.

    Args:
        decided: see :func:`next_decision`.
    """
    if decided is None:
        return []
    waiting = {job.name: job for job in decided.snapshot.waiting}
    starts = [action for action in decided.plan.actions if isinstance(action, Start)]
    return [each.job for each in starts if not is_unlaunchable(chosen(waiting[each.job], each.demand).failed, now_ms)]


def stuck_attempts(attempts: Iterable[AttemptRecord], now_ms: int, machine_ms: int) -> list[AttemptRecord]:
    """Attempts that neither train nor end within the limits above.

    Args:
        now_ms: the training time, ms.
    """
    return [each for each in attempts if _is_stuck(each, now_ms, machine_ms)]


def drift_by_pool(ledger: Ledger, machine_ms: int, after_s: int) -> dict[str, int]:
    """Instances by which the ledger and SageMaker seem to differ, for the pools where they do.

    These are: instances of attempts whose status was not confirmed for three times the reconciler's interval, or for
    longer than it takes to ask about as many attempts as there are; instances of live training jobs with the mark of an
    attempt that no attempt has; and the difference between a pool's counter and the sum of its allocations and
    reservations.

    Args:
        after_s: see :func:`gauges`.
    """
    longest_s = max(UNCONFIRMED_S, 3 * after_s, after_s + 2 * round_s(len(ledger.attempts)))
    unheard_ms = machine_ms - longest_s * 1000
    found: Counter[str] = Counter()
    for attempt in ledger.attempts:
        if attempt.attempt_state is not AttemptState.LAUNCHING and attempt.seen_ms < unheard_ms:
            found.update(attempt.demand)
    for rogue in ledger.rogues:
        if rogue.marked:
            found.update(rogue.demand)
    held = total(
        [
            *(each.demand for each in ledger.attempts),
            *(each.demand for each in ledger.reservations),
            *(each.charged for each in ledger.rogues),
            *(each.demand for each in ledger.warm_pools),
        ]
    )
    for pool in ledger.pools:
        found[pool.pool] += abs(pool.size - held.get(pool.pool, 0) - pool.free)
    pools = {pool.pool for pool in ledger.pools}
    return {pool: count for pool, count in sorted(found.items()) if count and pool in pools}


def _is_stuck(attempt: AttemptRecord, now_ms: int, machine_ms: int) -> bool:
    if attempt.attempt_state is AttemptState.STOPPING:
        since_ms = now_ms if attempt.stopping_since_ms is None else attempt.stopping_since_ms
        return (now_ms - since_ms) / 1000 > STUCK_STOPPING_S
    if attempt.attempt_state is AttemptState.LAUNCHING:
        # Leases and back-offs, which it waits for, are in machine time; so is the time of its intent.
        return (machine_ms - attempt.seen_ms) / 1000 > STUCK_LAUNCHING_S
    # An interrupted spot job starts again when SageMaker has capacity, so it does not count as stuck.
    starts = attempt.secondary_status is None or attempt.secondary_status in STARTING
    limit_s = STUCK_DOWNLOADING_S if attempt.is_provisioned else STUCK_STARTING_S
    return starts and not attempt.interruptions and (now_ms - attempt.since_ms) / 1000 > limit_s


def _longest_s(queues: Iterable[Backlog], now_ms: int) -> float:
    """How long the oldest job of some queues has waited, s; 0 if they are empty."""
    return max(((now_ms - each.oldest_ms) / 1000 for each in queues), default=0.0)
