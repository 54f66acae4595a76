"""Describes attempts without recent events, in case an event was lost, and wakes up the scheduler.

The list of training jobs shows for most of them, a hundred at a time, that nothing has changed. The others are
described, one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.lifecycle import AttemptState
from headway_service.errors import Conflict, OutcomeUnknown, RetryLater
from headway_service.observability.logging import logger
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.store import transitions
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.tracking.observer import Observer, StatusOutcome
from headway_service.tracking.unchanged import skip_unchanged

MAX_LOOKS = 100
"""Attempts that one run describes, oldest status first: DescribeTrainingJob is throttled per account."""

MAX_NOTED = 500
"""Attempts of which one run notes that they are unchanged, one write each: a few seconds. The others' turn is next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reconciled:
    """What a run found.

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
    observer: Observer,
    clock: Callable[[], int],
    sleep: Callable[[float], None],
    wake: Wake,
    after_s: int,
) -> Reconciled:
    """Describe every attempt without a status for ``after_s`` seconds that is not listed as unchanged.

    One that SageMaker did not find is described again at once.
    """
    now_ms = clock()
    unheard = now_ms - after_s * 1000
    ledger = read_ledger(table)
    silent = sorted(
        (
            attempt
            for attempt in ledger.attempts
            # A launch that is not settled is the scheduler's.
            if attempt.attempt_state is not AttemptState.LAUNCHING
            and (attempt.seen_ms <= unheard or attempt.missing_since_ms is not None)
        ),
        key=lambda attempt: (attempt.seen_ms, attempt.attempt_name),
    )
    same = skip_unchanged(silent, training_jobs, sleep=sleep)
    for attempt in same[:MAX_NOTED]:
        try:
            # The state before the list was requested.
            table.write(transitions.touch(attempt, now_ms))
        except (RetryLater, Conflict) as error:
            logger.warning("not noted now", extra={"attempt": attempt.attempt_name, "error": str(error)})
    ended = 0
    others = {each.attempt_name for each in silent} - {each.attempt_name for each in same}
    for attempt in [each for each in silent if each.attempt_name in others][:MAX_LOOKS]:
        try:
            outcome = observer.refresh(attempt.attempt_name, training_jobs, clock())
            ended += outcome is StatusOutcome.TICK_DUE
        except (OutcomeUnknown, RetryLater, Conflict) as error:
            logger.warning("not reconciled now", extra={"attempt": attempt.attempt_name, "error": str(error)})
    logger.info("reconciled", extra={"silent": len(silent), "unchanged": len(same), "ended": ended})
    # Even if nothing was found: this recovers a wake-up that was lost between a write and its message.
    wake("reconcile")
    return Reconciled(ended=ended, ledger=ledger)
