"""The rules for training jobs, submitted or running, and their violations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from headway.jobpolicy.patterns import matches
from headway.jobpolicy.requirements import Requirement, UniqueCheckpoints
from headway.jobpolicy.training_job import INSTANCE_TYPE, TrainingJob


class OnStart(StrEnum):
    """The action on a job that breaks a rule when it starts."""

    REPORT = "report"
    STOP = "stop"


@dataclass(frozen=True, kw_only=True, slots=True)
class When:
    """Which jobs a rule is for: those that all of this holds for. Without a word it is for all."""

    #: Any of them; empty for all, also for jobs without a team.
    teams: tuple[str, ...] = ()
    #: Each key, with one of its patterns.
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: On instances of one of these types, in any of its groups; empty for all, also for serverless jobs.
    instance_types: tuple[str, ...] = ()
    #: On spot instances, or on demand; None for both.
    spot: bool | None = None
    #: May be preempted, or may not; None for both.
    preemptible: bool | None = None

    def holds(self, job: TrainingJob) -> bool:
        """Whether it holds for a job."""
        return (
            (not self.teams or job.team in self.teams)
            and (not self.instance_types or _on_any(job, self.instance_types))
            and self.spot in {None, job.spot}
            and self.preemptible in {None, job.preemptible}
            and all(key in job.tags and matches(job.tags[key], patterns) for key, patterns in self.tags.items())
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """Where a job breaks a rule."""

    #: Name of the rule.
    rule: str
    #: Path of the field, e.g. ``ResourceConfig.InstanceCount``.
    field: str
    #: A sentence with the necessary change and the rule.
    message: str
    #: The action if the job has started.
    on_start: OnStart


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """Requirements on the jobs that a condition holds for."""

    name: str
    requirements: tuple[Requirement, ...]
    when: When = field(default_factory=When)
    on_start: OnStart = OnStart.REPORT
    #: Shown to users who break it; may be empty.
    note: str = ""

    @property
    def wants_unique_checkpoints(self) -> bool:
        """Whether it is on what only the queue knows of a job: who else writes checkpoints where it does."""
        return any(isinstance(each, UniqueCheckpoints) for each in self.requirements)

    def violations(self, job: TrainingJob) -> tuple[Violation, ...]:
        """Where a job breaks it; nowhere, if it is not for this job."""
        if not self.when.holds(job):
            return ()
        by = f"(rule `{self.name}`: {self.note})" if self.note else f"(rule `{self.name}`)"
        return tuple(
            Violation(rule=self.name, field=path, message=f"{sentence} {by}", on_start=self.on_start)
            for requirement in self.requirements
            for path, sentence in requirement.findings(job)
        )


def violations(rules: Iterable[Rule], job: TrainingJob) -> tuple[Violation, ...]:
    """Everything by which a job breaks these rules, rule by rule.

    Args:
        job: the job's properties.
    """
    return tuple(violation for rule in rules for violation in rule.violations(job))


def _on_any(job: TrainingJob, patterns: Sequence[str]) -> bool:
    """Whether any part of a job is on an instance of one of these types."""
    return any(name is not None and matches(name, patterns) for _, name in job.texts(INSTANCE_TYPE))
