"""Asks SageMaker about attempts that nothing was heard of, in case an event was lost, and wakes the scheduler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.lifecycle import AttemptState
from headway_service.errors import Busy, Conflict, Unclear
from headway_service.ledger import Ledger, read_ledger
from headway_service.log import logger
from headway_service.observation import Observer
from headway_service.ports import Table, TrainingJobs, Wake

MAX_LOOKS = 100
"""Attempts that one run asks about, the longest unheard first: DescribeTrainingJob is throttled per account."""


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
    training_jobs: TrainingJobs,
    observer: Observer,
    clock: Callable[[], int],
    wake: Wake,
    after_s: int,
) -> Reconciled:
    """Look at every attempt that nothing was heard of for ``after_s`` seconds."""
    unheard = clock() - after_s * 1000
    ledger = read_ledger(table)
    silent = sorted(
        (
            attempt
            for attempt in ledger.attempts
            # A launch that is not settled is the scheduler's.
            if attempt.attempt_state is not AttemptState.LAUNCHING and attempt.seen_ms <= unheard
        ),
        key=lambda attempt: (attempt.seen_ms, attempt.attempt_name),
    )
    ended = 0
    for attempt in silent[:MAX_LOOKS]:
        try:
            ended += observer.look(attempt.attempt_name, training_jobs, clock())
        except (Unclear, Busy, Conflict) as error:
            logger.warning("not reconciled now", extra={"attempt": attempt.attempt_name, "error": str(error)})
    logger.info("reconciled", extra={"silent": len(silent), "ended": ended})
    # Also when nothing was found: a wake-up lost between a write and its message is made good here.
    wake("reconcile")
    return Reconciled(ended=ended, ledger=ledger)
