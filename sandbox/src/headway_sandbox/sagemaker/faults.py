"""What is made to go wrong in the fake SageMaker, and how much it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from headway_sandbox.sagemaker.raw_answers import BODIES, RawAnswer
from headway_sandbox.sagemaker.token_bucket import Rate


@dataclass(frozen=True, kw_only=True)
class Faults:
    """The account's switches. The default is an account without limits where nothing goes wrong."""

    quotas: Mapping[str, int] = field(default_factory=dict)
    """Instances per type that the account may have at once in training jobs. Types not named are not limited."""
    spot_quotas: Mapping[str, int] = field(default_factory=dict)
    """The same in managed spot training, which has quotas of its own."""
    quota_lag_s: float = 0.0
    """For so long an ended job's instances still count against its quota, in seconds of the real world."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """Instances per type that really exist: what goes beyond is accepted and fails for want of capacity."""
    throttle: Mapping[str, int] = field(default_factory=dict)
    """Per operation (`CreateTrainingJob`): how many of the next calls are answered "Rate exceeded"."""
    rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Per operation: how often it may be called, `{"per_s": 2, "burst": 10}`, in place of the settings' rate."""
    lose_answer: Mapping[str, int] = field(default_factory=dict)
    """Per operation: how many of the next calls take effect while the caller gets an HTTP 500."""
    kill_caller: Mapping[str, int] = field(default_factory=dict)
    """Per operation: after how many of the next calls, which took effect, the calling function is killed."""
    unsigned_payload: bool = False
    """Whether SageMaker and API Gateway take a signature without the body (`headway_sandbox.server.signatures`)."""
    quota_before_name: bool = False
    """Whether a used-up quota is answered before a name in use. AWS does not document the order of these checks."""
    repeated_create: str = ""
    """Error code for a CreateTrainingJob whose name is in use, such as `AccessDeniedException`; empty: `ResourceInUse`.

    A retry of a call whose answer was lost may meet a policy, a quota or a check that the first try did not meet.
    """
    describe_lag_s: float = 0.0
    """How long Describe and Stop do not find a new training job, in seconds of the real world."""
    list_lag_s: float = 0.0
    """How long ListTrainingJobs leaves out a new training job, in seconds of the real world."""
    tags_lag_s: float = 0.0
    """How long ListTags answers no tags for a new training job, in seconds of the real world."""
    raw_answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Per operation, of each service whose requests name theirs in a header (not SNS, S3, Lambda): what the next calls
    get in place of an answer, as `{"status": 502, "body": "html", "count": 1, "after": false}`. The body is `empty`,
    `html` or `truncated`; `after` says whether the service has done its work before."""
    event_drop: float = 0.0
    """Probability that a state-change event is never delivered."""
    event_duplicate: float = 0.0
    """Probability that it is delivered twice, the second time late by up to `event_delay_s`."""
    event_delay: float = 0.0
    """Probability that it is late by up to `event_delay_s`, so that later ones overtake it."""
    event_delay_s: float = 60.0
    """The longest lateness, in seconds of the real world."""
    event_shuffle: float = 0.0
    """Probability that the events which come due together are delivered in random order."""

    def __post_init__(self) -> None:
        for name in ("event_drop", "event_duplicate", "event_delay", "event_shuffle"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is a probability, from 0 to 1, not {getattr(self, name)}.")
        for name in ("event_delay_s", "quota_lag_s", "describe_lag_s", "list_lag_s", "tags_lag_s"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} can't be negative ({getattr(self, name)}).")
        for operation in self.rates:
            self.rate(operation)
        for name in ("quotas", "spot_quotas", "capacity", "throttle", "lose_answer", "kill_caller"):
            if any(count < 0 for count in getattr(self, name).values()):
                raise ValueError(f"{name} holds a negative number.")
        for operation, raw in self.raw_answers.items():
            _check_raw(operation, raw)

    def rate(self, operation: str) -> Rate | None:
        """How often an operation may be called, if a switch says so.

        Raises:
            ValueError: it says so in no sensible way.
        """
        given = self.rates.get(operation)
        if given is None:
            return None
        if set(given) != {"per_s", "burst"}:
            raise ValueError(f"rates: one of {operation} has per_s and burst, not {sorted(given)}.")
        return Rate(per_s=float(given["per_s"]), burst=int(given["burst"]))

    def used_up(self, switch: str, operation: str) -> tuple[bool, Faults]:
        """Whether a call of `operation` is hit by `throttle` or `lose_answer`, and what is left of it."""
        left = getattr(self, switch).get(operation, 0)
        if left <= 0:
            return False, self
        changed = {**getattr(self, switch), operation: left - 1}
        if left == 1:
            del changed[operation]
        return True, self.with_changes({switch: changed})

    def raw_answer(self, operation: str) -> tuple[RawAnswer | None, bool, Faults]:
        """What a call of `operation` gets in place of an answer, whether after its effect, and what is left."""
        raw = self.raw_answers.get(operation)
        if raw is None:
            return None, False, self
        left = raw.get("count", 1) - 1
        others = {name: each for name, each in self.raw_answers.items() if name != operation}
        changed = {**others, operation: {**raw, "count": left}} if left else others
        answer = RawAnswer(raw["status"], BODIES[raw.get("body", "empty")])
        return answer, bool(raw.get("after", False)), self.with_changes({"raw_answers": changed})

    def with_changes(self, changes: Mapping[str, Any]) -> Faults:
        """A copy with some switches set anew.

        Raises:
            ValueError: a switch of that name does not exist, or its value is out of range.
        """
        known = {entry.name for entry in fields(self)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ValueError(f"No such switch: {', '.join(unknown)}. There are: {', '.join(sorted(known))}.")
        return replace(self, **changes)

    def to_document(self) -> dict[str, Any]:
        """As JSON."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _check_raw(operation: str, raw: Mapping[str, Any]) -> None:
    """Check what calls of an operation get in place of an answer.

    Raises:
        ValueError: it is nothing that can be answered.
    """
    unknown = sorted(set(raw) - {"status", "body", "count", "after"})
    if unknown:
        raise ValueError(f"raw_answers[{operation}] has no {', '.join(unknown)}.")
    status, count = raw.get("status"), raw.get("count", 1)
    if not isinstance(status, int) or not 200 <= status <= 599:
        raise ValueError(f"raw_answers[{operation}] needs a status from 200 to 599, not {status}.")
    if raw.get("body", "empty") not in BODIES:
        raise ValueError(f"raw_answers[{operation}] takes one of {', '.join(BODIES)} for a body, not {raw['body']}.")
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"raw_answers[{operation}] needs a count from 1 on, not {count}.")
