"""A job, its history, and its request."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from headway.dependencies import Ending
from headway.job_terms import owner_hash
from headway.jobpolicy.failure_kinds import LIMITS
from headway.lifecycle import TERMINAL, WAITING, JobState
from headway.pool_names import billed_pool
from headway.reasons import ReasonCode
from headway.refusals import FailedLaunches
from headway.sweeps import InvalidSweep, Sweep
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Equals, Item, Key, Put
from headway_service.sagemaker_api.alternatives import with_members
from headway_service.sagemaker_api.sweeps import member_alternative, member_request
from headway_service.store.records.array import MembersRecord
from headway_service.store.records.base import ReasonRecord, Record
from headway_service.store.records.dependency import EndedJobRecord, RecheckRecord
from headway_service.store.records.failed_launches import FailedLaunchesRecord
from headway_service.store.records.listed_job import SUMMARY, ListedJob
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.records.terms import AllTerms
from headway_service.store.schema_version import name_of, stamp, upgrade

MAX_HISTORY = 50
"""Steps of a job's history that are kept; of a longer one the first and the newest."""


MAX_ENDED_ATTEMPTS = 20
"""Ended attempts that are kept with a job, the newest."""


class Step(Record):
    """A step of a job's history."""

    time_ms: int
    job_state: JobState
    reason: ReasonRecord
    attempt_name: str | None = None


class EndedAttempt(Record):
    """An attempt that has ended."""

    attempt_name: str
    number: int
    since_ms: int
    ended_ms: int
    training_job_status: str | None = None
    secondary_status: str | None = None
    failure_reason: str | None = None
    reason: ReasonRecord
    #: The instances that it held.
    demand: dict[str, int] = Field(default_factory=dict)
    #: Whether they were spot instances.
    spot: bool = False
    #: How much of its time was lost, as its job continues from an earlier checkpoint or has failed, ms.
    lost_ms: int = 0
    #: BillableTimeInSeconds, s; None if SageMaker has not reported it.
    billable_s: int | None = None
    #: TrainingTimeInSeconds, s, of spot instances, of which only a part is billed; None of others, or if not reported.
    trained_s: int | None = None
    #: The team that it was charged to, if its job has gone to another one since; None if that is the job's.
    team: str | None = None

    @property
    def held_ms(self) -> dict[str, int]:
        """What it held, by pool: instances times ms."""
        return self._times(self.each_held_ms)

    @property
    def is_billed(self) -> bool:
        """Whether it is known for how long it is billed."""
        return self.billable_s is not None or not self.spot

    @property
    def each_billed_ms(self) -> int:
        """For how long each of its instances is billed, ms; 0 if that is not known."""
        if self.billable_s is not None:
            return self.billable_s * 1000
        return 0 if self.spot else self.each_held_ms

    @property
    def each_held_ms(self) -> int:
        """For how long it held each of its instances, ms."""
        return max(0, self.ended_ms - self.since_ms)

    @property
    def billed_ms(self) -> dict[str, int]:
        """What is billed, by :func:`headway.pool_names.billed_pool`: instances times ms.

        On-demand instances whose billable time is not known count for as long as they were held.
        """
        return self._priced(self._times(self.each_billed_ms)) if self.is_billed else {}

    @property
    def unbilled_ms(self) -> dict[str, int]:
        """What it held, the same way, of spot instances whose billable time is not known."""
        return {} if self.is_billed else self._priced(self.held_ms)

    @property
    def each_saved_ms(self) -> int:
        """For how long each of its spot instances has trained without being billed, ms; 0 if that is not known.

        What spot saves is 1 - BillableTimeInSeconds / TrainingTimeInSeconds (guide, "Managed Spot Training").
        """
        if self.billable_s is None or self.trained_s is None:
            return 0
        return min(max(0, self.trained_s - self.billable_s) * 1000, self.each_held_ms)

    @property
    def saved_ms(self) -> dict[str, int]:
        """What spot saved, as in :attr:`billed_ms`; empty if nothing, or not known."""
        return self._priced(self._times(self.each_saved_ms)) if self.each_saved_ms else {}

    @property
    def each_lost_billed_ms(self) -> int:
        """For how long each of its instances is billed for what was lost, ms: the lost part of what is billed.

        The billable time of spot instances is less than the time for which they are held, for all of it alike.
        """
        return self.each_billed_ms * self.lost_ms // self.each_held_ms if self.each_held_ms else 0

    @property
    def lost_billed_ms(self) -> dict[str, int]:
        """What is billed for what was lost, as in :attr:`billed_ms`; empty if nothing was lost."""
        return self._priced(self._times(self.each_lost_billed_ms)) if self.is_billed and self.lost_ms else {}

    @property
    def lost_unbilled_ms(self) -> dict[str, int]:
        """What was lost of spot instances whose billable time is not known."""
        return {} if self.is_billed or not self.lost_ms else self._priced(self._times(self.lost_ms))

    def _times(self, time_ms: int) -> dict[str, int]:
        return {pool: count * time_ms for pool, count in self.demand.items()}

    def _priced(self, times: dict[str, int]) -> dict[str, int]:
        return {billed_pool(pool, spot=self.spot): time_ms for pool, time_ms in times.items()}


class PredictedRun(Record):
    """The predicted run time of a job."""

    run_ms: int
    #: How many completed jobs it rests on.
    runs: int


class JobRecord(ListedJob, AllTerms):
    """An accepted job. ``version`` counts its changes; each is conditional on the one before."""

    #: The prediction that it was compared by when it entered, if any.
    predicted: PredictedRun | None = None
    #: Digest of the canonical request as it was submitted, to recognize the same request with that name.
    request_digest: str = ""
    #: The idempotency key of its submission, if any.
    idempotency_key: str | None = None
    #: The jobs that were accepted with a dependency on it before it ended.
    dependants: tuple[str, ...] = ()
    members: MembersRecord | None = None
    #: Whether it is a member whose request was changed, so that it is kept with it.
    has_own_request: bool = False
    #: FinalMetricDataList of the training job that has completed it, as text; None if it is not known.
    metrics: dict[str, str] | None = None
    #: How often it was tried again after a failure, by the kind of that.
    retried: dict[str, int] = Field(default_factory=dict)
    #: How often spot instances were taken from its ended attempts.
    interruptions: int = 0
    #: Whether its attempts run on demand from now on although its request has spot instances.
    on_demand: bool = False
    #: Its limit then, ms; None if it does not ask for spot instances.
    on_demand_limit_ms: int | None = None
    #: How long an attempt on on-demand instances may wait for them, s; None for no limit.
    pending_limit_s: int | None = None
    #: By when it has to have started, ms; None for any time.
    start_by_ms: int | None = None
    #: For how long its team let it wait in the queue when it was accepted, s; None for ever.
    max_wait_s: int | None = None
    #: How often the policy has requeued it.
    requeues: int = 0
    history: tuple[Step, ...] = ()
    attempts: tuple[EndedAttempt, ...] = ()
    #: When the table may forget it, s since the epoch; set when the job has ended.
    expires_at: int | None = None
    version: int = 1

    def fields(self) -> dict[str, Any]:
        """The attributes of the item, without keys and defaults; those of :data:`SUMMARY` in their map."""
        fields = super().fields()
        fields |= fields.pop("usage", {})
        summary = {name: fields.pop(name) for name in SUMMARY if name in fields}
        return {**fields, "summary": summary} if summary else fields

    def charged_attempts(self) -> tuple[EndedAttempt, ...]:
        """Its ended attempts, each with the team that it was charged to, for a job that goes to another team."""
        return tuple(
            each if each.team is not None else each.model_copy(update={"team": self.team}) for each in self.attempts
        )

    def listed(self) -> tuple[str, str] | None:
        """The listing it belongs to and its place there; None while it has an attempt, which the ledger lists."""
        if self.job_state in TERMINAL:
            return "ended", f"{self.ended_ms:013d}#{self.job_name}"
        if self.job_state in WAITING:
            return "waiting", self.rank()
        return None if self.array is None else ("holding", self.rank())

    def put(self, *, was: int | None = None) -> Put:
        """The write that stores it, on condition that the stored version is still ``was``."""
        key = self.key(self.job_name)
        listed = self.listed()
        place = {} if listed is None else {"listing": listed[0], "listingKey": listed[1]}
        item = {"pk": key.pk, "sk": key.sk, **place, **self.fields()}
        return Put(item=item, requires=None if was is None else Equals("version", was))

    @property
    def computes_for_others(self) -> bool:
        """Whether equal jobs may get its outputs."""
        return self.reuse is not None and bool(self.reuse.key) and not self.reuse.job_name

    @property
    def output_attempt(self) -> str:
        """The attempt whose outputs it has; of a job that has not ended, its first one."""
        if self.reuse and self.reuse.attempt_name:
            return self.reuse.attempt_name
        return self.attempts[-1].attempt_name if self.attempts else self.job_name

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left to do: it has ended, and so have its members if it is an array."""
        return self.ending is not None and not (self.members or MembersRecord()).live

    @property
    def is_made(self) -> bool:
        """Whether the table has it; a member of an array may only be described."""
        return self.version > 0

    @property
    def ending(self) -> Ending | None:
        """How it has ended, for jobs that depend on it; None if it has not."""
        match self.job_state:
            case JobState.COMPLETED:
                return Ending.COMPLETED
            case JobState.FAILED:
                return Ending.FAILED
            case JobState.STOPPED:
                return Ending.TIMED_OUT if self._has_timed_out else Ending.STOPPED
            case _:
                return None

    @property
    def _has_timed_out(self) -> bool:
        """Whether its last attempt reached its limit, and was neither stopped by the policy nor followed by a wait."""
        if not self.attempts or self.reason.code is not ReasonCode.STOPPED:
            return False
        last = self.attempts[-1]
        return last.secondary_status in LIMITS and self.history[-1].attempt_name == last.attempt_name

    @property
    def was_stopped_early(self) -> bool:
        """Whether it has ended as a member of an array that was worse than others."""
        return self.reason.code is ReasonCode.STOPPED_EARLY

    def ended(self) -> list[Put]:
        """The write that lets the next tick notify its dependants, equal jobs and its array, if there may be any."""
        ending = self.ending
        if ending is None or not (self.dependants or self.computes_for_others or self.member_of):
            return []
        ended = EndedJobRecord(job_name=self.job_name, ending=ending, dependants=self.dependants)
        if self.member_of:
            result = {
                "member_of": self.member_of,
                "index": self.index,
                "stopped_early": self.was_stopped_early,
                "attempt_name": self.output_attempt if self.attempts or self.reused_from else None,
                "started_ms": self.usage.started_ms,
                "ended_ms": self.ended_ms,
                "metrics": self.metrics,
            }
            ended = ended.model_copy(update=result)
        return [ended.put()]

    def recheck(self) -> list[Put]:
        """The write that lets the next tick compare it with equal jobs again, if it waits for one or they for it."""
        if self.twin or (self.computes_for_others and self.dependants and self.job_state in WAITING):
            return [RecheckRecord(job_name=self.job_name).put()]
        return []

    def on(self, alternative: int) -> JobRecord:
        """The job on one of its alternatives, if it may choose: an attempt gets its fields from it."""
        if not self.chooses:
            return self
        return self.model_copy(update={**dict(self.choices[alternative]), "alternative": alternative})

    @property
    def is_on_spot(self) -> bool:
        """Whether its next attempt asks for spot instances."""
        return not self.on_demand and self.on_demand_limit_ms is not None

    def with_failed(self, failed: FailedLaunches | None) -> JobRecord:
        """The job after a launch on the alternative that it is on: with the launches in a row that got no instances."""
        record = FailedLaunchesRecord.of(failed)
        choices = tuple(
            each.model_copy(update={"failed": record}) if number == self.alternative else each
            for number, each in enumerate(self.choices)
        )
        return self.model_copy(update={"failed": record, "choices": choices})

    def without_failed(self) -> JobRecord:
        """The job as if each of its launches had got instances."""
        choices = tuple(each.model_copy(update={"failed": None}) for each in self.choices)
        return self.model_copy(update={"failed": None, "choices": choices})

    def in_pools(self, pools: Collection[str]) -> JobRecord:
        """The job on the first alternative with some of these pools; the job itself if none has any."""
        if not self.chooses:
            return self
        found = (number for number, each in enumerate(self.choices) if any(pool in each.demand for pool in pools))
        return self.on(next(found, self.alternative))

    def queue_keys(self) -> list[Key]:
        """The keys of its queue entries, if it is in its queues, or waits to enter them."""
        rank, waits = self.rank(), self.is_kept_back
        partitions = [QueueEntry.partition(pool, self.team, waits_for_jobs=waits) for pool in self.pools]
        return [Key(partition, rank) for partition in partitions] if self._has_entries else []

    def queue_entries(self) -> list[QueueEntry]:
        """Its queue entries, if it is in its queues, or waits to enter them."""
        if not self._has_entries:
            return []
        return [
            QueueEntry(
                **self.attributes_for(QueueEntry),
                pool=pool,
                job_name=self.job_name,
                demand=self.demand,
                not_before_ms=self.not_before_ms,
                held_by=self.held_by,
                failed=self.failed,
                owned_by=owner_hash(self.owner),
                choices=self.choices if self.chooses else (),
                wait_at_most_s=self.wait_at_most_s if self.chooses else 0,
                waits_for_jobs=self.is_kept_back,
            )
            for pool in self.pools
        ]


def request_key(job: str) -> Key:
    """Where the request of a job is kept."""
    return Key(f"job#{job}", "request")


def request_item(job: str, request: str, alternatives: str = "", *, sweep: str = "", accepted_ms: int = 0) -> Item:
    """The request of a job, as JSON, as it is kept.

    Args:
        job: the name of the job.
        request: the CreateTrainingJob request.
        alternatives: the members of the request that each of its alternatives replaces, as JSON; empty for none.
        sweep: of an array, what its members differ in, as JSON; empty for other jobs.
        accepted_ms: of an array, and of a member with a request of its own, when the array was accepted, ms.
    """
    key = request_key(job)
    item: dict[str, Any] = {"pk": key.pk, "sk": key.sk, "jobDetails": request}
    if alternatives:
        item["alternatives"] = alternatives
    if sweep:
        item["sweep"] = sweep
    if accepted_ms:
        item["acceptedMs"] = accepted_ms
    return stamp(item)


def request_in(item: Item) -> dict[str, Any]:
    """The request in an item."""
    request: dict[str, Any] = json.loads(upgrade(item)["jobDetails"])
    return request


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRequest:
    """The request of a job, as it is kept.

    Attributes:
        first: the CreateTrainingJob request: what the job prefers.
        alternatives: the members that each further alternative replaces.
        sweep: of an array, what its members differ in; None for other jobs.
        accepted_ms: see :func:`request_item`.
    """

    first: dict[str, Any]
    alternatives: tuple[dict[str, Any], ...] = ()
    sweep: Sweep | None = None
    accepted_ms: int = 0

    @classmethod
    def parse(cls, item: Item) -> StoredRequest:
        """The request in an item.

        Raises:
            UnreadableRecord: the item is damaged, of another schema version, or has a sweep that newer code wrote.
        """
        try:
            return cls(
                first=request_in(item),
                alternatives=tuple(json.loads(item.get("alternatives", "[]"))),
                sweep=Sweep.parse(json.loads(item["sweep"])) if "sweep" in item else None,
                accepted_ms=item.get("acceptedMs", 0),
            )
        except (KeyError, TypeError, ValueError, RecursionError, InvalidSweep) as error:
            raise UnreadableRecord(f"{name_of(item)} is damaged: {type(error).__name__}") from error

    def of_member(self, name: str, index: int) -> StoredRequest:
        """The request of a member of an array, from that of the array.

        Args:
            name: the name of the member.
            index: which one it is.

        Raises:
            UnreadableRecord: its sweep has no such member.
        """
        try:
            parameters = self.sweep.values(index) if self.sweep is not None else {}
        except IndexError as error:
            raise UnreadableRecord(f"the sweep of `{name}` has no member {index}") from error
        return StoredRequest(
            first=member_request(self.first, parameters, name),
            alternatives=tuple(member_alternative(each, parameters) for each in self.alternatives),
            accepted_ms=self.accepted_ms,
        )

    def texts(self) -> tuple[str, str]:
        """The first request and the alternatives as canonical JSON, as a submission of them is kept."""
        first, *others = (
            json.dumps(each, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            for each in (self.first, *([self.alternatives] if self.alternatives else []))
        )
        return first, others[0] if others else ""

    def of(self, alternative: int) -> dict[str, Any]:
        """The CreateTrainingJob request of an alternative; 0 is the first preference."""
        return with_members(self.first, self.alternatives[alternative - 1]) if alternative else self.first
