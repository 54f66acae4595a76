"""What a configuration would do to running jobs: by decisions, by watches, and by smaller pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from math import inf
from typing import Any

from headway.api_documents.effects import EffectCode
from headway.durations import in_words
from headway.forecasting.losses import Losses
from headway.jobpolicy.rules import OnStart
from headway.jobpolicy.utilization import Action, UtilizationRule
from headway.lifecycle import AttemptState
from headway.reasons import ReasonCode
from headway_service.admission.policy_view import utilization_coverage
from headway_service.config.document import Configuration
from headway_service.effects.effect import MAX_REQUESTS, WITHIN_MS, Effect, effect_on, stopping_rules
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord

SOONER_MS = 60_000
"""A change counts as the cause of a stop that it makes earlier by more than this."""

FindRequest = Callable[[AttemptRecord], Mapping[str, Any] | None]
"""Returns the request of an attempt."""


def lost_by_decisions(before: Losses, after: Losses) -> list[Effect]:
    """The running jobs that decisions stop, and would not, or later, without the change.

    Args:
        before: what they stop by the configuration in force.
        after: what they stop by the other one.
    """
    # What is known of both.
    until_ms = min(before.until_ms, after.until_ms)
    lost = [
        loss
        for attempt, loss in after.by_attempt.items()
        if loss.at_ms <= until_ms and loss.at_ms + SOONER_MS < _at_ms(before, attempt)
    ]
    shrunk = [loss.job for loss in lost if loss.reason.code is ReasonCode.POOL_SHRANK]
    others = [loss.job for loss in lost if loss.reason.code is not ReasonCode.POOL_SHRANK]
    return [
        *effect_on(EffectCode.PREEMPTED, others, "running job", "would be preempted within the hour"),
        *effect_on(
            EffectCode.STOPPED,
            shrunk,
            "running job",
            "would be stopped within the hour, for a pool that becomes smaller",
        ),
    ]


def _at_ms(losses: Losses, attempt: str) -> float:
    """When an attempt is stopped; never, if it is not."""
    loss = losses.by_attempt.get(attempt)
    return inf if loss is None else loss.at_ms


def below_use(before: Ledger, after: Ledger) -> Iterator[Effect]:
    """The pools that become smaller than what is held and reserved in them."""
    sizes = {pool.pool: pool.size for pool in after.pools}
    for pool in before.pools:
        size, used = sizes.get(pool.pool, 0), pool.size - pool.free
        if size < min(pool.size, used):
            message = (
                f"{pool.pool} would have {size} of its {pool.size} instances, with {used} in use or reserved: nothing "
                "starts there until they fit"
            )
            yield Effect(code=EffectCode.BELOW_USE, count=1, names=[pool.pool], message=message)


def watched(
    before: Configuration, after: Configuration, ledger: Ledger, find_request: FindRequest, now_ms: int
) -> list[Effect]:
    """The running jobs that a watch may stop within the hour, and does not stop by the configuration in force.

    Args:
        now_ms: the training time, ms.
    """
    known = {watch.name: watch for watch in before.active_watches()}
    stricter = [watch for watch in after.active_watches() if _stops_more(known.get(watch.name), watch)]
    if not stricter:
        return []
    changed = {watch.name for watch in stricter}
    found: dict[str, list[str]] = {}
    for attempt in islice(watchable(ledger), MAX_REQUESTS):
        request = find_request(attempt)
        for each in utilization_coverage(attempt, request, after) if request is not None else ():
            since_ms = attempt.training_since_ms or now_ms
            if each.alarms and each.watch.name in changed and each.watch.is_warm(since_ms, now_ms + WITHIN_MS):
                found.setdefault(each.watch.name, []).append(attempt.job_name)
    return [
        effect
        for watch in stricter
        for effect in effect_on(EffectCode.WATCHED, found.get(watch.name, ()), "running job", _may_stop(watch))
    ]


def watchable(ledger: Ledger) -> Iterator[AttemptRecord]:
    """The attempts that run and are not to stop."""
    return (each for each in ledger.attempts if each.attempt_state is AttemptState.LIVE and each.stop_cause is None)


def _stops_more(before: UtilizationRule | None, after: UtilizationRule) -> bool:
    """Whether a watch stops jobs that it did not stop, as far as its own terms tell."""
    if after.action is Action.NOTIFY:
        return False
    if before is None or before.action is Action.NOTIFY:
        return True
    looser = (
        after.below_percent <= before.below_percent
        and after.period_s == before.period_s
        and after.periods >= before.periods
        and after.warm_up_ms >= before.warm_up_ms
        and (after.action is before.action or after.action is Action.REQUEUE)
        and (after.all_hosts or not before.all_hosts)
    )
    terms = {
        "below_percent": before.below_percent,
        "periods": before.periods,
        "warm_up_ms": before.warm_up_ms,
        "action": before.action,
        "priority": before.priority,
        "all_hosts": before.all_hosts,
    }
    return not looser or replace(after, **terms) != before  # type: ignore[arg-type]


def _may_stop(watch: UtilizationRule) -> str:
    stopped = "stopped" if watch.action is Action.STOP else "requeued"
    return (
        f"may be {stopped} by the watch `{watch.name}` within the hour, if {watch.metric} is below "
        f"{watch.below_percent:g} % for {in_words(watch.window_ms)}"
    )


def outside(before: Configuration, after: Configuration, ledger: Ledger) -> list[Effect]:
    """The training jobs outside the queue that would be stopped for that, or may be for rules."""
    names = [each.training_job_name for each in ledger.rogues if not each.stop and not each.marked]
    where = "where the deployment allows that (AllowStoppingRogueJobs)"
    if after.rogues.action is OnStart.STOP and before.rogues.action is not OnStart.STOP:
        what = f"outside the queue would be stopped, {where}"
    elif stopping_rules(after) and stopping_rules(after) != stopping_rules(before):
        what = f"outside the queue would be judged by other rules, and stopped if it breaks them, {where}"
    else:
        return []
    return effect_on(EffectCode.OUTSIDE_STOPPED, names, "training job", what)
