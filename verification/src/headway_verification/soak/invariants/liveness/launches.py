"""What SageMaker has made of the launches of each job, as it has answered them, without the code under test."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headway.pool_names import is_of_plan
from headway_sandbox.sagemaker.training_job import TrainingJob
from headway_service.store.records.capacity.attempt import StopCause

QUOTA = "ResourceLimitExceeded"

REFUSED = frozenset({QUOTA, "AccessDeniedException"})
"""The codes with which SageMaker refuses a launch that the queue tries again."""

TOO_LONG_S = 420.0
"""SageMaker has no instances for a training job that has none for so long; the first time, as that is doubled."""

AGAIN = 2
"""After so many launches in a row without instances the next one is in vain, too, ..."""

LAG_S = 300
"""... or so long after the first one, if the last one exceeded a quota together with others: these may end soon, and
SageMaker counts for minutes what they had."""

CLOCKS_S = 60
"""An attempt may have been written down by a clock that is so far ahead of SageMaker's."""

_QUOTA = re.compile(r" is (\d+) \D*utilization of \d+ \D*delta of (\d+)")

_Items = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class FailedLaunches:
    """The launches in a row of a job on one of its alternatives that got no instances.

    Attributes:
        job: the job.
        pools: the pools of the alternative.
        demand: the instances of the alternative.
        count: how many there were.
        first_s: when SageMaker answered the first one, s.
        known_s: since when the table shows the last one, s.
        may_lag: whether the last one would have got instances if others had none.
    """

    job: str
    pools: frozenset[str]
    demand: Mapping[str, int]
    count: int
    first_s: float
    known_s: float
    may_lag: bool = False

    def is_lasting(self, now_s: float) -> bool:
        """Return whether the next one will be in vain, too."""
        return (self.count >= AGAIN and not self.may_lag) or now_s - self.first_s > LAG_S


@dataclass(frozen=True, kw_only=True)
class _Launch:
    job: str
    demand: Mapping[str, int]
    #: Since when the attempt is in the ledger, by its own clock. What had its name before is no training job of it.
    since_s: float
    at_s: float
    #: Whether SageMaker has refused it; otherwise it has accepted it.
    is_refused: bool
    #: Whether it was refused for what others have.
    may_lag: bool
    #: The invocation that was answered, and whether it has written anything of the attempt since.
    by: object
    is_known: bool = False


class LaunchHistory:
    """Follows the launches of a queue.

    Args:
        is_given_up: whether the queue has given up the launch of an attempt, which SageMaker did not show in time. What
            became of it then tells the queue nothing.

    Attributes:
        refused_again: the jobs of which two launches in a row got no instances.
    """

    def __init__(self, is_given_up: Callable[[str], bool] = lambda _: False) -> None:
        self._is_given_up = is_given_up
        self.refused_again: set[str] = set()
        self._failed: dict[tuple[str, frozenset[str]], FailedLaunches] = {}
        #: The last launch of each attempt of which the outcome is not known or not in the table yet.
        self._open: dict[str, _Launch] = {}
        self._sizes: dict[str, int] = {}
        #: The job, the demand and the begin of each attempt, of the last one of its name.
        self._attempts: dict[str, tuple[str, Mapping[str, int], float]] = {}
        #: The attempts that the queue has stopped for another reason: whether they would have got instances is open.
        self._stopped: set[str] = set()

    def answered(self, attempt: str, code: str, now_s: float, message: str = "", by: object = None) -> None:
        """Record what SageMaker answers to a launch.

        Args:
            attempt: the name of the training job.
            code: the code of its error; empty if it has accepted the launch.
            message: the text of the error.
            by: the invocation that is answered.
        """
        known = self._attempts.get(attempt)
        if known is not None and (not code or code in REFUSED):
            job, demand, since_s = known
            quota = _QUOTA.search(message)
            # An answer that names no quota does not tell.
            may_lag = code == QUOTA and (quota is None or int(quota[2]) <= int(quota[1]))
            self._open[attempt] = _Launch(
                job=job, demand=demand, since_s=since_s, at_s=now_s, is_refused=bool(code), may_lag=may_lag, by=by
            )

    def written(self, attempt: str, stop_cause: str | None, by: object) -> None:
        """An attempt was changed in the table. A refusal that its invocation did not write down before is lost.

        Args:
            attempt: its name.
            stop_cause: why it is to stop from then on; None if it is not, or is not in the table any more.
            by: the invocation that has changed it.
        """
        # Seen here, as it may end at the same moment.
        if stop_cause not in {None, StopCause.NO_INSTANCES}:
            self._stopped.add(attempt)
        launch = self._open.get(attempt)
        if launch is None or not launch.is_refused or launch.is_known:
            return
        if by is launch.by:
            self._open[attempt] = replace(launch, is_known=True)
        else:
            del self._open[attempt]

    def begin_again(self, job: str) -> None:
        """Forget what failed of a job: it is launched as if it were new."""
        self._failed = {key: each for key, each in self._failed.items() if key[0] != job}

    def resized(self, sizes: Mapping[str, int]) -> None:
        """Forget what failed in pools that have another size than before: it tells nothing about a launch now.

        Nor does what is refused already, and comes into the table only now, or has lost the instances of a plan.

        Args:
            sizes: the size of each pool.
        """
        changed = {pool for pool, size in sizes.items() if self._sizes.get(pool, size) != size}
        self._sizes.update(sizes)
        self._failed = {key: each for key, each in self._failed.items() if changed.isdisjoint(key[1])}
        self._open = {
            attempt: each
            for attempt, each in self._open.items()
            if changed.isdisjoint(each.demand) or not (each.is_refused or any(map(is_of_plan, each.demand)))
        }

    def update(self, attempts: _Items, training_jobs: Iterable[TrainingJob], now_s: float) -> None:
        """Record what has become of launches.

        Args:
            attempts: the attempts in the ledger, by name.
            training_jobs: the training jobs of the queue.
        """
        self._attempts.update(
            (name, (each["jobName"], each["demand"], each["sinceMs"] / 1000)) for name, each in attempts.items()
        )
        if not self._open:
            return
        shown = {each.name: each for each in training_jobs}
        for attempt, launch in list(self._open.items()):
            training_job = shown.get(attempt)
            if launch.is_refused:
                if training_job is not None and launch.since_s - CLOCKS_S <= training_job.created < launch.at_s:
                    # It was launched before, and the queue does not know the answer to that: its name is in use.
                    self._open[attempt] = replace(launch, at_s=training_job.created, is_refused=False)
                elif attempt not in attempts:
                    # One that was to stop when its answer came ends as stopped.
                    if attempt not in self._stopped:
                        self._fail(launch, now_s)
                    del self._open[attempt]
            elif training_job is None or _got_instances(training_job):
                self._failed.pop((launch.job, frozenset(launch.demand)), None)
                del self._open[attempt]
            elif training_job.ended and attempt not in attempts:
                is_known = attempt not in self._stopped and not self._is_given_up(attempt)
                if is_known and lacks_instances(training_job, now_s):
                    self._fail(launch, now_s)
                del self._open[attempt]

    def _fail(self, launch: _Launch, now_s: float) -> None:
        key = launch.job, frozenset(launch.demand)
        before = self._failed.get(key)
        if before is not None:
            self.refused_again.add(launch.job)
        self._failed[key] = FailedLaunches(
            job=launch.job,
            pools=key[1],
            demand=launch.demand,
            count=before.count + 1 if before else 1,
            first_s=before.first_s if before else launch.at_s,
            known_s=now_s,
            may_lag=launch.may_lag,
        )

    def failed(self, job: str) -> Iterator[FailedLaunches]:
        """Return the launches of a job without instances, of each alternative with any since it got some."""
        return (each for each in self._failed.values() if each.job == job)

    @property
    def all_failed(self) -> Collection[FailedLaunches]:
        """Those of all jobs."""
        return self._failed.values()

    def without_instances(
        self, attempts: Collection[str], training_jobs: Iterable[TrainingJob], now_s: float
    ) -> set[str]:
        """Return the attempts that SageMaker has accepted and gives no instances, of jobs that had none before either.

        Those on spot instances are not among them: they wait for as long as their MaxWaitTimeInSeconds allows.

        Args:
            attempts: the attempts in the ledger.
            training_jobs: the training jobs of the queue.
        """
        found = set()
        for each in training_jobs:
            launch = self._open.get(each.name)
            if launch is None or each.name not in attempts or each.spot or _got_instances(each):
                continue
            again = (launch.job, frozenset(launch.demand)) in self._failed
            if lacks_instances(each, now_s) or (again and each.secondary == "Pending"):
                found.add(each.name)
        return found


def lacks_instances(training_job: TrainingJob, now_s: float) -> bool:
    """Return whether SageMaker has no instances for a training job, or had none until it ended."""
    ended_s = training_job.modified if training_job.ended else now_s
    no_capacity = "apacity" in (training_job.failure_reason or "")
    return not _got_instances(training_job) and (no_capacity or ended_s - training_job.created >= TOO_LONG_S)


def _got_instances(training_job: TrainingJob) -> bool:
    allocated = training_job.allocated_at is not None or training_job.held_s > 0
    return allocated or training_job.training_started is not None
