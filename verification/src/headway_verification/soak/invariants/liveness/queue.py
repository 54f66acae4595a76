"""Liveness and truth of one queue, checked while nothing is in progress and no fault is injected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Any

from headway.model import Demand, Snapshot
from headway.pool_names import SPOT_SUFFIX, on_demand_pool
from headway.scheduling.scheduler import schedule
from headway.vectors import shortfall, total
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.store.records.capacity.attempt import GivenUpRecord
from headway_service.store.records.job import JobRecord
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.invariants.liveness import unrefused
from headway_verification.soak.invariants.liveness.backoffs import check_backoffs
from headway_verification.soak.invariants.liveness.decisions import DecisionInvariants
from headway_verification.soak.invariants.liveness.kept_idle import KeptIdleInvariants
from headway_verification.soak.invariants.liveness.launches import LaunchHistory
from headway_verification.soak.invariants.liveness.preemptions import PreemptionInvariants
from headway_verification.soak.invariants.liveness.starts import StartInvariants
from headway_verification.soak.invariants.liveness.truth import Said, TruthInvariants
from headway_verification.soak.invariants.queue import is_own


class Promise(StrEnum):
    """What is checked while nothing is in progress."""

    #: A job that fits starts.
    STARTS = "starts"
    #: No instances are kept for a job that SageMaker refuses.
    IDLE = "idle"
    #: A back-off is over soon after an outage.
    BACK_OFFS = "back-offs"
    #: What the API says is decided again, and comes true.
    TRUTH = "truth"


class Liveness:
    """Checks that a queue goes on.

    Args:
        fleet: SageMaker.

    Attributes:
        checked: the promises that are checked while nothing is in progress.
        launches: what has become of the launches of each job.
        changed: the jobs that users have asked to change.
        decisions: counts the ticks without a decision.
        truth: follows what the API says.
    """

    def __init__(self, table: MemoryTable, fleet: FakeSageMaker) -> None:
        self._table = table
        self._fleet = fleet
        self.checked = frozenset(Promise)
        self.launches = LaunchHistory(lambda attempt: table.get(GivenUpRecord.key(attempt)) is not None)
        self.changed: set[str] = set()
        self.decisions = DecisionInvariants()
        self.truth = TruthInvariants()
        self._preemptions = PreemptionInvariants(self.launches)
        self._starts = StartInvariants()
        self._idle: KeptIdleInvariants | None = None
        self._calm_s = 0.0
        self._outage_s = 0.0

    def step(self, now_s: float) -> None:
        """Check what holds at every moment.

        Raises:
            Violated: somebody is preempted for a job that gets nothing.
        """
        attempts = self._ledger("attempt#")
        self.launches.resized({pool: each["size"] for pool, each in self._ledger("pool#").items()})
        self.launches.update(attempts, filter(is_own, self._fleet.jobs(now=now_s)), now_s)
        self._let_changed_begin_again()
        self._preemptions.check(attempts, now_s)

    def _let_changed_begin_again(self) -> None:
        """Whether the change of a user was made is seen in the table: its answer may be lost, or it may be killed."""
        names = self.changed & {each.job for each in self.launches.all_failed}
        if not names:
            return
        for item in self._table.items():
            if item["sk"] != "job" or item["jobName"] not in names:
                continue
            job = JobRecord.parse(item)
            if job.failed is None and all(each.failed is None for each in job.choices):
                self.launches.begin_again(job.job_name)

    def begin(self, now_s: float, outage_s: float) -> None:
        """No faults are injected from now on.

        Args:
            outage_s: for how long they were, s.
        """
        self.decisions.is_calm = True
        self._calm_s, self._outage_s = now_s, outage_s
        self._idle = KeptIdleInvariants(now_s)

    def check(
        self, now_s: float, ask: Callable[[str], Said | None], sample: Callable[[Collection[str]], Collection[str]]
    ) -> None:
        """Check what holds while nothing is in progress.

        Args:
            ask: asks the API about a job; None if it does not answer.
            sample: selects some of the waiting jobs.

        Raises:
            Violated: an invariant does not hold.
        """
        snapshot = unrefused.read_all(self._table, round(now_s * 1000))
        refused: dict[str, set[str]] = {}
        for each in self.launches.all_failed:
            refused.setdefault(each.job, set()).update(each.pools)
        if self._idle is not None:
            self._check_pools(snapshot, refused, self._idle, now_s)
        if Promise.TRUTH in self.checked:
            waiting = {job.name for job in snapshot.waiting}
            self.truth.note(schedule(snapshot), waiting, refused, now_s)
            hopeless = self._hopeless(now_s)
            for job in sample(sorted(waiting)):
                said = ask(job)
                if said is not None:
                    found = unrefused.explain_all(self._table, said.now_ms).get(job)
                    self.truth.check(said, found, hopeless)

    def _check_pools(
        self, snapshot: Snapshot, refused: Mapping[str, Collection[str]], idle: KeptIdleInvariants, now_s: float
    ) -> None:
        """Check that free instances are used."""
        own = filter(is_own, self._fleet.jobs(now=now_s))
        without_instances = self.launches.without_instances(self._ledger("attempt#"), own, now_s)
        could_start = unrefused.starts(unrefused.without(snapshot, refused, without_instances))
        free = self._free(now_s)
        if Promise.STARTS in self.checked:
            # Of those that SageMaker has no instances for, another one would only wait in place of the one that does.
            served = (name for name, demand in could_start.items() if not shortfall(demand, {**demand, **free}))
            self._starts.check([*served], now_s)
        if Promise.IDLE in self.checked:
            idle.note(could_start.values(), free, snapshot.pools, self.launches.all_failed, now_s)
        if Promise.BACK_OFFS in self.checked:
            check_backoffs(
                self._ledger("pool#"), self._unlaunched(could_start, now_s), self._outage_s, self._calm_s, now_s
            )

    def _unlaunched(self, could_start: Mapping[str, Demand], now_s: float) -> Mapping[str, int]:
        """The instances that are demanded by jobs that could start, and by attempts that SageMaker does not have."""
        launched = {each.name for each in self._fleet.jobs(now=now_s)}
        left = (each["demand"] for name, each in self._ledger("attempt#").items() if name not in launched)
        return total((*could_start.values(), *left))

    def end(self) -> None:
        """Check what holds of all the time since :meth:`begin`.

        Raises:
            Violated: instances were kept idle.
        """
        if self._idle is not None:
            self._idle.check()
        self._idle = None
        self.decisions.is_calm = False

    def _hopeless(self, now_s: float) -> set[str]:
        """The jobs that SageMaker refuses on all of their alternatives."""
        found = set()
        for name in {each.job for each in self.launches.all_failed}:
            item = next((i for i in self._table.items() if i["sk"] == "job" and i["jobName"] == name), None)
            failed = [each for each in self.launches.failed(name) if each.is_lasting(now_s)]
            job = JobRecord.parse(item) if item is not None else None
            tried = {pool for each in failed for pool in each.pools}
            if job is not None and failed and tried >= set(job.pools):
                found.add(name)
        return found

    def _free(self, now_s: float) -> dict[str, int]:
        """The instances that SageMaker has free, by pool, of the types that have a quota or a capacity."""
        faults = self._fleet.faults
        used: Counter[str] = Counter()
        spot: Counter[str] = Counter()
        present: Counter[str] = Counter(self._fleet.kept_warm(now=now_s))
        for each in self._fleet.jobs(now=now_s):
            if not each.ended:
                (spot if each.spot else used).update(each.instances)
                present.update(each.instances if each.allocated_at is not None else {})
        free: dict[str, int] = {}
        for pool in self._ledger("pool#"):
            kind = on_demand_pool(pool)
            quotas, counted = (faults.spot_quotas, spot) if pool.endswith(SPOT_SUFFIX) else (faults.quotas, used)
            least = [quotas[kind] - counted[kind]] if kind in quotas else []
            least += [faults.capacity[kind] - present[kind]] if kind in faults.capacity else []
            if least:
                free[pool] = max(0, min(least))
        return free

    def _ledger(self, prefix: str) -> Mapping[str, Mapping[str, Any]]:
        return {
            item["sk"].removeprefix(prefix): item
            for item in self._table.items()
            if item["pk"] == "ledger" and item["sk"].startswith(prefix)
        }
