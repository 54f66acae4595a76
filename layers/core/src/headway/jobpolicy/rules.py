"""The rules for training jobs, submitted or running, and their violations.

Patterns are globs, not regular expressions: ``*`` matches any text, ``?`` for one character, ``[ab]`` for one of
these. So no pattern takes long to match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

DEFAULT_RUN_TIME_S = 86_400
"""MaxRuntimeInSeconds of a job without it (API reference, StoppingCondition: "The default value is 1 day")."""

INSTANCE_TYPE = "ResourceConfig.InstanceType"
"""The path of the instance type of each part of a request that demands instances."""

CHECKPOINTS = "CheckpointConfig.S3Uri"
"""The path of the location of checkpoints."""

_SPOT = "EnableManagedSpotTraining"
_RUN_TIME = "StoppingCondition.MaxRuntimeInSeconds"
_WAIT_TIME = "StoppingCondition.MaxWaitTimeInSeconds"

_FILE_SYSTEM = "DataSource.FileSystemDataSource"

_MAX_NAMED_PATTERNS = 10

# SageMaker has no numbers beyond it; sums of longer ones could not even be printed.
_HUGE = 10**12

Finding = tuple[str, str]
"""Path of a field, and a sentence with the necessary change."""


class OnStart(StrEnum):
    """The action on a job that breaks a rule when it starts."""

    REPORT = "report"
    STOP = "stop"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJob:
    """A training job as rules see it.

    What is not of the shape that SageMaker gives it counts as missing: shapes are checked elsewhere.
    """

    #: A CreateTrainingJob request, or DescribeTrainingJob's answer: both name their fields alike.
    description: Mapping[str, Any]
    #: Separate from the description, as DescribeTrainingJob does not return them.
    tags: Mapping[str, str] = field(default_factory=dict)
    #: The team that is charged; empty if none.
    team: str = ""
    preemptible: bool = True
    #: The jobs in the queue that write their checkpoints where this one does, in words; empty if nobody has looked.
    checkpoints_of: tuple[str, ...] = ()

    def at(self, path: str) -> Any:
        """The value at a path such as ``VpcConfig.Subnets``; None if there is none."""
        return _at(self.description, path)

    @property
    def spot(self) -> bool:
        """Whether it runs on spot instances."""
        return self.at(_SPOT) is True

    def texts(self, path: str) -> list[tuple[str, str | None]]:
        """The texts at a path, each with its own path; None for a missing one. A list has one for each entry."""
        if path == INSTANCE_TYPE:
            return [(f"{part}.InstanceType", _text(_at(asked, "InstanceType"))) for part, asked in self._parts()]
        found = self.at(path)
        if isinstance(found, list) and found:
            return [(f"{path}[{i}]", _text(entry)) for i, entry in enumerate(found)]
        return [(path, _text(found))]

    def file_systems(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The file systems that are mounted as its input, channel by channel, each with its path."""
        channels = self.at("InputDataConfig")
        sources = [_at(each, _FILE_SYSTEM) for each in channels] if isinstance(channels, list) else []
        return [
            (f"InputDataConfig[{i}].{_FILE_SYSTEM}", source)
            for i, source in enumerate(sources)
            if isinstance(source, Mapping)
        ]

    def instances(self) -> tuple[str, int]:
        """The number of demanded instances, and its path."""
        parts = self._parts()
        counts = [_whole(_at(asked, "InstanceCount")) or 0 for _, asked in parts]
        listed, several, _ = parts[0][0].partition("[")
        if not several:
            return f"{listed}.InstanceCount", counts[0]
        # Groups run side by side; of preferences SageMaker takes one.
        return listed, sum(counts) if listed.endswith("Groups") else max(counts)

    def hosts(self) -> tuple[str, ...]:
        """The instance type of each of its hosts, group by group; empty where it is missing."""
        hosts: list[str] = []
        for _, asked in self._parts():
            hosts += [_text(_at(asked, "InstanceType")) or ""] * (_whole(_at(asked, "InstanceCount")) or 0)
        return tuple(hosts)

    def _parts(self) -> list[tuple[str, Any]]:
        """Path and content of each part that demands instances."""
        for name in ("InstanceGroups", "InstancePreferences"):
            listed = self.at(f"ResourceConfig.{name}")
            if isinstance(listed, list) and listed:
                # Preferences may share one number of instances (API reference, InstancePreference).
                shared = {"InstanceCount": self.at("ResourceConfig.InstanceCount")}
                return [
                    (f"ResourceConfig.{name}[{i}]", {**shared, **asked} if isinstance(asked, Mapping) else asked)
                    for i, asked in enumerate(listed)
                ]
        return [("ResourceConfig", self.at("ResourceConfig"))]


def tags_in(listed: Any) -> dict[str, str]:
    """Tags as requests and ListTags give them, ``[{"Key": …, "Value": …}]``, as a mapping."""
    found = {}
    for tag in listed if isinstance(listed, list) else []:
        key, value = _text(_at(tag, "Key")), _text(_at(tag, "Value"))
        if key is not None and value is not None:
            found[key] = value
    return found


@dataclass(frozen=True, slots=True)
class Tagged:
    """The job carries a tag with one of these values."""

    key: str
    patterns: tuple[str, ...]

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        value = job.tags.get(self.key)
        if value is None:
            yield "Tags", f"has no {self.key!r}: add it{_with(self.patterns)}"
        elif not matches(value, self.patterns):
            yield "Tags", f"has {self.key!r} with {value!r:.80}; use {_one_of(self.patterns)}"


@dataclass(frozen=True, slots=True)
class Untagged:
    """The job carries no tag of these keys."""

    patterns: tuple[str, ...]

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        for key in sorted(job.tags):
            if matches(key, self.patterns):
                yield "Tags", f"has {key!r:.140}, which is not allowed: remove it"


@dataclass(frozen=True, slots=True)
class OnlyTagged:
    """The job carries tags of these keys only."""

    patterns: tuple[str, ...]

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        for key in sorted(job.tags):
            if not matches(key, self.patterns):
                yield "Tags", f"has {key!r:.140}, which is not allowed: remove it, or use {_one_of(self.patterns)}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The text at a path, or each text of a list there, is one of these. An empty text counts as missing.

    The service model takes a KmsKeyId of no characters; that SageMaker encrypts with a key then is not documented.
    """

    path: str
    patterns: tuple[str, ...]

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        for path, text in job.texts(self.path):
            if not text:
                yield path, f"is missing: add it{_with(self.patterns)}"
            elif not matches(text, self.patterns):
                yield path, f"is {text!r:.120}; use {_one_of(self.patterns)}"


@dataclass(frozen=True, slots=True)
class Given:
    """The job has this part."""

    path: str

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        part = job.at(self.path)
        if not (isinstance(part, Mapping) and part):
            yield self.path, "is missing: add it"


@dataclass(frozen=True, slots=True)
class Switched:
    """The job has this switched on, or off. It is off by default."""

    path: str
    on: bool = True

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        if (job.at(self.path) is True) is not self.on:
            yield self.path, "is not on: set it to true" if self.on else "is on: set it to false"


@dataclass(frozen=True, slots=True)
class AtMost:
    """The whole number at a path is at most this large. It is 0 by default."""

    path: str
    most: int

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        value = _whole(job.at(self.path)) or 0
        remedy = f"set it to at most {self.most}" if self.most else "remove it"
        if value > self.most:
            yield self.path, f"is {value}; {remedy}"


@dataclass(frozen=True, slots=True)
class FileSystems:
    """Each file system that the job mounts is one of these; with none of these, it mounts no file system."""

    #: For each the patterns of members of its FileSystemDataSource, by their names.
    allowed: tuple[Mapping[str, str], ...]

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        for path, source in job.file_systems():
            if not self.allowed:
                yield path, "mounts a file system, which is not allowed: remove it"
            elif not any(_matches_members(source, patterns) for patterns in self.allowed):
                asked = dict.fromkeys(member for patterns in self.allowed for member in patterns)
                has = ", ".join(f"{member} {_member(source, member)!r:.120}" for member in asked)
                allowed = [", ".join(f"{member} {each[member]}" for member in each) for each in self.allowed]
                yield path, f"has {has}; use {_either(allowed, ', or ')}"


@dataclass(frozen=True, slots=True)
class MaxInstances:
    """The job demands at most this many instances, over all its groups."""

    most: int

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        path, count = job.instances()
        if count > self.most:
            yield path, f"asks for {count} instances; use at most {self.most}"


@dataclass(frozen=True, slots=True)
class MaxRunTime:
    """The job runs no longer than this; with a limit on its waiting, the waiting included."""

    most_s: int

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        run_time_s, wait_time_s = _whole(job.at(_RUN_TIME)), _whole(job.at(_WAIT_TIME))
        remedy = f"set it to at most {self.most_s}"
        if run_time_s is None and self.most_s < DEFAULT_RUN_TIME_S:
            yield _RUN_TIME, f"is missing, which means {DEFAULT_RUN_TIME_S}; {remedy}"
        if run_time_s is not None and run_time_s > self.most_s:
            yield _RUN_TIME, f"is {run_time_s}; {remedy}"
        # Only jobs on spot instances or with SageMaker's retries have one, and it takes in the run time (API reference,
        # StoppingCondition).
        if wait_time_s is not None and wait_time_s > self.most_s:
            yield _WAIT_TIME, f"is {wait_time_s}; {remedy}"


@dataclass(frozen=True, slots=True)
class UniqueCheckpoints:
    """No job in the queue writes its checkpoints where this one does."""

    def findings(self, job: TrainingJob) -> Iterator[Finding]:
        """Where a job breaks it."""
        if job.checkpoints_of:
            yield CHECKPOINTS, shared_checkpoints(job.checkpoints_of)


def shared_checkpoints(jobs: Sequence[str]) -> str:
    """That a job writes its checkpoints where jobs in the queue do, as a clause on its location.

    Args:
        jobs: these jobs, in words.
    """
    return f"is where checkpoints of {', '.join(jobs)} are: use another location, with none of theirs above or below it"


Requirement = (
    Tagged
    | Untagged
    | OnlyTagged
    | Allowed
    | Given
    | Switched
    | AtMost
    | FileSystems
    | MaxInstances
    | MaxRunTime
    | UniqueCheckpoints
)


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


def matches(text: str, patterns: Iterable[str]) -> bool:
    """Whether a text matches one of the patterns, case-sensitively."""
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _one_of(patterns: Sequence[str]) -> str:
    return f"one of {_either(patterns, ', ')}" if len(patterns) > 1 else patterns[0]


def _either(choices: Sequence[str], separator: str) -> str:
    named = separator.join(choices[:_MAX_NAMED_PATTERNS])
    rest = len(choices) - _MAX_NAMED_PATTERNS
    return f"{named} and {rest} more" if rest > 0 else named


def _with(patterns: Sequence[str]) -> str:
    return "" if "*" in patterns else f" with {_one_of(patterns)}"


def _at(part: Any, path: str) -> Any:
    for name in path.split("."):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part


def _on_any(job: TrainingJob, patterns: Sequence[str]) -> bool:
    """Whether any part of a job is on an instance of one of these types."""
    return any(name is not None and matches(name, patterns) for _, name in job.texts(INSTANCE_TYPE))


def _matches_members(source: Mapping[str, Any], patterns: Mapping[str, str]) -> bool:
    """Whether a FileSystemDataSource matches a pattern for each of these members."""
    # Whether SageMaker resolves `..` is not documented: /data/../x may be no directory below /data.
    if "DirectoryPath" in patterns and ".." in _member(source, "DirectoryPath").split("/"):
        return False
    return all(fnmatchcase(_member(source, name), pattern) for name, pattern in patterns.items())


def _member(part: Any, name: str) -> str:
    return _text(_at(part, name)) or ""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return min(value, _HUGE) if isinstance(value, int) and not isinstance(value, bool) else None
