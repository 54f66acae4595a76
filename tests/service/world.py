"""The service layer on virtual time, called without its handlers.

SageMaker is called through the real adapter and a real boto3 client, which a botocore handler answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any
from unittest import mock

from headway.plan import Plan, Start
from headway.pool_names import SPOT_SUFFIX, on_demand_pool
from headway.reasons import started
from headway.vectors import total
from headway_sandbox.inprocess.deployment import SimulatedDeployment
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration
from headway_service.invocation import Invocation
from headway_service.jobs.position import JobView
from headway_service.launching.decision import Decision
from headway_service.launching.executor import Executor
from headway_service.launching.intents import Intent, Intents
from headway_service.launching.launcher import Launcher
from headway_service.launching.report import TickReport
from headway_service.observability.isolation import Isolation
from headway_service.observability.steps import isolated_steps
from headway_service.pools.apply_config import EffectiveConfig, get_effective
from headway_service.pools.capacity import PoolUse
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.table import Table
from headway_service.sagemaker_api.status import parse_status
from headway_service.scheduling.dependants import DependantNotifier
from headway_service.scheduling.tick import Scheduler
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.records.job import JobRecord
from headway_service.testing.inline_calls import InlineCalls
from headway_service.testing.memory_table import MemoryTable
from headway_service.tracking.observer import StatusOutcome
from headway_service.tracking.reconciler import reconcile
from headway_service.tracking.rogue_jobs import RogueJobTracker
from headway_service.tracking.rogue_scan import scan_rogue_jobs

INVOCATION_S = 30
DAY_S = 86_400
P5 = "ml.p5.48xlarge"
ACCOUNT = "123456789012"
ROOT = Caller(arn=f"arn:aws:iam::{ACCOUNT}:root", account=ACCOUNT)
ADA = Caller(arn=f"arn:aws:iam::{ACCOUNT}:user/ada", account=ACCOUNT)
BOB = Caller(arn=f"arn:aws:iam::{ACCOUNT}:user/bob", account=ACCOUNT)


class World(SimulatedDeployment[Table]):
    """A simulated deployment that tests drive through the service layer, not through handlers.

    Attributes:
        calls: the calls of SageMaker: operation and request.
        pauses: how long functions slept, s; sleeping takes virtual time.
        launches_at_once: the setting of the deployment.
        parallel_calls: makes the calls of ticks that wait in parallel.
    """

    def __init__(
        self, *, pools: Mapping[str, int] | None = None, table: Table | None = None, speed: float = 1.0
    ) -> None:
        document = {"pools": {pool: {"size": size} for pool, size in (pools or {P5: 2}).items()}}
        super().__init__(table or MemoryTable(), document, speed=speed)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.pauses: list[float] = []
        self.launches_at_once = 8
        self.parallel_calls: ParallelCalls = InlineCalls()
        self._launchers = count(1)
        self.training_jobs = self.container.training_jobs
        self.marks = self.container.marks
        self.observer = self.container.observer
        self.rogues = self.container.rogue_jobs
        self.submitter = self.container.submitter
        self.commands = self.container.job_commands
        self.changes = self.container.request_changes
        self.queries = self.container.job_queries
        self.forecast_service = self.container.forecast_service

    def call_sagemaker(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :class:`SimulatedDeployment`."""
        self.calls.append((operation, dict(request)))
        return super().call_sagemaker(operation, request)

    def sleep(self, seconds: float) -> None:
        """See :class:`SimulatedDeployment`."""
        self.pauses.append(seconds)
        self.now_s += seconds

    def in_force(self) -> EffectiveConfig:
        return get_effective(self.table, self.configuration.first, self.clocks)

    def configured(self) -> Configuration:
        return self.in_force().configuration

    def capacity(self) -> list[PoolUse]:
        return self.container.capacity().pools

    def submit(self, name: str, priority: int | None = None, **changes: Any) -> JobView[JobRecord]:
        """Submit a job that trains for ten minutes."""
        return self.submitter.submit(request(name, priority, **changes), ROOT)[0]

    def invocation(self) -> Invocation:
        """One invocation."""
        deadline_ms = self.machine_clock() + INVOCATION_S * 1000
        return Invocation(clocks=self.clocks, holder=f"launcher-{next(self._launchers)}", deadline_ms=deadline_ms)

    def launcher(self, invocation: Invocation | None = None) -> Launcher:
        """A launcher for one invocation, which has read the ledger."""
        launcher = Launcher(
            self.table,
            self.training_jobs,
            self.observer,
            invocation=invocation or self.invocation(),
            calls=self.parallel_calls,
            jitter=lambda: 0.0,
            launches_at_once=self.launches_at_once,
        )
        launcher.update(read_ledger(self.table))
        return launcher

    def ticker(self) -> Scheduler:
        """A ticker for one invocation."""
        invocation = self.invocation()
        return Scheduler(
            table=self.table,
            first_configuration=self.configuration.first,
            launcher=self.launcher(invocation),
            invocation=invocation,
            marks=self.marks,
            retention_s=self.container.settings.retention_s,
            reuse=self.container.reuse,
            why=self.container.why,
            note_idle=self.container.idle_time.note,
        )

    def intent_to_start(self, name: str, ledger: Ledger | None = None) -> Intent:
        """The intent of a start of a job, as if it was decided on this ledger; by default the stored one."""
        intents = self._intents(self.invocation())
        item = self.table.get(JobRecord.key(name)) or {}
        job = JobRecord.parse(item)
        action = Start(job=name, demand=job.demand, reason=started(job.demand))
        decision = Decision(
            plan=Plan(actions=(action,), waits=()),
            ledger=ledger or read_ledger(self.table),
            waiting={name: job.waiting()},
        )
        return intents.of(action, item, decision, self.clock())

    def executor(self) -> Executor:
        """The executor of one invocation."""
        report, invocation = TickReport(), self.invocation()
        return Executor(
            table=self.table,
            launcher=self.launcher(invocation),
            intents=self._intents(invocation),
            invocation=invocation,
            report=report,
            isolation=Isolation(note_conflict=report.note_conflict, note_failed=report.note_failed),
        )

    def _intents(self, invocation: Invocation) -> Intents:
        configuration = self.configured()
        return Intents(
            marks=self.marks,
            invocation=invocation,
            policy=configuration.policy(),
            has_rules=bool(configuration.rules),
        )

    def dependants(self) -> DependantNotifier:
        """What notifies dependants in one invocation."""
        return DependantNotifier(
            self.table,
            clocks=self.clocks,
            retention_s=self.container.settings.retention_s,
            reuse=self.container.reuse,
            access=self.configured().access_rules,
            isolation=isolation(),
        )

    def tick(self) -> TickReport:
        """Run a tick."""
        return self.ticker().run()

    def interrupted_tick(self, act: Callable[[], object]) -> TickReport:
        """Run a tick in which something happens once, between its decision and its first write."""
        whole, pending = Executor.apply, [act]

        def apply(executor: Executor, decision: Decision) -> bool:
            if pending:
                pending.pop()()
            return whole(executor, decision)

        with mock.patch.object(Executor, "apply", apply):
            return self.tick()

    def pass_time(self, seconds: float = 0, *, deliver: bool = True, tick: bool = True) -> None:
        """Let time pass.

        Args:
            seconds: how long.
            deliver: whether the observer gets SageMaker's events.
            tick: whether a tick follows each event that frees instances.
        """
        for detail in self.due_events(seconds):
            if deliver and self.on_event(detail) and tick:
                self.tick()

    def on_event(self, detail: Mapping[str, Any]) -> bool:
        """Apply an event, as the observer does. Returns whether a tick is due."""
        sighting = parse_status(detail)
        outcome = self.observer.apply_status(sighting, self.clock())
        if outcome is StatusOutcome.NOT_OURS:
            return self.rogues.on_status(sighting, self.clock())
        return outcome is StatusOutcome.TICK_DUE

    def reconcile(self, after_s: int = 300, *, left_ms: int = 50_000) -> int:
        """Run reconcile."""
        with isolated_steps() as step:
            with step("wake-up"):
                self.wakes.append("reconcile")
            return reconcile(
                read_ledger(self.table),
                table=self.table,
                training_jobs=self.training_jobs,
                training_plans=self.container.training_plans,
                spot_scores=lambda: self.container.spot_scores,
                checkpoints=self.container.checkpoint_reads,
                observer=self.observer,
                calls=InlineCalls(),
                clocks=self.clocks,
                sleep=self.sleep,
                wake=self.wakes.append,
                after_s=after_s,
                left_ms=lambda: left_ms,
                step=step,
            )

    def patrol(self, after_s: int = 300) -> int:
        """Run the patrol."""
        return scan_rogue_jobs(
            table=self.table,
            training_jobs=self.training_jobs,
            rogues=RogueJobTracker(self.table, self.training_jobs, self.marks, self.machine_clock, stops=True),
            clocks=self.clocks,
            sleep=self.sleep,
            wake=self.wakes.append,
            after_s=after_s,
            deadline_ms=self.machine_clock() + 50_000,
        )

    def seen(self, name: str) -> JobView[JobRecord]:
        """A job as a caller sees it."""
        return self.queries.show(name, ROOT)[0]

    def states(self, *names: str) -> dict[str, str]:
        """States of jobs."""
        return {name: str(self.seen(name).job.job_state) for name in names}

    def called(self, operation: str) -> list[str]:
        """Names that an operation of SageMaker was called with."""
        return [request["TrainingJobName"] for name, request in self.calls if name == operation]

    def check(self) -> None:
        """The invariants that hold at every moment."""
        ledger = read_ledger(self.table)
        for pool in ledger.pools:
            held = sum(attempt.demand.get(pool.pool, 0) for attempt in ledger.attempts)
            reserved = sum(each.demand.get(pool.pool, 0) for each in ledger.reservations)
            charged = sum(rogue.charged.get(pool.pool, 0) for rogue in ledger.rogues)
            warm = sum(each.demand.get(pool.pool, 0) for each in ledger.warm_pools)
            # A claimed warm pool and the attempt in it may be the same instances.
            lent = sum(each.demand.get(pool.pool, 0) for each in ledger.warm_pools if each.claimed_by)
            assert pool.free == pool.size - held - reserved - charged - warm, f"the ledger of {pool.pool} is off"
            assert pool.free + charged + lent >= 0, f"{pool.pool} holds more than it has"
        holders = total([each.demand for each in ledger.attempts] + [each.demand for each in ledger.rogues])
        of_type = total({on_demand_pool(pool): count} for pool, count in holders.items())
        for kind, used in self.fleet.in_use().items():
            pools = {kind, kind + SPOT_SUFFIX} & {pool.pool for pool in ledger.pools}
            assert not pools or used <= of_type.get(kind, 0), f"SageMaker runs more {kind} than is held"
        jobs = [attempt.job_name for attempt in ledger.attempts]
        assert len(set(jobs)) == len(jobs), "a job has two live attempts"


def isolation() -> Isolation:
    """One that reports to nobody."""
    return Isolation(note_conflict=lambda: None, note_failed=lambda *_: None)


def request(name: str, priority: int | None = None, **changes: Any) -> dict[str, Any]:
    """A CreateTrainingJob request for one instance; a change to None leaves the member out."""
    document: dict[str, Any] = {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::123456789012:role/HeadwayTrainingRole",
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/t:1",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": "s3://jobs/output"},
        "ResourceConfig": {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
        "Environment": {"SANDBOX_RUN_SECONDS": "600"},
        "Tags": [] if priority is None else [{"Key": "priority", "Value": str(priority)}],
        **changes,
    }
    return {key: value for key, value in document.items() if value is not None}


def on(count: int, pool: str = P5) -> dict[str, Any]:
    """A ResourceConfig."""
    return {"InstanceType": pool, "InstanceCount": count, "VolumeSizeInGB": 30}
