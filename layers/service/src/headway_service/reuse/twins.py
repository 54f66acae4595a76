"""Finds the job that computes, or has computed, the same as another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace

from headway.dependencies import Ending
from headway_service.config.authorization import Access, Caller
from headway_service.errors import Conflict, UnreadableRecord
from headway_service.observability.logging import logger
from headway_service.places import Places
from headway_service.ports.clocks import Clocks
from headway_service.ports.objects import Objects
from headway_service.ports.table import Table, Write
from headway_service.reuse.fingerprint import (
    Fingerprint,
    KnownInputs,
    Question,
    fingerprint,
    outputs_digest,
    starts_afresh,
)
from headway_service.reuse.precedence import GivesUp, goes_first, how_it_gives_up
from headway_service.reuse.reader import MAX_READ_MS, Reader
from headway_service.reuse.request import NotReusable, account_in
from headway_service.sagemaker_api.outputs import outputs_of
from headway_service.store import transitions
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.records.job import JobRecord, StoredRequest
from headway_service.store.records.reuse import ComputedRecord, ReuseRecord
from headway_service.store.repository import find_job, find_reservation, find_stored_request

MAX_TWINS = 50
"""A job that has so many dependants gets no further equal one: half of the most that it may have are left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """An equal job has completed, and its outputs are there.

    Attributes:
        reuse: what the job that asks keeps of it.
        source: that job.
    """

    reuse: ReuseRecord
    source: JobRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Awaits:
    """An equal job has not ended.

    Attributes:
        twin: that job.
    """

    twin: JobRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Computes:
    """The job computes by itself.

    Attributes:
        reuse: what it keeps: its digest, if equal jobs may get its outputs.
        claim: the writes by which it computes for them, if so.
        why: a clause that says why no other job answers it; empty if there is none.
        follower: the equal job that waits for it from now on instead of computing; empty for none.
    """

    reuse: ReuseRecord
    claim: tuple[Write, ...] = ()
    why: str = ""
    follower: str = ""

    def computing(self, job: JobRecord) -> JobRecord:
        """The job as it computes."""
        followers = (self.follower,) if self.follower else ()
        return job.model_copy(update={"reuse": self.reuse, "dependants": (*job.dependants, *followers)})


Found = Answered | Awaits | Computes


class Twins:
    """Finds equal jobs, and notes which job computes for them.

    Args:
        objects: S3.
        places: which places training roles may read.
        buckets: the buckets that may be read; empty if no job is answered by another one.
        clocks: training time and machine time.
    """

    def __init__(
        self,
        table: Table,
        objects: Callable[[], Objects],
        places: Places,
        buckets: Collection[str],
        clocks: Clocks,
    ) -> None:
        self._table = table
        self._objects = objects
        self._places = places
        self._buckets = buckets
        self._clocks = clocks

    @property
    def enabled(self) -> bool:
        """Whether jobs may be answered by others at all."""
        return bool(self._buckets)

    def find(
        self,
        job: JobRecord,
        request: str,
        alternatives: str,
        caller: Caller,
        access: Access,
        inputs: KnownInputs | None = None,
    ) -> Found:
        """What a job that would enter its queues now does instead.

        Args:
            job: the job, which has ``reuse``.
            request: its CreateTrainingJob request, as JSON.
            alternatives: see :func:`headway_service.store.records.job.request_item`.
            caller: its owner. He learns nothing about jobs whose details he may not see.
            access: the rules on callers.
            inputs: objects that were read for other jobs just now; None to read all of them.

        Raises:
            Conflict: another invocation has noted something about an equal job meanwhile.
        """
        question = _question(job, request, alternatives)
        own = ReuseRecord(unpinned=question.unpinned)
        try:
            return self._find(job, question, own, caller, access, inputs)
        except NotReusable as error:
            return Computes(reuse=own, why=str(error))
        except UnreadableRecord:
            # The equal job stays the one that others are compared with: newer code may read it.
            return Computes(reuse=own)

    def _find(
        self,
        job: JobRecord,
        question: Question,
        own: ReuseRecord,
        caller: Caller,
        access: Access,
        inputs: KnownInputs | None,
    ) -> Found:
        until_ms = self._clocks.machine_ms() + MAX_READ_MS
        reader = self._reader(job, question, until_ms)
        found = fingerprint(question, reader, inputs)
        computing = own.model_copy(update={"key": found.key, "seen": found.seen})
        known = self._computed(found.key)
        if known is None:
            return self._claim(job, question, computing, reader)
        source = find_job(self._table, known.job_name)
        if source is not None and (
            # The same submission again: its acceptance finds the job.
            source.job_name == job.job_name
            # The owner must not learn that this job is equal.
            or not access.may_see_details(caller, source.owner, source.team)
        ):
            return Computes(reuse=own)
        if source is None or not _computes(source, found.key):
            return self._claim(job, question, computing, reader, known)
        if source.ending is None:
            goes_before = self._go_before(source, known, job, question, computing, reader, access)
            return goes_before or _await(source, own)
        try:
            return self._answer(computing, source, known, reader, until_ms)
        except NotReusable as error:
            why = f"`{source.job_name}` cannot answer: {error}"
            return self._claim(job, question, computing, reader, known, why=why)

    def _go_before(
        self,
        source: JobRecord,
        known: ComputedRecord,
        job: JobRecord,
        question: Question,
        computing: ReuseRecord,
        reader: Reader,
        access: Access,
    ) -> Computes | None:
        """The job computes in the place of an equal one that has not started; None if that one goes first."""
        if goes_first(source, job, self._clocks.training_ms(), self._paused(source, job)):
            return None
        gives_up = how_it_gives_up(source)
        if gives_up is None:
            return None
        found = self._claim(job, question, computing, reader, known)
        if not found.claim:
            return None
        owner = Caller(arn=source.owner or "", account=account_in(question.request))
        # The other owner must not learn of this job either.
        follows = gives_up is GivesUp.FOLLOWS and access.may_see_details(owner, job.owner, job.team)
        if not follows:
            return replace(found, claim=(*found.claim, transitions.compute_alone(source)))
        reservation = find_reservation(self._table, source.job_name)
        writes = transitions.give_way_to_twin(source, reservation, job.job_name, self._clocks.training_ms())
        return replace(found, claim=(*found.claim, *writes), follower=source.job_name)

    def _paused(self, source: JobRecord, job: JobRecord) -> set[str]:
        """Which of the pools of two equal jobs are paused, as far as that may differ between them."""
        pools = {*source.pools, *job.pools}
        if not source.is_queued or {*source.pools} == {*job.pools}:
            return set()
        items = self._table.get_all([PauseRecord.key(pool) for pool in sorted(pools)])
        return {PauseRecord.parse(item).pool for item in items}

    def _answer(
        self, asking: ReuseRecord, source: JobRecord, known: ComputedRecord, reader: Reader, until_ms: int
    ) -> Answered:
        """The outputs of a job that has completed, for an equal one.

        Raises:
            NotReusable: they cannot be used.
            Conflict: another job computes the same meanwhile.
        """
        if not known.outputs:
            # The tick after its end has not done it yet. It may have ended after the inputs were read for others.
            known = self._note_outputs(source, known, until_ms)
        if self._outputs_of(source, reader) != known.outputs:
            raise NotReusable("its outputs have changed, or are gone")
        answer = {"seen": "", "job_name": source.job_name, "attempt_name": source.output_attempt}
        return Answered(reuse=asking.model_copy(update=answer), source=source)

    def note_outputs(self, ended: EndedJobRecord, inputs: KnownInputs | None = None) -> None:
        """Note the outputs of a job that has ended, before the jobs that wait for it are notified.

        Args:
            ended: the job.
            inputs: objects that were read for other jobs after its end; None to read all of them.
        """
        try:
            source = find_job(self._table, ended.job_name)
            known = None if source is None or source.reuse is None else self._computed(source.reuse.key)
        except UnreadableRecord:
            # Those that wait for it go on without its outputs.
            return
        if source is None or known is None or known.job_name != source.job_name or known.outputs:
            return
        # Another job may compute the same since: then there is nothing to note.
        with suppress(Conflict):
            try:
                self._note_outputs(source, known, self._clocks.machine_ms() + MAX_READ_MS, inputs)
            except NotReusable:
                self._table.write([transitions.forget_computation(known)])

    def _claim(
        self,
        job: JobRecord,
        question: Question,
        computing: ReuseRecord,
        reader: Reader,
        known: ComputedRecord | None = None,
        why: str = "",
    ) -> Computes:
        """The job computes for equal ones too, unless it continues from checkpoints of an earlier one."""
        if not starts_afresh(question.request, reader):
            continues = "there are checkpoints that it continues from (CheckpointConfig)"
            return Computes(reuse=ReuseRecord(unpinned=computing.unpinned), why=why or continues)
        claim = transitions.claim_computation(job.job_name, computing.key, known)
        return Computes(reuse=computing, claim=(claim,), why=why)

    def _note_outputs(
        self, source: JobRecord, known: ComputedRecord, until_ms: int, inputs: KnownInputs | None = None
    ) -> ComputedRecord:
        """Note the outputs of a job that has completed, if no object that it reads was written since it was accepted.

        Raises:
            NotReusable: there was one, or there are no outputs, or they cannot be read.
            Conflict: another job computes the same meanwhile.
        """
        if source.ending is not Ending.COMPLETED:
            raise NotReusable("it has not completed")
        question = _question(source, *self._stored(source).texts())
        _require_unchanged(source.reuse, fingerprint(question, self._reader(source, question, until_ms), inputs))
        outputs = self._outputs_of(source, self._reader(source, question, until_ms))
        if not outputs:
            raise NotReusable("it has no outputs")
        noted, write = transitions.note_outputs(known, outputs, source.expires_at)
        self._table.write([write])
        return noted

    def _outputs_of(self, source: JobRecord, reader: Reader) -> str:
        return outputs_digest(outputs_of(self._stored(source).first, source.output_attempt)["output"], reader)

    def _stored(self, source: JobRecord) -> StoredRequest:
        try:
            stored = find_stored_request(self._table, source.job_name, source.accepted_time)
        except UnreadableRecord as error:
            raise NotReusable("the queue cannot read its request") from error
        if stored is None:
            raise NotReusable("the queue no longer has its request")
        return stored

    def _computed(self, key: str) -> ComputedRecord | None:
        item = self._table.get(ComputedRecord.key(key))
        return None if item is None else ComputedRecord.parse(item)

    def _reader(self, job: JobRecord, question: Question, until_ms: int) -> Reader:
        def note_error(error: Exception) -> None:
            logger.error("a job is not compared with others", extra={"job": job.job_name}, exc_info=error)

        role = str(question.request["RoleArn"])
        return Reader(role, self._objects(), self._places, self._buckets, self._clocks.machine_ms, until_ms, note_error)


def _computes(source: JobRecord, key: str) -> bool:
    """Whether a job computes, or has computed, what a digest stands for."""
    return source.reuse is not None and source.reuse.key == key and source.ending in {None, Ending.COMPLETED}


def _await(source: JobRecord, own: ReuseRecord) -> Found:
    """A job waits for an equal one that has not ended, unless too many do."""
    if len(source.dependants) >= MAX_TWINS:
        return Computes(reuse=own, why=f"{MAX_TWINS} jobs wait for `{source.job_name}` already")
    return Awaits(twin=source)


def _question(job: JobRecord, request: str, alternatives: str) -> Question:
    return Question(
        request=json.loads(request),
        alternatives=alternatives,
        team=job.team,
        unpinned=job.reuse is not None and job.reuse.unpinned,
        member=job.job_name if job.member_of else "",
    )


def _require_unchanged(before: ReuseRecord | None, found: Fingerprint) -> None:
    """Check that a job has computed what its digest stands for.

    Raises:
        NotReusable: it may not have.
    """
    if before is None or found.seen != before.seen:
        raise NotReusable("its request, or an object that it reads, was changed before it had ended")
