"""How long the jobs of a trace have run that have ended in a simulation: what predictions may know at a time."""

from __future__ import annotations

from collections import Counter

from headway.accounting.histogram import bucket_of
from headway.days import Period, day_of, month_of
from headway.prediction.kinds import RunKind, instances_of
from headway.prediction.run_times import Prediction, RunTimes
from headway_sandbox.simulator.trace import TraceJob


class PastRuns:
    """Predicts run times by the jobs that have ended so far. Times never go back."""

    def __init__(self) -> None:
        self._known: dict[tuple[RunKind, Period], Counter[int]] = {}
        self._run_times = RunTimes(0)
        self._month = _month(0)

    def add(self, job: TraceJob, now_ms: int) -> None:
        """Add a job that ends now.

        Args:
            now_ms: The present.
        """
        kind, bucket = kind_of(job), bucket_of(job.run_ms / 1000)
        self._known.setdefault((kind, _month(now_ms)), Counter())[bucket] += 1
        self._at(now_ms).add(kind, _month(now_ms), {bucket: 1})

    def predict(self, job: TraceJob, now_ms: int, limit_ms: int | None = None) -> Prediction | None:
        """How long a job will run; None if too few jobs like it have ended.

        Args:
            now_ms: The present.
            limit_ms: It runs no longer than this; None if nothing limits it.
        """
        return self._at(now_ms).predict(kind_of(job), limit_ms=limit_ms)

    def _at(self, now_ms: int) -> RunTimes:
        month = _month(now_ms)
        if month != self._month:
            # What was known has faded.
            self._month, self._run_times = month, RunTimes(now_ms)
            for (kind, then), histogram in self._known.items():
                self._run_times.add(kind, then, histogram)
        return self._run_times


def kind_of(job: TraceJob) -> RunKind:
    """What is known of a job of a trace: its virtual cluster or user, and its instances."""
    return RunKind(owner=job.team, instances=instances_of({job.pool: job.count}))


def _month(time_ms: int) -> Period:
    return Period(month=month_of(day_of(time_ms)))
