"""What follows from a request that may enter the queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from headway.job_terms import JobTerms
from headway.jobpolicy.training_job import tags_in
from headway.vectors import total
from headway_service.admission import dependencies, reuse
from headway_service.admission.arrays import AdmittedArray
from headway_service.admission.checks import warm_pools
from headway_service.admission.checks.draft import Draft
from headway_service.admission.kept import Kept
from headway_service.admission.policy_view import job_allowance_ms, job_limit_ms, pending_limit_s
from headway_service.admission.submission import Submission
from headway_service.sagemaker_api.request_change import run_time_s
from headway_service.sagemaker_api.run_source import run_source
from headway_service.store.records.alternative import AlternativeRecord
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.reuse import ReuseRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Admitted:
    """A request that may enter the queue."""

    name: str
    #: The request as canonical JSON, as it is kept and launched.
    request: str
    #: Digest of ``request``, and of what comes with it.
    digest: str
    #: The members that each of its alternatives replaces, as canonical JSON; empty for none.
    alternatives: str = ""
    #: All that the job can run on, the request itself first; empty without alternatives.
    choices: tuple[AlternativeRecord, ...] = ()
    #: For how long it waits for a better alternative, s, and whether it may choose again after an attempt.
    wait_at_most_s: int = 0
    portable_checkpoint: bool = False
    #: What it is an array of; None for one job.
    array: AdmittedArray | None = None
    #: The jobs that have to end first, as submitted.
    depends_on: tuple[DependencyRecord, ...] = ()
    #: Whether an equal job may answer it, and how; None if not.
    reuse: ReuseRecord | None = None
    demand: Mapping[str, int]
    #: Those of the job, but for what follows from its entry: its time, its standing and its owner.
    terms: JobTerms
    #: Its MaxRuntimeInSeconds.
    max_run_s: int
    #: Its limit on demand, ms, for a request for spot instances; None for other requests.
    on_demand_limit_ms: int | None = None
    #: How long an attempt on on-demand instances may wait for them, s; None for no limit.
    pending_limit_s: int | None = None
    #: When it enters the queue, and by when it has to have started, ms; None for at once, and for any time.
    not_before_ms: int | None = None
    start_by_ms: int | None = None
    #: For how long its team lets it wait in the queue, s; None for ever.
    max_wait_s: int | None = None
    #: Whether it requests a warm pool, which is removed at the launch.
    warm_pool: bool = False

    @property
    def all_demands(self) -> Mapping[str, int]:
        """Instances per pool of all its alternatives, no two of which share a pool."""
        return total(each.demand for each in self.choices) if self.choices else self.demand


def admitted(submission: Submission, kept: Kept, drafts: Sequence[Draft], array: AdmittedArray | None) -> Admitted:
    """What follows from a submission that nothing is wrong with.

    Args:
        kept: what is kept of it.
        drafts: its request, and the request of each further alternative.
        array: what it is an array of; None for one job.
    """
    request = drafts[0].request
    choices = tuple(_choice(each, with_warm_pool=each is drafts[0]) for each in drafts)
    first = choices[0]
    return Admitted(
        name=request.name,
        request=kept.request,
        digest=kept.digest,
        array=array,
        alternatives=kept.alternatives,
        choices=choices if len(choices) > 1 else (),
        wait_at_most_s=submission.wait_at_most_s,
        portable_checkpoint=submission.portable_checkpoint,
        depends_on=dependencies.dependencies(submission.depends_on),
        reuse=reuse.reuse(submission.reuse, submission.reuse_unpinned),
        demand=first.demand,
        terms=_terms(drafts[0], first, pools={pool for each in choices for pool in each.demand}),
        max_run_s=run_time_s(request.raw),
        on_demand_limit_ms=first.on_demand_limit_ms,
        pending_limit_s=first.pending_limit_s,
        not_before_ms=request.not_before_ms,
        start_by_ms=request.start_by_ms,
        max_wait_s=None if array is not None else drafts[0].configuration.max_wait_s(drafts[0].team),
        warm_pool=request.warm_pool and not first.keep_s,
    )


def _terms(draft: Draft, choice: AlternativeRecord, *, pools: Collection[str]) -> JobTerms:
    """Those of a job.

    Args:
        draft: its request.
        choice: what follows from it for an attempt.
        pools: all that it could run in.
    """
    request, configuration = draft.request, draft.configuration
    return JobTerms(
        priority=_priority(draft),
        entry_time_ms=0,
        team=draft.team,
        limit_ms=choice.limit_ms,
        allowance_ms=None if request.spot else job_allowance_ms(draft.raw, configuration),
        preemptible=request.preemptible,
        max_preemptions=request.max_preemptions,
        max_retries=request.max_retries,
        checkpoints="CheckpointConfig" in draft.raw,
        checkpoints_every_ms=request.checkpoint_interval_s and request.checkpoint_interval_s * 1000,
        warm_key=choice.warm_key,
        keep_ms=choice.keep_s * 1000,
        stops_for_size=request.stops_for_size(pools),
        source=run_source(draft.raw) if configuration.predictions else "",
        budget_tags=configuration.budget_tags(tags_in(draft.raw.get("Tags"))),
    )


def _choice(draft: Draft, *, with_warm_pool: bool) -> AlternativeRecord:
    """What follows from the request of an alternative for an attempt on it."""
    request, configuration, raw = draft.request, draft.configuration, draft.raw
    # A decision looks for warm pools for the first preference only.
    warm_key = warm_pools.key(request, configuration) if with_warm_pool else ""
    return AlternativeRecord(
        demand=draft.demand,
        limit_ms=job_limit_ms(raw, configuration),
        max_run_s=run_time_s(raw),
        on_demand_limit_ms=job_limit_ms(raw, configuration, left_spot=True) if request.spot else None,
        pending_limit_s=pending_limit_s(raw, configuration),
        warm_key=warm_key,
        keep_s=request.keep_alive_s if warm_key else 0,
    )


def _priority(draft: Draft) -> int:
    given, configuration = draft.request.priorities, draft.configuration
    return int(given[0][1]) if given else min(configuration.priority.default, configuration.max_priority(draft.team))
