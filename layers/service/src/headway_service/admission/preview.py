"""Tries a configuration document before it is in force: warnings about it, and its effect on a request.

It is the code that decides in earnest, with nothing of AWS around it, so that ``headway policy`` runs it anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.jobpolicy.patterns import matches
from headway.jobpolicy.requirements import Allowed
from headway.jobpolicy.rule_conflicts import find_conflicts
from headway.jobpolicy.rules import Rule, Violation
from headway.jobpolicy.training_job import INSTANCE_TYPE
from headway.policy import Policy
from headway_service.admission.checks.draft import Draft
from headway_service.admission.checks.team_access import default_team
from headway_service.admission.policy_view import job_for_rules
from headway_service.admission.review import review
from headway_service.config.document import Configuration, new_text_to_keep, parse
from headway_service.errors import FieldError
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG, TEAM_TAGS
from headway_service.sagemaker_api.training_request import TrainingRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The result of one rule for a request."""

    rule: str
    #: Whether it is for this job at all.
    applies: bool
    violations: Sequence[Violation]


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """The result of a configuration for a request."""

    #: The configured team that the job would be charged to; empty if none.
    team: str
    verdicts: Sequence[Verdict]
    #: Whatever else is wrong with the request.
    problems: Sequence[FieldError]

    @property
    def refused(self) -> bool:
        """Whether the queue would refuse it."""
        return bool(self.problems) or any(verdict.violations for verdict in self.verdicts)


def lint(document: Any) -> list[FieldError]:
    """Check a decoded document, and return warnings about valid but probably unintended values.

    Raises:
        InvalidConfiguration: the queue would refuse it.
    """
    configuration = parse(new_text_to_keep(document))
    return [
        *_never_for_a_request(configuration),
        *_no_pool_left(configuration),
        *_contradictions(configuration),
        *_bypassed_priorities(configuration),
    ]


def simulated(document: Any) -> tuple[Policy, dict[str, int]]:
    """The rules of decisions of a document, and the sizes of its pools, for a simulation.

    A pool that follows a schedule has its size outside the schedule. Pools of training plans are left out unless the
    document has their largest size.

    Raises:
        InvalidConfiguration: the queue would refuse the document.
    """
    configuration = parse(new_text_to_keep(document))
    pools = configuration.pools.items()
    sizes = {name: pool.size for name, pool in pools if pool.plan is None or "size" in pool.model_fields_set}
    return configuration.policy(), sizes


def preview(document: Any, request: Mapping[str, Any], team: str | None = None) -> Preview:
    """The queue's response to a request if a document were in force.

    Args:
        document: the decoded document.
        request: a CreateTrainingJob request.
        team: put in place of the team that the request names.

    Raises:
        InvalidConfiguration: the queue would refuse the document.
    """
    configuration = parse(new_text_to_keep(document))
    asked = request if team is None else _with_team(request, team)
    training = TrainingRequest.parse(asked)
    job = job_for_rules(training.raw, training.tags, configuration)
    home = default_team(None, configuration)
    found = review(Draft(request=training, configuration=configuration, caller=None, home=home))
    return Preview(
        team=job.team,
        verdicts=[
            Verdict(rule=rule.name, applies=rule.when.holds(job), violations=rule.violations(job))
            for rule in configuration.job_rules()
        ],
        problems=[*found.invalid, *found.impossible],
    )


def _never_for_a_request(configuration: Configuration) -> Iterator[FieldError]:
    for rule in configuration.job_rules():
        if rule.when.preemptible is False and not configuration.preemption.opt_out:
            message = "is for no request, as this queue lets no job opt out of preemption (preemption.optOut)"
            yield FieldError(field=f"rules.{rule.name}.when.preemptible", message=message)
        for key in rule.when.tags:
            if key in {JOB_TAG, ATTEMPT_TAG} or key.lower().startswith("aws:"):
                message = "is for no request, as no request may carry this tag; only for jobs that have started"
                yield FieldError(field=f"rules.{rule.name}.when.tags.{key}", message=message)


def _no_pool_left(configuration: Configuration) -> Iterator[FieldError]:
    for rule in configuration.job_rules():
        for allowed in _instance_types(rule):
            if not any(matches(pool, allowed.patterns) for pool in configuration.pools):
                message = "allows none of the pools, so that every request that the rule is for is refused"
                yield FieldError(field=f"rules.{rule.name}.require.instanceTypes", message=message)


def _instance_types(rule: Rule) -> Iterator[Allowed]:
    for requirement in rule.requirements:
        if isinstance(requirement, Allowed) and requirement.path == INSTANCE_TYPE:
            yield requirement


def _contradictions(configuration: Configuration) -> Iterator[FieldError]:
    for found in find_conflicts(configuration.job_rules()):
        one, other = found.rules
        whom, under = ("itself", "it") if one == other else (f"the rule {other}", "both")
        message = f"contradicts {whom} about {found.subject}, so that every job under {under} is refused"
        yield FieldError(field=f"rules.{one}.require", message=message)


def _bypassed_priorities(configuration: Configuration) -> Iterator[FieldError]:
    """Limits of priority that any caller can avoid, by naming a team that accepts every caller's jobs."""
    people = configuration.access_rules().teams
    most = {team: configuration.max_priority(team) for team in sorted(people)}
    for team, limit in most.items():
        highest = max((other for other in most if not people[other].listed), key=most.__getitem__, default=team)
        if configuration.teams[team].max_priority is not None and most[highest] > limit:
            message = (
                f"does not bind the team's callers: they may submit for the team {highest}, which accepts every "
                f"caller's jobs, with priorities up to {most[highest]}; list the members of {highest}, or set its "
                "maxPriority"
            )
            yield FieldError(field=f"teams.{team}.maxPriority", message=message)


def _with_team(request: Mapping[str, Any], team: str) -> dict[str, Any]:
    tags = request.get("Tags", [])
    if not isinstance(tags, list):
        return dict(request)
    others = [tag for tag in tags if not _names_team(tag)]
    return {**request, "Tags": [*others, {"Key": TEAM_TAGS[0], "Value": team}]}


def _names_team(tag: Any) -> bool:
    return isinstance(tag, Mapping) and tag.get("Key") in TEAM_TAGS
