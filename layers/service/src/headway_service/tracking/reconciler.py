"""Describes attempts without recent events, in case an event was lost, and training plans; wakes up the scheduler.

Of attempts that have not changed it notes when their checkpoints were written, in the write that notes that.

ListTrainingJobs shows for most of them, a hundred per page, that nothing has changed. The others are described
(:mod:`headway_service.tracking.attempt_checks`). Both take as much time as the run has, and the next run continues with
those whose status is the oldest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from headway.lifecycle import AttemptState
from headway_service.checkpoints.reads import CheckpointReads
from headway_service.errors import Conflict, ListingExpired, OutcomeUnknown, RetryLater
from headway_service.observability.logging import logger
from headway_service.observability.steps import Step
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.spot_scores import SpotScores
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs, TrainingJobSummary
from headway_service.ports.training_plans import TrainingPlans
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.tracking.attempt_checks import MAX_DESCRIBED, AttemptChecks
from headway_service.tracking.observer import Observer
from headway_service.tracking.spot_scores import refresh_scores
from headway_service.tracking.training_job_scan import MAX_PAGES, PAGE_INTERVAL_S
from headway_service.tracking.training_plans import refresh_plans
from headway_service.tracking.turns import in_turn
from headway_service.tracking.used import add_used
from headway_service.tracking.warm_pools import WarmPoolTracker

MAX_NOTED = 500
"""Unchanged attempts that one run records, one write each, which takes a few seconds. The next run records others."""

CLOCKS_MS = 60_000
"""SageMaker's clock may be behind the one by which an attempt was written down, ms."""

NOTES_MS = 15_000
"""A run with less time left asks about no further attempts, ms: what it has found is to be noted."""

RESERVED_MS = 5_000
"""A run with less time left begins nothing further, ms."""

POOLS_MS = 30_000
"""A run with less time left asks about no further training plans and warm pools, ms: the rest is for attempts."""

WORTH_WAITING = 20
"""If the last page showed so many attempts, the next one is awaited before any of the others are described."""


def reconcile(
    ledger: Ledger,
    *,
    table: Table,
    training_jobs: AllTrainingJobs,
    training_plans: TrainingPlans,
    spot_scores: Callable[[], SpotScores],
    checkpoints: CheckpointReads,
    observer: Observer,
    calls: ParallelCalls,
    clocks: Clocks,
    sleep: Callable[[float], None],
    wake: Wake,
    after_s: int,
    left_ms: Callable[[], int],
    step: Step,
) -> int:
    """Describe attempts without a status for ``after_s`` seconds that are not listed as unchanged, as time allows.

    Those come first whose status is the oldest. One that may not wait for instances any longer is overdue: it is
    described even if it is listed, as it is stopped without them. So is one that gives way to others if it has none.
    These have the first turn in one minute, and the others in the next, as either may take all the time of a run.

    An attempt that SageMaker did not find is checked in each run.

    Args:
        ledger: as it was just read.
        training_jobs: SageMaker.
        training_plans: SageMaker's training plans; asked only if a pool follows one.
        spot_scores: makes the client of EC2's spot placement scores; called only if a score is due.
        checkpoints: looks at the checkpoints of attempts, in this run.
        observer: applies the statuses.
        calls: makes calls in parallel.
        clocks: training time and machine time.
        sleep: sleeps for a time, s.
        wake: requests a tick; called if one is due for what was found.
        after_s: the age of a status from which it is checked, s.
        left_ms: how long the invocation may still live, ms.
        step: keeps an error in one step from skipping the others.

    Returns:
        How many attempts have ended.
    """
    machine_ms, now_ms = clocks.machine_ms(), clocks.training_ms()
    unheard = machine_ms - after_s * 1000
    # A launch that is not settled is the scheduler's.
    launched = [each for each in ledger.attempts if each.attempt_state is not AttemptState.LAUNCHING]
    overdue = _oldest_first(
        each for each in launched if each.is_pending_too_long(now_ms) or each.is_to_give_way(now_ms)
    )
    silent = _oldest_first(
        attempt
        for attempt in launched
        if (attempt.seen_ms <= unheard or attempt.missing_since_ms is not None) and attempt not in overdue
    )
    has_changed = False

    def has_time_for_pools() -> bool:
        return left_ms() > POOLS_MS

    with step("training plans"):
        has_changed |= refresh_plans(table, training_plans, ledger, clocks.machine_ms, has_time=has_time_for_pools)
    if ledger.warm_pools:
        with step("warm pools"):
            # The scheduler has them released.
            tracker = WarmPoolTracker(table, training_jobs, clocks.machine_ms, releases=False)
            has_changed |= tracker.track(ledger.warm_pools, now_ms, has_time=has_time_for_pools)
    checks = AttemptChecks(observer, training_jobs, calls, clocks, lambda: left_ms() > NOTES_MS)
    # An attempt that has its instances, and prepares its training for long, is overdue in each run.
    is_turn_of_silent = in_turn((False, True), machine_ms)[0]
    if not is_turn_of_silent:
        checks.describe(overdue, most=_part_beside(silent))
    most = _part_beside(overdue) if is_turn_of_silent else MAX_DESCRIBED
    same = find_unchanged(silent, training_jobs, checks, clocks=clocks, sleep=sleep, most=most)
    if is_turn_of_silent:
        checks.describe(overdue, most=MAX_DESCRIBED)
    noted = _oldest_first(same)[:MAX_NOTED]
    watched = checkpoints.due(noted)
    later = {each.attempt_name for each in watched}
    for attempt in noted:
        if attempt.attempt_name not in later and left_ms() > RESERVED_MS:
            _note_unchanged(table, attempt, machine_ms)
    counts = {"silent": len(silent), "unchanged": len(same), "described": checks.described, "ended": checks.ended}
    logger.info("reconciled", extra=counts)
    # What was written may not be known, as the answer to a write may be lost.
    if checks.described or ledger.warm_pools or has_changed:
        with step("wake-up for what was found"):
            wake("reconcile has asked SageMaker")
    with step("what was used"):
        add_used(table, ledger, clocks.training_ms())
    with step("spot scores"):
        refresh_scores(table, spot_scores, ledger, clocks.machine_ms)
    # At the end, as S3 may be slow, and nothing waits for these.
    for attempt in watched:
        if left_ms() > RESERVED_MS:
            _note_unchanged(table, attempt, machine_ms, checkpoint_seen_ms=checkpoints.newer_ms(attempt))
    return checks.ended


def _part_beside(others: Sequence[AttemptRecord]) -> int:
    """How many attempts may be described in the first turn of a run: others have half of them if they need it."""
    return MAX_DESCRIBED - min(len(others), MAX_DESCRIBED // 2)


def _oldest_first(attempts: Iterable[AttemptRecord]) -> list[AttemptRecord]:
    return sorted(attempts, key=lambda attempt: (attempt.seen_ms, attempt.attempt_name))


def _note_unchanged(
    table: Table, attempt: AttemptRecord, machine_ms: int, *, checkpoint_seen_ms: int | None = None
) -> None:
    """Note that an attempt has not changed; the next run does it if that fails.

    Args:
        attempt: as it was before the list was requested.
        machine_ms: the machine time then, ms.
        checkpoint_seen_ms: when a checkpoint was written that is newer than the known one, ms; None without one.
    """
    try:
        table.write(transitions.touch(attempt, machine_ms, checkpoint_seen_ms=checkpoint_seen_ms))
    except (RetryLater, Conflict) as error:
        logger.warning("not noted now", extra={"attempt": attempt.attempt_name, "error": str(error)})


def find_unchanged(
    attempts: Sequence[AttemptRecord],
    training_jobs: AllTrainingJobs,
    checks: AttemptChecks,
    *,
    clocks: Clocks,
    sleep: Callable[[float], None],
    most: int,
) -> list[AttemptRecord]:
    """Find the attempts that ListTrainingJobs shows as live and with their known status, and describe the others.

    The list is trusted only where it shows no change. It may lag behind, which delays statuses but never frees
    instances. Its pages begin with the newest training jobs; the last one that is read ends with the oldest attempt. It
    shows ended training jobs as well, so its pages may show few attempts. Then those are described meanwhile that have
    the oldest status.

    Args:
        attempts: the attempts to check, those with the oldest status first.
        training_jobs: SageMaker.
        checks: describes attempts.
        clocks: training time and machine time.
        sleep: sleeps for a time, s.
        most: how many may be described in this run, with those that were.

    Returns:
        The unchanged attempts. An attempt that no page shows, because SageMaker did not respond or there are too many
        pages, is not among them.
    """
    unlisted = {each.attempt_name: each for each in attempts}
    changed: list[AttemptRecord] = []
    found: list[AttemptRecord] = []
    after_ms = min((each.since_ms for each in attempts), default=0) - CLOCKS_MS
    token, shown = None, WORTH_WAITING
    try:
        for number in range(MAX_PAGES):
            next_ms = clocks.machine_ms() + int(PAGE_INTERVAL_S * 1000)
            if number and shown < WORTH_WAITING:
                checks.describe(_taken(unlisted), most=most, until_ms=next_ms)
            if not unlisted or not checks.has_time():
                break
            if number:
                sleep(max(0.0, (next_ms - clocks.machine_ms()) / 1000))
            page = training_jobs.live(after_ms, token)
            shown = 0
            for listed in page.jobs:
                attempt = unlisted.pop(listed.name, None)
                if attempt is not None:
                    shown += 1
                    (found if is_unchanged(listed, attempt) else changed).append(attempt)
            token = page.token
            if token is None or not unlisted:
                break
    except (OutcomeUnknown, ListingExpired) as error:
        logger.warning("the list ends early", extra={"unlisted": len(unlisted), "error": str(error)})
    checks.describe([*_oldest_first(changed), *unlisted.values()], most=most)
    return found


def _taken(attempts: dict[str, AttemptRecord]) -> Iterator[AttemptRecord]:
    """The attempts in their order, each taken out."""
    while attempts:
        yield attempts.pop(next(iter(attempts)))


def is_unchanged(listed: TrainingJobSummary, attempt: AttemptRecord) -> bool:
    """Whether the list shows the known status of an attempt.

    Both times are SageMaker's own, of a change of the same training job, so no clock of ours takes part. The statuses
    are compared too: two changes may have the same time if it is rounded to seconds.

    Args:
        listed: the training job as ListTrainingJobs shows it.
    """
    return (
        listed.modified_ms <= attempt.modified_ms
        and listed.status == attempt.training_job_status
        and listed.secondary_status in (None, attempt.secondary_status)
    )
