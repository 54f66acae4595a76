"""An attempt that holds instances, and a launch that was given up."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from headway.job_terms import owner_hash
from headway.lifecycle import AttemptState
from headway.model import STOP_MS, Allocation
from headway.pool_names import SERVERLESS, is_of_plan
from headway.refusals import grace_ms
from headway.scheduling.ordering import rank_key
from headway_service.ports.table import Delete, Equals, Item, Key, Put
from headway_service.sagemaker_api.status import PROVISIONED, STARTING
from headway_service.store.records.base import LEDGER, Record
from headway_service.store.records.capacity.used import UsedRecord
from headway_service.store.records.failed_launches import FailedLaunchesRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.terms import AllTerms

NOBODY = ""
"""The holder of a released lease."""


class StopCause(StrEnum):
    """Why an attempt is stopped."""

    PREEMPTION = "preemption"
    REQUEST = "request"
    #: The policy ends the job.
    POLICY = "policy"
    #: The policy requeues the job with another priority ...
    REQUEUE = "requeue"
    #: ... or without spot instances.
    ON_DEMAND = "on-demand"
    #: It got no instances in the time that it may wait for them.
    NO_INSTANCES = "no-instances"


CHANGES = 1_000_000
"""More than there are changes of one attempt."""

_RETURNING = {StopCause.PREEMPTION, StopCause.REQUEUE, StopCause.ON_DEMAND, StopCause.NO_INSTANCES}
"""Why attempts are stopped whose jobs wait again then."""


class AttemptRecord(AllTerms):
    """An attempt that holds instances: from the intent to launch it until SageMaker has ended it."""

    attempt_name: str
    job_name: str
    number: int
    attempt_state: AttemptState
    #: The value of the tag ``headway:attempt``, by which the queue knows its own training job.
    mark: str
    demand: dict[str, int]
    #: How long it may wait for instances, s; None for no limit, and on spot instances.
    pending_limit_s: int | None = None
    since_ms: int
    #: Whether it asks for spot instances.
    spot: bool = False
    #: How many launches of its job in a row before it got no instances.
    failed_before: int = 0
    #: For how many of these SageMaker had provided no instances although it had accepted them.
    unprovided_before: int = 0
    #: Whether its job is unlaunchable, and it was started on instances that no other job could use.
    on_leftovers: bool = False
    #: Whether it fills a gap before reserved starts: see :attr:`headway.model.Allocation.opportunistic`.
    opportunistic: bool = False
    #: Whether it was started although a budget was spent: see :attr:`headway.model.Allocation.beyond_budget`.
    beyond_budget: bool = False
    #: Whether SageMaker has not provided its instances in the time for which it may hold them before others.
    lacks_instances: bool = False
    #: While launching: the invocation that may settle the launch ...
    lease_holder: str
    #: ... and when the lease expires, machine time, ms. No invocation outlives its leases.
    lease_until_ms: int
    #: While launching: the latest time at which a CreateTrainingJob without an answer may have taken effect,
    #: machine time, ms; None if SageMaker clearly refused every call so far.
    unanswered_ms: int | None = None
    #: While launching: how many calls of CreateTrainingJob may have had no answer.
    unanswered: int = 0
    #: While launching: the last refusal of a call, if an earlier one may have had no answer, so that it proves nothing
    #: yet; None for none.
    refused: FailedLaunchesRecord | None = None
    #: The earliest time at which its training job can have been created, ms. The name may have had another one before,
    #: which was deleted; its events may still come.
    created_from_ms: int = 0
    #: Since when SageMaker reports that there is no such training job, machine time, ms; None if it has not since it
    #: last showed it.
    missing_since_ms: int | None = None
    stop_cause: StopCause | None = None
    #: When it was first decided that it stops, ms.
    stopping_since_ms: int | None = None
    #: Why the policy, or a caller, stops it; empty if the caller gave no reason.
    stop_reason: str = ""
    #: The caller who stops it, as in ``user/ada``; empty if it is the policy, or the array of its job.
    stopped_by: str = ""
    #: Whether it is stopped early, as a member of an array that is worse than others.
    stops_early: bool = False
    #: The priority of its job after a requeue.
    requeue_priority: int | None = None
    #: When StopTrainingJob was answered, ms.
    stop_sent_ms: int | None = None
    freed_for: str | None = None
    freed: dict[str, int] = Field(default_factory=dict)
    training_job_status: str | None = None
    secondary_status: str | None = None
    #: While it trains: since when, ms.
    training_since_ms: int | None = None
    #: When the newest checkpoint was written that was seen in S3, ms; None if none was seen since it trains.
    checkpoint_seen_ms: int | None = None
    #: Whether it runs on demand although its request has spot instances.
    on_demand: bool = False
    #: ARN of who submitted its job; None in attempts of earlier releases.
    owner: str | None = None
    #: Whose its job is: see :func:`headway.job_terms.owner_hash`. Empty in attempts of a time before it was kept.
    owned_by: str = ""
    #: Which of the alternatives of its job it runs on; 0 for the request as it is.
    alternative: int = 0
    #: How often spot instances were taken from it.
    interruptions: int = 0
    #: Whether the rules were checked since it runs, or there were none when it was started.
    ruled: bool = False
    #: Watches that have reported its low utilization.
    notified: tuple[str, ...] = ()
    #: LastModifiedTime of the newest status seen, ms.
    modified_ms: int = 0
    #: Whether its last change was found by asking SageMaker, as no event had told of it.
    unheard: bool = False
    #: When its status was last received from SageMaker, machine time, ms.
    seen_ms: int
    version: int = 1

    @classmethod
    def unfolded(cls, item: Item) -> Item:
        """The attributes of an item. One from before the entry of its job was stored counts from its start."""
        return item if "entryTime" in item else {**item, "entryTime": item.get("sinceMs")}

    @classmethod
    def next_of(cls, job: JobRecord, **more: Any) -> AttemptRecord:
        """The next attempt of a waiting job.

        Args:
            more: what does not follow from the job, its name and number among it.
        """
        return cls(
            **{**job.attributes_for(cls), "beside_s": None},
            job_name=job.job_name,
            demand=job.demand,
            on_demand=job.on_demand,
            owner=job.owner,
            owned_by=owner_hash(job.owner),
            alternative=job.alternative,
            pending_limit_s=None if job.is_on_spot else job.pending_limit_s,
            spot=job.is_on_spot,
            failed_before=0 if job.failed is None else job.failed.count,
            unprovided_before=0 if job.failed is None else job.failed.unprovided,
            # One that was not launched leaves its name to the next one. Then no late write to the one before, which
            # has another version of the job, may find a version that it knows.
            version=job.version * CHANGES,
            **more,
        )

    def is_pending_too_long(self, now_ms: int) -> bool:
        """Whether it is stopped if it has no instances, which its last known status does not exclude.

        Args:
            now_ms: the training time, ms.
        """
        if self.pending_limit_s is None or not self._may_lack_instances:
            return False
        return now_ms - self.since_ms >= self.pending_limit_s * 1000

    def is_to_give_way(self, now_ms: int, launched_ms: int | None = None) -> bool:
        """Whether it gives way to others if it has no instances, which its last known status does not exclude.

        Spot instances have MaxWaitTimeInSeconds, a training plan has its own, and of a serverless job it is not known.

        Args:
            now_ms: the training time, ms.
            launched_ms: since when SageMaker has the training job, ms; None if that is not known.
        """
        if self.lacks_instances or not self._may_lack_instances:
            return False
        if self.spot or any(pool == SERVERLESS or is_of_plan(pool) for pool in self.demand):
            return False
        since_ms = self.since_ms if launched_ms is None else max(self.since_ms, launched_ms)
        return not self.is_provisioned and now_ms - since_ms >= self._grace_ms

    @property
    def is_provisioned(self) -> bool:
        """Whether its last known status shows that SageMaker has provided its instances."""
        return self.secondary_status in PROVISIONED

    @property
    def has_had_instances(self) -> bool:
        """The same, also while it stops: the status ``Stopping`` does not tell whether it had any."""
        return self.is_provisioned or self.training_since_ms is not None

    def idled_ms(self, until_ms: int) -> int:
        """For how long it may have kept its instances from others, if it got none, ms: later it would have given way.

        Args:
            until_ms: its end, ms.
        """
        return max(0, min(until_ms - self.since_ms, self._grace_ms + STOP_MS))

    @property
    def _grace_ms(self) -> int:
        return 0 if self.on_leftovers else grace_ms(self.unprovided_before)

    @property
    def _may_lack_instances(self) -> bool:
        starting = self.secondary_status is None or self.secondary_status in STARTING
        return starting and self.stop_cause is None

    def rank(self) -> str:
        """The place of its job in a queue, as a sort key."""
        return rank_key(self.priority, self.entry_time + self.handicap_ms, self.job_name)

    @staticmethod
    def key(attempt: str) -> Key:
        """Where the attempt is kept while it holds instances."""
        return Key(LEDGER, f"attempt#{attempt}")

    def put(self, *, was: int | None = None) -> Put:
        """The write that stores it, on condition that the stored version is still ``was``."""
        key = self.key(self.attempt_name)
        item = {"pk": key.pk, "sk": key.sk, **self.fields()}
        return Put(item=item, requires=None if was is None else Equals("version", was))

    def delete(self) -> Delete:
        """The write that removes it, on condition that it has not changed."""
        return Delete(key=self.key(self.attempt_name), requires=Equals("version", self.version))

    def used(self, ended_ms: int) -> UsedRecord:
        """What it has used if it ends at a moment, ms."""
        return UsedRecord(
            attempt_name=self.attempt_name,
            team=self.team,
            owned_by=self.owned_by,
            budget_tags=self.budget_tags,
            beyond_budget=self.beyond_budget,
            demand=dict(self.demand),
            since_ms=self.since_ms,
            ended_ms=ended_ms,
        )

    def allocation(self) -> Allocation:
        """It as the scheduler sees it."""
        return Allocation(
            job=self.job_name,
            attempt=self.attempt_name,
            demand=self.demand,
            terms=self.terms(self.owned_by),
            since_ms=self.since_ms,
            training_since_ms=self.training_since_ms,
            checkpoint_seen_ms=self.checkpoint_seen_ms,
            stopping=self.stop_cause is not None,
            lacks_instances=self.lacks_instances,
            opportunistic=self.opportunistic,
            beyond_budget=self.beyond_budget,
            returns=self.stop_cause in _RETURNING,
            freed_for=self.freed_for,
            freed=self.freed or None,
        )


class GivenUpRecord(Record):
    """A launch that the queue has given up without knowing for sure that it failed.

    Its name is never used again. Should SageMaker show the training job after all, this proves that it may be stopped.
    """

    attempt_name: str
    job_name: str
    mark: str
    given_up_ms: int
    #: When the table may forget it, s since the epoch.
    expires_at: int

    @staticmethod
    def key(attempt: str) -> Key:
        """Where the launch is kept."""
        return Key(f"launch#{attempt}", "given up")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.attempt_name)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})
