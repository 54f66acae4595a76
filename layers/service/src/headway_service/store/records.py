"""What is kept in the table, item by item, and under which keys.

=====================  ==========================  ============================================================
partition ``pk``       sort key ``sk``             item
=====================  ==========================  ============================================================
``job#<job>``          ``job``                     :class:`JobRecord`: state, reasons, ended attempts
``job#<job>``          ``request``                 the CreateTrainingJob request; never changes, so that a
                                                   change of state does not pay for writing it again
``line#<pool>#<team>`` rank                        :class:`LineEntry`: one per pool that a waiting job demands;
                                                   ``line#<pool>`` for jobs without a team
``ledger``             ``attempt#<attempt>``       :class:`AttemptRecord`: an attempt that holds instances
``ledger``             ``pause#<pool>``            :class:`PauseRecord`: a pool that somebody has paused; ``pause#*``
                                                   for all pools
``ledger``             ``pool#<pool>``             :class:`PoolRecord`: its size and what is free
``ledger``             ``reservation#<job>``       :class:`ReservationRecord`: freed for a waiting job
``ledger``             ``rogue#<training job>``    :class:`RogueRecord`: one that did not come through the queue
``ledger``             ``team#<team>``             :class:`TeamRecord`: a team that has lines
``config``             ``config``                  the last valid configuration
``config``             ``edit#<invocation>``       a write of the configuration that is not known to have ended well
``config``             ``lease``                   who changes the configuration now
``deployment``         ``deployment``              the key of the marks (:mod:`headway_service.store.marks`)
``launch#<attempt>``   ``given up``                :class:`GivenUpRecord`: a launch that is over for the queue
``sweep``              ``sweep``                   :class:`SweepRecord`: how far all training jobs were gone through
=====================  ==========================  ============================================================

The ledger is one partition, so that one strongly consistent query reads all that holds capacity.
Each team has a line of its own in each pool, so that the backlog of one team cannot hide the jobs of another.
The index ``listing`` holds the job items: ``listing`` is holding, waiting or ended, ``listingKey`` the order.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from headway.lifecycle import HOLDING, TERMINAL, WAITING, AttemptState, JobState
from headway.model import OUTSIDE, Allocation, Pause, Reservation, WaitingJob
from headway.reasons import Reason, ReasonCode
from headway.scheduling.ordering import MAX_PRIORITY, rank_key
from headway_service.ports.table import Absent, AllEqual, Delete, Equals, Item, Key, Put
from headway_service.sagemaker_api.names import attempt_name
from headway_service.store.schema_version import stamped, upgraded

MAX_HISTORY = 50
"""Steps of a job's history that are kept; of a longer one the first and the newest."""

MAX_ENDED_ATTEMPTS = 20
"""Ended attempts that are kept with a job, the newest."""

LEDGER = "ledger"

_ASKED_FOR = ("version", "starts")
"""What conditions of writes ask for is always written, whatever it is."""


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore", hide_input_in_errors=True
    )

    @classmethod
    def parse(cls, item: Item) -> Self:
        """The record in an item."""
        return cls.model_validate(upgraded(item))

    def fields(self) -> dict[str, Any]:
        """The attributes of the item, without keys, and without those that say what is so unless it is said.

        An item is paid for by its size: a usual job that has ended just so keeps within the kilobyte of a write unit.
        """
        said = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        fields = vars(self)
        asked_for = {name: fields[name] for name in _ASKED_FOR if name in fields}
        return stamped(said | asked_for)


class ReasonRecord(_Record):
    """A :class:`headway.reasons.Reason` as it is kept."""

    code: ReasonCode
    message: str
    jobs: tuple[str, ...] = ()

    @classmethod
    def of(cls, reason: Reason) -> ReasonRecord:
        """The record of a reason."""
        return cls(code=reason.code, message=reason.message, jobs=reason.jobs)


class Step(_Record):
    """A step of a job's history."""

    time_ms: int
    job_state: JobState
    reason: ReasonRecord
    attempt_name: str | None = None


class EndedAttempt(_Record):
    """An attempt that has ended."""

    attempt_name: str
    number: int
    since_ms: int
    ended_ms: int
    training_job_status: str | None = None
    secondary_status: str | None = None
    failure_reason: str | None = None
    reason: ReasonRecord


class Usage(_Record):
    """What a job has had of its pools."""

    #: When its first attempt that was launched got its instances, ms.
    started_ms: int | None = None
    #: What its ended attempts held, by pool: instances times ms.
    instance_ms: dict[str, int] = Field(default_factory=dict)


class JobRecord(_Record):
    """An accepted job. ``version`` counts its changes; each is conditional on the one before."""

    job_name: str
    job_state: JobState
    priority: int
    #: When it was accepted, ms.
    entry_time: int
    #: How much later than its entry its turn comes among jobs of its priority, ms.
    handicap_ms: int = 0
    demand: dict[str, int]
    #: Whether the request names a checkpoint location.
    checkpoints: bool = False
    #: Who is charged; empty for nobody in particular.
    team: str = ""
    #: It holds its instances no longer than this once it has started, ms; None if nothing limits it.
    limit_ms: int | None = None
    #: Whether it may be stopped for another job at all.
    preemptible: bool = True
    #: How often it has given way to another job.
    preemption_count: int = 0
    #: ARN of the caller that submitted it.
    owner: str | None = None
    #: Digest of the canonical request, to tell the same request from another one of that name.
    request_digest: str
    #: What the call that submitted it was known by, if its caller said.
    idempotency_key: str | None = None
    #: Whether it stands in no line until somebody releases it, though it waits.
    held: bool = False
    usage: Usage = Field(default_factory=Usage)
    #: Launches so far; names the next attempt.
    attempt_count: int = 0
    live_attempt: str | None = None
    not_before_ms: int = 0
    #: What keeps it until then, unless it is that its launch was postponed.
    held_by: str = ""
    #: How often it was tried again after a failure, by the kind of that.
    retried: dict[str, int] = Field(default_factory=dict)
    #: How often spot instances were taken from its ended attempts.
    interruptions: int = 0
    #: Whether its attempts run on demand from now on, though its request asks for spot instances.
    on_demand: bool = False
    #: Its limit then, ms; None if it does not ask for spot instances.
    on_demand_limit_ms: int | None = None
    #: How often the policy has put it back into the line.
    requeues: int = 0
    reason: ReasonRecord
    history: tuple[Step, ...] = ()
    attempts: tuple[EndedAttempt, ...] = ()
    ended_ms: int | None = None
    #: When the table may forget it, s since the epoch; set when the job has ended.
    expires_at: int | None = None
    version: int = 1

    @staticmethod
    def key(job: str) -> Key:
        """Where the job is kept."""
        return Key(f"job#{job}", "job")

    def listed(self) -> tuple[str, str]:
        """The listing it belongs to and its place there."""
        if self.job_state in TERMINAL:
            return "ended", f"{self.ended_ms:013d}#{self.job_name}"
        return "holding" if self.job_state in HOLDING else "waiting", self.rank()

    def rank(self) -> str:
        """Its place in a line, as a sort key."""
        return _rank(self)

    def put(self, *, was: int | None = None) -> Put:
        """The write that stores it, on condition that the stored version is still ``was``."""
        key = self.key(self.job_name)
        listing, listing_key = self.listed()
        item = {"pk": key.pk, "sk": key.sk, "listing": listing, "listingKey": listing_key, **self.fields()}
        return Put(item=item, requires=None if was is None else Equals("version", was))

    @property
    def in_line(self) -> bool:
        """Whether it stands in its lines: it waits, and nobody holds it."""
        return self.job_state in WAITING and not self.held

    def line_keys(self) -> list[Key]:
        """Where its entries in the lines are kept, if it stands there."""
        rank = self.rank()
        return [Key(LineEntry.partition(pool, self.team), rank) for pool in sorted(self.demand)] if self.in_line else []

    def line_entries(self) -> list[LineEntry]:
        """Its entries in the lines, if it stands there."""
        if not self.in_line:
            return []
        return [
            LineEntry(
                pool=pool,
                job_name=self.job_name,
                demand=self.demand,
                priority=self.priority,
                entry_time=self.entry_time,
                handicap_ms=self.handicap_ms,
                not_before_ms=self.not_before_ms,
                held_by=self.held_by,
                team=self.team,
                limit_ms=self.limit_ms,
                owned_by=owner_mark(self.owner),
            )
            for pool in sorted(self.demand)
        ]

    def waiting(self) -> WaitingJob:
        """It as the scheduler sees it, if it stands in line: what each of its entries there says."""
        return _waiting(self)


class LineEntry(_Record):
    """A waiting job in its team's line of one pool, with all that planning needs."""

    pool: str
    job_name: str
    demand: dict[str, int]
    priority: int
    entry_time: int
    handicap_ms: int = 0
    not_before_ms: int = 0
    held_by: str = ""
    team: str = ""
    limit_ms: int | None = None
    #: See :func:`owner_mark`; empty as well in entries of a time before it was kept.
    owned_by: str = ""

    @staticmethod
    def partition(pool: str, team: str = "") -> str:
        """The partition that holds a team's line of a pool."""
        # Without a team it is called as it was before there were teams, so that who waits goes on waiting there.
        return f"line#{pool}#{team}" if team else f"line#{pool}"

    def key(self) -> Key:
        """Where the entry is kept: in rank order."""
        return Key(
            self.partition(self.pool, self.team),
            _rank(self),
        )

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key()
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    @classmethod
    def key_of(cls, job: WaitingJob) -> Key:
        """Where the entry of a waiting job is kept; of its entries the one in the first of its pools."""
        rank = rank_key(job.priority, job.turn_ms, job.name)
        return Key(cls.partition(min(job.demand), job.team), rank)

    def waiting(self) -> WaitingJob:
        """The job as the scheduler sees it."""
        return _waiting(self)


def owner_mark(owner: str | None) -> str:
    """What tells an owner's entries in a line from those of others; empty for nobody in particular.

    An ARN may have 2048 characters, and entries are read by the thousand.
    """
    return hashlib.sha256(owner.encode()).hexdigest()[:16] if owner else ""


NOBODY = ""
"""Holder of a lease that was given back."""


class StopCause(StrEnum):
    """Why an attempt is stopped."""

    PREEMPTION = "preemption"
    REQUEST = "request"
    #: The policy ends the job.
    POLICY = "policy"
    #: The policy puts the job back into the line, with another priority ...
    REQUEUE = "requeue"
    #: ... or to go on without spot instances.
    ON_DEMAND = "on-demand"


class AttemptRecord(_Record):
    """An attempt that holds instances: from the intent to launch it until SageMaker has ended it."""

    attempt_name: str
    job_name: str
    number: int
    attempt_state: AttemptState
    #: The value of the tag ``headway:attempt``, by which the queue knows its own training job.
    mark: str
    demand: dict[str, int]
    priority: int
    checkpoints: bool = False
    #: Of its job: when that was accepted, ms, and what else a decision wants to know of it.
    entry_time: int | None = None
    handicap_ms: int = 0
    team: str = ""
    limit_ms: int | None = None
    preemptible: bool = True
    preemption_count: int = 0
    since_ms: int
    #: While launching: the invocation that may settle the launch ...
    lease_holder: str
    #: ... and when that right passes to whoever takes it, ms. No invocation outlives its leases.
    lease_until_ms: int
    #: While launching: until when a CreateTrainingJob may have taken effect whose answer nobody has, ms; None if every
    #: call so far was clearly refused.
    unanswered_ms: int | None = None
    #: Since when SageMaker says that there is no such training job, ms; None if it has not said so since it showed it.
    missing_since_ms: int | None = None
    stop_cause: StopCause | None = None
    #: When it was first decided that it stops, ms.
    stopping_since_ms: int | None = None
    #: Why the policy stops it.
    stop_reason: str = ""
    #: The priority that its job goes on with, if it is requeued.
    requeue_priority: int | None = None
    #: When StopTrainingJob was answered, ms.
    stop_sent_ms: int | None = None
    freed_for: str | None = None
    freed: dict[str, int] = Field(default_factory=dict)
    training_job_status: str | None = None
    secondary_status: str | None = None
    #: While it trains: since when, ms.
    training_since_ms: int | None = None
    #: Whether it runs on demand, though its request asks for spot instances.
    on_demand: bool = False
    #: How often spot instances were taken from it.
    interruptions: int = 0
    #: Whether the rules were looked at since it runs, or there were none when it was started.
    ruled: bool = False
    #: Watches that have told that it uses too little.
    told: tuple[str, ...] = ()
    #: LastModifiedTime of the newest status seen, ms.
    modified_ms: int = 0
    #: When SageMaker was last heard of it, ms.
    seen_ms: int
    version: int = 1

    @classmethod
    def next_of(cls, job: JobRecord, **more: Any) -> AttemptRecord:
        """The next attempt of a waiting job.

        Args:
            job: the job.
            more: what does not follow from the job.
        """
        number = job.attempt_count + 1
        return cls(
            attempt_name=attempt_name(job.job_name, number),
            job_name=job.job_name,
            number=number,
            demand=job.demand,
            priority=job.priority,
            checkpoints=job.checkpoints,
            entry_time=job.entry_time,
            handicap_ms=job.handicap_ms,
            team=job.team,
            limit_ms=job.limit_ms,
            on_demand=job.on_demand,
            preemptible=job.preemptible,
            preemption_count=job.preemption_count,
            **more,
        )

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

    def allocation(self) -> Allocation:
        """It as the scheduler sees it."""
        return Allocation(
            job=self.job_name,
            attempt=self.attempt_name,
            demand=self.demand,
            priority=self.priority,
            since_ms=self.since_ms,
            entry_time_ms=self.entry_time,
            handicap_ms=self.handicap_ms,
            team=self.team,
            limit_ms=self.limit_ms,
            checkpoints=self.checkpoints,
            preemptible=self.preemptible,
            preemptions=self.preemption_count,
            stopping=self.stop_cause is not None,
            freed_for=self.freed_for,
            freed=self.freed or None,
        )


class GivenUpRecord(_Record):
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


class RogueRecord(_Record):
    """A live training job that did not come through the queue. What is charged for it is not free in its pools."""

    training_job_name: str
    arn: str
    #: CreationTime, ms: tells it from another training job that gets its name later.
    created_ms: int
    training_job_status: str
    #: Instances per type.
    demand: dict[str, int]
    #: The part of them that its pools are charged.
    charged: dict[str, int] = Field(default_factory=dict)
    #: The team that its tags name, for people. Anybody may name any, so it is charged to none.
    team: str = ""
    #: It holds its instances no longer than this, from its creation on, ms.
    limit_ms: int
    #: When it was first seen, ms, and last.
    since_ms: int
    seen_ms: int
    reason: ReasonRecord
    #: Whether it carries the mark of an attempt: a copy of one, or an attempt that the ledger has lost.
    marked: bool = False
    #: Whether it is to be stopped.
    stop: bool = False
    #: The operator who asked for that, as in ``user/ada``; empty if none did.
    stop_asked_by: str = ""
    #: When that was tried last, ms, and why it did not work, if it did not.
    stop_sent_ms: int | None = None
    stop_problem: str = ""
    #: Version of the configuration that it was judged by.
    config_version: int
    version: int = 1

    @staticmethod
    def key(name: str) -> Key:
        """Where it is kept while it is live."""
        return Key(LEDGER, f"rogue#{name}")

    def put(self, *, requires: Absent | Equals) -> Put:
        """The write that stores it."""
        key = self.key(self.training_job_name)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=requires)

    def delete(self) -> Delete:
        """The write that removes it, on condition that it has not changed."""
        return Delete(key=self.key(self.training_job_name), requires=Equals("version", self.version))

    def allocation(self) -> Allocation:
        """It as the scheduler sees it: nobody may stop it, and it ends by its own limit at the latest."""
        # No job and no attempt has such a name.
        name = f"rogue#{self.training_job_name}"
        return Allocation(
            job=name,
            attempt=name,
            demand=self.charged,
            priority=MAX_PRIORITY,
            since_ms=self.created_ms,
            team=OUTSIDE,
            limit_ms=self.limit_ms,
            preemptible=False,
            stopping=self.training_job_status == "Stopping",
            outside=self.training_job_name,
        )


class SweepRecord(_Record):
    """Where the next page of all training jobs begins, while the listing goes on."""

    created_after_ms: int
    token: str
    #: When the listing began, ms.
    began_ms: int = 0

    KEY: ClassVar[Key] = Key("sweep", "sweep")

    def put(self) -> Put:
        """The write that stores it."""
        return Put(item={"pk": self.KEY.pk, "sk": self.KEY.sk, **self.fields()})


class PoolRecord(_Record):
    """The ledger of one pool: ``free`` is its size less allocations, reservations and what rogue jobs are charged.

    It becomes negative when the pool shrinks below its use, and when rogue jobs take what was not free.
    """

    pool: str
    size: int
    free: int
    #: Nothing is launched here before this, ms: SageMaker did not answer as it should ...
    #: (It was called a pause before people could pause a pool, and is stored as that.)
    backs_off_until_ms: int = Field(default=0, alias="pausedUntilMs")
    #: ... so often in a row, the last time with this.
    back_offs: int = Field(default=0, alias="pauses")
    back_off_cause: str = Field(default="", alias="pauseCause")

    @staticmethod
    def key(pool: str) -> Key:
        """Where the ledger is kept."""
        return Key(LEDGER, f"pool#{pool}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.pool)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})


class PauseRecord(_Record):
    """A pool, or everything, that somebody has paused: until it is gone nothing starts, and nobody is preempted."""

    EVERYTHING: ClassVar[str] = "*"

    #: :attr:`EVERYTHING` for all pools, those too that are added later.
    pool: str
    #: Who did it, as in ``user/ada``, and why.
    by: str
    reason: str
    since_ms: int
    #: Whether what runs is stopped and put back into the line.
    stops: bool = False
    #: When the table was restored, ms: the pause lasts until the patrol has looked at all training jobs since then.
    restored_ms: int | None = None
    #: Whether it goes on after that, as somebody had paused everything before.
    stays: bool = False

    @staticmethod
    def key(pool: str) -> Key:
        """Where the pause of a pool is kept."""
        return Key(LEDGER, f"pause#{pool}")

    def put(self, *, requires: Absent | Equals | AllEqual) -> Put:
        """The write that stores it."""
        key = self.key(self.pool)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=requires)

    def pause(self) -> Pause:
        """It as the scheduler sees it."""
        everything = self.pool == self.EVERYTHING
        return Pause(by=self.by, since_ms=self.since_ms, reason=self.reason, everything=everything)


class ReservationRecord(_Record):
    """Instances freed for a waiting job."""

    job_name: str
    demand: dict[str, int]
    version: int = 1

    @staticmethod
    def key(job: str) -> Key:
        """Where the reservation is kept."""
        return Key(LEDGER, f"reservation#{job}")

    def put(self, *, was: int | None) -> Put:
        """The write that stores it, on condition that the stored version is still ``was`` (None: none stored)."""
        key = self.key(self.job_name)
        return Put(
            item={"pk": key.pk, "sk": key.sk, **self.fields()},
            requires=Absent() if was is None else Equals("version", was),
        )

    def delete(self) -> Delete:
        """The write that removes it, on condition that it has not changed."""
        return Delete(key=self.key(self.job_name), requires=Equals("version", self.version))

    def reservation(self) -> Reservation:
        """It as the scheduler sees it."""
        return Reservation(job=self.job_name, demand=self.demand)


class TeamRecord(_Record):
    """A team that has lines, or had them not long ago: they are read until they are empty."""

    team: str
    #: When the team was taken out of the configuration, ms; None while it is in it.
    left_ms: int | None = None
    #: Starts of its jobs while it has a limit. Each is conditional on the one before, so that two decisions at once
    #: cannot exceed the limit together.
    starts: int = 0

    @staticmethod
    def key(team: str) -> Key:
        """Where the team is kept."""
        return Key(LEDGER, f"team#{team}")

    def put(self, *, requires: Absent | Equals) -> Put:
        """The write that stores it."""
        key = self.key(self.team)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=requires)


def _rank(of: JobRecord | LineEntry) -> str:
    return rank_key(of.priority, of.entry_time + of.handicap_ms, of.job_name)


def _waiting(of: JobRecord | LineEntry) -> WaitingJob:
    return WaitingJob(
        name=of.job_name,
        demand=of.demand,
        priority=of.priority,
        entry_time_ms=of.entry_time,
        handicap_ms=of.handicap_ms,
        not_before_ms=of.not_before_ms,
        held_by=of.held_by,
        team=of.team,
        limit_ms=of.limit_ms,
    )


def request_key(job: str) -> Key:
    """Where the request of a job is kept."""
    return Key(f"job#{job}", "request")


def request_item(job: str, request: str) -> Item:
    """The request of a job, as JSON, as it is kept."""
    key = request_key(job)
    return stamped({"pk": key.pk, "sk": key.sk, "jobDetails": request})


def request_in(item: Item) -> dict[str, Any]:
    """The request in an item."""
    request: dict[str, Any] = json.loads(upgraded(item)["jobDetails"])
    return request
