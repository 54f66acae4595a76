"""Queues of maximum length, in memory: what a pass, a submission, a listing, a `why` and a cancellation use.

    python -m bench.runs.long_queues WAITING      prints the figures of one length as JSON

`bench.scenarios.scale` measures several lengths, each in a separate process, as peak memory is one of the figures.
Items are written as submissions write them, the real handlers work on them, and `bench.metering.dynamodb_units`
counts units.
"""

from __future__ import annotations

import gc
import json
import logging
import resource
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.metering.dynamodb_units import EVENTUALLY, READ_BYTES, MeteredTable, item_bytes
from bench.peers.side import seconds
from bench.queues.full_queues import ENDLESS_S, TEAMS
from bench.queues.virtual_time import POOL, MeteredQueue, usual_request
from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_service.admission.queues.recounts import COUNTED_EACH_MS
from headway_service.config.document import MAX_WAITING
from headway_service.observability.logging import logger
from headway_service.ports.table import Equals, Item, Key, Put, Tally
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable

POOLS = (
    *(POOL, "ml.p4d.24xlarge", "ml.p4de.24xlarge", "ml.p3.2xlarge", "ml.p3.8xlarge", "ml.p3.16xlarge"),
    *("ml.g5.xlarge", "ml.g5.2xlarge", "ml.g5.12xlarge", "ml.g5.48xlarge"),
)
_NAME = "name-of-a-job"
"""The placeholder of the name in template items."""

INSTANCES, RUNNING_PRIORITY, PRIORITIES = 8, 9, (5, 2, 1)
"""Waiting jobs preempt no running job."""

ROUNDS = 5
OPERATIONS = ("submission", "pass", "listing", "why", "cancellation")
READS, WRITES, CALLS = "DynamoDB read units", "DynamoDB write units", "DynamoDB calls"

Figures = dict[str, Any]


class AlikeMeter(MeteredTable):
    """Counts the units of a queue's entries by its first one, as all are equal here: sizing thousands takes long."""

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.table.Table`."""
        number = self._table.count_before(pk, sk, limit=limit)
        self._read_alike(pk, number)
        return number

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        keys = self._table.keys_before(pk, sk, limit=limit)
        self._read_alike(pk, len(keys))
        return keys

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """See :class:`headway_service.ports.table.Table`."""
        found = self._table.tail(pk, attribute, limit=limit)
        self._read_alike(pk, len(found))
        return found

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """See :class:`headway_service.ports.table.Table`."""
        tally = self._table.tally(pk, where, before=before, limit=limit)
        self._read_alike(pk, tally.items)
        return tally

    def _read_alike(self, pk: str, number: int) -> None:
        size = sum(map(item_bytes, self._table.query(pk, limit=1))) * number
        self._called("Query")
        self._count("read units", EVENTUALLY * max(1, -(-size // READ_BYTES)))


class LongLines(MeteredQueue):
    """A deployment with many queues, whose instances are all in use.

    Args:
        pools: how many pools it has. There is a line for each and for each of eleven teams.
    """

    def __init__(self, pools: int) -> None:
        self.pools = POOLS[:pools]
        super().__init__(
            INSTANCES,
            meter=AlikeMeter,
            pools={pool: {"size": INSTANCES} for pool in self.pools},
            teams={team: {} for team in TEAMS},
            limits={"waitingPerTeam": MAX_WAITING, "waitingPerOwner": MAX_WAITING},
        )
        self._submitted = 0

    def fill(self, waiting: int) -> None:
        """Start jobs on all instances, and add waiting ones; all but one of each pool enter without admission."""
        self.minute()
        for pool in self.pools:
            for _ in range(INSTANCES):
                self.submit_one(pool, RUNNING_PRIORITY)
        self.pass_time(600)
        first = {pool: self._accepted(self.submit_one(pool, PRIORITIES[0])) for pool in self.pools}
        for items in waiting_jobs(first, waiting - len(first)):
            for item in items:
                # Without conditions, copies and the stream, which nothing uses yet.
                MemoryTable._store(self.table, Key(item["pk"], item["sk"]), item)  # noqa: SLF001
        # The minute counts long queues from time to time.
        self.pass_time(COUNTED_EACH_MS / 1000)
        self.minute()

    def submit_one(self, pool: str = POOL, priority: int = PRIORITIES[-1]) -> str:
        """Submit a job with this name, and run all that follows."""
        self._submitted += 1
        request = request_of(f"job-{self._submitted}", pool, TEAMS[self._submitted % len(TEAMS)], priority)
        self.submit_request(request)
        return str(request["TrainingJobName"])

    def ask(self, method: str, path: str, query: Mapping[str, list[str]] | None = None) -> Any:
        """What the API answers."""
        answer = self.invoke("api", http_event(method, path, query=query))
        if answer["statusCode"] != 200:
            raise RuntimeError(f"{method} {path} was answered by {answer['statusCode']}: {answer['body']}")
        return json.loads(answer["body"])

    def act(self, operation: str) -> None:
        """Do one of :data:`OPERATIONS`; a cancellation takes back what the last submission has brought."""
        last = f"job-{self._submitted}"
        match operation:
            case "submission":
                self.submit_one()
            case "pass":
                self.invoke("schedule", event("schedule"))
            case "listing":
                self.ask("GET", "/jobs", {"limit": ["100"]})
            case "why":
                self.ask("GET", f"/jobs/{last}/explanation")
            case _:
                self.ask("DELETE", f"/jobs/{last}")
                self.wakes.clear()

    def use(self, operation: str) -> dict[str, float]:
        """Do one of :data:`OPERATIONS`, and give what it used."""
        return _use(self, operation)

    def waiting(self) -> int:
        """The number of waiting jobs."""
        return sum(len(keys) for pk, keys in self.table._sort_keys.items() if pk.startswith("line#"))  # noqa: SLF001

    def _accepted(self, name: str) -> JobRecord:
        return JobRecord.parse(self.table.get(JobRecord.key(name)) or {})


def waiting_jobs(first: Mapping[str, JobRecord], number: int, *, already: int = 0) -> Iterator[list[dict[str, Any]]]:
    """The items of waiting jobs, spread over the queues, a job at a time.

    Items are made by `transitions.enqueue` once for each line and priority, and from these by putting in the names: to
    make each by itself would take longer than all that is measured. They come in the order of rank, as that is how the
    table in memory takes a million quickly.

    Args:
        first: a job that waits in each pool, by pool. The others are as it is, of other names, teams and priorities.
        number: how many.
        already: the number of existing ones.
    """
    pools = list(first)
    patterns: dict[tuple[str, str, int], list[Item]] = {}
    for place in range(already, number):
        pool, team = pools[place % len(pools)], TEAMS[place // len(pools) % len(TEAMS)]
        priority = PRIORITIES[place * len(PRIORITIES) // number]
        if (pool, team, priority) not in patterns:
            patterns[pool, team, priority] = _pattern(first[pool], pool, team, priority)
        name = f"waiting-{place:07}"
        yield [
            {key: value.replace(_NAME, name) if type(value) is str else value for key, value in item.items()}
            for item in patterns[pool, team, priority]
        ]


def _pattern(first: JobRecord, pool: str, team: str, priority: int) -> list[Item]:
    job = first.model_copy(update={"job_name": _NAME, "team": team, "priority": priority})
    writes = transitions.enqueue(job, json.dumps(request_of(_NAME, pool, team, priority)))
    return [write.item for write in writes if isinstance(write, Put)]


def request_of(name: str, pool: str, team: str, priority: int) -> dict[str, Any]:
    """A usual request, in that pool and for that team."""
    request = usual_request(name, priority=priority, run_s=ENDLESS_S)
    request["ResourceConfig"]["InstanceType"] = pool
    request["Tags"].append({"Key": "headway:team", "Value": team})
    return request


def measure(waiting: int, *, pools: int, rounds: int = ROUNDS) -> Figures:
    """The median use of each operation over a number of rounds.

    Args:
        waiting: how many jobs wait at the beginning; there are as many at the end of each round.
        pools: see :class:`LongLines`.
        rounds: how many.
    """
    queue = LongLines(pools)
    fill_s = seconds(lambda: queue.fill(waiting))
    # Lambda keeps no table in its memory, through which the collector of garbage would have to go.
    gc.collect()
    gc.freeze()
    try:
        uses: dict[str, list[dict[str, float]]] = {operation: [] for operation in OPERATIONS}
        for _ in range(rounds):
            for operation in OPERATIONS:
                uses[operation].append(_use(queue, operation))
    finally:
        gc.unfreeze()
    if queue.waiting() != waiting:
        raise RuntimeError(f"{queue.waiting()} jobs wait at the end, and {waiting} did at the beginning")
    return {
        "waiting": waiting,
        "lines": pools * len(TEAMS),
        "runs": rounds,
        "fillS": round(fill_s, 1),
        # Linux counts it in KB (getrusage(2)).
        "peakMemoryMB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        **{
            operation: {kind: round(statistics.median(use[kind] for use in some), 2) for kind in some[0]}
            for operation, some in uses.items()
        },
    }


def _use(queue: LongLines, operation: str) -> dict[str, float]:
    queue.reset()
    queue.act(operation)
    # A submission's own pass is the next operation.
    function = "schedule" if operation == "pass" else "api"
    totals: dict[str, float] = defaultdict(float)
    for (name, kind), number in queue.used.items():
        if name == function:
            totals[kind] += number
    return {"ms": queue.handler_ms[function], **{kind: totals[kind] for kind in (READS, WRITES, CALLS)}}


def measured_apart(waiting: int, *, pools: int) -> Figures:
    """The same in a separate process."""
    command = [sys.executable, "-m", "bench.runs.long_queues", str(waiting), str(pools)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ourselves
    if done.returncode:
        raise RuntimeError(f"{waiting} waiting could not be measured:\n{done.stderr[-2000:]}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def ratios(long: Mapping[str, Any], short: Mapping[str, Any], operations: Sequence[str] = OPERATIONS) -> Figures:
    """How many times as much each operation uses with the long lines as with the short ones."""
    return {
        operation: {kind: round(long[operation][kind] / short[operation][kind], 2) for kind in long[operation]
                    if short[operation][kind]}
        for operation in operations
    }  # fmt: skip


if __name__ == "__main__":
    logger.setLevel(logging.WARNING)
    print(json.dumps(measure(int(sys.argv[1]), pools=int(sys.argv[2]))))
