"""What AWS answered, gathered once and judged by `checks`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ACCEPTED = 200


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What was not gathered."""

    why: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """AWS's answer to one call."""

    status: int = ACCEPTED
    code: str = ""
    message: str = ""

    @property
    def is_accepted(self) -> bool:
        """Whether AWS did what the call asks for."""
        return self.status == ACCEPTED

    def __str__(self) -> str:
        said = " ".join(part for part in (self.code, self.message) if part)
        return f"{self.status}{f' {said}' if said else ''}"


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The queue's stack as CloudFormation and the services show it."""

    status: str
    parameters: Mapping[str, str]
    template: Mapping[str, Any]
    """The processed template."""
    log_formats: Mapping[str, str]
    """LogFormat of each function, by its name in the stack."""
    keys: Mapping[str, str]
    """The KMS key of the table and of each queue, by name; empty where the service has a key of its own."""


@dataclass(frozen=True, kw_only=True)
class DeletedStack:
    """What the deletion of a stack left, whose policies are `Fn::If`."""

    kept: bool
    """Whether the topic is there whose policy resolves to Retain."""
    deleted: bool
    """Whether the other one is gone."""


@dataclass(frozen=True, kw_only=True)
class Callers:
    """What the API answers to a role of the account."""

    stranger: Answer
    """Without any policy."""
    user: Answer
    """With UserPolicy."""
    waited_s: float
    """From the attachment of the policy to the last answer."""
    caller_arns: str
    """Parameter CallerArns."""


@dataclass(frozen=True, kw_only=True)
class Permissions:
    """Decisions of SimulatePrincipalPolicy on the scheduler's role, by question (`checks.callers`)."""

    decisions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A stop of a training job before it trains."""

    secondary_status: str
    """When the queue was asked to stop it."""
    repeated: Answer | None
    """The answer to StopTrainingJob while it was Stopping; None if it never was seen so."""
    took_s: float
    """From the queue's acceptance to the end, in the time of this machine."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A job that came through the queue."""

    job: str
    state: str
    reasons: tuple[str, ...]
    """The codes and sentences of its history."""
    attempt: str = ""
    """The training job; empty if none was launched."""
    described: Mapping[str, Any] = field(default_factory=dict)
    """DescribeTrainingJob after its end."""
    tags: Mapping[str, str] = field(default_factory=dict)
    stop: Stop | None = None

    @property
    def secondary_statuses(self) -> tuple[str, ...]:
        """What it went through, as DescribeTrainingJob shows it."""
        return tuple(str(each["Status"]) for each in self.described.get("SecondaryStatusTransitions", ()))


@dataclass(frozen=True, kw_only=True)
class Runs:
    """All jobs of this run of the acceptance."""

    works: Run
    """Keeps all cores busy for three minutes, and completes."""
    stopped: Run
    """Is stopped before it trains."""
    fails: Run
    """Exits with code 3."""
    table: str
    pool_size: int

    @property
    def launched(self) -> tuple[Run, ...]:
        """Those that became a training job."""
        return tuple(each for each in (self.works, self.stopped, self.fails) if each.attempt)


@dataclass(frozen=True, kw_only=True)
class Events:
    """The events on the training jobs of a run, by a rule of its own."""

    details: tuple[Mapping[str, Any], ...]
    statuses: Mapping[str, tuple[str, ...]]
    """What DescribeTrainingJob says that each training job went through."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The metrics of the host of the training job that keeps all its cores busy."""

    dimensions: tuple[Mapping[str, str], ...]
    """Of each metric that CloudWatch lists for it."""
    values: Mapping[str, tuple[float, ...]]
    """By metric, of the host as the queue names it."""
    vcpus: int
    delay_s: float | None
    """From the end of a metric's first minute until CloudWatch had it; None if it has none."""


@dataclass(frozen=True, kw_only=True)
class AlarmSent:
    """An alarm that was set to ALARM, with the queue's topic as its action."""

    actions: tuple[str, ...]
    """The summaries of the actions in its history."""
    heard: bool
    """Whether the log of the watch function names it."""
    log_level: str
    """Parameter LogLevel: with WARN and ERROR that line is not logged."""


@dataclass(frozen=True, kw_only=True)
class QueueMetrics:
    """The metrics that the functions print (EMF)."""

    values: Mapping[str, int]
    """Number of values of the last minutes, by metric."""


@dataclass(frozen=True, kw_only=True)
class ColdStarts:
    """The REPORT lines of the functions with the time of a cold start."""

    init_ms: Mapping[str, tuple[float, ...]]
    """By function."""
    in_vpc: bool


@dataclass(frozen=True, kw_only=True)
class Invocations:
    """What Lambda counted of each function in the last minutes: invocations, and those that failed."""

    counts: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class QuotaUse:
    """The quota of the pool's instance type beside what the queue did with it."""

    name: str
    quota: float | None
    """As Service Quotas shows it; None if it does not."""
    pool_size: int
    postponed: tuple[str, ...]
    """The launches that SageMaker postponed, from the histories of the jobs."""
    unlaunched: tuple[str, ...]
    """The jobs that never became a training job."""


@dataclass(frozen=True, kw_only=True)
class WarmPool:
    """A warm pool that was released."""

    before: str
    """WarmPoolStatus before the release."""
    release: Answer
    after: str
    """WarmPoolStatus at last."""
    took_s: float
    """From the release until then."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that was gathered, or why it was not."""

    deployment: Deployment | Missing
    deleted_stack: DeletedStack | Missing
    callers: Callers | Missing
    permissions: Permissions | Missing
    runs: Runs | Missing
    name_in_use: Answer | Missing
    stop_of_ended: Answer | Missing
    stop_of_unknown: Answer | Missing
    denied_create: Answer | Missing
    denied_stop: Answer | Missing
    denied_role: Answer | Missing
    over_quota: Answer | Missing
    events: Events | Missing
    figures: Figures | Missing
    alarm: AlarmSent | Missing
    metrics: QueueMetrics | Missing
    cold_starts: ColdStarts | Missing
    invocations: Invocations | Missing
    quota_use: QuotaUse | Missing
    warm_pool: WarmPool | Missing
