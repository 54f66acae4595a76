"""How long a summary takes, and how long a board takes to show it: 10,000 waiting and 500 running jobs.

The table is in memory, so this is the time of Headway's own code without DynamoDB's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from bench.metering.machine import describe_machine
from headway_client.board.rows import Selection, event_lines, running_rows, waiting_rows
from headway_client.board.web.timeline import Timeline
from headway_client.models import Summary
from headway_sandbox.inprocess.deployment import SimulatedDeployment
from headway_sandbox.inprocess.lambda_loader import http_event
from headway_service.config.authorization import Caller
from headway_service.store import transitions
from headway_service.store.records.job import JobRecord, request_key
from headway_service.testing.memory_table import MemoryTable

WAITING, RUNNING, TEAMS = 10_000, 500, 10
ROUNDS = 21
GOAL_FIRST_MS, GOAL_REFRESH_MS = 1000.0, 200.0
SUMMARY = "the queue makes a summary"
UNCHANGED = "the queue finds that a summary is unchanged"
TERMINAL = "the board in the terminal shows a summary"
SERVER = "the server of the board in the browser takes a summary"

_POOLS = ("ml.p5.48xlarge", "ml.g5.xlarge")
_ROOT = Caller(arn="arn:aws:iam::123456789012:root", account="123456789012")


class FullQueue(SimulatedDeployment[MemoryTable]):
    """A queue whose instances are in use, behind which jobs wait.

    Args:
        waiting: how many wait.
        running: how many run.
    """

    def __init__(self, waiting: int, running: int) -> None:
        pools = {pool: {"size": running // len(_POOLS)} for pool in _POOLS}
        teams: dict[str, Any] = {f"team{number}": {} for number in range(TEAMS)}
        limits = {"waitingPerTeam": 10_000, "waitingPerOwner": 10_000}
        super().__init__(MemoryTable(), {"pools": pools, "teams": teams, "limits": limits})
        for number in range(running):
            self._submit(f"running-{number:05}", 9, number)
        while any(pool.free for pool in self.container.capacity().pools):
            self.container.tick(25_000)
        for pool in range(len(_POOLS)):
            self._submit(f"pattern-{pool}", 1, pool)
        self._enqueue(waiting)

    def _submit(self, name: str, priority: int, number: int) -> None:
        request = {
            "TrainingJobName": name,
            "RoleArn": "arn:aws:iam::123456789012:role/HeadwayTrainingRole",
            "AlgorithmSpecification": {
                "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/t:1",
                "TrainingInputMode": "File",
            },
            "OutputDataConfig": {"S3OutputPath": "s3://jobs/output"},
            "ResourceConfig": {
                "InstanceType": _POOLS[number % len(_POOLS)],
                "InstanceCount": 1,
                "VolumeSizeInGB": 30,
            },
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600 + number},
            "Tags": [
                {"Key": "priority", "Value": str(priority)},
                {"Key": "team", "Value": f"team{number % TEAMS}"},
            ],
        }
        self.container.submitter.submit(request, _ROOT)

    def _enqueue(self, waiting: int) -> None:
        """Add jobs without the checks of admission, which take long."""
        rng = Random(1)
        patterns = [f"pattern-{pool}" for pool in range(len(_POOLS))]
        jobs = [JobRecord.parse(self.table.get(JobRecord.key(name)) or {}) for name in patterns]
        requests = [(self.table.get(request_key(name)) or {})["jobDetails"] for name in patterns]
        for number in range(waiting - len(patterns)):
            changes = {"job_name": f"waiting-{number:05}", "priority": rng.choice((1, 2, 5))}
            changes |= {"team": f"team{rng.randrange(TEAMS)}"}
            job = jobs[number % len(jobs)].model_copy(update=changes)
            self.table.write(transitions.enqueue(job, requests[number % len(jobs)]))

    def summary(self, known: str | None = None) -> dict[str, Any]:
        """The response to a call of the summary that reads the table.

        Args:
            known: the version that the caller has.
        """
        self.now_s += 2
        headers = {"If-None-Match": known} if known is not None else {}
        answer: dict[str, Any] = self.invoke("api", http_event("GET", "/summary", headers=headers))
        return answer


def times_ms(act: Callable[[], object], rounds: int) -> list[float]:
    """The processor's time of an action, ms, each time.

    Args:
        act: the action.
        rounds: how often.
    """
    taken: list[float] = []
    for _ in range(rounds):
        begun_ns = time.process_time_ns()
        act()
        taken.append(round((time.process_time_ns() - begun_ns) / 1e6, 2))
    return taken


def measure(waiting: int, running: int, rounds: int) -> dict[str, Any]:
    """The figures.

    Args:
        waiting: how many jobs wait.
        running: how many run.
        rounds: how often each is measured.
    """
    queue = FullQueue(waiting, running)
    first = queue.summary()
    if first["statusCode"] != 200:
        raise RuntimeError(f"no summary: {first}")
    etag = first["multiValueHeaders"]["ETag"][0]
    if queue.summary(etag)["statusCode"] != 304:
        raise RuntimeError("an unchanged summary was sent again")
    shown = json.loads(first["body"])
    timeline = Timeline()

    def refresh_terminal() -> None:
        summary = Summary.from_document(json.loads(first["body"]))
        waiting_rows(summary, Selection(), queue.now_s)
        running_rows(summary, Selection(), queue.now_s)
        event_lines(summary)

    def refresh_server() -> None:
        summary = Summary.from_document(json.loads(first["body"]))
        timeline.add(summary, queue.now_s)
        json.dumps({"summary": summary.document})
        json.dumps(timeline.document())

    return {
        "waiting": waiting,
        "running": len(shown["running"]),
        "heads": len(shown["waiting"]),
        "bytes": len(first["body"]),
        "ms": {
            SUMMARY: times_ms(queue.summary, rounds),
            UNCHANGED: times_ms(lambda: queue.summary(etag), rounds),
            TERMINAL: times_ms(refresh_terminal, rounds),
            SERVER: times_ms(refresh_server, rounds),
        },
    }


def refresh_ms(ms: Mapping[str, Sequence[float]]) -> float:
    """How long the slower board takes to show a summary, ms: the median."""
    return max(statistics.median(ms[name]) for name in (TERMINAL, SERVER))


def first_ms(ms: Mapping[str, Sequence[float]]) -> float:
    """How long the first picture takes, ms: the summary is made, and shown."""
    return statistics.median(ms[SUMMARY]) + refresh_ms(ms)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the figures, and return 1 if one of them misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the jobs")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    part = 10 if options.quick else 1
    found = measure(WAITING // part, RUNNING // part, rounds=ROUNDS)
    for name, times in found["ms"].items():
        sys.stdout.write(f"{name:48} {statistics.median(times):8,.1f} ms\n")
    if options.json:
        options.json.write_text(json.dumps({"machine": describe_machine(), **found}, indent=2) + "\n")
    return int(first_ms(found["ms"]) > GOAL_FIRST_MS or refresh_ms(found["ms"]) > GOAL_REFRESH_MS)


if __name__ == "__main__":
    sys.exit(main())
