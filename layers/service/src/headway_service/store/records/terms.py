"""The terms of a job as its records store them: declared once, and made into :class:`headway.job_terms.JobTerms` here.

A new attribute has a default, which is not stored: so items stay as they were for jobs that do not use it, and the code
of before and that of after a deployment read each other's items.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

from headway.job_terms import JobTerms, Standing
from headway_service.store.records.base import Record


class ListedTerms(Record):
    """The terms that a decision has to know of a waiting job. The index projects them, hundreds of times for a page."""

    priority: int
    #: When it was accepted, when its dependencies were met, or when it was changed to ask for more, ms.
    entry_time: int
    #: The members of :class:`headway.job_terms.Standing`.
    handicap_ms: int = 0
    left_ms: int | None = None
    expected_ms: int | None = None
    extension_ms: int = 0
    attained_ms: int | None = None
    max_handicap_ms: int = 0
    #: The team that is charged; empty for none.
    team: str = ""
    #: It holds its instances no longer than this once it has started, ms; None if nothing limits it.
    limit_ms: int | None = None
    #: What SageMaker matches its request and warm pools by; empty if it neither uses nor leaves one.
    warm_key: str = ""
    #: For how long the instances of its attempts are kept warm after their end, s.
    keep_s: int = 0
    #: Whether it may start although it may still run when its training plan has no instances left.
    stops_for_size: bool = False
    #: Those of its tags that budgets are by.
    budget_tags: tuple[str, ...] = ()

    @property
    def standing(self) -> Standing:
        """What it is compared by with its equals."""
        return Standing(
            handicap_ms=self.handicap_ms,
            left_ms=self.left_ms,
            expected_ms=self.expected_ms,
            extension_ms=self.extension_ms,
            attained_ms=self.attained_ms,
            max_handicap_ms=self.max_handicap_ms,
        )

    def waiting_terms(self, owner: str, **more: Any) -> JobTerms:
        """The terms of the job while it waits.

        Args:
            owner: the mark of its owner (:func:`headway.job_terms.owner_hash`).
            more: the terms that only some records have.
        """
        return JobTerms(
            priority=self.priority,
            entry_time_ms=self.entry_time,
            standing=self.standing,
            team=self.team,
            limit_ms=self.limit_ms,
            warm_key=self.warm_key,
            keep_ms=self.keep_s * 1000,
            stops_for_size=self.stops_for_size,
            owner=owner,
            budget_tags=self.budget_tags,
            **more,
        )


class QueuedTerms(ListedTerms):
    """With the terms that queue entries have as well, and listings do not need."""

    #: What it runs, by which jobs like it are recognized; empty if its run time is neither predicted nor kept.
    source: str = ""
    #: What its limit has beside the MaxRuntimeInSeconds of its request, s; None if it comes from another member, and in
    #: items of a time before it was kept. Only what waits has it.
    beside_s: int | None = None
    #: Whether the request names a checkpoint location.
    checkpoints: bool = False
    #: How often it writes a checkpoint, s; None if its request does not say.
    checkpoint_interval_s: int | None = None
    #: Whether it may be stopped for another job at all.
    preemptible: bool = True
    #: How often it has given way to another job.
    preemption_count: int = 0
    #: How often it may; None for what the policy says.
    max_preemptions: int | None = None

    def waiting_terms(self, owner: str, **more: Any) -> JobTerms:
        """The same, with what it runs, and whether it may be stopped: only then it fills a gap."""
        return super().waiting_terms(
            owner,
            source=self.source,
            allowance_ms=None if self.beside_s is None else self.beside_s * 1000,
            checkpoints=self.checkpoints,
            checkpoints_every_ms=self.checkpoint_interval_s and self.checkpoint_interval_s * 1000,
            preemptible=self.preemptible,
            preemptions=self.preemption_count,
            max_preemptions=self.max_preemptions,
            **more,
        )


class AllTerms(QueuedTerms):
    """With the terms that matter only while a job runs, so that its queue entries, read by the thousand, lack them."""

    #: How often it is retried after failures of one kind; None for what the policy says.
    max_retries: int | None = None

    def terms(self, owner: str) -> JobTerms:
        """The terms of the job.

        Args:
            owner: the mark of its owner.
        """
        return self.waiting_terms(owner, max_retries=self.max_retries)

    def attributes_for(self, record: type[Record]) -> dict[str, Any]:
        """The stored terms that another record of the job has as well, by attribute."""
        mine = vars(self)
        return {name: mine[name] for name in _shared(record)}


@cache
def _shared(record: type[Record]) -> tuple[str, ...]:
    return tuple(name for name in AllTerms.model_fields if name in record.model_fields)


def attributes_of(terms: JobTerms) -> dict[str, Any]:
    """How :class:`AllTerms` stores terms, by attribute. Records keep the owner each in its own way."""
    every_ms = terms.checkpoints_every_ms
    return {
        "priority": terms.priority,
        "entry_time": terms.entry_time_ms,
        **asdict(terms.standing),
        "team": terms.team,
        "limit_ms": terms.limit_ms,
        "warm_key": terms.warm_key,
        "keep_s": terms.keep_ms // 1000,
        "stops_for_size": terms.stops_for_size,
        "source": terms.source,
        "budget_tags": terms.budget_tags,
        "beside_s": None if terms.allowance_ms is None else terms.allowance_ms // 1000,
        "checkpoints": terms.checkpoints,
        "checkpoint_interval_s": None if every_ms is None else every_ms // 1000,
        "preemptible": terms.preemptible,
        "preemption_count": terms.preemptions,
        "max_preemptions": terms.max_preemptions,
        "max_retries": terms.max_retries,
    }
