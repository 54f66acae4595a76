"""The invariants of each observation, and those at rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headway_sandbox.sagemaker.service_facts import COMPLETED, ENDED
from headway_verification.chaos.raw_state import FINAL, HOLDING, Item, RawState, job_of

Accepted = Mapping[str, list[Mapping[str, Any]]]
"""The requests answered with 2xx, by name; equal ones once."""


@dataclass(frozen=True, order=True)
class Violation:
    """A violated invariant, and the job whose history explains it."""

    sentence: str
    job: str = ""


class Invariants:
    """Checks observations of one queue.

    Args:
        sizes: the sizes of the pools, which do not change.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._passing = {pool: {size} for pool, size in sizes.items()}
        self._ended: dict[str, str] = {}
        self._ran: set[str] = set()
        self.observations = 0
        self.violations: list[Violation] = []

    def allow(self, pool: str, size: int) -> None:
        """From now on a pool may have this size, too, for a time."""
        self._passing[pool].add(size)

    def check(self, observed: RawState, accepted: Iterable[str]) -> None:
        """Check the invariants of an observation.

        Args:
            observed: the observation.
            accepted: the jobs accepted before it.
        """
        self.observations += 1
        self._note(self._ledger(observed))
        self._note(self._training_jobs(observed))
        self._note(self._jobs(observed, accepted))

    def check_end(self, observed: RawState, accepted: Accepted) -> None:
        """Check the invariants at rest.

        Args:
            observed: the observation.
            accepted: the accepted requests.
        """
        self.check(observed, accepted)
        self._note(_nothing_is_left(observed, self._sizes))
        self._note(_each_has_one_end(observed))
        self._note(_accepted_as_asked(observed, accepted))
        self._note(_check_records(observed.training_jobs, self._sizes))

    def _note(self, found: Iterable[Violation]) -> None:
        self.violations += [each for each in found if each not in self.violations]

    def _ledger(self, observed: RawState) -> Iterator[Violation]:
        held = _sum(attempt["demand"] for attempt in observed.attempts)
        reserved = _sum(reservation["demand"] for reservation in observed.reservations)
        for item in observed.pools:
            pool, size, free = item["pool"], int(item["size"]), int(item["free"])
            if size not in self._passing[pool] or free != size - held[pool] - reserved[pool]:
                yield Violation(f"{pool}: {free} of {size} free, {held[pool]} held, {reserved[pool]} reserved")
            if free < 0:
                yield Violation(f"{pool} is exceeded by {-free}")
        for name, count in Counter(attempt["jobName"] for attempt in observed.attempts).items():
            if count > 1:
                yield Violation(f"{name} has {count} live attempts in the ledger", name)

    def _training_jobs(self, observed: RawState) -> Iterator[Violation]:
        for pool, count in _sum(job["Instances"] for job in observed.running).items():
            if count > self._sizes.get(pool, 0):
                yield Violation(f"SageMaker runs {count} {pool} of {self._sizes.get(pool, 0)}")
        for name, count in Counter(map(job_of, observed.running)).items():
            if count > 1:
                yield Violation(f"SageMaker runs {count} training jobs for {name}", name)
        known = {attempt["attemptName"] for attempt in observed.attempts}
        now = {job["TrainingJobName"]: job_of(job) for job in observed.running}
        # Jobs that run in this observation and the previous one also ran when the ledger was read, in between.
        for training_job in self._ran & now.keys() - known:
            yield Violation(f"SageMaker runs {training_job}, which the ledger does not hold", now[training_job])
        self._ran = set(now)

    def _jobs(self, observed: RawState, accepted: Iterable[str]) -> Iterator[Violation]:
        trained = {job_of(job) for job in observed.training_jobs if job["TrainingJobStatus"] == COMPLETED}
        for name in accepted:
            if name not in observed.jobs:
                yield Violation(f"{name} was accepted but is lost", name)
        for name, job in observed.jobs.items():
            state = job["jobState"]
            if ("liveAttempt" in job) != (state in HOLDING):
                yield Violation(f"{name} is {state} with the attempt {job.get('liveAttempt')}", name)
            if state == "completed" and name not in trained:
                yield Violation(f"{name} is completed, but no attempt completed", name)
            if self._ended.get(name, state) != state:
                yield Violation(f"{name} was {self._ended[name]}, but is {state}", name)
            if state in FINAL:
                self._ended[name] = state


def _nothing_is_left(observed: RawState, sizes: Mapping[str, int]) -> Iterator[Violation]:
    for name in observed.unended:
        yield Violation(f"{name} is still {observed.jobs[name]['jobState']}", name)
    for item in (*observed.attempts, *observed.reservations):
        yield Violation(f"still in the ledger: {item['sk']}", item["jobName"])
    for entry in observed.queue_entries:
        yield Violation(f"still in {entry['pk']}: {entry['jobName']}", entry["jobName"])
    for job in observed.running:
        yield Violation(f"SageMaker still runs {job['TrainingJobName']}", job_of(job))
    if {item["pool"]: item["free"] for item in observed.pools} != sizes:
        yield Violation(f"instances are not free: {[(item['pool'], int(item['free'])) for item in observed.pools]}")


def _each_has_one_end(observed: RawState) -> Iterator[Violation]:
    completed = Counter(job_of(job) for job in observed.training_jobs if job["TrainingJobStatus"] == COMPLETED)
    for name in observed.jobs.keys() - set(observed.unended):
        job = observed.jobs[name]
        ends = [step["jobState"] for step in job["history"] if step["jobState"] in FINAL]
        if ends != [job["jobState"]]:
            yield Violation(f"{name} is {job['jobState']}, but its history has the ends {ends}", name)
        if completed[name] != (job["jobState"] == "completed"):
            yield Violation(f"{name} is {job['jobState']}, but was trained {completed[name]} times", name)
    for name in completed.keys() - observed.jobs.keys():
        yield Violation(f"SageMaker trained {name}, which is unknown to the queue", name)


def _accepted_as_asked(observed: RawState, accepted: Accepted) -> Iterator[Violation]:
    for name, requests in accepted.items():
        if len(requests) != 1:
            yield Violation(f"{len(requests)} different requests were accepted as {name}", name)
        stored = observed.requests.get(name, {})
        if stored.get("Environment") != requests[0]["Environment"]:
            yield Violation(f"{name} is stored with a request other than the accepted one", name)


def _check_records(training_jobs: Iterable[Item], sizes: Mapping[str, int]) -> Iterator[Violation]:
    """Check SageMaker's start and end times of the training jobs, which leave no gap between observations."""
    jobs = list(training_jobs)
    for pool, size in sizes.items():
        held = most_at_once((job, job["Instances"].get(pool, 0)) for job in jobs)
        if held > size:
            yield Violation(f"by SageMaker's records there were {held} {pool} of {size}")
    for name in sorted({job_of(job) for job in jobs}):
        live = most_at_once((job, 1) for job in jobs if job_of(job) == name)
        if live > 1:
            yield Violation(f"by SageMaker's records there were {live} concurrent training jobs for {name}", name)


def most_at_once(weighted: Iterable[tuple[Item, int]]) -> int:
    """Return the maximum weight at any time; each training job has its weight from creation to end."""
    changes: list[tuple[float, int]] = []
    for job, weight in weighted:
        changes.append((job["CreationTime"], weight))
        if job["TrainingJobStatus"] in ENDED:
            changes.append((job["LastModifiedTime"], -weight))
    now = most = 0
    for _, change in sorted(changes):  # At equal milliseconds the end comes first: its change is negative.
        now += change
        most = max(most, now)
    return most


def _sum(demands: Iterable[Mapping[str, Any]]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for demand in demands:
        summed.update({pool: int(count) for pool, count in demand.items()})
    return summed
