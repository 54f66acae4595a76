"""The invariants of the queue: those that hold at every moment, and those that hold at rest.

The items of the table are read as stored, without the code under test.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from headway.lifecycle import TERMINAL, JobState
from headway.pool_names import SERVERLESS, on_demand_pool
from headway.sweeps import Sweep
from headway.vectors import total
from headway_sandbox.cloudwatch.memory_cloudwatch import MemoryCloudWatch
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.training_job import TrainingJob
from headway_service.ports.table import Key
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.store.marks import KEY as MARK_KEY
from headway_service.store.records.timer import TIMERS, due_before
from headway_service.store.schema_version import SCHEMA
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.invariants.arrays import check_arrays, check_resting, is_array, is_set_aside
from headway_verification.soak.invariants.checkpoints import CheckpointInvariants
from headway_verification.soak.invariants.dependencies import awaited, check_dependencies, check_inputs
from headway_verification.soak.invariants.expected import ExpectationInvariants
from headway_verification.soak.invariants.limits import LimitInvariants
from headway_verification.soak.invariants.pauses import LONGEST_INVOCATION_S, PauseInvariants
from headway_verification.soak.invariants.reuse import ReuseInvariants, reused_from
from headway_verification.soak.invariants.service import ServiceInvariants
from headway_verification.soak.invariants.sizes import SizeInvariants, runs_on
from headway_verification.soak.invariants.times import check_times, is_before_its_time
from headway_verification.soak.violations import require

_WAITING = frozenset({"pending", "preempted"})
_HOLDING = frozenset({"running", "stopping"})

FORGED = "forged"
"""The queue's mark on a training job that the queue did not launch."""

_Items = Mapping[str, Mapping[str, Any]]


FOUND_AFTER_S = 900
"""A rogue training job is accounted for within this time after SageMaker shows it, and no longer throttles the
calls that find it."""

_FINDING = frozenset({"DescribeTrainingJob", "ListTrainingJobs", "ListTags"})


class Invariants:
    """Checks the invariants of one queue.

    Attributes:
        states: the job states observed so far.
        pauses: the invariants of paused pools.
        too_late_s: SageMaker's visibility delay, s, if it exceeds the time that the queue waits; the queue may then
            give up a launch that succeeded.
    """

    def __init__(self, table: MemoryTable, fleet: FakeSageMaker, cloudwatch: MemoryCloudWatch) -> None:
        self._table = table
        self._fleet = fleet
        self._cloudwatch = cloudwatch
        #: The most that each pool may hold: its size less the rogue jobs, or what it held when that decreased.
        self._bound: dict[str, int] = {}
        #: When SageMaker last throttled the calls that find training jobs, s.
        self._throttled_s = 0.0
        self._limits = LimitInvariants(LONGEST_INVOCATION_S)
        self._ended: dict[str, str] = {}
        #: Running jobs that a user asked to stop permanently.
        self._stopped: set[str] = set()
        #: Jobs with an attempt that SageMaker completed.
        self._trained: set[str] = set()
        #: The submitted requests, which never change.
        self._requests: dict[str, list[Mapping[str, Any]]] = {}
        #: Jobs reported as underused, with the time of the report.
        self._underused: set[tuple[str, int]] = set()
        #: Attempts observed stopping for another job.
        self._preempted: set[str] = set()
        #: The newest configuration version that was applied.
        self._configuration = 0
        #: The key of the marks, once it exists.
        self._key: str | None = None
        #: The number of starts counted for each team.
        self._starts: dict[str, int] = {}
        self.pauses = PauseInvariants()
        #: The members of arrays of which a launch got no instances.
        self._unlaunchable: set[str] = set()
        self._sizes = SizeInvariants()
        self._service = ServiceInvariants()
        self._expected = ExpectationInvariants()
        self.states: set[str] = set()
        self.too_late_s: float | None = None
        self.reuse = ReuseInvariants()
        self._checkpoints = CheckpointInvariants()

    def check(self, accepted: Collection[str], now_s: float) -> None:
        """Check the invariants that hold at every moment.

        Args:
            accepted: the names of all accepted jobs.
            now_s: the virtual time, s.

        Raises:
            Violated: an invariant does not hold.
        """
        jobs, lines, ledger = self._read()
        check_dependencies(jobs)
        check_times(jobs, self._request_of, round(now_s * 1000))
        self._unlaunchable.update(name for kind, name in ledger if kind == "unlaunchable")
        check_arrays(jobs, self._unlaunchable)
        check_resting(jobs, [name for (kind, name), item in ledger.items() if kind == "array" and item.get("rests")])
        self._service.check(jobs)
        self._expected.check(jobs)
        self.reuse.check(jobs, self._request_of)
        for name in (
            name for name, job in jobs.items() if job.get("liveAttempt") and job.get("summary", {}).get("dependsOn")
        ):
            check_inputs(name, self._request_of(name))
        attempts = {name: item for (kind, name), item in ledger.items() if kind == "attempt"}
        reservations = {name: item for (kind, name), item in ledger.items() if kind == "reservation"}
        pools = {name: item for (kind, name), item in ledger.items() if kind == "pool"}
        rogues = {name: item for (kind, name), item in ledger.items() if kind == "rogue"}
        warm = {name: item for (kind, name), item in ledger.items() if kind == "warm"}
        pauses = {name: item for (kind, name), item in ledger.items() if kind == "pause"}
        self.pauses.check_changes(pauses, now_s)
        teams = {name: item for (kind, name), item in ledger.items() if kind == "team"}
        self._check_configuration(pools, teams)
        self._check_key()
        self._check_starts(teams)
        own = filter(is_own, self._fleet.jobs(now=now_s))
        self.pauses.check_starts(pauses, attempts, own, now_s)
        self._check_capacity(pools, attempts, reservations, rogues, warm, now_s)
        self._check_warm_instances(attempts, warm, now_s)
        calendars = {name: item for (kind, name), item in ledger.items() if kind == "calendar"}
        self._sizes.check(calendars, attempts, now_s)
        self._sizes.check_stops(jobs, pools, {**warm, **rogues}, attempts)
        self._check_rogue(rogues, now_s)
        self._limits.check(self._document(), attempts, now_s)
        self._checkpoints.check(attempts, round(now_s * 1000))
        self._check_training_jobs(attempts, rogues, now_s)
        self._check_jobs(jobs, attempts, accepted)
        self._check_locations(jobs)
        self._check_preemptions(jobs, attempts)
        self._check_policy_actions(jobs, now_s)
        self._check_queue_entries(jobs, lines)
        for name in reservations:
            require(name in jobs, f"{name} has a reservation but does not exist")

    def _read(self) -> tuple[_Items, list[Mapping[str, Any]], Mapping[tuple[str, str], Mapping[str, Any]]]:
        jobs, lines, ledger = {}, [], {}
        for item in self._table.items():
            require(item.get("schemaVersion") == SCHEMA, f"{item['pk']} {item['sk']} has the wrong schema version")
            part, _, _ = item["pk"].partition("#")
            if part == "job" and item["sk"] == "job":
                jobs[item["jobName"]] = item
            elif part in {"line", "after"}:
                lines.append(item)
            elif part == "ledger":
                kind, _, name = item["sk"].partition("#")
                ledger[kind, name] = item
        return jobs, lines, ledger

    def _check_capacity(
        self, pools: _Items, attempts: _Items, reservations: _Items, rogues: _Items, warm: _Items, now_s: float
    ) -> None:
        running: Counter[str] = Counter()
        for training_job in self._fleet.jobs(now=now_s):
            if self._is_accounted(training_job, attempts):
                demand = attempts.get(training_job.name, {}).get("demand", training_job.instances)
                types = total({on_demand_pool(pool): int(count)} for pool, count in demand.items())
                types.pop(SERVERLESS, None)
                require(types == training_job.instances, f"{training_job.name} holds other instances than it runs on")
                running.update(demand)
        for pool, item in pools.items():
            held = sum(attempt["demand"].get(pool, 0) for attempt in attempts.values())
            reserved = sum(each["demand"].get(pool, 0) for each in reservations.values())
            charged = sum(each.get("charged", {}).get(pool, 0) for each in rogues.values())
            kept = sum(each["demand"].get(pool, 0) for each in warm.values())
            # The attempt in a claimed warm pool may have the same instances.
            lent = sum(each["demand"].get(pool, 0) for each in warm.values() if each.get("claimedBy"))
            left = item["size"] - charged
            require(item["free"] == left - held - reserved - kept, f"the ledger of {pool} is not the sum of its holds")
            most = max(left, self._bound.get(pool, 0))
            once = held + reserved + kept - lent
            require(once <= most, f"{pool} holds {held}, keeps {kept} and reserves {reserved} of {most}, {lent} twice")
            self._bound[pool] = max(left, once)
            require(running.get(pool, 0) <= held, f"SageMaker runs {running.get(pool, 0)} {pool}, but {held} are held")

    def _check_warm_instances(self, attempts: _Items, warm: _Items, now_s: float) -> None:
        """What SageMaker keeps warm is charged, beside what its training jobs run on."""
        if self.too_late_s is not None:
            return
        running = total(each.instances for each in self._fleet.jobs(now=now_s) if self._is_accounted(each, attempts))
        holders = [item["demand"] for item in (*attempts.values(), *warm.values())]
        held = total({on_demand_pool(pool): int(count)} for demand in holders for pool, count in demand.items())
        for kind, count in self._fleet.kept_warm(now=now_s).items():
            runs = running.get(kind, 0)
            message = f"SageMaker keeps {count} {kind} and runs {runs}, but {held.get(kind, 0)} are held"
            require(count + runs <= held.get(kind, 0), message)

    def _check_configuration(self, pools: _Items, teams: _Items) -> None:
        """The version in force never decreases, and pools and teams match its document."""
        item = self._table.get(Key("config", "config"))
        version = int(item["version"]) if item else 0
        require(version >= self._configuration, f"version {version} is in force after {self._configuration}")
        self._configuration = version
        if item is None or "left" not in item:
            # An update of pools and teams is in progress.
            return
        document = json.loads(item["document"])
        sizes = {
            # The size of a pool with a schedule or a plan depends on the time.
            pool: pools[pool]["size"] if pool in pools and (each.get("schedule") or each.get("plan")) else each["size"]
            for pool, each in document["pools"].items()
        }
        found = {pool: each["size"] for pool, each in pools.items() if each["size"] or pool in sizes}
        require(found == sizes, f"the pool sizes are {found}, but the configuration has {sizes}")
        for team in document.get("teams", {}):
            require(team in teams and "leftMs" not in teams[team], f"the queue of the team {team} is not read")

    def _check_key(self) -> None:
        """Existing marks stay valid."""
        item = self._table.get(MARK_KEY)
        key = item["markKey"] if item else None
        require(self._key in {None, key}, "the key of the marks was replaced")
        self._key = key

    def _check_starts(self, teams: _Items) -> None:
        """The start count of a team never decreases: decisions made before an increase rely on that."""
        starts = {name: item["starts"] for name, item in teams.items()}
        for name, count in starts.items():
            require(count >= self._starts.get(name, 0), f"the start count of the team {name} decreased")
        self._starts = starts

    def _check_rogue(self, rogues: _Items, now_s: float) -> None:
        """No attempt of the queue is recorded as a rogue job."""
        for training_job in self._fleet.jobs(now=now_s) if rogues else ():
            rogue = rogues.get(training_job.name)
            # A name can be reused, and timestamps are transmitted in milliseconds.
            if rogue is not None and abs(rogue["createdMs"] - training_job.created * 1000) < 2 and not self.too_late_s:
                require(not is_own(training_job), f"{training_job.name} is the queue's own, but is recorded as rogue")

    def _document(self) -> str:
        item = self._table.get(Key("config", "config"))
        return str(item["document"]) if item else ""

    def _check_jobs(self, jobs: _Items, attempts: _Items, accepted: Collection[str]) -> None:
        owners = [attempt["jobName"] for attempt in attempts.values()]
        require(len(set(owners)) == len(owners), "a job has two live attempts")
        for name in accepted:
            require(name in jobs, f"{name} was accepted but is lost")
        for name, job in jobs.items():
            state, live = job["jobState"], job.get("liveAttempt")
            self.states.add(state)
            before = self._ended.get(name)
            require(before in {None, state}, f"{name} was {before}, but is {state}")
            if state not in _WAITING and state not in _HOLDING:
                self._ended[name] = state
            if is_array(job):
                require(live is None, f"{name} is an array, but has the attempt {live}")
                continue
            require((live is not None) == (state in _HOLDING), f"{name} is {state} with the attempt {live}")
            attempt = attempts.get(live or "", {})
            require(live is None or attempt.get("jobName") == name, f"the attempt {live} does not exist")
            asked = attempt.get("stopCause")
            require(state != "stopping" or asked, f"{name} is stopping, but its attempt has no stop cause")
            if asked == "request":
                self._stopped.add(name)
            require(
                name not in self._stopped or state not in {*_WAITING, "running"}, f"{name} was stopped, but is {state}"
            )
            require(state in _WAITING or not job.get("held"), f"{name} is {state}, but is on hold")
            require(
                state != "completed" or (reused_from(job) or name) in self._trained,
                f"{name} is completed, but no attempt completed",
            )

    def _check_locations(self, jobs: _Items) -> None:
        """No two jobs in the queue write their checkpoints to one location, if a rule wants that."""
        item = self._table.get(Key("config", "config"))
        rules = json.loads(item["document"]).get("rules", {}) if item else {}
        if not any(rule["require"].get("uniqueCheckpoints") for rule in rules.values()):
            return
        live = [name for name, job in jobs.items() if job["jobState"] not in {*TERMINAL, JobState.STOPPING}]
        locations = Counter(self._request_of(name).get("CheckpointConfig", {}).get("S3Uri") for name in live)
        shared = [uri for uri, count in locations.items() if uri is not None and count > 1]
        require(not shared, f"several jobs have their checkpoints at {shared}")

    def _request_of(self, job: str) -> Mapping[str, Any]:
        """Return the request of a job; of a member of an array with the hyperparameters in which it differs."""
        item = self._request_item(job)
        if item is None:
            return {}
        found: dict[str, Any] = json.loads(item["jobDetails"])
        if "sweep" in item and "_" in job:
            own = Sweep.parse(json.loads(item["sweep"])).values(int(job.partition("_")[2]))
            found["HyperParameters"] = {**found.get("HyperParameters", {}), **own}
        return found

    def _check_preemptions(self, jobs: _Items, attempts: _Items) -> None:
        for name, attempt in attempts.items():
            preemptor = attempt.get("freedFor")
            if preemptor is not None and name not in self._preempted:
                self._preempted.add(name)
                owner = jobs.get(preemptor, {})
                require(_is_queued(owner), f"{name} is preempted for {preemptor}, which does not wait")
                wanted = next(
                    (
                        each
                        for each in _demands(owner)
                        if each.keys() & (attempt.get("freed") or attempt["demand"]).keys()
                    ),
                    owner["demand"],
                )
                paused = self.pauses.paused_since_s(wanted) is not None
                require(not paused, f"{name} is preempted for {preemptor}, which waits for a paused pool")

    def table_restored(self) -> None:
        """Record a restore of the table: training jobs started since the backup are lost until a scan finds them."""
        self._checkpoints.table_restored()
        self.too_late_s = 1.0
        self._starts = {}
        self._service.table_restored()
        self._expected.table_restored()

    def _check_policy_actions(self, jobs: _Items, now_s: float) -> None:
        """Policy actions apply only to the jobs that they are meant for."""
        for name, job in jobs.items():
            self._check_underuse(job, now_s)
            moves = sum(step["reason"]["code"] == "OnDemand" for step in job["history"])
            require(
                moves <= any(map(_is_spot, self._requests_of(name))), f"{name} was moved to on-demand instances again"
            )
        for training_job in self._fleet.jobs(now=now_s):
            name = training_job.tags.get(JOB_TAG, "")
            always_spot = all(map(_is_spot, self._requests_of(name)))
            if is_own(training_job) and name in jobs and always_spot and not training_job.spot:
                require(jobs[name].get("onDemand"), f"{training_job.name} runs on demand without a record")

    def _check_underuse(self, job: Mapping[str, Any], now_s: float) -> None:
        """A job reported as underused has an alarm that fires, or fired when the monitor read it."""
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
            require(fires, f"{job['jobName']} uses its instances, but is reported as underused")

    def _request_item(self, job: str) -> Mapping[str, Any] | None:
        """Return the item with the request of a job; of a member of an array it may be that of the array."""
        own = self._table.get(Key(f"job#{job}", "request"))
        array, index, _ = job.partition("_")
        return own if own is not None or not index else self._table.get(Key(f"job#{array}", "request"))

    def _requests_of(self, job: str) -> list[Mapping[str, Any]]:
        """Return the requests of the alternatives of a job."""
        if job not in self._requests:
            item = self._request_item(job)
            if item is None:
                # A training job from outside may have the name of a job that is submitted later.
                return [{}]
            first, others = json.loads(item["jobDetails"]), json.loads(item.get("alternatives", "[]"))
            self._requests[job] = [first, *({**first, **each} for each in others)]
        return self._requests[job]

    def _is_accounted(self, training_job: TrainingJob, attempts: _Items) -> bool:
        """Return whether an attempt has to hold this training job: the queue launched it and has not lost it."""
        # Another job's next attempt may have its name, until SageMaker reports that the name is in use.
        mark = attempts.get(training_job.name, {}).get("mark")
        lost = self.too_late_s is not None and mark != training_job.tags.get(ATTEMPT_TAG)
        return is_own(training_job) and not training_job.ended and not lost

    def _check_training_jobs(self, attempts: _Items, rogues: _Items, now_s: float) -> None:
        running: Counter[str] = Counter()
        completed: Counter[str] = Counter()
        if not self._fleet.faults.rates.keys().isdisjoint(_FINDING):
            self._throttled_s = now_s
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
                shown_s = now_s - max(training_job.created + self.too_late_s, self._throttled_s)
                known = training_job.name in rogues or shown_s < FOUND_AFTER_S
            require(known, f"SageMaker runs {training_job.name}, which is unknown to the queue")
        if self.too_late_s is not None:
            # Until the training job of an abandoned launch is visible, its job may be launched again.
            return
        require(all(count <= 1 for count in running.values()), f"a job runs twice: {running.most_common(1)}")
        require(all(count <= 1 for count in completed.values()), f"a job ran twice: {completed.most_common(1)}")

    def _check_queue_entries(self, jobs: _Items, lines: list[Mapping[str, Any]]) -> None:
        there = Counter((item["pk"], item["jobName"], item["priority"]) for item in lines)
        wanted = Counter(
            (f"{kind}#{pool}#{job['team']}" if job.get("team") else f"{kind}#{pool}", name, job["priority"])
            for name, job in jobs.items()
            if job.get("jobState") in _WAITING and not job.get("held") and not is_array(job)
            for kind in ["after" if _is_kept_back(job) else "line"]
            for demand in _demands(job)
            for pool in demand
        )
        require(there == wanted, f"queue entries differ: {there - wanted} too many, {wanted - there} missing")

    def check_end(self, accepted: Collection[str], now_s: float) -> None:
        """Check the invariants that hold at rest.

        Args:
            accepted: the names of all accepted jobs.
            now_s: the virtual time, s.

        Raises:
            Violated: an invariant does not hold.
        """
        now_ms = round(now_s * 1000)
        self.check(accepted, now_s)
        require(self.is_at_rest(), f"not ended: {self._unended()}")
        _, _, ledger = self._read()
        left = [name for kind, name in ledger if kind in {"attempt", "reservation", "rogue", "warm", "ended", "array"}]
        require(not left, f"still held: {left}")
        due = [item["sk"] for item in self._table.items() if item["pk"] == TIMERS and item["sk"] < due_before(now_ms)]
        require(not due, f"nobody has looked at {due}")
        alarms = [alarm["AlarmName"] for alarm in self._cloudwatch.describe()]
        require(not alarms, f"alarms remain: {alarms}")

    def held(self) -> set[str]:
        """Return the jobs on hold."""
        jobs, _, _ = self._read()
        return {name for name, job in jobs.items() if job.get("held")}

    def paused(self) -> set[str]:
        """Return the paused pools; "*" for all."""
        _, _, ledger = self._read()
        return {name for kind, name in ledger if kind == "pause"}

    def check_use(self, pool: str, most: int, now_s: float) -> None:
        """Check that attempts do not run on in a pool that stops what exceeds its size.

        Args:
            most: the number of instances that it has.
            now_s: the virtual time, s.
        """
        running = {
            item["attemptName"]: item["demand"][pool]
            for item in self._table.items()
            if item["sk"].startswith("attempt#") and pool in item["demand"] and runs_on(item, now_s)
        }
        require(sum(running.values()) <= most, f"{running} run on in {pool}, which has {most} instances")

    def is_at_rest(self) -> bool:
        """Return whether all jobs have ended, including unacknowledged submissions and rogue jobs."""
        return not self._unended()

    def _unended(self) -> list[str]:
        jobs, _, ledger = self._read()
        unended = [name for name, job in jobs.items() if job["jobState"] in _WAITING | _HOLDING]
        left = (name for kind, name in ledger if kind in {"rogue", "warm"})
        return sorted([*unended, *self._fleet.in_use(), *left])


def _is_spot(request: Mapping[str, Any]) -> bool:
    return bool(request.get("EnableManagedSpotTraining"))


def _demands(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what the next attempt of a job may demand."""
    summary = job.get("summary", {})
    choices = summary.get("choices", [])
    return [each["demand"] for each in choices] if choices and not summary.get("bound") else [job["demand"]]


def _is_kept_back(job: Mapping[str, Any]) -> bool:
    return bool(awaited(job)) or is_set_aside(job) or is_before_its_time(job)


def _is_queued(job: Mapping[str, Any]) -> bool:
    kept_back = _is_kept_back(job) or is_array(job)
    return job.get("jobState") in _WAITING and not job.get("held") and not kept_back


def is_own(training_job: TrainingJob) -> bool:
    """Return whether the queue launched this training job."""
    return JOB_TAG in training_job.tags and training_job.tags.get(ATTEMPT_TAG) != FORGED
