"""A large queue for some minutes: 5,000 jobs run, 100,000 wait, some end each minute, and 60 boards are open.

    python -m bench.runs.large_queue RUNNING WAITING BOARDS MINUTES      prints the figures as JSON

The real handlers run on virtual time, with the table in memory. `bench.metering.partitions` counts units by place.
"""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from bench.metering.partitions import READ, READS_A_SECOND, WRITES_A_SECOND, WRITTEN, PartitionMeter
from bench.metering.prices import HOURS_A_MONTH, PRICES
from bench.queues.full_queues import TEAMS
from bench.queues.virtual_time import POOL, MeteredQueue, usual_request
from bench.runs.long_queues import waiting_jobs
from bench.scenarios.cost import POLLS_A_MINUTE, standing, use_of
from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_service.config.document import MAX_WAITING
from headway_service.observability.logging import logger
from headway_service.ports.table import Key
from headway_service.store.ledger import read_ledger
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable

BATCH = 100
"""Jobs in a batch of submissions."""

RUNS_S, LIMIT_S = 36_000, 86_000
"""How long a job runs on average, and its limit, s: of 5,000 jobs 8 end a minute."""

SUMMARY_EVERY_S, FORECAST_EVERY_S = 10, 60
"""How often a board reads (docs/how-to/board.md), s."""

MINUTES_BEFORE = 3
"""Minutes that pass before anything is counted."""

PLACES = {
    "line": "queues of teams, eleven together",
    "job": "jobs, each by itself",
    "after": "dependencies, each by itself",
}
"""What a place is called."""

Figures = dict[str, Any]


class LargeQueue(MeteredQueue):
    """The queue.

    Args:
        running: how many jobs run.
        waiting: how many wait.
        boards: how many boards are open.
    """

    def __init__(self, running: int, waiting: int, boards: int) -> None:
        super().__init__(
            running,
            meter=PartitionMeter,
            teams={team: {} for team in TEAMS},
            limits={"waitingPerTeam": MAX_WAITING, "waitingPerOwner": MAX_WAITING},
        )
        self.running, self.boards = running, boards
        self._submitted = 0
        self._etags: dict[int, str] = {}
        self._fill(waiting)

    def play_minute(self) -> None:
        """What happens in a minute: jobs end, others come, the functions run, and the boards read."""
        ends = max(1, round(self.running * 60 / RUNS_S))
        for second in range(60):
            for detail in self.due_events(1):
                self.invoke("observe", {**event("observe"), "detail": detail})
            if second * ends % 60 < ends:
                self._end_one()
                self._submit([self._request(1)])
            self._read_boards(second)
            self.come_to_rest()
        self.minute()

    def watch_alarms(self) -> int:
        """How many alarms on running jobs there are."""
        return len(self.cloudwatch.describe())

    def _fill(self, waiting: int) -> None:
        self.first_hour()
        for first in range(0, self.running, BATCH):
            self._submit([self._request(9) for _ in range(min(BATCH, self.running - first))])
        self.come_to_rest()
        while any(each.training_since_ms is None for each in read_ledger(self.table).attempts):
            for detail in self.due_events(60):
                self.invoke("observe", {**event("observe"), "detail": detail})
            self.come_to_rest()
        self._to_end = sorted((each.attempt_name for each in read_ledger(self.table).attempts), reverse=True)
        self._submit([self._request(5)])
        self.come_to_rest()
        name = f"job-{self._submitted:06}"
        pattern = {POOL: JobRecord.parse(self.table.get(JobRecord.key(name)) or {})}
        for items in waiting_jobs(pattern, waiting - 1):
            for item in items:
                # Without conditions, copies and the stream.
                MemoryTable._store(self.table, Key(item["pk"], item["sk"]), item)  # noqa: SLF001
        # The functions of the first minutes make the alarms on running jobs, and count the queues.
        for _ in range(MINUTES_BEFORE):
            self.now_s += 60
            self.minute()

    def _request(self, priority: int) -> dict[str, Any]:
        self._submitted += 1
        request = usual_request(f"job-{self._submitted:06}", priority=priority, run_s=LIMIT_S - 3600)
        request["Environment"]["SANDBOX_STOP_SECONDS"] = "1"
        request["StoppingCondition"]["MaxRuntimeInSeconds"] = LIMIT_S
        request["Tags"].append({"Key": "headway:team", "Value": TEAMS[self._submitted % len(TEAMS)]})
        return request

    def _submit(self, requests: list[dict[str, Any]]) -> None:
        answer = self.invoke("api", http_event("POST", "/job-batches", json.dumps({"requests": requests})))
        refused = [each for each in json.loads(answer["body"])["results"] if "error" in each]
        if answer["statusCode"] != HTTPStatus.OK or refused:
            raise RuntimeError(f"a submission was answered by {answer['statusCode']}: {refused[:1]}")

    def _end_one(self) -> None:
        """A job ends; the queue hears of that when SageMaker has ended it."""
        self.fleet.call("StopTrainingJob", {"TrainingJobName": self._to_end.pop()}, now=self.now_s)
        for detail in self.new_events():
            self.invoke("observe", {**event("observe"), "detail": detail})

    def _read_boards(self, second: int) -> None:
        for board in range(self.boards):
            if board % SUMMARY_EVERY_S == second % SUMMARY_EVERY_S:
                headers = {"If-None-Match": self._etags[board]} if board in self._etags else {}
                answer = self.invoke("api", http_event("GET", "/summary", headers=headers))
                self._etags[board] = answer["multiValueHeaders"]["ETag"][0]
            if board % FORECAST_EVERY_S == second:
                self.invoke("api", http_event("GET", "/forecast"))


def measure(running: int, waiting: int, boards: int, minutes: int) -> Figures:
    """The figures: units a second by place, calls a minute, and dollars a month.

    Args:
        minutes: how long it is played.
    """
    queue = LargeQueue(running, waiting, boards)
    alarms = queue.watch_alarms()
    queue.reset()
    for _ in range(minutes):
        queue.play_minute()
    seconds = minutes * 60
    places: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    calls: dict[str, float] = defaultdict(float)
    for (function, kind), number in queue.used.items():
        name = kind.removeprefix("DynamoDB ")
        for column, begin in enumerate((WRITTEN, READ)):
            if name.startswith(begin):
                place = name.removeprefix(begin)
                # Each job is a partition of its own.
                of = place if place.startswith("listing") else place.partition(" ")[0]
                places[of][column] += number / seconds
        if kind in {"Lambda requests", "SageMaker calls", "CloudWatch requests", "DynamoDB calls", "SQS requests"}:
            calls[f"{function}: {kind}"] += number / minutes
    month = use_of(queue)
    month["SQS requests"] += minutes * POLLS_A_MINUTE
    month = {kind: number / minutes * 60 * HOURS_A_MONTH for kind, number in month.items()}
    month |= standing(len(queue.metrics), Alarms="all")
    month["CloudWatch alarms"] += alarms
    money = {kind: round(PRICES[kind].of(number), 2) for kind, number in month.items() if kind in PRICES}
    return {
        "running": running,
        "waiting": waiting,
        "boards": boards,
        "minutes": minutes,
        "units a second": {
            place: [round(writes, 1), round(reads, 1)]
            for place, (writes, reads) in sorted(places.items(), key=lambda each: -_part(*each[1]))
            if writes + reads >= 0.1
        },
        "of the limit": {
            # Each team's queue is a partition of its own, of which a board's picture reads the beginning.
            place: round(_part(*units) / (len(TEAMS) if place == "line" else 1), 4)
            for place, units in places.items()
            if place != "job"
        },
        "calls a minute": {name: round(number, 1) for name, number in sorted(calls.items()) if number >= 0.1},
        "handlers, ms a minute": {name: round(ms / minutes) for name, ms in sorted(queue.handler_ms.items())},
        "alarms on running jobs": alarms,
        "dollars a month": {kind: usd for kind, usd in sorted(money.items(), key=lambda each: -each[1]) if usd},
        "dollars a month in all": round(math.fsum(money.values())),
    }


def measured_apart(running: int, waiting: int, boards: int, minutes: int) -> Figures:
    """The same in a separate process: the large table is given back."""
    command = [sys.executable, "-m", "bench.runs.large_queue", *map(str, (running, waiting, boards, minutes))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ourselves
    if done.returncode:
        raise RuntimeError(f"the large queue could not be measured:\n{done.stderr[-2000:]}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def _part(writes: float, reads: float) -> float:
    """Which part of what a partition takes these units a second are."""
    return max(writes / WRITES_A_SECOND, reads / READS_A_SECOND)


def lines(figures: Mapping[str, Any]) -> str:
    """The figures for people."""
    size = f"{figures['running']:,} running, {figures['waiting']:,} waiting, {figures['boards']} boards"
    told = [f"{size}, {figures['minutes']} minutes:"]
    for place, (writes, reads) in figures["units a second"].items():
        part = figures["of the limit"].get(place)
        told.append(
            f"  {PLACES.get(place, place):<34}{writes:>8,.1f} written{reads:>10,.1f} read a second"
            + ("" if part is None else f"{part:>10.1%} of a partition")
        )
    told += [
        f"  {name}: " + ", ".join(f"{key} {value:,}" for key, value in figures[name].items())
        for name in ("calls a minute", "dollars a month")
    ]
    told.append(f"  in all {figures['dollars a month in all']:,} dollars a month")
    return "\n".join(told) + "\n"


if __name__ == "__main__":
    logger.setLevel(logging.WARNING)
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
