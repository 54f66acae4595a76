"""Whether a request may enter the queue, and what it demands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from headway.job_terms import JobTerms
from headway.jobpolicy.rules import violations
from headway.pool_names import SERVERLESS
from headway.vectors import describe, total
from headway_service import characters
from headway_service.admission import (
    arrays,
    dependencies,
    instance_preferences,
    reuse,
    sagemaker_rules,
    team_access,
    training_plans,
    unsupported,
    warm_pools,
)
from headway_service.admission.arrays import AdmittedArray
from headway_service.admission.policy_view import (
    charged_team,
    job_allowance_ms,
    job_for_rules,
    job_limit_ms,
    pending_limit_s,
)
from headway_service.admission.submission import Submission, preference_errors
from headway_service.config.authorization import Caller
from headway_service.config.document import Configuration
from headway_service.errors import (
    FieldError,
    ImpossibleDemand,
    InvalidRequest,
    NotAllowed,
    RequestTooLarge,
    RuleViolation,
)
from headway_service.sagemaker_api import outputs, request_schema
from headway_service.sagemaker_api.run_source import run_source
from headway_service.sagemaker_api.tags import (
    ATTEMPT_TAG,
    CHECKPOINT_INTERVAL_TAG,
    JOB_TAG,
    MAX_CHECKPOINT_INTERVAL_S,
    MAX_TAGS,
    PREEMPTIBLE_TAG,
)
from headway_service.sagemaker_api.training_request import TrainingRequest, interval_s, is_serverless
from headway_service.store.records.alternative import AlternativeRecord
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.reuse import ReuseRecord

MAX_REPORTED_FIELDS = 25
"""The most fields of a request, and of each alternative, that a refusal names as invalid."""

MAX_REQUEST_BYTES = 400_000
"""The largest request, as canonical JSON: what fits into one DynamoDB item (400 KiB) beside its keys."""


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
    #: Its limit on demand, ms, for a request for spot instances; None for other requests.
    on_demand_limit_ms: int | None = None
    #: How long an attempt on on-demand instances may wait for them, s; None for no limit.
    pending_limit_s: int | None = None
    #: Whether it requests a warm pool, which is removed at the launch.
    warm_pool: bool = False

    @property
    def all_demands(self) -> Mapping[str, int]:
        """Instances per pool of all its alternatives, no two of which share a pool."""
        return total(each.demand for each in self.choices) if self.choices else self.demand


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """All that is wrong with a request. One that nothing is wrong with may enter."""

    #: SageMaker would not take it, or the queue cannot run it; the first :data:`MAX_REPORTED_FIELDS` of a request.
    invalid: Sequence[FieldError]
    #: What the caller may not do. Not checked if the request is invalid.
    forbidden: Sequence[FieldError]
    #: It breaks rules of the configuration.
    violations: Sequence[FieldError]
    #: Why the pools could never satisfy its demand. Not checked if the request is invalid.
    impossible: Sequence[FieldError]


def admit(
    submitted: Any,
    configuration: Configuration,
    caller: Caller,
    home: str | None = None,
    *,
    left_spot: bool = False,
    priority: int | None = None,
) -> Admitted:
    """Check a CreateTrainingJob request. A refusal names each field that is wrong, for whatever reason.

    Each alternative is checked as a request of its own.

    Args:
        submitted: the request as decoded from JSON, or a :class:`Submission` with its alternatives.
        configuration: the pools and the rules in force.
        caller: the caller.
        home: the team if the tags name none; None for that of the caller's jobs.
        left_spot: whether the job has moved to on-demand instances, so that their pools count.
        priority: the priority that the job has, which counts in place of that of its tags; None for a new job.

    Raises:
        InvalidRequest: it is not a request that SageMaker would take, or the queue cannot run it.
        NotAllowed: the team does not accept the caller's jobs, or they may not run with that role.
        RequestTooLarge: it is larger than :data:`MAX_REQUEST_BYTES`.
        RuleViolation: it breaks rules of the configuration.
        ImpossibleDemand: the pools, or the limit of its team, could never satisfy its demand.
    """
    submission = Submission.of(submitted)
    request = submission.request
    if not isinstance(request, dict):
        raise InvalidRequest("the body must be a JSON object: the parameters of CreateTrainingJob")
    kept = instance_preferences.as_alternatives(submission)
    canonical = _canonical(kept.request)
    alternatives = "" if kept.alternatives is None else _canonical(kept.alternatives)
    sweep = arrays.sweep_of(submission)
    array = arrays.array_of(submission, sweep) if sweep is not None else None
    try:
        size_bytes = len(canonical.encode()) + len(alternatives.encode()) + (len(array.sweep.encode()) if array else 0)
    except UnicodeEncodeError:
        raise _without_encoding(submission) from None
    if size_bytes > MAX_REQUEST_BYTES:
        raise RequestTooLarge(
            f"the request has {size_bytes} bytes, the queue takes {MAX_REQUEST_BYTES}: "
            "move large hyperparameters or environment values to S3 and pass their location"
        )
    if home is None:
        home = team_access.default_team(caller, configuration)
    template_errors: list[FieldError] = []
    if outputs.has_templates(canonical):
        template_errors = list(outputs.errors(request, dependencies.completing(submission.depends_on)))
        request = outputs.with_samples(request)
        submission = replace(submission, request=request)
    if sweep is not None:
        submission = arrays.as_member(submission, sweep)
        request = submission.request
    training = TrainingRequest.parse(request)
    found = _review(training, configuration, caller, home, left_spot=left_spot, priority=priority)
    others = _other_requests(submission)
    awaiting = [*dependencies.errors(submission.depends_on, request), *template_errors, *arrays.errors(submission)]
    awaiting += reuse.errors(submission.reuse, submission.reuse_unpinned)
    found = replace(found, invalid=[*awaiting, *found.invalid])
    _refuse(_with_alternatives(found, submission, others, configuration, caller, home))
    if training.has_preferences:
        submission = instance_preferences.as_alternatives(submission)
        training, *others = map(TrainingRequest.parse, (submission.request, *submission.requests()))
    team = charged_team(training.tags, configuration, home)
    demand = training.demand(configuration.pools, spot=training.spot and not left_spot)
    choices = tuple(
        _choice(each, configuration, with_warm_pool=each is training)
        for each in ((training, *others) if others else ())
    )
    return Admitted(
        name=training.name,
        request=canonical,
        digest=_digest(canonical, alternatives, submission, array),
        array=array,
        alternatives=alternatives,
        choices=choices,
        wait_at_most_s=submission.wait_at_most_s,
        portable_checkpoint=submission.portable_checkpoint,
        depends_on=dependencies.dependencies(submission.depends_on),
        reuse=reuse.reuse(submission.reuse, submission.reuse_unpinned),
        demand=demand,
        terms=JobTerms(
            priority=_priority(training, team, configuration),
            entry_time_ms=0,
            team=team,
            limit_ms=job_limit_ms(request, configuration),
            allowance_ms=None if training.spot else job_allowance_ms(request, configuration),
            preemptible=training.preemptible,
            checkpoints="CheckpointConfig" in request,
            checkpoints_every_ms=training.checkpoint_interval_s and training.checkpoint_interval_s * 1000,
            warm_key=warm_pools.key(training, configuration),
            keep_ms=warm_pools.keep_s(training, configuration) * 1000,
            stops_for_size=training.stops_for_size(total((demand, *(each.demand for each in choices))).keys()),
            source=run_source(request) if configuration.predictions else "",
        ),
        on_demand_limit_ms=job_limit_ms(request, configuration, left_spot=True) if training.spot else None,
        pending_limit_s=pending_limit_s(request, configuration),
        warm_pool=training.warm_pool and not warm_pools.keep_s(training, configuration),
    )


def _without_encoding(submission: Submission) -> InvalidRequest:
    """The refusal of a submission with text that cannot be encoded, so neither stored nor sent to AWS."""
    alternatives = {"alternatives": submission.alternatives}
    found = chain(characters.errors(submission.request), characters.errors(alternatives))
    fields = [*islice(found, MAX_REPORTED_FIELDS)]
    return InvalidRequest(f"{fields[0].field} {fields[0].message}", fields)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _digest(canonical: str, alternatives: str, submission: Submission, array: AdmittedArray | None) -> str:
    """The digest of a submission; of one with nothing beside its request that of the request."""
    whole = canonical
    if alternatives:
        whole += _canonical([alternatives, submission.wait_at_most_s, submission.portable_checkpoint])
    if submission.depends_on is not None:
        whole += _canonical(["dependsOn", submission.depends_on])
    if array is not None:
        whole += _canonical(["sweep", array.sweep, array.at_once, array.max_failures])
        if array.early_stopping is not None:
            whole += _canonical(["earlyStopping", array.early_stopping.document()])
    if submission.reuse:
        whole += _canonical(["reuse", submission.reuse_unpinned])
    return hashlib.sha256(whole.encode()).hexdigest()


def _choice(request: TrainingRequest, configuration: Configuration, *, with_warm_pool: bool) -> AlternativeRecord:
    """What follows from the request of an alternative for an attempt on it."""
    raw = request.raw
    return AlternativeRecord(
        demand=request.demand(configuration.pools, spot=request.spot),
        limit_ms=job_limit_ms(raw, configuration),
        on_demand_limit_ms=job_limit_ms(raw, configuration, left_spot=True) if request.spot else None,
        pending_limit_s=pending_limit_s(raw, configuration),
        # A decision looks for warm pools for the first preference only.
        warm_key=warm_pools.key(request, configuration) if with_warm_pool else "",
        keep_s=warm_pools.keep_s(request, configuration) if with_warm_pool else 0,
    )


def _other_requests(submission: Submission) -> list[TrainingRequest]:
    """The requests of the alternatives of a submission, if these have the right shape."""
    if submission.alternatives is None or any(submission.errors()):
        return []
    return [TrainingRequest.parse(each) for each in submission.requests()]


def _with_alternatives(
    first: Review,
    submission: Submission,
    others: Sequence[TrainingRequest],
    configuration: Configuration,
    caller: Caller,
    home: str,
) -> Review:
    """All that is wrong with a submission: with its request, and with what its alternatives change about it."""
    if submission.alternatives is None:
        return replace(first, invalid=[*first.invalid, *instance_preferences.as_alternatives(submission).errors()])
    invalid = [*first.invalid, *submission.errors(), *preference_errors(submission.request)]
    forbidden, broken, impossible = [*first.forbidden], [*first.violations], [*first.impossible]
    for i, each in enumerate(others):
        found = _review(each, configuration, caller, home)
        invalid += _of_alternative(i, found.invalid, first.invalid)
        forbidden += _of_alternative(i, found.forbidden, first.forbidden)
        broken += _of_alternative(i, found.violations, first.violations)
        impossible += _of_alternative(i, found.impossible, first.impossible)
    if not invalid and others:
        demands = [
            each.demand(configuration.pools, spot=each.spot)
            for each in (TrainingRequest.parse(submission.request), *others)
        ]
        invalid += _shared_pools(demands)
    return Review(invalid=invalid, forbidden=forbidden, violations=broken, impossible=impossible)


def _of_alternative(i: int, found: Sequence[FieldError], of_request: Sequence[FieldError]) -> Iterator[FieldError]:
    """The errors that an alternative has and the request itself has not."""
    for error in found:
        if error not in of_request:
            yield FieldError(field=f"alternatives[{i}].{error.field}", message=error.message)


def _shared_pools(demands: Sequence[Mapping[str, int]]) -> Iterator[FieldError]:
    for i, demand in enumerate(demands):
        for earlier in range(i):
            for pool in sorted(demand.keys() & demands[earlier].keys()):
                other = f"alternatives[{earlier - 1}]" if earlier else "the request itself"
                message = f"needs the pool {pool}, as {other} does: each alternative needs pools of its own"
                yield FieldError(field=f"alternatives[{i - 1}]", message=message)


def review(request: TrainingRequest, configuration: Configuration, caller: Caller | None = None) -> Review:
    """All that is wrong with a request.

    Args:
        request: the request.
        configuration: the pools and the rules in force.
        caller: the caller; None for an unrestricted review.
    """
    return _review(request, configuration, caller, team_access.default_team(caller, configuration))


def _review(
    request: TrainingRequest,
    configuration: Configuration,
    caller: Caller | None,
    home: str,
    *,
    left_spot: bool = False,
    priority: int | None = None,
) -> Review:
    """See :func:`review`; ``home`` is the caller's team if the review is for all callers of all teams."""
    errors = request_schema.check(request.raw)
    named: team_access.Named = ()
    # The queue's own rules check only parts that have the right shape.
    if _sound("Tags", errors):
        named = request.named_teams
        errors += team_access.team_errors(named, caller, home, configuration)
        errors += _tag_errors(request, home, configuration, priority)
    if _sound("ResourceConfig", errors):
        errors += _resource_errors(request)
        errors += training_plans.errors(request, configuration)
        errors += warm_pools.errors(request, charged_team(request.tags, configuration, home), configuration)
    errors += unsupported.errors(request.raw)
    errors += [*_sagemaker_errors(request.raw, errors)]
    job = job_for_rules(request.raw, request.tags, configuration, home)
    broken = violations(configuration.job_rules(), job)
    forbidden = (
        team_access.access_errors(request.role, named, job.team, caller, configuration) if caller and not errors else ()
    )
    return Review(
        invalid=errors[:MAX_REPORTED_FIELDS],
        forbidden=list(forbidden),
        violations=[FieldError(field=each.field, message=each.message) for each in broken],
        impossible=[] if errors else list(_impossible(request, job.team, configuration, left_spot=left_spot)),
    )


def _sagemaker_errors(request: Mapping[str, Any], found: Sequence[FieldError]) -> Iterator[FieldError]:
    """What breaks SageMaker's rules on members that have the right shape."""
    if _sound("EnableManagedSpotTraining", found) and _sound("StoppingCondition", found):
        yield from sagemaker_rules.spot_errors(request)
    if _sound("AlgorithmSpecification", found) and not is_serverless(request):
        yield from sagemaker_rules.algorithm_errors(request)
    if _sound("InputDataConfig", found):
        yield from sagemaker_rules.channel_errors(request)
    if _sound("DebugRuleConfigurations", found) and _sound("ProfilerRuleConfigurations", found):
        yield from sagemaker_rules.rule_errors(request)
    if _sound("ProfilerConfig", found):
        yield from sagemaker_rules.profiler_errors(request)
    if _sound("ServerlessJobConfig", found):
        yield from sagemaker_rules.serverless_errors(request)


def _refuse(found: Review) -> None:
    fields = [*found.invalid, *found.forbidden, *found.violations, *found.impossible]
    if not fields:
        return
    first = fields[0]
    more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
    if found.invalid:
        raise InvalidRequest(f"{first.field} {first.message}{more}", fields)
    if found.forbidden:
        raise NotAllowed(f"{first.field} {first.message}{more}", fields)
    if found.violations:
        raise RuleViolation(f"{first.field} {first.message}{more}", fields)
    where = f"{first.field}: " if first.field.startswith("alternatives") else ""
    raise ImpossibleDemand(f"{where}{first.message}{more}", fields)


def _sound(part: str, errors: Sequence[FieldError]) -> bool:
    return not any(error.field.startswith(part) for error in errors)


def _tag_errors(
    request: TrainingRequest, home: str, configuration: Configuration, priority: int | None
) -> Iterator[FieldError]:
    tags = request.listed_tags
    if len(tags) > MAX_TAGS:
        message = f"has {len(tags)} entries; the queue adds 2 to SageMaker's 50, so use at most {MAX_TAGS}"
        yield FieldError(field="Tags", message=message)
    keys = [key for _, key, _ in tags]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield FieldError(field="Tags", message=f"holds the key {key!r} twice; SageMaker takes a key once")
    for i, key in enumerate(keys):
        if key in {JOB_TAG, ATTEMPT_TAG}:
            yield FieldError(field=f"Tags[{i}].Key", message=f"is {key!r}, which the queue sets itself: remove it")
        if key.lower().startswith("aws:"):
            yield FieldError(field=f"Tags[{i}].Key", message=f"is {key!r}; keys that begin with 'aws:' are AWS's own")
    yield from _priority_errors(request, home, configuration, priority)
    yield from _preemptible_errors(request, configuration)
    yield from training_plans.tag_errors(request)
    yield from _interval_errors(request)


def _interval_errors(request: TrainingRequest) -> Iterator[FieldError]:
    for i, value in request.tagged((CHECKPOINT_INTERVAL_TAG,)):
        if interval_s(value) is None:
            message = f"is {value!r:.40}; it is a number of seconds, from 1 to {MAX_CHECKPOINT_INTERVAL_S}"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
        elif "CheckpointConfig" not in request.raw:
            message = f"is {CHECKPOINT_INTERVAL_TAG!r}, which needs a CheckpointConfig: add one, or remove the tag"
            yield FieldError(field=f"Tags[{i}].Key", message=message)


def _priority_errors(
    request: TrainingRequest, home: str, configuration: Configuration, priority: int | None
) -> Iterator[FieldError]:
    found = request.priorities
    team = charged_team(request.tags, configuration, home)
    most = configuration.max_priority(team)
    of_team = f" for the team {team}" if most < configuration.priority.maximum else ""
    if priority is not None:
        # The tags keep the priority of the submission, which nobody can change.
        if priority > most:
            message = (
                f"of the job is {priority}, and the highest{of_team} is {most}: lower it first, then change the job"
            )
            yield FieldError(field="priority", message=message)
        return
    for i, value in found:
        if not (value.isascii() and value.isdecimal() and int(value) <= most):
            message = f"is {value!r:.40}; a priority is a whole number from 0 to {most}{of_team}, higher goes first"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
    if len({value for _, value in found}) > 1:
        yield FieldError(
            field="Tags", message="gives two different priorities: keep one of 'priority', 'headway:priority'"
        )


def _preemptible_errors(request: TrainingRequest, configuration: Configuration) -> Iterator[FieldError]:
    for i, value in request.tagged((PREEMPTIBLE_TAG,)):
        if value not in {"true", "false"}:
            message = f"is {value!r:.40}; {PREEMPTIBLE_TAG} is 'true' or 'false'"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
        elif value == "false" and not configuration.preemption.opt_out:
            message = "is 'false', but this queue lets no job opt out of preemption (preemption.optOut): remove the tag"
            yield FieldError(field=f"Tags[{i}].Value", message=message)


def _resource_errors(request: TrainingRequest) -> Iterator[FieldError]:
    resources = request.raw.get("ResourceConfig")
    if is_serverless(request.raw):
        if resources is not None:
            # SageMaker does not document what it does with both, and the queue has to know what to count.
            message = "cannot be combined with ServerlessJobConfig: keep one of the two"
            yield FieldError(field="ResourceConfig", message=message)
        return
    if resources is None:
        yield FieldError(field="ResourceConfig", message="is required: name an instance type and a count")
        return
    yield from instance_preferences.errors(request.raw, resources)
    if request.has_preferences:
        return
    if "InstanceGroups" in resources:
        yield from _group_errors(resources)
        return
    if "InstanceType" not in resources:
        yield FieldError(field="ResourceConfig.InstanceType", message="is required: the pool that the job runs in")
    if resources.get("InstanceCount", 0) < 1:
        yield FieldError(
            field="ResourceConfig.InstanceCount",
            message=f"is {resources.get('InstanceCount', 'missing')}; a job needs at least 1 instance",
        )


def _group_errors(resources: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of a heterogeneous cluster."""
    for other in ("InstanceType", "InstanceCount"):
        if other in resources:
            message = "cannot be combined with InstanceGroups: keep one of the two"
            yield FieldError(field=f"ResourceConfig.{other}", message=message)
    if resources.get("KeepAlivePeriodInSeconds", 0) > 0:
        yield FieldError(
            field="ResourceConfig.KeepAlivePeriodInSeconds",
            message="asks for a warm pool, which instance groups cannot have: remove it",
        )
    if not resources["InstanceGroups"]:
        yield FieldError(field="ResourceConfig.InstanceGroups", message="is empty: name at least one group")
    for i, group in enumerate(resources["InstanceGroups"]):
        if group["InstanceCount"] < 1:
            yield FieldError(
                field=f"ResourceConfig.InstanceGroups[{i}].InstanceCount",
                message=f"is {group['InstanceCount']}; a group needs at least 1 instance",
            )


def _impossible(
    request: TrainingRequest, team: str, configuration: Configuration, *, left_spot: bool
) -> Iterator[FieldError]:
    """What the pools, or the limit of a team, could never give."""
    problems: dict[str, tuple[str, str]] = {}
    spot = request.spot and not left_spot
    for pool, count in request.demand(configuration.pools, spot=spot).items():
        known, most = configuration.pools.get(pool), configuration.most(pool, team)
        if known is None and pool == SERVERLESS:
            problems[pool] = ("", f"there is no pool {pool}, so this queue runs no serverless jobs")
        elif known is None:
            problems[pool] = ("InstanceType", f"there is no pool {pool}")
        elif count > known.sizes.largest:
            problems[pool] = ("InstanceCount", f"the pool {pool} has {known.sizes.largest} instances, not {count}")
        elif count > most:
            message = f"the team {team} may use {most} instances of the pool {pool}, not {count}"
            problems[pool] = ("InstanceCount", message)
    types = [pool for pool, known in configuration.pools.items() if pool != SERVERLESS and known.plan is None]
    sizes = {pool: most for pool in types if (most := configuration.most(pool, team))}
    all_of = describe(sizes).replace(" and ", " or ")
    possible = f"a job may have up to {all_of}" if sizes else "all pools are empty now"
    for each in request.groups:
        pool = request.pool_of(each, configuration.pools, spot=spot)
        if pool in problems:
            member, problem = problems.pop(pool)
            yield FieldError(field=f"{each.part}.{member}".rstrip("."), message=f"{problem}; {possible}")


def _priority(request: TrainingRequest, team: str, configuration: Configuration) -> int:
    given = request.priorities
    return int(given[0][1]) if given else min(configuration.priority.default, configuration.max_priority(team))
