"""Once a minute: looks after rogue jobs that events have not told of, and stops those that the policy wants stopped."""

from __future__ import annotations

from collections.abc import Callable

from headway_service.errors import Busy, Unclear
from headway_service.ledger import read_ledger
from headway_service.log import logger
from headway_service.pools import applied
from headway_service.ports import AllTrainingJobs, Table, Wake
from headway_service.records import RogueRecord
from headway_service.rogues import Rogues, is_stop_due
from headway_service.sweep import sweep

MAX_LOOKS = 50
"""Training jobs that one run asks about, which takes two or three calls each."""

RESERVED_MS = 15_000
"""A run begins nothing new when its invocation has less than this left."""


def patrol(
    *,
    table: Table,
    training_jobs: AllTrainingJobs,
    rogues: Rogues,
    clock: Callable[[], int],
    pause: Callable[[float], None],
    wake: Wake,
    after_s: int,
    deadline_ms: int,
) -> int:
    """Look at the rogue jobs that are due, then at live training jobs that nobody knows.

    Due are those that nothing was heard of for ``after_s`` seconds, that were judged by another configuration, or that
    have to be stopped.

    Args:
        table: the table.
        training_jobs: SageMaker.
        rogues: takes what it says.
        clock: now, ms.
        pause: waits, s.
        wake: asks for a tick.
        after_s: see above.
        deadline_ms: when this invocation dies, ms.

    Returns:
        How many training jobs were looked at.
    """
    force = applied(table)
    if force is None:
        return 0
    ledger = read_ledger(table)
    now_ms = clock()

    def is_due(rogue: RogueRecord) -> bool:
        unheard = rogue.seen_ms <= now_ms - after_s * 1000
        return unheard or rogue.config_version != force.version or is_stop_due(rogue, now_ms)

    def has_time() -> bool:
        return clock() < deadline_ms - RESERVED_MS

    looks, freed = 0, False

    def look(name: str) -> bool:
        """Look at one. Returns whether there is room for more."""
        nonlocal looks, freed
        looks += 1
        try:
            freed |= rogues.look(name, clock())
        except (Unclear, Busy) as error:
            logger.warning("not looked at now", extra={"rogue": name, "error": str(error)})
        return looks < MAX_LOOKS and has_time()

    due = sorted(filter(is_due, ledger.rogues), key=lambda rogue: (rogue.seen_ms, rogue.training_job_name))
    known = {each.attempt_name for each in ledger.attempts} | {each.training_job_name for each in ledger.rogues}
    # However many are due, there is room for some that nobody knows.
    all(look(rogue.training_job_name) for rogue in due[: MAX_LOOKS // 2])
    try:
        for page in sweep(table, training_jobs, clock=clock, pause=pause, has_time=has_time):
            if not all(look(name) for name in page if name not in known):
                break
    except Unclear as error:
        logger.warning("the sweep ends early", extra={"error": str(error)})
    logger.info("patrolled", extra={"rogues": len(ledger.rogues), "due": len(due), "looks": looks})
    if freed:
        wake("rogue jobs have ended")
    return looks
