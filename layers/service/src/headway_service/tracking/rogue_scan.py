"""Once a minute: finds rogue jobs without events, and stops those that the policy requires.

It finds attempts that the queue has lost, too; after the table was restored, nothing is launched before that is done.
"""

from __future__ import annotations

from collections.abc import Callable

from headway_service.errors import Conflict, OutcomeUnknown, RetryLater, UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import find_applied
from headway_service.ports.clocks import Clocks
from headway_service.ports.messaging import Wake
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import AllTrainingJobs
from headway_service.sagemaker_api.visibility import is_proven
from headway_service.store import transitions
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.tracking.rogue_jobs import RogueJobTracker, is_stop_due
from headway_service.tracking.training_job_scan import scan

MAX_DESCRIBED = 50
"""Training jobs that one run describes, with two or three calls each."""

RESERVED_MS = 15_000
"""A run begins nothing new when its invocation has less than this left."""


def scan_rogue_jobs(
    *,
    table: Table,
    training_jobs: AllTrainingJobs,
    rogues: RogueJobTracker,
    clocks: Clocks,
    sleep: Callable[[float], None],
    wake: Wake,
    after_s: int,
    deadline_ms: int,
) -> int:
    """Check the rogue jobs that are due, then unknown live training jobs.

    A job is due if its last status is older than ``after_s`` seconds, if it was checked against another configuration,
    or if it has to be stopped.

    Args:
        training_jobs: SageMaker.
        rogues: applies the statuses.
        clocks: training time and machine time.
        sleep: sleeps for a time, s.
        wake: requests a tick.
        after_s: the age of a status from which it is checked, s.
        deadline_ms: when this invocation is ended, machine time, ms.

    Returns:
        How many training jobs were checked.
    """
    force = find_applied(table)
    if force is None:
        return 0
    ledger = read_ledger(table)
    now_ms, machine_ms = clocks.training_ms(), clocks.machine_ms()

    def is_due(rogue: RogueJobRecord) -> bool:
        unheard = rogue.seen_ms <= machine_ms - after_s * 1000
        return unheard or rogue.config_version != force.version or is_stop_due(rogue, now_ms)

    run = _Run(table, rogues, ledger, clocks, deadline_ms)

    def order(rogue: RogueJobRecord) -> tuple[bool, int, str]:
        # Requests of operators come first, so that they are processed within a minute.
        asked = bool(rogue.stop_asked_by) and is_stop_due(rogue, now_ms)
        return not asked, rogue.seen_ms, rogue.training_job_name

    due = sorted(filter(is_due, ledger.rogues), key=order)
    known = {each.attempt_name for each in ledger.attempts} | {each.training_job_name for each in ledger.rogues}
    # What cannot be read is known nevertheless: it is charged, and neither charged again nor stopped.
    known |= ledger.names_of_unreadable("attempt") | ledger.names_of_unreadable("rogue")
    # Some unknown training jobs are checked even if many are due.
    all(run.refresh(rogue.training_job_name) for rogue in due[: MAX_DESCRIBED // 2])
    try:
        for page in scan(
            table,
            training_jobs,
            clocks=clocks,
            sleep=sleep,
            has_time=run.has_time,
            completed=run.round_completed,
        ):
            if not all(run.refresh(name) for name in page if name not in known):
                break
    except (OutcomeUnknown, Conflict) as error:
        logger.warning("the sweep ends early", extra={"error": str(error)})
    logger.info("patrolled", extra={"rogues": len(ledger.rogues), "due": len(due), "described": run.described})
    if run.changed:
        wake("the patrol has freed instances")
    return run.described


class _Run:
    """One run of the patrol: its remaining budget, and its results."""

    def __init__(
        self,
        table: Table,
        rogues: RogueJobTracker,
        ledger: Ledger,
        clocks: Clocks,
        deadline_ms: int,
    ) -> None:
        self._table = table
        self._rogues = rogues
        self._restored = ledger.restored
        self._clocks = clocks
        self._deadline_ms = deadline_ms
        self.described = 0
        #: Whether instances became free, or may be launched on again.
        self.changed = False

    def has_time(self) -> bool:
        return self._clocks.machine_ms() < self._deadline_ms - RESERVED_MS

    def refresh(self, name: str) -> bool:
        """Check one training job. Returns whether to continue with others."""
        self.described += 1
        try:
            self.changed |= self._rogues.refresh(name, self._clocks.training_ms())
        except (OutcomeUnknown, RetryLater, UnreadableRecord) as error:
            logger.warning("not looked at now", extra={"rogue": name, "error": str(error)})
            if self._restored is not None:
                # Nothing is launched until every training job was checked, so the next run begins with this page.
                return False
        return self.described < MAX_DESCRIBED and self.has_time()

    def round_completed(self, began_ms: int) -> None:
        """All training jobs were listed since then. After a restore the queue may launch again.

        Raises:
            Conflict: another invocation was faster.
        """
        if self._restored is None or not is_proven(self._restored.restored_ms or 0, began_ms):
            return
        self._table.write(transitions.end_restore(self._restored))
        logger.info("all training jobs since the restore are known")
        self.changed = True
