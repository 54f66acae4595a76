"""What a rule may require of a training job, and what to change in one that breaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.jobpolicy.patterns import either, matches, one_of
from headway.jobpolicy.training_job import CHECKPOINTS, DEFAULT_RUN_TIME_S, TrainingJob

_RUN_TIME = "StoppingCondition.MaxRuntimeInSeconds"
_WAIT_TIME = "StoppingCondition.MaxWaitTimeInSeconds"

Finding = tuple[str, str]
"""Path of a field, and a sentence with the necessary change."""


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
            yield "Tags", f"has {self.key!r} with {value!r:.80}; use {one_of(self.patterns)}"


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
                yield "Tags", f"has {key!r:.140}, which is not allowed: remove it, or use {one_of(self.patterns)}"


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
                yield path, f"is {text!r:.120}; use {one_of(self.patterns)}"


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
        value = job.whole(self.path) or 0
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
                yield path, f"has {has}; use {either(allowed, ', or ')}"


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
        run_time_s, wait_time_s = job.whole(_RUN_TIME), job.whole(_WAIT_TIME)
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


def _with(patterns: Sequence[str]) -> str:
    return "" if "*" in patterns else f" with {one_of(patterns)}"


def _matches_members(source: Mapping[str, Any], patterns: Mapping[str, str]) -> bool:
    """Whether a FileSystemDataSource matches a pattern for each of these members."""
    # Whether SageMaker resolves `..` is not documented: /data/../x may be no directory below /data.
    if "DirectoryPath" in patterns and ".." in _member(source, "DirectoryPath").split("/"):
        return False
    return all(matches(_member(source, name), [pattern]) for name, pattern in patterns.items())


def _member(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    return value if isinstance(value, str) else ""
