"""Describes attempts without recent events, in case an event was lost, and training plans; wakes up the scheduler.

Of attempts that have not changed it notes when their checkpoints were written, in the write that notes that.

ListTrainingJobs shows for most of them, a hundred per page, that nothing has changed. The others are described one by
one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from headway.lifecycle import AttemptState
from headway_service.checkpoints.reads import CheckpointReads
from headway_service.errors import Conflict, ListingExpired, OutcomeUnknown, RetryLater, UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.observability.steps import Step
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.spot_scores import SpotScores
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs, TrainingJobSummary
from headway_service.ports.training_plans import TrainingPlans
from headway_service.store import transitions
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.tracking.observer import Observer, StatusOutcome
from headway_service.tracking.spot_scores import refresh_scores
from headway_service.tracking.training_job_scan import MAX_PAGES, PAGE_INTERVAL_S
from headway_service.tracking.training_plans import refresh_plans
from headway_service.tracking.warm_pools import WarmPoolTracker

MAX_DESCRIBED = 100
"""Attempts that one run describes, oldest status first: DescribeTrainingJob is throttled per account.

Of them half are for attempts that wait too long for instances, and half for others, while there are enough of both."""

MAX_NOTED = 500
"""Unchanged attempts that one run records, one write each, which takes a few seconds. The next run records others."""

CLOCKS_MS = 60_000
"""SageMaker's clock may be behind the one by which an attempt was written down, ms."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reconciled:
    """The result of a run.

    Attributes:
        ended: attempts that turned out to have ended.
        ledger: as it was when the run began.
    """

    ended: int
    ledger: Ledger


def reconcile(
    *,
    table: Table,
    training_jobs: AllTrainingJobs,
    training_plans: TrainingPlans,
    spot_scores: Callable[[], SpotScores],
    checkpoints: CheckpointReads,
    observer: Observer,
    clocks: Clocks,
    sleep: Callable[[float], None],
    wake: Wake,
    after_s: int,
    step: Step,
) -> Reconciled:
    """Describe every attempt without a status for ``after_s`` seconds that is not listed as unchanged.

    One that may not wait for instances any longer is described even if it is, as it is stopped without them. So is one
    that gives way to others if it has none.

    An attempt that SageMaker did not find is checked in each run.

    Args:
        training_jobs: SageMaker.
        training_plans: SageMaker's training plans; asked only if a pool follows one.
        spot_scores: makes the client of EC2's spot placement scores; called only if a score is due.
        checkpoints: looks at the checkpoints of attempts, in this run.
        observer: applies the statuses.
        clocks: training time and machine time.
        sleep: sleeps for a time, s.
        wake: requests a tick.
        after_s: the age of a status from which it is checked, s.
        step: keeps an error in one step from skipping the others, above all the wake-up.

    Returns:
        How many attempts have ended, and the ledger that was read.
    """
    machine_ms = clocks.machine_ms()
    unheard = machine_ms - after_s * 1000
    now_ms = clocks.training_ms()
    ledger = read_ledger(table)
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
    same = find_unchanged(silent, training_jobs, sleep=sleep)
    noted = same[:MAX_NOTED]
    watched = checkpoints.due(noted)
    noted_later = {each.attempt_name for each in watched}
    for attempt in noted:
        if attempt.attempt_name not in noted_later:
            _note_unchanged(table, attempt, machine_ms)
    ended = 0
    unchanged = {each.attempt_name for each in same}
    others = [each for each in silent if each.attempt_name not in unchanged]
    for attempt in _described(overdue, others):
        try:
            outcome = observer.refresh(attempt.attempt_name, training_jobs, clocks.training_ms())
            ended += outcome is StatusOutcome.TICK_DUE
        except (OutcomeUnknown, RetryLater, Conflict, UnreadableRecord) as error:
            logger.warning("not reconciled now", extra={"attempt": attempt.attempt_name, "error": str(error)})
    if ledger.warm_pools:
        with step("warm pools"):
            # The scheduler, which is woken up below, has them released.
            WarmPoolTracker(table, training_jobs, clocks.machine_ms, releases=False).track(
                ledger.warm_pools, clocks.training_ms()
            )
    with step("training plans"):
        refresh_plans(table, training_plans, ledger, clocks.machine_ms)
    logger.info("reconciled", extra={"silent": len(silent), "unchanged": len(same), "ended": ended})
    with step("wake-up"):
        # Even if nothing was found: this recovers a wake-up that was lost between a write and its message.
        wake("reconcile")
    with step("spot scores"):
        refresh_scores(table, spot_scores, ledger, clocks.machine_ms)
    # At the end, as S3 may be slow, and nothing waits for these.
    for attempt in watched:
        _note_unchanged(table, attempt, machine_ms, checkpoint_seen_ms=checkpoints.newer_ms(attempt))
    return Reconciled(ended=ended, ledger=ledger)


def _oldest_first(attempts: Iterable[AttemptRecord]) -> list[AttemptRecord]:
    return sorted(attempts, key=lambda attempt: (attempt.seen_ms, attempt.attempt_name))


def _described(overdue: Sequence[AttemptRecord], others: Sequence[AttemptRecord]) -> list[AttemptRecord]:
    """The attempts that a run describes: up to half are others, however many wait too long for instances.

    An attempt that has its instances, and prepares its training for long, is overdue in each run.
    """
    most = MAX_DESCRIBED - min(len(others), MAX_DESCRIBED // 2)
    return [*overdue[:most], *others][:MAX_DESCRIBED]


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
    attempts: Collection[AttemptRecord], training_jobs: AllTrainingJobs, *, sleep: Callable[[float], None]
) -> list[AttemptRecord]:
    """Find the attempts that ListTrainingJobs shows as live and with their known status.

    The list is trusted only where it shows no change. It may lag behind, which delays statuses but never frees
    instances. Its pages begin with the newest training jobs; the last one that is read ends with the oldest attempt.

    Args:
        attempts: the attempts to check.
        training_jobs: SageMaker.
        sleep: sleeps for a time, s.

    Returns:
        The unchanged attempts. An attempt that no page shows, because SageMaker did not respond or there are too many
        pages, is not among them.
    """
    unlisted = {each.attempt_name: each for each in attempts}
    found: list[AttemptRecord] = []
    after_ms = min((each.since_ms for each in attempts), default=0) - CLOCKS_MS
    token = None
    try:
        for number in range(MAX_PAGES if attempts else 0):
            if number:
                sleep(PAGE_INTERVAL_S)
            page = training_jobs.live(after_ms, token)
            for listed in page.jobs:
                attempt = unlisted.pop(listed.name, None)
                if attempt is not None and is_unchanged(listed, attempt):
                    found.append(attempt)
            token = page.token
            if token is None or not unlisted:
                break
    except (OutcomeUnknown, ListingExpired) as error:
        logger.warning("the list ends early", extra={"unlisted": len(unlisted), "error": str(error)})
    return found


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
