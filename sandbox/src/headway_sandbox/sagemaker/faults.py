"""Faults that the fake SageMaker injects, and its quotas and capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.api.denials import Denial
from headway_sandbox.sagemaker.raw_answers import BODIES, RawAnswer
from headway_sandbox.sagemaker.service_facts import QUOTA_UNITS
from headway_sandbox.sagemaker.token_bucket import Rate

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "pending_expiry": ("Stopped", "Failed"),
    "warm_pool_over_quota": ("unkept", "refused"),
    "preferences_count": ("selected", "all"),
    "plan_end": ("Stopped", "Failed"),
    "warm_pool_choice": ("oldest", "any", "none"),
}
"""The values of switches that select one of some words."""
_QUOTAS = ("quotas", "spot_quotas", "warm_pool_quotas", "account_limits")


@dataclass(frozen=True, kw_only=True)
class Faults:
    """The account's switches. The default is an account without limits and without faults.

    Durations are real seconds: the sandbox's speed scales them.
    """

    quotas: Mapping[str, int] = field(default_factory=dict)
    """Quota of instances per type in training jobs. Types not named are not limited."""
    spot_quotas: Mapping[str, int] = field(default_factory=dict)
    """The same for managed spot training, which has separate quotas."""
    account_limits: Mapping[str, int] = field(default_factory=dict)
    """Quotas that are not of one instance type, by AWS's name (`service_facts.QUOTA_UNITS`). A new account has
    `{"Longest run time for a training job": 432000, "Number of instances across all processing jobs": 4}`. Each rule of
    the debugger and the profiler takes one instance of the processing jobs. Those not named do not limit, as in an
    account whose quotas were raised."""
    unavailable_types: Sequence[str] = field(default_factory=list)
    """Instance types that the region does not have for training jobs."""
    quota_lag_s: float = 0.0
    """How long an ended job's instances still count against its quota."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """Existing instances per type: jobs beyond that are accepted, wait as pending, and end if none become free."""
    capacity_wait_s: float = 900.0
    """How long a job without an effective MaxPendingTimeInSeconds is pending before it fails with a capacity error. AWS
    does not document it. In issue aws/sagemaker-pytorch-training-toolkit#171 two jobs failed so one after the other, of
    which the second was created 19 minutes after the first."""
    pending_expiry: str = "Stopped"
    """Status of a job at the end of its MaxPendingTimeInSeconds: `Stopped` or `Failed`. AWS does not document it."""
    warm_pool_quotas: Mapping[str, int] = field(default_factory=dict)
    """Quota of instances per type in warm pools. It is 0 for types that are not named, as in a new account."""
    warm_pool_over_quota: str = "unkept"
    """What becomes of a job with a keep-alive period over that quota: it runs and leaves no pool (`unkept`, as in the
    guide), or it is `refused`. AWS does not document the second."""
    warm_pool_choice: str = "oldest"
    """Which of the matching pools a job takes: the `oldest`, `any`, or `none`, as AWS promises none."""
    warm_pool_lag_s: float = 0.0
    """How long after its job's end a warm pool is not shown."""
    warm_pool_release_s: float = 60.0
    """From the end of a keep-alive period until the pool is Terminated and its instances no longer count."""
    warm_pool_update_completed_only: bool = False
    """Whether only the pool of a Completed job can be updated, not that of a Stopped or Failed one."""
    keep_alive_max_s: float = 3600.0
    """The longest keep-alive period: 3600 in the guide, 21600 in the model."""
    preferences_count: str = "selected"
    """What a job with InstancePreferences counts for in the quotas before one is selected: nothing (`selected`), or
    `all` of them. AWS does not document it."""
    event_hides_selection: bool = False
    event_hides_metrics: bool = False
    """Whether events lack the selected one of a job's InstancePreferences. AWS does not document it."""
    plan_end: str = "Stopped"
    """Status of a job that has lost its instances of a training plan: `Stopped` or `Failed`."""
    plan_counts_to_quota: bool = False
    """Whether instances of a training plan also count against the quota of training jobs."""
    plan_counts_while_scheduled: bool = True
    """Whether a training plan shows available instances before and between its blocks."""
    denials: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Policies that deny some CreateTrainingJob requests for as long as they are set, each under a name of its own:
    `{"no VPC": {"absent": "VpcConfig"}, "eve": {"name_prefix": "eve-", "policy": "boundary"}}`. The conditions and
    policies are those of `headway_sandbox.sagemaker.api.denials.Denial`."""
    throttle: Mapping[str, int] = field(default_factory=dict)
    """Per operation (`CreateTrainingJob`): number of next calls that fail with "Rate exceeded"."""
    rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Per operation: its call rate, `{"per_s": 2, "burst": 10}`, in place of the settings' rate."""
    lose_answer: Mapping[str, int] = field(default_factory=dict)
    """Per operation: number of next calls that take effect while the caller gets an HTTP 500."""
    kill_caller: Mapping[str, int] = field(default_factory=dict)
    """Per operation: number of next calls that take effect and after which the calling function is killed."""
    unsigned_payload: bool = False
    """Whether SageMaker and API Gateway accept a signature without the body (`headway_sandbox.server.signatures`)."""
    quota_before_name: bool = False
    """Whether an exhausted quota is checked before a name in use. AWS does not document the order of these checks."""
    repeated_create: str = ""
    """Error code for a CreateTrainingJob whose name is in use, such as `AccessDeniedException`; empty: `ResourceInUse`.

    A retry of a call with a lost response may fail a policy, a quota or a check that the first call passed.
    """
    describe_lag_s: float = 0.0
    """How long Describe and Stop do not find a new training job."""
    list_lag_s: float = 0.0
    """How long ListTrainingJobs omits a new training job."""
    tags_lag_s: float = 0.0
    """How long ListTags returns no tags for a new training job."""
    raw_answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Per operation, of each service with the operation in a header (not SNS, S3, Lambda): the response to the next
    calls, as `{"status": 502, "body": "html", "count": 1, "after": false}`. The body is `empty`, `html` or `truncated`;
    with `after` the call takes effect first."""
    event_drop: float = 0.0
    """Probability that a state-change event is never delivered."""
    event_duplicate: float = 0.0
    """Probability that it is delivered twice, the second time with a delay of up to `event_delay_s`."""
    event_delay: float = 0.0
    """Probability that it is delayed by up to `event_delay_s`, so that later events overtake it."""
    event_delay_s: float = 60.0
    """The longest delay."""
    event_shuffle: float = 0.0
    """Probability that events due at the same time are delivered in random order."""

    def __post_init__(self) -> None:
        for name in ("event_drop", "event_duplicate", "event_delay", "event_shuffle"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is a probability from 0 to 1, not {getattr(self, name)}.")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is one of {', '.join(choices)}, not {getattr(self, name)}.")
        for name in (entry.name for entry in fields(self) if entry.name.endswith("_s")):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} can't be negative ({getattr(self, name)}).")
        for operation in self.rates:
            self.rate(operation)
        self._check_numbers()

    def _check_numbers(self) -> None:
        for name in (*_QUOTAS, "capacity", "throttle", "lose_answer", "kill_caller"):
            if any(count < 0 for count in getattr(self, name).values()):
                raise ValueError(f"{name} has a negative number.")
        unknown = sorted(set(self.account_limits) - set(QUOTA_UNITS))
        if unknown:
            raise ValueError(f"account_limits: no such quota: {unknown}. Quotas: {', '.join(sorted(QUOTA_UNITS))}.")
        for name, given in self.denials.items():
            Denial.read(name, given)
        for operation, raw in self.raw_answers.items():
            _check_raw(operation, raw)

    def rate(self, operation: str) -> Rate | None:
        """Return an operation's call rate, if a switch sets one.

        Raises:
            ValueError: The switch is malformed.
        """
        given = self.rates.get(operation)
        if given is None:
            return None
        if set(given) != {"per_s", "burst"}:
            raise ValueError(f"rates: {operation} needs per_s and burst, not {sorted(given)}.")
        return Rate(per_s=float(given["per_s"]), burst=int(given["burst"]))

    def denial(self, request: Mapping[str, Any], *, arn: str) -> AwsError | None:
        """Return the error of the first of the policies in `denials` that denies a request; None if none does.

        Args:
            request: A CreateTrainingJob request, which may be malformed.
            arn: The ARN of the training job that it would create.
        """
        read = (Denial.read(name, given) for name, given in self.denials.items())
        return next((denial.error(request, arn=arn) for denial in read if denial.applies(request)), None)

    def consume(self, switch: str, operation: str) -> tuple[bool, Faults]:
        """Count down a switch for one call.

        Args:
            switch: `throttle`, `lose_answer` or `kill_caller`.
            operation: The called operation.

        Returns:
            Whether the switch applies to the call, and the remaining faults.
        """
        left = getattr(self, switch).get(operation, 0)
        if left <= 0:
            return False, self
        changed = {**getattr(self, switch), operation: left - 1}
        if left == 1:
            del changed[operation]
        return True, self.with_changes({switch: changed})

    def raw_answer(self, operation: str) -> tuple[RawAnswer | None, bool, Faults]:
        """Return the raw response to a call, if any, whether the call takes effect, and the remaining faults."""
        raw = self.raw_answers.get(operation)
        if raw is None:
            return None, False, self
        left = raw.get("count", 1) - 1
        others = {name: each for name, each in self.raw_answers.items() if name != operation}
        changed = {**others, operation: {**raw, "count": left}} if left else others
        answer = RawAnswer(raw["status"], BODIES[raw.get("body", "empty")])
        return answer, bool(raw.get("after", False)), self.with_changes({"raw_answers": changed})

    def with_changes(self, changes: Mapping[str, Any]) -> Faults:
        """Return a copy with changed switches.

        Raises:
            ValueError: A switch does not exist, or its value is out of range.
        """
        known = {entry.name for entry in fields(self)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ValueError(f"No such switch: {', '.join(unknown)}. Switches: {', '.join(sorted(known))}.")
        return replace(self, **changes)

    def to_document(self) -> dict[str, Any]:
        """Return the switches as JSON."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _check_raw(operation: str, raw: Mapping[str, Any]) -> None:
    """Validate the raw response of an operation.

    Raises:
        ValueError: It is malformed.
    """
    unknown = sorted(set(raw) - {"status", "body", "count", "after"})
    if unknown:
        raise ValueError(f"raw_answers[{operation}]: unknown {', '.join(unknown)}.")
    status, count = raw.get("status"), raw.get("count", 1)
    if not isinstance(status, int) or not 200 <= status <= 599:
        raise ValueError(f"raw_answers[{operation}] needs a status from 200 to 599, not {status}.")
    if raw.get("body", "empty") not in BODIES:
        raise ValueError(f"raw_answers[{operation}]: the body must be one of {', '.join(BODIES)}, not {raw['body']}.")
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"raw_answers[{operation}] needs a count of at least 1, not {count}.")
