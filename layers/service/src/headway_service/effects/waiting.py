"""What a configuration would do to waiting jobs: those that can never start, end, or keep what no new job may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from headway.api_documents.effects import EffectCode
from headway.forecasting.members import with_members
from headway.jobpolicy.rules import violations
from headway.model import WaitingJob
from headway.reasons import Reason
from headway.scheduling.scheduler import schedule
from headway_service.admission.policy_view import job_for_rules
from headway_service.config.document import DEFAULT_TEAM, Configuration
from headway_service.effects.effect import MAX_REQUESTS, WITHIN_MS, Effect, effect_on, stopping_rules
from headway_service.forecast.snapshot import ForecastSnapshot
from headway_service.sagemaker_api.training_request import TrainingRequest
from headway_service.scheduling.giving_up import given_up

FindRequest = Callable[[str], Mapping[str, Any] | None]
"""Returns the request of a job."""


def never_starting(before: ForecastSnapshot, after: ForecastSnapshot) -> list[Effect]:
    """The jobs that demand more than they can ever get, and do not by the configuration in force."""
    known = _impossible(before)
    found = {job: reason for job, reason in _impossible(after).items() if job not in known}
    first = next(iter(found.values()), None)
    what = "" if first is None else f"could never start: {first.message}"
    return effect_on(EffectCode.NEVER_STARTS, found, "waiting job", what)


def _impossible(queue: ForecastSnapshot) -> dict[str, Reason]:
    plan = schedule(with_members(queue.snapshot, queue.to_come.arrays)[0])
    return {wait.job: wait.reason for wait in plan.waits if wait.ahead is None}


def ending(before: Configuration, after: Configuration, waiting: Iterable[WaitingJob], now_ms: int) -> list[Effect]:
    """The jobs that end as failed within the hour, as only their own requests have kept them from starting.

    Args:
        now_ms: the training time, ms.
    """
    jobs = list(waiting)
    known = {name for name, _ in given_up(jobs, before.give_up_ms, now_ms + WITHIN_MS)}
    found = (name for name, _ in given_up(jobs, after.give_up_ms, now_ms + WITHIN_MS) if name not in known)
    what = "would end as failed within the hour, as SageMaker refuses them for too long (launches.giveUpSeconds)"
    return effect_on(EffectCode.GIVEN_UP, found, "waiting job", what)


def above_maximum(before: Configuration, after: Configuration, waiting: Iterable[WaitingJob]) -> list[Effect]:
    """The jobs with a priority that no new request may have; they keep it."""
    names = (
        job.name
        for job in waiting
        if before.max_priority(job.terms.team) >= job.terms.priority > after.max_priority(job.terms.team)
    )
    what = "would keep a priority that no new request may have"
    return effect_on(EffectCode.ABOVE_MAXIMUM, names, "waiting job", what)


def breaking_rules(
    before: Configuration, after: Configuration, unjudged: Iterable[tuple[str, str]], find_request: FindRequest
) -> list[Effect]:
    """The jobs that are stopped when they have started, as they break rules that they do not break now.

    Args:
        unjudged: the name and the team of each job that waits, or is starting.
    """
    known, rules = stopping_rules(before), stopping_rules(after)
    if rules == known:
        return []
    found: dict[str, str] = {}
    for name, team in islice(unjudged, MAX_REQUESTS):
        request = find_request(name)
        if request is None:
            continue
        parsed = TrainingRequest.parse(request)
        broken = violations(rules, job_for_rules(parsed.raw, parsed.tags, after, team or DEFAULT_TEAM))
        if broken and not violations(known, job_for_rules(parsed.raw, parsed.tags, before, team or DEFAULT_TEAM)):
            found[name] = f"{broken[0].field} {broken[0].message}"
    first = next(iter(found.values()), "")
    return effect_on(EffectCode.BREAKS_RULES, found, "job", f"would be stopped once started, for rules: {first}")
