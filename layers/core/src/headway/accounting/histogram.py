"""Mergeable histograms of durations, with a bounded relative error of quantiles.

A histogram is the counts by bucket. The bounds of buckets grow by a constant factor, as in DDSketch (Masson, Rim, Lee:
DDSketch, VLDB 2019); the package ``ddsketch`` also does so, but serializes to protobuf only, while a table adds to
counts one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

RELATIVE_ERROR = 0.05
"""How far a quantile may be from the value, as a part of it."""

MAX_DURATION_S = 10 * 365 * 86_400
"""Longer durations count as this long."""

_GROWTH = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GROWTH = math.log(_GROWTH)

MAX_BUCKETS = math.ceil(math.log(MAX_DURATION_S) / _LOG_GROWTH) + 2
"""The buckets that there are: one for durations below a second, and the others up to :data:`MAX_DURATION_S`."""


def bucket_of(duration_s: float) -> int:
    """The bucket of a duration; 0 for less than a second."""
    if duration_s < 1:
        return 0
    return 1 + math.ceil(math.log(min(duration_s, MAX_DURATION_S)) / _LOG_GROWTH)


def duration_of(bucket: int) -> float:
    """The duration that stands for those of a bucket, s: no further from any of them than the error."""
    if bucket <= 0:
        return 0.0
    return 2 * _GROWTH ** (bucket - 1) / (1 + _GROWTH)


def merged(*histograms: Mapping[int, int]) -> dict[int, int]:
    """The histogram of all durations of several."""
    found: dict[int, int] = {}
    for histogram in histograms:
        for bucket, count in histogram.items():
            found[bucket] = found.get(bucket, 0) + count
    return found


def quantile(histogram: Mapping[int, int], part: float) -> float | None:
    """The duration, s, that this part of the durations does not exceed; None without durations.

    Args:
        histogram: the counts by bucket.
        part: from 0 to 1, such as 0.9.
    """
    total = sum(histogram.values())
    if not total:
        return None
    rank = max(1, math.ceil(part * total))
    counted = 0
    for bucket in sorted(histogram):
        counted += histogram[bucket]
        if counted >= rank:
            return duration_of(bucket)
    return duration_of(max(histogram))
