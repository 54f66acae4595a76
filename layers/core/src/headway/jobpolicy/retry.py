"""Whether and when a failed attempt is retried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.durations import in_words
from headway.errors import InvalidPolicy
from headway.jobpolicy.failure_kinds import FailureKind

MAX_BACKOFF_MS = 600_000
"""However often a job has failed, it is tried again after this at the latest: it keeps its place meanwhile."""

MAX_RETRIES = 100
"""The most retries of one job after failures of one kind, where their number is limited."""

NOT_TRANSIENT = frozenset({FailureKind.CODE, FailureKind.REQUEST, FailureKind.UNKNOWN})
"""Kinds that would only happen again if nothing has changed: if the text is the same twice, it is not retried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """How failures of one kind are treated.

    Attributes:
        max_per_job: how often a job is tried again after a failure of this kind; None for as often as it takes.
        backoff_ms: how long it waits the first time, ms; twice as long each further time, ten minutes at most.
        min_run_ms: only if the attempt ran at least this long, ms.
    """

    max_per_job: int | None
    backoff_ms: int
    min_run_ms: int = 0

    def __post_init__(self) -> None:
        if min(self.max_per_job or 0, self.backoff_ms, self.min_run_ms) < 0:
            raise InvalidPolicy("counts and times of retries cannot be negative")


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A failed attempt.

    Attributes:
        kind: why it failed.
        ran_ms: its training time, ms; if SageMaker does not report it, the time for which it held its instances.
        retried: how often its job was tried again after a failure of this kind.
        repeated: whether the attempt before failed with the same text.
    """

    kind: FailureKind
    ran_ms: int
    retried: int
    repeated: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryDecision:
    """Whether the job is retried.

    Attributes:
        wait_ms: the back-off before the retry, ms; None if the job is not retried.
        sentence: the reason, for users.
    """

    wait_ms: int | None
    sentence: str


def decide_retry(failure: Failure, rules: Mapping[FailureKind, Retry], *, most: int | None = None) -> RetryDecision:
    """Decide whether the job of a failed attempt is retried.

    Args:
        failure: the failure of the attempt.
        rules: the retry rules of the policy.
        most: how often the job wants to be retried after failures of one kind; None for what the policy says. It does
            not count where AWS had no instances: there the job did not run.
    """
    kind = f"a failure of the kind `{failure.kind}`"
    if most is not None and failure.kind is not FailureKind.CAPACITY and failure.retried >= most:
        often = f"retried {_times(most)} at most" if most else "not retried"
        return _never(f"{kind} is {often}, as its request says")
    rule = rules.get(failure.kind)
    if rule is None or rule.max_per_job == 0:
        return _never(f"{kind} is not retried")
    if rule.max_per_job is not None and failure.retried >= rule.max_per_job:
        return _never(f"{kind} is retried {_times(rule.max_per_job)} at most")
    if failure.ran_ms < rule.min_run_ms:
        # In seconds, as both may be the same in words.
        needed_s, ran_s = rule.min_run_ms // 1000, failure.ran_ms // 1000
        return _never(f"{kind} is retried only if the attempt ran for {needed_s} s, and it ran for {ran_s} s")
    if failure.repeated and failure.kind in NOT_TRANSIENT:
        return _never("it failed in the same way before")
    wait_ms = min(MAX_BACKOFF_MS, rule.backoff_ms << min(failure.retried, 32))
    of = "" if rule.max_per_job is None else f" of {rule.max_per_job}"
    return RetryDecision(wait_ms=wait_ms, sentence=f"retried in {in_words(wait_ms)} (retry {failure.retried + 1}{of})")


def _never(sentence: str) -> RetryDecision:
    return RetryDecision(wait_ms=None, sentence=sentence)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
