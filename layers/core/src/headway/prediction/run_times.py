"""The run times of jobs that have completed, and what they say about another job."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.accounting.histogram import duration_of, merged, quantile
from headway.days import Period
from headway.prediction.fading import FULL_WEIGHT, weight_of
from headway.prediction.kinds import RunKind

MIN_RUNS = 3
"""Completed jobs of a class below which the class says nothing."""

LOW, HIGH = 0.1, 0.9
"""The quantiles that an interval reaches from and to: it is to contain four of five run times."""

EXPECTED = 0.75
"""The quantile by which the orders among equals compare jobs: where most jobs outlive what is expected of them, they
are compared by little more than extensions; where few do, a few long jobs make all of them count as long."""

WIDER_RUNS = 2
"""What all jobs of the next wider class count, in jobs. The next job of a kind that has run ``n`` times runs for a time
outside of theirs with a probability of ``2 / (n + 1)``, as each place in the order is equally likely (Hill: Posterior
distribution of percentiles, JASA 1968), and of such run times only the wider class says something."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """How long a job is expected to run, from its start on, ms.

    Attributes:
        low_ms: one of ten such jobs ends before.
        median_ms: half of them do.
        expected_ms: three of four do.
        high_ms: nine of ten do.
        runs: how many completed jobs this rests on: those of the most specific class that has enough.
        shared: how many values the jobs of that class share (see :meth:`RunKind.classes`).
    """

    low_ms: int
    median_ms: int
    expected_ms: int
    high_ms: int
    runs: int
    shared: int


@dataclass(slots=True)
class _Runs:
    """The completed jobs of a class: their number and their weights by bucket of run time."""

    weights: Counter[int] = field(default_factory=Counter)
    counts: Counter[int] = field(default_factory=Counter)


class RunTimes:
    """The run times of completed jobs, by all classes.

    Args:
        now_ms: the present, ms: what observations count depends on their age.
    """

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._classes: dict[tuple[str, ...], _Runs] = {}

    def add(self, kind: RunKind, month: Period, histogram: Mapping[int, int]) -> None:
        """Add completed jobs of a kind.

        Args:
            kind: what they have in common.
            month: in which they completed.
            histogram: their run times: the counts by :func:`headway.accounting.histogram.bucket_of`.
        """
        weight = weight_of(month, self._now_ms)
        if not weight:
            return
        weights = {bucket: count * weight for bucket, count in histogram.items()}
        for shared in kind.classes():
            runs = self._classes.setdefault(shared, _Runs())
            runs.weights.update(weights)
            runs.counts.update(histogram)

    def predict(self, kind: RunKind, *, ran_ms: int = 0, limit_ms: int | None = None) -> Prediction | None:
        """How long a job will run; None if too few jobs like it have completed.

        Args:
            kind: what is known of the job.
            ran_ms: how long it has run, ms. Only jobs that ran longer count then.
            limit_ms: it runs no longer than this, ms; None if nothing limits it.
        """
        weights: dict[int, int] = {}
        runs = shared_values = 0
        # From the widest class on: each narrower one with enough jobs outweighs those before it, the more jobs it has.
        for shared in reversed(kind.classes()):
            own = self._longer_than(shared, ran_ms)
            count = own.counts.total()
            if count < MIN_RUNS:
                break
            if count != runs:
                weights = merged(own.weights, _scaled(weights, WIDER_RUNS * FULL_WEIGHT))
            # Otherwise it has the same jobs as the wider class.
            runs, shared_values = count, len(shared)
        if not weights:
            return None
        most = math.inf if limit_ms is None else max(ran_ms, limit_ms)
        low_ms, median_ms, expected_ms, high_ms = (
            int(min(most, (quantile(weights, part) or 0) * 1000)) for part in (LOW, 0.5, EXPECTED, HIGH)
        )
        return Prediction(
            low_ms=low_ms,
            median_ms=median_ms,
            expected_ms=expected_ms,
            high_ms=high_ms,
            runs=runs,
            shared=shared_values,
        )

    def _longer_than(self, shared: tuple[str, ...], ran_ms: int) -> _Runs:
        """The completed jobs of a class that ran longer than a time."""
        runs = self._classes.get(shared, _Runs())
        if not ran_ms:
            return runs
        return _Runs(weights=_beyond(runs.weights, ran_ms), counts=_beyond(runs.counts, ran_ms))


def _beyond(histogram: Mapping[int, int], ran_ms: int) -> Counter[int]:
    return Counter({bucket: count for bucket, count in histogram.items() if duration_of(bucket) * 1000 > ran_ms})


def _scaled(weights: Mapping[int, int], total: int) -> dict[int, int]:
    """Weights with another sum, about; those that are too small for it are left out."""
    before = sum(weights.values())
    return {bucket: scaled for bucket, weight in weights.items() if (scaled := weight * total // before)}
