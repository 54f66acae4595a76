"""The configuration document: the pools and the rules, kept in the table, changed without a redeploy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import (
    Field,
    Strict,
    StringConstraints,
    ValidationError,
    model_validator,
)

from headway import policy
from headway.accounting.prices import Prices
from headway.bookings.booking import Booking
from headway.budgets.budget import WhenSpent
from headway.days import DAY_MS
from headway.jobpolicy.failure_kinds import FailureKind
from headway.jobpolicy.retry import MAX_BACKOFF_MS, MAX_RETRIES
from headway.jobpolicy.retry import Retry as RetryRule
from headway.jobpolicy.rules import OnStart, Rule
from headway.jobpolicy.utilization import UtilizationRule
from headway.policy import (
    MAX_BACKFILL_WINDOW,
    MAX_CHECKPOINT_WAIT_MS,
    MAX_PREEMPTIONS,
    MAX_PROBE_PERCENT,
    MAX_RESERVED_HEADS,
    MAX_SPOT_SCORE,
    MAX_WAIT_BOUND,
    PREDICTED_ORDERS,
    Fill,
    Order,
    Policy,
)
from headway.scheduling.ordering import MAX_PRIORITY
from headway_service.config import access as access_notation
from headway_service.config import bookings as booking_notation
from headway_service.config import budgets as budget_notation
from headway_service.config import rules as rule_notation
from headway_service.config import training_plans, utilization
from headway_service.config.authorization import Access, People
from headway_service.config.base import ConfigModel, Name
from headway_service.config.digest import Digest
from headway_service.config.notifications import Notifications
from headway_service.config.pool import Instances, Pool, PoolName
from headway_service.config.prices import MAX_PRICED_TYPES, Currency, InstanceType, Listed, prices_of
from headway_service.config.warm_pools import KeptWarmPools, WarmPoolRules, WarmPools
from headway_service.errors import FieldError, InvalidConfiguration
from headway_service.validation_messages import explained, message_of

MAX_DOCUMENT_CHARS = 8192
"""The largest document: some forty rules on jobs beside ten teams. Each of its versions is kept for two years."""

MAX_POOLS = 50
"""Each pool costs a tick one query for each team."""

MAX_HALF_LIFE_DAYS = 365
"""Days in which past use fades to a half, at most."""

MAX_CHARGE = 1_000_000
"""What an instance of a pool counts in fair shares, at most."""

MAX_TEAMS = 20

MAX_WAITING = 10_000
"""The longest queue that ``limits`` can allow: a submission counts it, 4 MB of it."""

MAX_QUEUES = 200
"""Pools times teams (and one for jobs without a team): each is a separate queue, which costs a tick one query."""

MAX_USAGE_TAGS = 5
"""Each tag of ``usageTags`` costs the end of an attempt two writes."""

TagKey = Annotated[
    str,
    StringConstraints(
        pattern=explained(
            r"^[A-Za-z0-9_.:/=+@-]{1,128}$", "the key of a tag: up to 128 letters, digits and _ . : / = + @ -"
        )
    ),
]
"""The key of a tag (service model of SageMaker, TagKey, without spaces and letters of other scripts)."""

DEFAULT_TEAM = "default"
"""The team of jobs whose requests name none, if it is configured."""

_LONGEST_S = 30 * 86_400
"""No training job runs longer (API reference, StoppingCondition), so no rule needs a higher limit."""

MIN_PENDING_S = 600
"""The shortest ``maxPendingSeconds``: instances that are being prepared show the same status as missing ones."""

MIN_MAX_WAIT_S = 300
"""The shortest ``maxWaitSeconds``: a job waits for a minute if a message is lost, and for two while others stop."""

_LONGEST_PENDING_S = 28 * 86_400
"""The longest MaxPendingTimeInSeconds (API reference, StoppingCondition)."""

_REMOVED = {
    "priority.limitWeight": (
        "does not exist any more: leave it out, and set priority.order to short if short jobs are to pass long ones"
    ),
}
"""What to write in place of fields that earlier versions had."""


class Priorities(ConfigModel):
    """Rules on priorities."""

    #: Priority of a job whose request has none.
    default: int = Field(default=0, ge=0, le=MAX_PRIORITY)
    #: The highest priority that a request may carry.
    maximum: int = Field(default=MAX_PRIORITY, ge=0, le=MAX_PRIORITY)
    #: The order among jobs of one priority. Waiting jobs keep their places when it changes.
    order: Annotated[Order, Strict(strict=False)] = Order.FIFO
    #: In the orders other than fifo, a job ranks at most this many times its limit after its entry time.
    wait_bound: int = Field(default=100, ge=1, le=MAX_WAIT_BOUND)
    #: Whether the orders short and shortest-remaining compare predicted run times in place of limits.
    by_predictions: bool = False

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Priorities:
        if self.default > self.maximum:
            raise ValueError(f"default ({self.default}) must not be above maximum ({self.maximum})")
        return self

    @model_validator(mode="after")
    def _order_compares_predictions(self) -> Priorities:
        if self.by_predictions and self.order not in PREDICTED_ORDERS:
            raise ValueError(
                f"byPredictions belongs to the orders short and shortest-remaining: leave it out, or set the order "
                f"{self.order} to one of them"
            )
        return self


class Team(ConfigModel):
    """What a team is entitled to."""

    #: Instances per pool that it gets back whenever it needs them.
    guaranteed: dict[PoolName, Instances] = Field(default_factory=dict)
    #: Instances per pool that it may use at most; a pool that is not named has no limit.
    limit: dict[PoolName, Instances] = Field(default_factory=dict)
    #: How much of its guarantee others may use while it does not; of a pool that is not named all of it.
    lend: dict[PoolName, Instances] = Field(default_factory=dict)
    #: Instances per pool that each owner may use at most in it; a pool that is not named has no limit.
    limit_per_owner: dict[PoolName, Instances] = Field(default_factory=dict)
    #: Its use is divided by this before it is compared with that of other teams.
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    #: The callers whose jobs it accepts; all callers if it lists neither members nor leads.
    members: access_notation.Callers = Field(default_factory=list)
    #: They may change all its jobs, and are members too.
    leads: access_notation.Callers = Field(default_factory=list)
    #: The highest priority that a request of the team may carry.
    max_priority: int | None = Field(default=None, ge=0, le=MAX_PRIORITY)
    #: How long a job of the team may wait in the queue before its first start; null for as long as it takes.
    max_wait_seconds: int | None = Field(default=None, ge=MIN_MAX_WAIT_S, le=_LONGEST_PENDING_S)


class Preemption(ConfigModel):
    """Rules on preemption."""

    enabled: bool = True
    #: An attempt is no victim before it has held its instances this long.
    min_run_time_seconds: int = Field(default=0, ge=0, le=_LONGEST_S)
    #: A job that has been preempted this often is no victim any more, or not within the week
    #: (:attr:`headway.policy.Policy.max_preemptions`).
    max_per_job: int = Field(default=10, ge=0, le=MAX_PREEMPTIONS)
    #: What a job that writes checkpoints loses at most when it is stopped.
    checkpoint_interval_seconds: int = Field(default=600, ge=0, le=_LONGEST_S)
    #: How often a job that writes checkpoints does so if its request does not say; null if that is not known.
    checkpoints_every_seconds: int | None = Field(default=None, ge=1, le=_LONGEST_S)
    #: For how long after a job's entry preemptions for it may wait for a checkpoint; 0 for not at all.
    wait_for_checkpoint_seconds: int = Field(default=0, ge=0, le=MAX_CHECKPOINT_WAIT_MS // 1000)
    #: Whether a request may exempt its job from preemption.
    opt_out: bool = False


class Backfill(ConfigModel):
    """Rules on starting jobs past a blocked one."""

    enabled: bool = True
    #: How many blocked jobs of each combination of pools hold a reserved start.
    reserved_heads: int = Field(default=1, ge=1, le=MAX_RESERVED_HEADS)
    #: Which jobs may start in front of a reserved start that they would still run into.
    fill: Annotated[Fill, Strict(strict=False)] = Fill.PROVEN
    #: Waiting jobs that a decision considers after the first blocked one.
    window: int = Field(default=1000, ge=0, le=MAX_BACKFILL_WINDOW)


class Retry(ConfigModel):
    """When a job that failed is tried again: one rule for each kind of failure."""

    #: How often, for one job; null for as often as it takes.
    max_per_job: int | None = Field(ge=0, le=MAX_RETRIES)
    #: It waits this long the first time, twice as long each further time, ten minutes at most.
    backoff_seconds: int = Field(default=60, ge=0, le=MAX_BACKOFF_MS // 1000)
    #: Only if the attempt trained at least this long.
    min_run_time_seconds: int = Field(default=0, ge=0, le=_LONGEST_S)


_RETRIES = {
    # Not the job's fault, so the job is retried.
    FailureKind.SERVICE: Retry.model_validate({"maxPerJob": 3}),
    # It waits for SageMaker, and no other job waits for it.
    FailureKind.CAPACITY: Retry.model_validate({"maxPerJob": None, "backoffSeconds": 300}),
}


class Launches(ConfigModel):
    """What happens to jobs that SageMaker does not launch."""

    #: How much of a pool's time may be kept idle to try them again, per cent.
    probe_percent: int = Field(default=5, ge=1, le=MAX_PROBE_PERCENT)
    #: For how long a job is tried that only its own request keeps from starting. A weekend and a working day: nobody
    #: waits for it meanwhile, and who can allow it may be away.
    give_up_seconds: int = Field(default=259_200, ge=60, le=_LONGEST_PENDING_S)


class Spot(ConfigModel):
    """Rules on spot instances. A job continues on demand if the pools and its team's limit can hold it."""

    #: After more interruptions than this over its life; null for never.
    max_interruptions: int | None = Field(default=3, ge=0, le=1000)
    #: When it has waited for spot instances in vain, up to its MaxWaitTimeInSeconds.
    after_wait: bool = True
    #: Alternatives on spot instances with a lower spot placement score are passed over; null to ask for no scores.
    min_score: int | None = Field(default=None, ge=1, le=MAX_SPOT_SCORE)


class Rogues(ConfigModel):
    """Rules on training jobs that did not come through the queue."""

    #: Whether their instances are subtracted from the pools.
    charge: bool = True
    #: The action on a rogue job, whether or not it complies with the rules.
    action: Annotated[OnStart, Strict(strict=False)] = OnStart.REPORT


class Limits(ConfigModel):
    """How much one team (or no team), and one owner in it, may have in the queue."""

    #: Jobs that wait in one line: those that demand one pool.
    waiting_per_team: int = Field(default=1000, ge=1, le=MAX_WAITING)
    waiting_per_owner: int = Field(default=500, ge=1, le=MAX_WAITING)
    #: Arrays that have members left, also if none of these waits.
    arrays_per_team: int = Field(default=1000, ge=1, le=MAX_WAITING)
    arrays_per_owner: int = Field(default=500, ge=1, le=MAX_WAITING)
    #: Instances per pool that each owner may use at most, in whichever team; a pool that is not named has no limit.
    instances_per_owner: dict[PoolName, Instances] = Field(default_factory=dict)


class FairShare(ConfigModel):
    """Teams take turns by what they used lately, too."""

    #: The days in which use fades to a half.
    half_life_days: int = Field(ge=1, le=MAX_HALF_LIFE_DAYS)
    #: What an instance of each pool counts, such as its price; pools that are not named count nothing. Empty: the use
    #: of a team is its largest part of a pool.
    charges: dict[PoolName, Annotated[float, Field(ge=0, le=MAX_CHARGE)]] = Field(
        default_factory=dict, max_length=MAX_POOLS
    )


class Ageing(ConfigModel):
    """A waiting job gains one priority for each interval that it has waited, up to a cap."""

    interval_seconds: int = Field(ge=1, le=_LONGEST_S)
    cap: int = Field(ge=0, le=MAX_PRIORITY)


class Configuration(ConfigModel):
    """The whole document, e.g. ``{"pools": {"ml.p5.48xlarge": {"size": 2}}}``."""

    #: The version that the document was made from. It is compared when the document is set, and not kept.
    version: int | None = Field(default=None, ge=0)
    pools: dict[PoolName, Pool] = Field(min_length=1, max_length=MAX_POOLS)
    priority: Priorities = Priorities()
    teams: dict[Name, Team] = Field(default_factory=dict, max_length=MAX_TEAMS)
    limits: Limits = Limits()
    preemption: Preemption = Preemption()
    backfill: Backfill = Backfill()
    ageing: Ageing | None = None
    #: How past use counts among teams; null for not at all.
    fair_share: FairShare | None = None
    #: What teams and owners may use, by name.
    budgets: dict[Name, budget_notation.Budget] = Field(default_factory=dict, max_length=budget_notation.MAX_BUDGETS)
    #: Instances that are kept for some jobs, by name.
    bookings: dict[Name, booking_notation.Booking] = Field(
        default_factory=dict, max_length=booking_notation.MAX_BOOKINGS
    )
    #: By kind of failure. An entry replaces the default for that kind; the others keep theirs.
    retries: dict[Annotated[FailureKind, Strict(strict=False)], Retry] = Field(default_factory=dict)
    spot: Spot = Spot()
    launches: Launches = Launches()
    warm_pools: WarmPoolRules = WarmPools.LEAVE_OUT
    #: Utilization rules by name. An entry replaces the default of that name; null switches it off.
    watches: dict[Name, utilization.Watch | None] = Field(default_factory=dict, max_length=utilization.MAX_WATCHES)
    #: Permissions.
    access: access_notation.Access = access_notation.Access()
    #: The job events that are sent as messages.
    notifications: Notifications = Notifications()
    #: When a digest of the week's usage is sent; None for never.
    digest: Digest | None = None
    #: How long a training job on on-demand instances may wait for them before its job waits in the queue again.
    max_pending_seconds: int | None = Field(default=None, ge=MIN_PENDING_S, le=_LONGEST_PENDING_S)
    #: How long a job may hold instances beyond its own limit: while they are provided, while it stops and uploads.
    overhead_seconds: int = Field(default=1800, ge=0, le=_LONGEST_S)
    rogues: Rogues = Rogues()
    #: The tags of requests by which usage is summed up, beside teams, owners and pools.
    usage_tags: list[TagKey] = Field(default_factory=list, max_length=MAX_USAGE_TAGS)
    #: Whether run times are predicted by the jobs that have completed.
    predictions: bool = False
    #: What instances cost, by instance type: each price from a day on.
    prices: dict[InstanceType, Listed] = Field(default_factory=dict, max_length=MAX_PRICED_TYPES)
    #: The currency of all prices.
    currency: Currency = "USD"
    #: What training jobs have to keep, by name.
    rules: dict[Name, rule_notation.Rule] = Field(default_factory=dict, max_length=rule_notation.MAX_RULES)

    @model_validator(mode="after")
    def _compares_what_is_predicted(self) -> Configuration:
        if self.priority.by_predictions and not self.predictions:
            raise ValueError(
                "priority.byPredictions needs predictions: set predictions to true, or leave byPredictions out"
            )
        return self

    @model_validator(mode="after")
    def _fills_what_it_can_clear(self) -> Configuration:
        if self.backfill.fill is not Fill.PROVEN and not (self.backfill.enabled and self.preemption.enabled):
            raise ValueError(
                f"backfill.fill {self.backfill.fill} needs backfill and preemption, as jobs are stopped in time for a "
                f'reserved start: set backfill.enabled and preemption.enabled to true, or fill to "{Fill.PROVEN}"'
            )
        return self

    @model_validator(mode="after")
    def _stops_what_runs_after_others(self) -> Configuration:
        after = [name for name, each in self.budgets.items() if each.when_spent is WhenSpent.AFTER]
        if after and not self.preemption.enabled:
            raise ValueError(
                f'budgets.{after[0]}.whenSpent "after" needs preemption, as its jobs give way to others then: set '
                'preemption.enabled to true, or whenSpent to "hold"'
            )
        return self

    def policy(self) -> Policy:
        """The rules that decisions are made under."""
        every_s = self.preemption.checkpoints_every_seconds
        ageing = None
        if self.ageing is not None:
            ageing = policy.Ageing(interval_ms=self.ageing.interval_seconds * 1000, cap=self.ageing.cap)
        fair_share = None
        if self.fair_share is not None:
            half_life_ms = self.fair_share.half_life_days * DAY_MS
            fair_share = policy.FairShare(half_life_ms=half_life_ms, charges=self.fair_share.charges)
        return Policy(
            order=self.priority.order,
            wait_bound=self.priority.wait_bound,
            by_predictions=self.priority.by_predictions,
            backfill=self.backfill.enabled,
            reserved_heads=self.backfill.reserved_heads,
            fill=self.backfill.fill,
            backfill_window=self.backfill.window,
            preemption=self.preemption.enabled,
            min_run_time_ms=self.preemption.min_run_time_seconds * 1000,
            max_preemptions=self.preemption.max_per_job,
            checkpoint_interval_ms=self.preemption.checkpoint_interval_seconds * 1000,
            checkpoints_every_ms=every_s and every_s * 1000,
            wait_for_checkpoint_ms=self.preemption.wait_for_checkpoint_seconds * 1000,
            ageing=ageing,
            fair_share=fair_share,
            budgets=tuple(each.budget(name, self.pools) for name, each in sorted(self.budgets.items())),
            bookings=tuple(self._bookings()),
            owner_limit=self.limits.instances_per_owner,
            warm_across_teams=self.kept_warm_pools is None or self.kept_warm_pools.across_teams,
            min_spot_score=self.spot.min_score,
            probe_percent=self.launches.probe_percent,
            teams={
                name: policy.Team(
                    guaranteed=team.guaranteed,
                    limit=team.limit,
                    weight=team.weight,
                    owner_limit=team.limit_per_owner,
                    max_priority=team.max_priority,
                )
                for name, team in self.teams.items()
            },
        )

    def _bookings(self) -> Iterator[Booking]:
        for name, each in sorted(self.bookings.items()):
            yield each.booking(name)
        for name, team in sorted(self.teams.items()):
            yield from booking_notation.kept(name, team.guaranteed, team.lend)

    def budget_tags(self, tags: Mapping[str, str]) -> tuple[str, ...]:
        """Those of a request's tags that budgets and bookings are by."""
        named = [*(each.tag for each in self.budgets.values()), *(each.tag for each in self.bookings.values())]
        keys = {tag.key for tag in named if tag is not None}
        return tuple(f"{key}={tags[key]}" for key in sorted(keys) if key in tags)

    @property
    def kept_warm_pools(self) -> KeptWarmPools | None:
        """The limits of the warm pools that are kept; None if none is."""
        return self.warm_pools if isinstance(self.warm_pools, KeptWarmPools) else None

    @property
    def give_up_ms(self) -> int:
        """For how long a job is tried that only its own request keeps from starting, ms."""
        return self.launches.give_up_seconds * 1000

    def dated_prices(self) -> Prices:
        """What instances cost."""
        return prices_of(self.prices, self.currency)

    def retry_rules(self) -> dict[FailureKind, RetryRule]:
        """The kinds of failure after which a job is tried again."""
        return {
            kind: RetryRule(
                max_per_job=rule.max_per_job,
                backoff_ms=rule.backoff_seconds * 1000,
                min_run_ms=rule.min_run_time_seconds * 1000,
            )
            for kind, rule in {**_RETRIES, **self.retries}.items()
        }

    def active_watches(self) -> list[UtilizationRule]:
        """The watches on the use of running jobs."""
        named = {**utilization.DEFAULT_WATCHES, **self.watches}
        return [watch.watch(name) for name, watch in sorted(named.items()) if watch is not None]

    def job_rules(self) -> list[Rule]:
        """What training jobs have to keep."""
        return [rule.rule(name) for name, rule in sorted(self.rules.items())]

    def access_rules(self) -> Access:
        """Permissions."""
        return Access(
            admins=self.access.admins,
            details=self.access.details,
            teams={name: People(members=team.members, leads=team.leads) for name, team in self.teams.items()},
            training_roles=[each.grant() for each in self.access.training_roles],
        )

    def max_priority(self, team: str) -> int:
        """The highest priority that a request of a team may carry."""
        known = self.teams.get(team)
        most = self.priority.maximum
        return most if known is None or known.max_priority is None else min(most, known.max_priority)

    def max_wait_s(self, team: str) -> int | None:
        """How long a job of a team may wait in the queue before its first start, s; None for as long as it takes."""
        known = self.teams.get(team)
        return None if known is None else known.max_wait_seconds

    def most(self, pool: str, team: str) -> int:
        """How many instances of a pool one job of a team could ever have; 0 without such a pool.

        Args:
            pool: the name of the pool.
            team: the team; empty for jobs without one.
        """
        known, of_team = self.pools.get(pool), self.teams.get(team, Team())
        size = known.sizes.largest if known else 0
        kept = sum(
            each.count for each in self._bookings() if each.pool == pool and each.from_ms is None and each.team != team
        )
        limits = (of_team.limit, of_team.limit_per_owner, self.limits.instances_per_owner)
        return min(max(0, size - kept), *(each.get(pool, size) for each in limits))


def parse(text: str) -> Configuration:
    """Read a document.

    Raises:
        InvalidConfiguration: it is not JSON, too long, or not valid; the message lists what to change, field by field.
    """
    if len(text) > MAX_DOCUMENT_CHARS:
        raise InvalidConfiguration(f"the document has {len(text)} characters; at most {MAX_DOCUMENT_CHARS} can be kept")
    try:
        document = json.loads(text)
    except RecursionError:
        raise InvalidConfiguration("the document is nested too deeply to be read") from None
    except ValueError as error:
        raise InvalidConfiguration(f"the document is no JSON: {error}") from None
    return validate(document)


def validate(document: Any) -> Configuration:
    """Check a decoded document.

    Raises:
        InvalidConfiguration: as :func:`parse`.
    """
    try:
        configuration = Configuration.model_validate(document)
    except ValidationError as error:
        raise _invalid([_field_error(problem) for problem in error.errors(include_url=False)]) from None
    fields = [
        FieldError(field=f"pools.{field}".rstrip("."), message=message)
        for field, message in training_plans.problems(configuration.pools)
    ]
    if len(set(configuration.usage_tags)) < len(configuration.usage_tags):
        fields.append(FieldError(field="usageTags", message="names a tag twice: name each tag once"))
    fields += [
        FieldError(field=f"prices.{kind}", message="has two prices from the same day: keep one of them")
        for kind, listed in configuration.prices.items()
        if len({each.first for each in listed}) < len(listed)
    ]
    fields += budget_notation.problems(configuration.budgets, configuration.pools, configuration.teams)
    kept = Counter(
        pool
        for team in configuration.teams.values()
        for pool, count in team.lend.items()
        if count < team.guaranteed.get(pool, 0)
    )
    fields += booking_notation.problems(configuration.bookings, kept, configuration.pools, configuration.teams)
    fields += [*_team_errors(configuration), *_unknown_teams(configuration), *_open_teams(configuration)]
    if fields:
        raise _invalid(fields)
    return configuration


def validate_recorded(document: Any) -> Configuration:
    """Check a decoded document that is in force: an earlier version of the queue may have applied it.

    What that version took is not refused, as no decision could be made until somebody changes the document. A weight of
    limits becomes the order that replaces it, so that jobs that enter do not pass all of those that wait by the weight.

    Raises:
        InvalidConfiguration: as :func:`parse`.
    """
    priority = document.get("priority") if isinstance(document, dict) else None
    if isinstance(priority, dict) and "limitWeight" in priority:
        priority = dict(priority)
        if priority.pop("limitWeight"):
            priority["order"] = str(Order.SHORT)
        document = {**document, "priority": priority}
    return validate(document)


def text_to_keep(document: Any) -> str:
    """Check a decoded document, and give it as it is kept.

    Raises:
        InvalidConfiguration: as :func:`parse`.
    """
    text = text_of(validate(document))
    parse(text)
    return text


def new_text_to_keep(document: Any, *, region: str = "", account: str = "") -> str:
    """As :func:`text_to_keep`, for a document that a caller wrote.

    It refuses more than a stored document is refused for, so that an update of the queue makes no stored one invalid.

    Args:
        region: the region of the deployment; empty if it is not known.
        account: its account; empty if it is not known.

    Raises:
        InvalidConfiguration: as :func:`parse`.
    """
    text = text_to_keep(document)
    known = parse(text)
    fields = [*utilization.too_fast(known.watches), *utilization.not_in_cloudwatch(known.watches)]
    fields += [
        FieldError(field=f"pools.{field}", message=message)
        for field, message in training_plans.elsewhere(known.pools, region=region, account=account)
    ]
    if fields:
        raise _invalid(fields)
    return text


def text_of(configuration: Configuration) -> str:
    """The document as it is stored: without defaults, as compact as its limit in characters requires."""
    document = configuration.model_dump(mode="json", exclude_unset=True, exclude={"version"})
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def _field_error(problem: Mapping[str, Any]) -> FieldError:
    field = ".".join(str(part) for part in problem["loc"] if not str(part).startswith("[")) or "(the document)"
    return FieldError(field=field, message=_REMOVED.get(field) or message_of(problem))


def _invalid(fields: list[FieldError]) -> InvalidConfiguration:
    first = fields[0]
    more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
    return InvalidConfiguration(f"{first.field}: {first.message}{more}", fields)


def _charge_errors(configuration: Configuration) -> Iterator[FieldError]:
    charges = configuration.fair_share.charges if configuration.fair_share else {}
    if configuration.fair_share is not None and not configuration.teams:
        yield FieldError(
            field="fairShare", message="is between teams, and there are none: configure teams, or leave it out"
        )
    for pool in charges.keys() - configuration.pools.keys():
        yield FieldError(field=f"fairShare.charges.{pool}", message=f"there is no pool {pool}")
    if charges and not any(charges.values()):
        message = "charges nothing for any pool: name one above 0, or leave charges out"
        yield FieldError(field="fairShare.charges", message=message)


def _team_errors(configuration: Configuration) -> Iterator[FieldError]:
    """The errors in the teams beyond the shape of the document."""
    pools, teams = configuration.pools, configuration.teams
    queues = len(pools) * (len(teams) + 1)
    if queues > MAX_QUEUES:
        message = (
            f"{len(teams)} teams and {len(pools)} pools make {queues} queues (pools times teams, plus one per pool "
            f"for jobs without a team); at most {MAX_QUEUES} are possible"
        )
        yield FieldError(field="teams", message=message)
    for name, team in teams.items():
        yield from _entitlement_errors(name, team, pools)
    for pool in configuration.limits.instances_per_owner.keys() - pools.keys():
        yield FieldError(field=f"limits.instancesPerOwner.{pool}", message=f"there is no pool {pool}")
    yield from _charge_errors(configuration)
    for pool in (configuration.kept_warm_pools.max_instances if configuration.kept_warm_pools else {}).keys() - pools:
        yield FieldError(field=f"warmPools.maxInstances.{pool}", message=f"there is no pool {pool}")
    for pool, known in pools.items():
        guaranteed = {name: team.guaranteed[pool] for name, team in teams.items() if team.guaranteed.get(pool)}
        if sum(guaranteed.values()) > known.sizes.largest:
            told = ", ".join(f"{name} {count}" for name, count in guaranteed.items())
            message = (
                f"{known.sizes.largest} is less than the {sum(guaranteed.values())} that teams are guaranteed ({told})"
            )
            yield FieldError(field=f"pools.{pool}.size", message=message)


def _entitlement_errors(name: str, team: Team, pools: Mapping[str, Pool]) -> Iterator[FieldError]:
    """The errors in what a team is entitled to."""
    named = {"guaranteed": team.guaranteed, "limit": team.limit, "limitPerOwner": team.limit_per_owner}
    for kind, instances in {**named, "lend": team.lend}.items():
        for pool in instances.keys() - pools.keys():
            yield FieldError(field=f"teams.{name}.{kind}.{pool}", message=f"there is no pool {pool}")
    for pool, count in team.guaranteed.items():
        limit = team.limit.get(pool)
        if limit is not None and count > limit:
            message = f"{count} must not be above the team's limit of {limit}"
            yield FieldError(field=f"teams.{name}.guaranteed.{pool}", message=message)
    for pool, count in team.lend.items():
        most = team.guaranteed.get(pool, 0)
        if pool in pools and count > most:
            message = f"{count} must not be above the {most} that the team is guaranteed"
            yield FieldError(field=f"teams.{name}.lend.{pool}", message=message)


def _unknown_teams(configuration: Configuration) -> Iterator[FieldError]:
    """Teams that are named where they are not configured."""
    named = {
        **{f"rules.{name}.when": rule.when.teams for name, rule in configuration.rules.items()},
        **{f"watches.{name}.when": watch.when.teams for name, watch in configuration.watches.items() if watch},
        "notifications": configuration.notifications.teams,
        **{f"access.trainingRoles.{i}": each.teams for i, each in enumerate(configuration.access.training_roles)},
        "warmPools": configuration.kept_warm_pools and configuration.kept_warm_pools.teams,
    }
    for part, teams in named.items():
        for team in teams or ():
            if team not in configuration.teams:
                yield FieldError(field=f"{part}.teams", message=f"there is no team {team}")


def _open_teams(configuration: Configuration) -> Iterator[FieldError]:
    """Teams that roles are granted to although they accept all callers' jobs."""
    people = configuration.access_rules().teams
    for i, grant in enumerate(configuration.access.training_roles):
        for team in grant.teams:
            if team in people and not people[team].listed:
                message = (
                    f"the team {team} accepts every caller's jobs, so every caller would get these roles: "
                    "list its members"
                )
                yield FieldError(field=f"access.trainingRoles.{i}.teams", message=message)
