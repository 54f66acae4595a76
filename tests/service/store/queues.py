"""Tables with queues of given jobs, and what a decision reads of them."""

from __future__ import annotations

from headway.lifecycle import AttemptState, JobState
from headway.policy import Ageing, Policy
from headway.reasons import ReasonCode
from headway_service.ports.table import Item
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.base import LEDGER, ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.job import JobRecord
from headway_service.store.snapshot import read_snapshot
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5

G5 = "ml.g5.xlarge"
NO_WINDOW = Policy(backfill_window=0)


class Counting(MemoryTable):
    """A table that counts the reads of queues, and records the reads of the ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0
        self.queries = 0
        self.of_ledger: list[str] = []
        #: Of the lines.
        self.limits: list[int] = []

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        found = super().query(pk, prefix=prefix, after=after, limit=limit)
        if pk.startswith("line#"):
            self.entries += len(found)
            self.queries += 1
            self.limits.append(limit)
        elif pk == LEDGER:
            self.of_ledger.append(prefix or after)
        return found


def table_of(*teams: str, sizes: dict[str, int] | None = None, kind: type[Counting] = Counting) -> Counting:
    table = kind()
    for pool, size in (sizes or {P5: 2}).items():
        table.write(transitions.add_pool(pool, size))
    for team in teams:
        table.write(transitions.add_team(team, None))
    return table


def waits(table: MemoryTable, name: str, priority: int = 0, *, team: str = "", entered: int = 0, **demand: int) -> None:
    pools = {{"p5": P5, "g5": G5}[pool]: count for pool, count in (demand or {"p5": 1}).items()}
    enqueue(table, waiting_job(name, priority, pools).model_copy(update={"team": team, "entry_time": entered}))


def waiting_job(name: str, priority: int, demand: dict[str, int]) -> JobRecord:
    return JobRecord(
        job_name=name,
        job_state=JobState.PENDING,
        priority=priority,
        entry_time=0,
        demand=demand,
        request_digest="",
        reason=ReasonRecord(code=ReasonCode.ENTERED, message="entered"),
    )


def enqueue(table: MemoryTable, job: JobRecord) -> None:
    table.write([entry.put() for entry in job.queue_entries()])


def heads(table: MemoryTable, now_ms: int = 0, policy: Policy = NO_WINDOW) -> list[str]:
    return [job.name for job in read_snapshot(table, read_ledger(table), now_ms, policy=policy).waiting]


AGEING = Policy(backfill_window=0, ageing=Ageing(interval_ms=1000, cap=5))


def runs(name: str, priority: int = 9, *, team: str = "", stopping: bool = False, **demand: int) -> AttemptRecord:
    return AttemptRecord(
        attempt_name=name,
        job_name=name,
        number=1,
        attempt_state=AttemptState.STOPPING if stopping else AttemptState.LIVE,
        stop_cause=StopCause.PREEMPTION if stopping else None,
        mark="",
        demand={{"p5": P5, "g5": G5}[pool]: count for pool, count in demand.items()},
        priority=priority,
        team=team,
        entry_time=0,
        since_ms=0,
        lease_holder="",
        lease_until_ms=0,
        seen_ms=0,
    )
