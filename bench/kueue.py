"""Kueue's own performance test, replayed in real time through Headway's real tick, launcher and observer.

Five cohorts of six queues become five pools of 120 instances that six teams share: each team is guaranteed 20
instances of each pool and may use all 120. Each queue gets 350 small, 100 medium and 50 large jobs at Kueue's
intervals; 15,000 in all. Jobs last on the wall clock as long as in Kueue's test. Everything runs in one process on the
table in memory, so what is measured is Headway's own code: no network, no DynamoDB, no SageMaker. Jobs enter through
``transitions.accept`` without the checks of admission, which are not what is measured.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import hashlib
import heapq
import json
import logging
import pstats
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.machine import describe_machine
from headway.lifecycle import JobState
from headway.reasons import Reason, ReasonCode
from headway_service import transitions
from headway_service.admission import JOB_TAG
from headway_service.configuration import Configuration
from headway_service.errors import TrainingJobEnded
from headway_service.launching import Launcher
from headway_service.log import logger
from headway_service.memory import MemoryTable
from headway_service.observation import Observer
from headway_service.pools import in_force
from headway_service.ports import ConfigurationText, Sighting
from headway_service.records import LEDGER, JobRecord
from headway_service.tick import Ticker

POOLS = tuple(f"ml.p{number}.48xlarge" for number in range(1, 6))
TEAMS = tuple(f"team{number}" for number in range(1, 7))
QUOTA, BORROWING = 20, 100
POOL_SIZE = QUOTA * len(TEAMS)
INVOCATION_MS = 60_000
GOAL_S = 90.0
PATIENCE_S = 600.0
KUEUE_S, WORK_S = 351.1, 66.0
KUEUE_ADMISSION_S = {"large": 16.5, "medium": 76.8, "small": 215.5}


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A class of jobs of Kueue's test, as each queue gets it."""

    name: str
    count: int
    every_ms: int
    demand: int
    run_ms: int
    priority: int


KINDS = (
    Kind(name="small", count=350, every_ms=100, demand=1, run_ms=200, priority=50),
    Kind(name="medium", count=100, every_ms=500, demand=5, run_ms=500, priority=100),
    Kind(name="large", count=50, every_ms=1200, demand=20, run_ms=1000, priority=200),
)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Submission:
    """A job to come."""

    due_ms: int
    name: str
    kind: Kind = field(compare=False)
    pool: str
    team: str


class BrokenPromiseError(Exception):
    """What must never happen has happened."""


class TimedTrainingJobs:
    """Training jobs that really last their time on the wall clock.

    It counts by itself what is in use. A training job uses its instances until its end has been told, so that one
    which is started on instances that the queue cannot know to be free is found out.
    """

    def __init__(self, sizes: Mapping[str, int], clock_ms: Any) -> None:
        self._sizes = sizes
        self._clock_ms = clock_ms
        self._names: set[str] = set()
        self._running: dict[str, tuple[str, int, str, float]] = {}
        self._ends: list[tuple[float, str, str]] = []
        self._live: set[str] = set()
        self.in_use = dict.fromkeys(sizes, 0)
        self.first_launch_ms: dict[str, float] = {}
        self.completed: dict[str, int] = {}
        self.stopped = 0
        self.wasted_ms = 0.0

    def create(self, request: Mapping[str, Any]) -> None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        now_ms = self._clock_ms()
        name = request["TrainingJobName"]
        if name in self._names:
            raise BrokenPromiseError(f"{name} is launched twice")
        self._names.add(name)
        job = next(tag["Value"] for tag in request["Tags"] if tag["Key"] == JOB_TAG)
        if job in self.completed or job in self._live:
            raise BrokenPromiseError(f"{job} is launched although it runs or has completed")
        pool, count = request["ResourceConfig"]["InstanceType"], request["ResourceConfig"]["InstanceCount"]
        self.in_use[pool] += count
        if self.in_use[pool] > self._sizes[pool]:
            raise BrokenPromiseError(f"{self.in_use[pool]} of {self._sizes[pool]} {pool} in use")
        self.first_launch_ms.setdefault(job, now_ms)
        self._running[name] = (pool, count, job, now_ms)
        self._live.add(job)
        heapq.heappush(self._ends, (now_ms + int(request["Environment"]["RUN_MS"]), name, "Completed"))

    def stop(self, name: str) -> None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        if name not in self._running:
            raise TrainingJobEnded(name)
        heapq.heappush(self._ends, (self._clock_ms(), name, "Stopped"))

    def describe(self, name: str) -> Sighting | None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        if name not in self._names:
            return None
        status = "InProgress" if name in self._running else "Stopped"
        return Sighting(attempt=name, status=status, secondary_status="", modified_ms=int(self._clock_ms()))

    def mark_of(self, arn: str) -> str | None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        raise AssertionError(f"nobody should ask about {arn}")

    def next_end_ms(self) -> float | None:
        """When the next training job ends."""
        return self._ends[0][0] if self._ends else None

    def ended(self) -> Iterator[Sighting]:
        """What has ended by now; each is told once."""
        now_ms = self._clock_ms()
        while self._ends and self._ends[0][0] <= now_ms:
            ended_ms, name, status = heapq.heappop(self._ends)
            running = self._running.pop(name, None)
            if running is None:
                continue
            pool, count, job, began_ms = running
            self.in_use[pool] -= count
            self._live.remove(job)
            if status == "Completed":
                self.completed[job] = self.completed.get(job, 0) + 1
            else:
                self.stopped += 1
                self.wasted_ms += count * (ended_ms - began_ms)
            yield Sighting(attempt=name, status=status, secondary_status=status, modified_ms=int(ended_ms))


class Document:
    """The configuration document in memory."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._text = json.dumps(document, separators=(",", ":"))

    def read(self) -> ConfigurationText:
        """See :class:`headway_service.ports.ConfigurationStore`."""
        return ConfigurationText(text=self._text, version=1)

    def write(self, text: str) -> int:
        """See :class:`headway_service.ports.ConfigurationStore`."""
        self._text = text
        return 1


def configuration(*, teams: bool) -> dict[str, Any]:
    """The configuration document of Kueue's test."""
    document: dict[str, Any] = {"pools": {pool: {"size": POOL_SIZE} for pool in POOLS}}
    if teams:
        guaranteed, limit = dict.fromkeys(POOLS, QUOTA), dict.fromkeys(POOLS, QUOTA + BORROWING)
        document["teams"] = {team: {"guaranteed": guaranteed, "limit": limit} for team in TEAMS}
    return document


def submissions(share: int) -> list[Submission]:
    """All jobs in the order in which they come; with ``share`` n only each n-th part of each class."""
    return sorted(
        Submission(
            due_ms=number * kind.every_ms,
            name=f"{pool.split('.')[1]}-{team}-{kind.name}-{number:03d}",
            kind=kind,
            pool=pool,
            team=team,
        )
        for pool in POOLS
        for team in TEAMS
        for kind in KINDS
        for number in range(kind.count // share)
    )


class Replay:
    """One run. Virtual invocations: each tick has a launcher and a lease of its own, as in Lambda."""

    def __init__(self, jobs: list[Submission], *, teams: bool, limit_s: int) -> None:
        self._jobs = jobs
        self._teams = teams
        self._limit_s = limit_s
        self._table = MemoryTable()
        self._store = Document(configuration(teams=teams))
        self._training_jobs = TimedTrainingJobs(dict.fromkeys(POOLS, POOL_SIZE), self._since_ms)
        self._observer = Observer(self._table, retention_s=86_400, configuration=self._in_force)
        self._tokens = 0
        self._began = 0.0
        self.accepted = 0
        self.preemptions = 0
        self.releases = 0
        self.tick_ms: list[float] = []
        self.rounds = 0
        self.held_ms = 0.0
        self.wall_s = 0.0
        self.busy_s = dict.fromkeys(("submit", "observe", "tick", "check", "idle"), 0.0)

    def _in_force(self) -> Configuration:
        return in_force(self._table, self._store, self._now_ms).configuration

    def _since_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    def elapsed_s(self) -> float:
        """How long it has run, s."""
        return self._since_ms() / 1000

    def run(self) -> None:
        """Submit what is due, observe what ended, tick when something changed, until all is done."""
        self._began = time.perf_counter()
        self._clock_offset_ms = int(time.time() * 1000)
        held, held_since_ms = 0, 0.0
        while len(self._training_jobs.completed) < len(self._jobs) or self._training_jobs.next_end_ms() is not None:
            now_ms = self._since_ms()
            if now_ms > PATIENCE_S * 1000:
                raise BrokenPromiseError(f"not done after {now_ms / 1000:.0f} s")
            self.held_ms += held * (now_ms - held_since_ms)
            held_since_ms = now_ms
            changed = self._timed("submit", self._submit_due) + self._timed("observe", self._observe_ended)
            if changed:
                self._timed("tick", self._tick)
                held = self._timed("check", self._check)
            else:
                held = sum(self._training_jobs.in_use.values())
                self._timed("idle", self._sleep)
        self.wall_s = self._since_ms() / 1000

    def _timed(self, what: str, step: Any) -> int:
        began = time.perf_counter()
        result: int = step()
        self.busy_s[what] += time.perf_counter() - began
        return result

    def _now_ms(self) -> int:
        return self._clock_offset_ms + int(self._since_ms())

    def _submit_due(self) -> int:
        before, now_ms = self.accepted, self._since_ms()
        while self.accepted < len(self._jobs) and self._jobs[self.accepted].due_ms <= now_ms:
            self._accept(self._jobs[self.accepted])
            self.accepted += 1
        return self.accepted - before

    def _accept(self, job: Submission) -> None:
        entered_ms = self._clock_offset_ms + job.due_ms
        request = json.dumps(
            {
                "TrainingJobName": job.name,
                "ResourceConfig": {"InstanceType": job.pool, "InstanceCount": job.kind.demand},
                "StoppingCondition": {"MaxRuntimeInSeconds": self._limit_s},
                "Environment": {"RUN_MS": str(job.kind.run_ms)},
                "Tags": [],
            }
        )
        entered = Reason(code=ReasonCode.ENTERED, message="entered the line")
        record = JobRecord.model_validate(
            {
                "jobName": job.name,
                "jobState": JobState.PENDING,
                "priority": job.kind.priority,
                "entryTime": entered_ms,
                "demand": {job.pool: job.kind.demand},
                "requestDigest": hashlib.sha256(request.encode()).hexdigest(),
                "reason": {"code": entered.code, "message": entered.message},
                "team": job.team if self._teams else "",
                "limitMs": self._limit_s * 1000,
            }
        )
        self._table.write(transitions.accept(record, request))

    def _observe_ended(self) -> int:
        count = 0
        for sighting in self._training_jobs.ended():
            if not self._observer.take(sighting, self._now_ms()):
                raise BrokenPromiseError(f"the end of {sighting.attempt} is not taken in")
            count += 1
        return count

    def _token(self) -> str:
        self._tokens += 1
        return f"mark-{self._tokens}"

    def _tick(self) -> int:
        began = time.perf_counter()
        deadline_ms = self._now_ms() + INVOCATION_MS
        launcher = Launcher(
            self._table,
            self._training_jobs,
            self._observer,
            holder=self._token(),
            deadline_ms=deadline_ms,
            jitter=lambda: 0.0,
        )
        ticker = Ticker(
            table=self._table,
            store=self._store,
            launcher=launcher,
            clock=self._now_ms,
            token=self._token,
            deadline_ms=deadline_ms,
        )
        report = ticker.run()
        self.tick_ms.append((time.perf_counter() - began) * 1000)
        self.preemptions += len(report.preempted)
        self.releases += len(report.released)
        self.rounds += report.rounds
        if report.rejected or report.unclear:
            raise BrokenPromiseError(f"{report.rejected} actions rejected, {report.unclear} unclear, with one writer")
        return report.rounds

    def _check(self) -> int:
        """The capacity promise, on the ledger as it is stored. Returns how many instances are held."""
        pools: dict[str, tuple[int, int]] = {}
        held, reserved = dict.fromkeys(POOLS, 0), dict.fromkeys(POOLS, 0)
        for item in self._table.query(LEDGER, limit=1_000_000):
            kind = item["sk"].partition("#")[0]
            if kind == "pool":
                pools[item["pool"]] = (item["size"], item["free"])
            elif kind in {"attempt", "reservation"}:
                sums = held if kind == "attempt" else reserved
                for pool, count in item["demand"].items():
                    sums[pool] += count
        for pool, (size, left) in pools.items():
            if held[pool] + reserved[pool] > size or left != size - held[pool] - reserved[pool]:
                told = f"{held[pool]} held and {reserved[pool]} reserved of {size}, {left} free"
                raise BrokenPromiseError(f"the ledger of {pool}: {told}")
            if self._training_jobs.in_use[pool] > held[pool]:
                raise BrokenPromiseError(f"{pool}: {self._training_jobs.in_use[pool]} in use, {held[pool]} held")
        return sum(held.values())

    def problems(self) -> list[str]:
        """Which jobs did not come to the one good end, and what is left over."""
        found = []
        done = self._training_jobs.completed
        for job in self._jobs:
            item = self._table.get(JobRecord.key(job.name))
            state = item["jobState"] if item else "missing"
            if state != JobState.COMPLETED or done.get(job.name) != 1:
                found.append(f"{job.name} is {state}; completed {done.get(job.name, 0)} times")
        if self._check():
            found.append("instances are still held")
        return found

    def results(self) -> dict[str, Any]:
        """The figures."""
        waited: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
        for job in self._jobs:
            launched_ms = self._training_jobs.first_launch_ms.get(job.name)
            if launched_ms is not None:
                waited[job.kind.name].append((launched_ms - job.due_ms) / 1000)
        done = self._training_jobs.completed
        work_s = sum(job.kind.demand * job.kind.run_ms for job in self._jobs if job.name in done) / 1000
        capacity_s = len(POOLS) * POOL_SIZE * self.wall_s
        ticks = sorted(self.tick_ms) or [0.0]
        return {
            "jobs": len(self._jobs),
            "completed": len(self._training_jobs.completed),
            "wallSeconds": round(self.wall_s, 1),
            "jobsPerSecond": round(len(self._training_jobs.completed) / self.wall_s, 1) if self.wall_s else 0.0,
            "averageAdmissionSeconds": {
                name: round(sum(times) / len(times), 2) for name, times in waited.items() if times
            },
            "usefulUtilisation": round(work_s / capacity_s, 3) if self.wall_s else 0.0,
            "heldUtilisation": round(self.held_ms / 1000 / capacity_s, 3) if self.wall_s else 0.0,
            "lostToPreemption": round(self._training_jobs.wasted_ms / 1000 / capacity_s, 3) if self.wall_s else 0.0,
            "preemptions": self.preemptions,
            "reservationsReleased": self.releases,
            "ticks": len(self.tick_ms),
            "rounds": self.rounds,
            "tickMs": {"median": round(ticks[len(ticks) // 2], 1), "max": round(ticks[-1], 1)},
            "secondsIn": {what: round(seconds, 1) for what, seconds in self.busy_s.items()},
        }

    def _sleep(self) -> int:
        """Until the next thing happens."""
        coming = [each for each in (self._training_jobs.next_end_ms(), self._next_due_ms()) if each is not None]
        if coming:
            time.sleep(max(0.0, min(coming) - self._since_ms()) / 1000)
        elif not self._training_jobs.in_use:
            raise BrokenPromiseError("nothing runs and nothing comes, yet jobs are left")
        else:
            time.sleep(0.01)
        return 0

    def _next_due_ms(self) -> int | None:
        return self._jobs[self.accepted].due_ms if self.accepted < len(self._jobs) else None


def table_of(results: Mapping[str, Any]) -> str:
    """The figures beside Kueue's, for people."""
    admission = results["averageAdmissionSeconds"]
    rows = [
        ("", "Headway", "Kueue"),
        ("jobs", f"{results['completed']} of {results['jobs']}", "15000"),
        ("wall time, s", f"{results['wallSeconds']}", f"{KUEUE_S}"),
        ("jobs per second", f"{results['jobsPerSecond']}", f"{15_000 / KUEUE_S:.1f}"),
        *(
            (f"average admission, {name}, s", f"{admission.get(name, '-')}", f"{seconds}")
            for name, seconds in KUEUE_ADMISSION_S.items()
        ),
        ("instances held", f"{results['heldUtilisation']:.1%}", "55.9%"),
        ("instances at work that counted", f"{results['usefulUtilisation']:.1%}", f"{WORK_S / KUEUE_S:.1%}"),
        ("lost to preemption", f"{results['lostToPreemption']:.1%}", ""),
        ("preemptions", f"{results['preemptions']}", ""),
        ("ticks (rounds)", f"{results['ticks']} ({results['rounds']})", ""),
        ("tick, ms: median, max", f"{results['tickMs']['median']}, {results['tickMs']['max']}", ""),
    ]
    return "\n".join(f"{name:<34}{ours:>18}{theirs:>10}" for name, ours, theirs in rows)


def main() -> int:
    """Replay, print, and say with the exit status whether every promise and the goal were kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the jobs; no goal")
    parser.add_argument("--no-teams", action="store_true", help="no guarantees, no limits: one line for each pool")
    parser.add_argument("--runs", type=int, default=1, help="replays, one after the other; each is told (default 1)")
    parser.add_argument("--limit-s", type=int, default=86_400, help="the limit of each job's run time, s")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--profile", action="store_true", help="print where the time goes; slows the run down")
    arguments = parser.parse_args()
    logger.setLevel(logging.WARNING)
    machine = describe_machine()
    print(f"machine: {machine}")
    runs, problems = [], []
    for _ in range(arguments.runs):
        replay = Replay(
            submissions(10 if arguments.quick else 1), teams=not arguments.no_teams, limit_s=arguments.limit_s
        )
        profile = cProfile.Profile() if arguments.profile else None
        problems += replayed(replay, profile)
        runs.append(replay.results())
        print(table_of(runs[-1]))
        if profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        elif not arguments.quick and not 0 < replay.wall_s < GOAL_S:
            problems.append(f"the goal of {GOAL_S:.0f} s is missed")
    results = {"machine": machine, "runs": runs, "problems": problems[:10]}
    print(json.dumps(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    for problem in problems[:10]:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


def replayed(replay: Replay, profile: cProfile.Profile | None) -> list[str]:
    """Replay, and say which promises were broken and which jobs not done."""
    gc.freeze()
    try:
        if profile:
            profile.runcall(replay.run)
        else:
            replay.run()
        return replay.problems()
    except BrokenPromiseError as error:
        replay.wall_s = replay.elapsed_s()
        return [str(error)]
    finally:
        gc.unfreeze()


if __name__ == "__main__":
    sys.exit(main())
