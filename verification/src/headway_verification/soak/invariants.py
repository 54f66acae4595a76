"""What holds at every moment, and what holds in the end.

The items of the table are read as they are stored, without the code that is tested.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from headway_sandbox.cloudwatch.memory_cloudwatch import MemoryCloudWatch
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.training_job import TrainingJob
from headway_service.ports.table import Key
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.store.marks import KEY as MARK_KEY
from headway_service.store.schema_version import SCHEMA
from headway_service.testing.memory_table import MemoryTable

_WAITING = frozenset({"pending", "preempted"})
_HOLDING = frozenset({"running", "stopping"})

FORGED = "forged"
"""The queue's mark on a training job that is not the queue's."""

_Items = Mapping[str, Mapping[str, Any]]


LONGEST_INVOCATION_S = 60
"""No invocation lives longer."""

FOUND_AFTER_S = 900
"""Within this time after SageMaker shows it, a training job without a live attempt is charged."""


class Violated(AssertionError):
    """A promise is broken."""


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise Violated(otherwise)


class Invariants:
    """Checks one queue.

    Attributes:
        states: the states in which jobs were seen.
    """

    def __init__(self, table: MemoryTable, fleet: FakeSageMaker, cloudwatch: MemoryCloudWatch) -> None:
        self._table = table
        self._fleet = fleet
        self._cloudwatch = cloudwatch
        #: The most that each pool may hold: its size less unmanaged jobs, or its use when that became less.
        self._bound: dict[str, int] = {}
        #: The same for each team in each pool, and the limits that were in force lately, from when on.
        self._team_bound: dict[tuple[str, str], int] = {}
        self._limits: list[tuple[float, Mapping[tuple[str, str], int]]] = []
        self._ended: dict[str, str] = {}
        #: Running jobs whose final stop was requested.
        self._stopped: set[str] = set()
        #: Jobs of which SageMaker has trained an attempt to its end.
        self._trained: set[str] = set()
        #: The requests, which never change.
        self._requests: dict[str, Mapping[str, Any]] = {}
        #: Attempts with low utilization, and when it was reported.
        self._underused: set[tuple[str, int]] = set()
        #: Attempts that were seen stopping for another job.
        self._preempted: set[str] = set()
        #: The pauses that were last seen.
        self._pauses: _Items = {}
        #: Since when each pause is seen, s; "*" pauses all pools.
        self._paused_s: dict[str, float] = {}
        #: Attempts that were seen stopping because their pool is drained.
        self._drained: set[str] = set()
        #: Attempts whose intent was observed, and training jobs that the queue has launched.
        self._intended: set[str] = set()
        self._launched: set[str] = set()
        #: The newest configuration that was applied.
        self._configuration = 0
        #: The key of the marks, once it is there.
        self._key: str | None = None
        #: How many starts of each team were counted.
        self._starts: dict[str, int] = {}
        #: The requested resumes with their times: "*" for all pools.
        self._resumes: list[tuple[str, float]] = []
        self.states: set[str] = set()
        #: How long SageMaker shows no new training job, s, if that is longer than the queue waits: then a launch may be
        #: given up that was carried out.
        self.too_late_s: float | None = None

    def check(self, accepted: Collection[str], now_s: float) -> None:
        """What holds at every moment.

        Raises:
            Violated: it does not.
        """
        jobs, lines, ledger = self._read()
        attempts = {name: item for (kind, name), item in ledger.items() if kind == "attempt"}
        reservations = {name: item for (kind, name), item in ledger.items() if kind == "reservation"}
        pools = {name: item for (kind, name), item in ledger.items() if kind == "pool"}
        rogues = {name: item for (kind, name), item in ledger.items() if kind == "rogue"}
        pauses = {name: item for (kind, name), item in ledger.items() if kind == "pause"}
        self._check_changes_of_pauses(pauses, now_s)
        teams = {name: item for (kind, name), item in ledger.items() if kind == "team"}
        self._check_configuration(pools, teams)
        self._check_key()
        self._check_starts(teams)
        self._check_pauses(pauses, attempts, now_s)
        self._check_capacity(pools, attempts, reservations, rogues, now_s)
        self._check_rogues(rogues, now_s)
        self._check_limits(attempts, now_s)
        self._check_training_jobs(attempts, rogues, now_s)
        self._check_jobs(jobs, attempts, accepted)
        self._check_preemptions(jobs, attempts)
        self._check_measures(jobs, now_s)
        self._check_lines(jobs, lines)
        for name in reservations:
            _require(name in jobs, f"{name} has a reservation and is not there")

    def _read(self) -> tuple[_Items, list[Mapping[str, Any]], Mapping[tuple[str, str], Mapping[str, Any]]]:
        jobs, lines, ledger = {}, [], {}
        for item in self._table.items():
            _require(item.get("schemaVersion") == SCHEMA, f"{item['pk']} {item['sk']} has no schema version")
            part, _, _ = item["pk"].partition("#")
            if part == "job" and item["sk"] == "job":
                jobs[item["jobName"]] = item
            elif part == "line":
                lines.append(item)
            elif part == "ledger":
                kind, _, name = item["sk"].partition("#")
                ledger[kind, name] = item
        return jobs, lines, ledger

    def _check_capacity(
        self, pools: _Items, attempts: _Items, reservations: _Items, rogues: _Items, now_s: float
    ) -> None:
        running: Counter[str] = Counter()
        for training_job in self._fleet.jobs(now=now_s):
            if self._is_accounted(training_job, attempts):
                running.update(training_job.instances)
        for pool, item in pools.items():
            held = sum(attempt["demand"].get(pool, 0) for attempt in attempts.values())
            reserved = sum(each["demand"].get(pool, 0) for each in reservations.values())
            charged = sum(each.get("charged", {}).get(pool, 0) for each in rogues.values())
            left = item["size"] - charged
            _require(item["free"] == left - held - reserved, f"the ledger of {pool} is not the sum of its holds")
            most = max(left, self._bound.get(pool, 0))
            _require(held + reserved <= most, f"{pool} holds {held} and reserves {reserved}, with {most}")
            self._bound[pool] = max(left, held + reserved)
            _require(running.get(pool, 0) <= held, f"SageMaker runs {running.get(pool, 0)} {pool}, and {held} are held")

    def _check_configuration(self, pools: _Items, teams: _Items) -> None:
        """The configuration in force never returns to an older one, and pools and teams match it."""
        item = self._table.get(Key("config", "config"))
        version = int(item["version"]) if item else 0
        _require(version >= self._configuration, f"version {version} is in force after {self._configuration}")
        self._configuration = version
        if item is None or "left" not in item:
            # Pools and teams are being changed.
            return
        document = json.loads(item["document"])
        sizes = {pool: each["size"] for pool, each in document["pools"].items()}
        found = {pool: each["size"] for pool, each in pools.items() if each["size"] or pool in sizes}
        _require(found == sizes, f"the pools have the sizes {found}, and the configuration says {sizes}")
        for team in document.get("teams", {}):
            _require(team in teams and "leftMs" not in teams[team], f"the lines of the team {team} are not read on")

    def _check_key(self) -> None:
        """Marks that were made before stay valid."""
        item = self._table.get(MARK_KEY)
        key = item["markKey"] if item else None
        _require(self._key in {None, key}, "the key of the marks is replaced by another")
        self._key = key

    def _check_starts(self, teams: _Items) -> None:
        """The count of a team's starts never goes back: decisions that were made before it grew rest on that."""
        starts = {name: item["starts"] for name, item in teams.items()}
        for name, count in starts.items():
            _require(count >= self._starts.get(name, 0), f"the starts of the team {name} are counted again")
        self._starts = starts

    def _check_rogues(self, rogues: _Items, now_s: float) -> None:
        """No attempt of the queue is taken for a rogue job."""
        for training_job in self._fleet.jobs(now=now_s) if rogues else ():
            rogue = rogues.get(training_job.name)
            # A name may come again, and times go through the wire as milliseconds.
            if rogue is not None and abs(rogue["createdMs"] - training_job.created * 1000) < 2 and not self.too_late_s:
                _require(
                    not is_own(training_job), f"{training_job.name} is the queue's own, but is recorded as unmanaged"
                )

    def _check_limits(self, attempts: _Items, now_s: float) -> None:
        """No team holds more than its limit, or than it held when that was lowered.

        A decision that was made before a limit was lowered may still be carried out after it.
        """
        limits = self._read_limits()
        if not self._limits or self._limits[-1][1] != limits:
            self._limits.append((now_s, limits))
        while len(self._limits) > 1 and self._limits[1][0] < now_s - LONGEST_INVOCATION_S:
            self._limits.pop(0)
        held: Counter[tuple[str, str]] = Counter()
        for attempt in attempts.values():
            for pool, count in attempt["demand"].items():
                held[attempt.get("team", ""), pool] += count
        for key in held.keys() | self._team_bound.keys():
            known = [each.get(key) for _, each in self._limits]
            if None in known:
                self._team_bound[key] = held[key]
                continue
            limit = max(count for count in known if count is not None)
            most = max(limit, self._team_bound.get(key, 0))
            _require(held[key] <= most, f"the team {key[0]} holds {held[key]} {key[1]}, with {most}")
            self._team_bound[key] = held[key]

    def _read_limits(self) -> Mapping[tuple[str, str], int]:
        item = self._table.get(Key("config", "config"))
        return _limits_in(item["document"]) if item else {}

    def _check_jobs(self, jobs: _Items, attempts: _Items, accepted: Collection[str]) -> None:
        owners = [attempt["jobName"] for attempt in attempts.values()]
        _require(len(set(owners)) == len(owners), "a job has two live attempts")
        for name in accepted:
            _require(name in jobs, f"{name} was accepted and is lost")
        for name, job in jobs.items():
            state, live = job["jobState"], job.get("liveAttempt")
            self.states.add(state)
            _require((live is not None) == (state in _HOLDING), f"{name} is {state} with the attempt {live}")
            attempt = attempts.get(live or "", {})
            _require(live is None or attempt.get("jobName") == name, f"the attempt {live} is not there")
            asked = attempt.get("stopCause")
            _require(state != "stopping" or asked, f"{name} is stopping, and its attempt is not asked to stop")
            if asked == "request":
                self._stopped.add(name)
            _require(
                name not in self._stopped or state not in {*_WAITING, "running"}, f"{name} was stopped, and is {state}"
            )
            _require(state in _WAITING or not job.get("held"), f"{name} is {state}, and somebody holds it")
            _require(state != "completed" or name in self._trained, f"{name} is completed, but never trained")
            before = self._ended.get(name)
            _require(before in {None, state}, f"{name} was {before} and is {state}")
            if state not in _WAITING and state not in _HOLDING:
                self._ended[name] = state

    def _check_preemptions(self, jobs: _Items, attempts: _Items) -> None:
        for name, attempt in attempts.items():
            preemptor = attempt.get("freedFor")
            if preemptor is not None and name not in self._preempted:
                self._preempted.add(name)
                owner = jobs.get(preemptor, {})
                _require(_stands_in_line(owner), f"{name} is preempted for {preemptor}, which does not wait")
                paused = self._paused_since_s(owner["demand"]) is not None
                _require(not paused, f"{name} is preempted for {preemptor}, which waits for a paused pool")

    def _check_changes_of_pauses(self, pauses: _Items, now_s: float) -> None:
        """A pause begins when it is recorded, and another request for a pause does not weaken it."""
        for pool in self._pauses.keys() - pauses.keys():
            since_s = self._pauses[pool]["sinceMs"] / 1000
            # A resume that is under way when a pause begins may end it.
            asked = any(each == pool and at_s > since_s - LONGEST_INVOCATION_S for each, at_s in self._resumes)
            restored = "restoredMs" in self._pauses[pool] and not self._pauses[pool].get("stays")
            _require(asked or restored, f"the pause of {pool} is over, and nobody asked for it")
        for pool, pause in pauses.items():
            before = self._pauses.get(pool)
            if before is None:
                fresh = pause["sinceMs"] / 1000 > now_s - LONGEST_INVOCATION_S
                _require(fresh, f"the pause of {pool} is over, and comes back")
            else:
                same = pause["sinceMs"] == before["sinceMs"] or "restoredMs" in before
                _require(same, f"the pause of {pool} is replaced by another")
                _require(pause.get("stops") or not before.get("stops"), f"the drain of {pool} becomes a pause")
        self._pauses = pauses

    def table_restored(self) -> None:
        """The table is as it was: training jobs that were started since are lost, until the patrol finds them."""
        self.too_late_s = 1.0
        self._starts = {}

    def resume_asked(self, pool: str, now_s: float) -> None:
        """A resume of a pool, or of all pools ("*"), is requested now."""
        self._resumes.append((pool, now_s))

    def _check_pauses(self, pauses: _Items, attempts: _Items, now_s: float) -> None:
        """In a paused pool nothing starts, and no earlier intent is launched after its invocation."""
        self._paused_s = {pool: self._paused_s.get(pool, now_s) for pool in pauses}
        for name, attempt in attempts.items():
            if "drains" in attempt.get("stopReason", "") and name not in self._drained:
                self._drained.add(name)
                drained = any(pauses.get(pool, {}).get("stops") for pool in attempt["demand"])
                _require(drained, f"{name} is stopped for a drain that is over")
        for name, attempt in attempts.items():
            # One that is live when it is first seen was adopted: nothing was started.
            if name not in self._intended and attempt["attemptState"] != "live":
                since_s = self._paused_since_s(attempt["demand"])
                _require(since_s is None, f"{name} is started, though its pool is paused")
        self._intended = set(attempts)
        for training_job in self._fleet.jobs(now=now_s):
            if is_own(training_job) and training_job.name not in self._launched:
                self._launched.add(training_job.name)
                since_s = self._paused_since_s(training_job.instances)
                late = since_s is not None and now_s > since_s + LONGEST_INVOCATION_S
                _require(not late, f"{training_job.name} is launched, though its pool is paused")

    def _paused_since_s(self, pools: Collection[str]) -> float | None:
        """Since when one of these pools, or everything, is paused."""
        return min((self._paused_s[each] for each in ("*", *pools) if each in self._paused_s), default=None)

    def _check_measures(self, jobs: _Items, now_s: float) -> None:
        """What the policy does about running jobs, it does about those that it is meant for."""
        for name, job in jobs.items():
            self._check_underuse(job, now_s)
            moves = sum(step["reason"]["code"] == "OnDemand" for step in job["history"])
            _require(moves <= self._is_spot(name), f"{name} continues on demand, as it did before")
        for training_job in self._fleet.jobs(now=now_s):
            name = training_job.tags.get(JOB_TAG, "")
            if is_own(training_job) and name in jobs and self._is_spot(name) and not training_job.spot:
                _require(jobs[name].get("onDemand"), f"{training_job.name} runs on demand, without a record")

    def _check_underuse(self, job: Mapping[str, Any], now_s: float) -> None:
        """An attempt with low utilization has an alarm that fires, or fired at the monitor's last run."""
        for step in job["history"]:
            seen = (job["jobName"], step["timeMs"])
            if step["reason"]["code"] != "Underused" or seen in self._underused:
                continue
            self._underused.add(seen)
            alarms = [
                alarm for alarm in self._cloudwatch.describe() if f"/{step['attemptName']}/" in alarm["AlarmName"]
            ]
            fires = any(
                alarm["StateValue"] == "ALARM" or alarm["StateUpdatedTimestamp"] > now_s - LONGEST_INVOCATION_S
                for alarm in alarms
            )
            _require(fires, f"{job['jobName']} trains well, but is reported for low utilization")

    def _is_spot(self, job: str) -> bool:
        return bool(self._request(job).get("EnableManagedSpotTraining"))

    def _request(self, job: str) -> Mapping[str, Any]:
        if job not in self._requests:
            item = self._table.get(Key(f"job#{job}", "request"))
            self._requests[job] = json.loads(item["jobDetails"]) if item else {}
        return self._requests[job]

    def _is_accounted(self, training_job: TrainingJob, attempts: _Items) -> bool:
        """Whether a training job has to be held by an attempt: the queue has launched it, and not lost it."""
        lost = self.too_late_s is not None and training_job.name not in attempts
        return is_own(training_job) and not training_job.ended and not lost

    def _check_training_jobs(self, attempts: _Items, rogues: _Items, now_s: float) -> None:
        running: Counter[str] = Counter()
        completed: Counter[str] = Counter()
        for training_job in self._fleet.jobs(now=now_s):
            if not is_own(training_job):
                continue
            name = training_job.tags[JOB_TAG]
            running[name] += not training_job.ended
            completed[name] += training_job.status == "Completed"
            if completed[name]:
                self._trained.add(name)
            known = training_job.ended or training_job.name in attempts
            if self.too_late_s is not None and not known:
                shown_s = now_s - training_job.created - self.too_late_s
                known = training_job.name in rogues or shown_s < FOUND_AFTER_S
            _require(known, f"SageMaker runs {training_job.name}, which the queue does not know")
        if self.too_late_s is not None:
            # Until the training job of a launch that was given up shows, its job may be launched again.
            return
        _require(all(count <= 1 for count in running.values()), f"a job runs twice: {running.most_common(1)}")
        _require(all(count <= 1 for count in completed.values()), f"a job ran twice: {completed.most_common(1)}")

    def _check_lines(self, jobs: _Items, lines: list[Mapping[str, Any]]) -> None:
        there = Counter((item["pk"], item["jobName"], item["priority"]) for item in lines)
        wanted = Counter(
            (f"line#{pool}#{job['team']}" if job.get("team") else f"line#{pool}", name, job["priority"])
            for name, job in jobs.items()
            if _stands_in_line(job)
            for pool in job["demand"]
        )
        _require(there == wanted, f"the queue entries are wrong: {there - wanted} too many, {wanted - there} missing")

    def check_end(self, accepted: Collection[str], now_s: float) -> None:
        """What holds when everything has come to rest.

        Raises:
            Violated: it does not.
        """
        self.check(accepted, now_s)
        _require(self.is_at_rest(), f"no end: {self._unended()}")
        _, _, ledger = self._read()
        left = [name for kind, name in ledger if kind in {"attempt", "reservation", "rogue"}]
        _require(not left, f"still held: {left}")
        alarms = [alarm["AlarmName"] for alarm in self._cloudwatch.describe()]
        _require(not alarms, f"alarms are left: {alarms}")

    def held(self) -> set[str]:
        """The jobs that people hold."""
        jobs, _, _ = self._read()
        return {name for name, job in jobs.items() if job.get("held")}

    def paused(self) -> set[str]:
        """The pools that people have paused; "*" for everything."""
        _, _, ledger = self._read()
        return {name for kind, name in ledger if kind == "pause"}

    def is_at_rest(self) -> bool:
        """Whether all jobs have ended, also those whose callers got no response, and unmanaged ones."""
        return not self._unended()

    def _unended(self) -> list[str]:
        jobs, _, ledger = self._read()
        unended = [name for name, job in jobs.items() if job["jobState"] in _WAITING | _HOLDING]
        return sorted([*unended, *self._fleet.in_use(), *(name for kind, name in ledger if kind == "rogue")])


def _stands_in_line(job: Mapping[str, Any]) -> bool:
    return job.get("jobState") in _WAITING and not job.get("held")


def is_own(training_job: TrainingJob) -> bool:
    """Whether the queue has launched it."""
    return JOB_TAG in training_job.tags and training_job.tags.get(ATTEMPT_TAG) != FORGED


@lru_cache(maxsize=8)
def _limits_in(document: str) -> Mapping[tuple[str, str], int]:
    teams = json.loads(document).get("teams", {})
    return {(name, pool): count for name, team in teams.items() for pool, count in team.get("limit", {}).items()}
