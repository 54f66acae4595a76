"""Options of a submission, with the names of AWS Batch's SubmitServiceJob."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway_client.alternatives import with_alternatives
from headway_client.dependencies import with_dependencies
from headway_client.errors import UsageError
from headway_client.request_tags import with_priority, with_tag
from headway_client.reuse import with_reuse
from headway_client.sweeps import with_sweep

TEAM_TAGS = ("team", "headway:team")
"""The keys of the tag that names the team to charge."""

_DURATION = "attemptDurationSeconds"


@dataclass(frozen=True, kw_only=True)
class QueueOptions:
    """Options of a submission; None keeps the value in the request.

    Attributes:
        priority: 0 to 9999, higher goes first.
        share_identifier: the team to charge.
        timeout: ``{"attemptDurationSeconds": s}``: maximum duration of an attempt in seconds.
        tags: additional tags of the training job; they replace tags with the same keys.
        retry_config: has to be None, as the queue's policy defines which failures are retried.
        alternatives: what else the job can run on; see `headway_client.alternatives.with_alternatives`.
        wait_at_most_s: for how long after its entry the job waits for a better alternative, s.
        portable_checkpoint: whether a checkpoint of one alternative can be read on the others.
        after: the jobs that have to end first; see `headway_client.dependencies.with_dependencies`.
        sweep: what the members of an array differ in; see `headway_client.sweeps.with_sweep`.
        at_once: how many members of the array may be in the queue or run at once.
        max_failures: how many of them may fail before no further one starts.
        early_stopping: when members of the array are stopped early.
        reuse: whether the outputs of an equal job may be used; see `headway_client.reuse.with_reuse`.
        reuse_unpinned: whether an image without a digest counts as the same then.
    """

    priority: int | None = None
    share_identifier: str | None = None
    timeout: Mapping[str, int] | None = None
    tags: Mapping[str, str] | None = None
    retry_config: Mapping[str, Any] | None = None
    alternatives: Sequence[Mapping[str, Any]] = ()
    wait_at_most_s: int = 0
    portable_checkpoint: bool = False
    after: str | Sequence[str] = ()
    sweep: Mapping[str, Any] | None = None
    at_once: int | None = None
    max_failures: int | None = None
    early_stopping: Mapping[str, Any] | None = None
    reuse: bool = False
    reuse_unpinned: bool = False

    def __post_init__(self) -> None:
        if self.retry_config is not None:
            raise UsageError(
                "retry_config has no effect here, so leave it out: the queue's policy defines which failures "
                "are retried (`retries` in its configuration; by default those of the service and of capacity). "
                "For SageMaker's own retries give the estimator max_retry_attempts (RetryStrategy)."
            )
        if self.timeout is not None and not _is_duration(self.timeout):
            raise UsageError(
                f'timeout is {self.timeout!r}; it has to have the form {{"{_DURATION}": 3600}}, in seconds.'
            )

    def applied_to(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return what to submit for a CreateTrainingJob request with these options.

        Raises:
            UsageError: the request's Tags are not a list, an option is for jobs with alternatives or reuse, or for
                arrays, or a dependency or the sweep is not valid.
        """
        changed = dict(request)
        for key, value in (self.tags or {}).items():
            changed = with_tag(changed, key, value, replaced=(key,))
        if self.share_identifier is not None:
            changed = with_tag(changed, TEAM_TAGS[0], self.share_identifier, replaced=TEAM_TAGS)
        if self.priority is not None:
            changed = with_priority(changed, self.priority)
        if self.timeout is not None:
            changed["StoppingCondition"] = _limited(changed.get("StoppingCondition") or {}, self.timeout[_DURATION])
        body = with_alternatives(
            changed,
            self.alternatives,
            wait_at_most_s=self.wait_at_most_s,
            portable_checkpoint=self.portable_checkpoint,
        )
        body = with_reuse(with_dependencies(body, self.after), reuse=self.reuse, unpinned=self.reuse_unpinned)
        return with_sweep(
            body,
            self.sweep,
            at_once=self.at_once,
            max_failures=self.max_failures,
            early_stopping=self.early_stopping,
        )


def _is_duration(timeout: object) -> bool:
    seconds = timeout.get(_DURATION) if isinstance(timeout, Mapping) and len(timeout) == 1 else None
    return type(seconds) is int and seconds > 0


def _limited(condition: Mapping[str, Any], runtime_s: int) -> dict[str, Any]:
    """Return a StoppingCondition with this runtime.

    MaxWaitTimeInSeconds, for spot training, must not be less (source: API reference, StoppingCondition).
    """
    changed = {**condition, "MaxRuntimeInSeconds": runtime_s}
    wait_s = condition.get("MaxWaitTimeInSeconds")
    if isinstance(wait_s, int) and wait_s < runtime_s:
        changed["MaxWaitTimeInSeconds"] = runtime_s
    return changed
