"""Are SageMaker's quotas as large as the pools of the queue?

Sources of the names: AWS General Reference, "Amazon SageMaker endpoints and quotas"; SageMaker developer guide,
"Request a warm pool quota increase".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.durations import in_words
from headway.pool_names import SERVERLESS, SPOT_SUFFIX, is_of_plan, on_demand_pool
from headway_client.account.finding import Finding, Unread
from headway_client.account.seen import Quota

LONGEST_RUN = "Longest run time for a training job"
ALL_TRAINING = "Number of instances across all training jobs"
ALL_SPOT_TRAINING = "Number of instances across all spot training jobs"


@dataclass(frozen=True, kw_only=True)
class Need:
    """What the queue needs of a quota.

    Attributes:
        quota: its name.
        instances: how many the queue may have at once.
        why: what of the configuration needs them.
        effect: what follows if there are fewer.
    """

    quota: str
    instances: int
    why: str
    effect: str


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A pool whose instances count against quotas, with its largest size and the most instances that it keeps warm."""

    name: str
    size: int
    warm: int = 0

    @property
    def is_spot(self) -> bool:
        """Whether it has spot instances."""
        return self.name.endswith(SPOT_SUFFIX)


def pools_of(settings: Mapping[str, Any]) -> list[Pool]:
    """Return the pools of a configuration document whose instances count against quotas.

    Serverless jobs run on no instances of the account. Whether the instances of a training plan count is not
    documented.

    Args:
        settings: the document, as `GET /config` has it.
    """
    kept = settings.get("warmPools")
    most_warm = kept.get("maxInstances", {}) if isinstance(kept, Mapping) else None
    pools = []
    for name, pool in settings["pools"].items():
        if name == SERVERLESS or is_of_plan(name):
            continue
        size = max([pool.get("size", 0), *(entry["size"] for entry in pool.get("schedule", ()))])
        # Managed spot training has no warm pools (SageMaker guide, "Use SageMaker AI Managed Warm Pools").
        keeps = most_warm is not None and not name.endswith(SPOT_SUFFIX)
        pools.append(Pool(name=name, size=size, warm=min(size, (most_warm or {}).get(name, size)) if keeps else 0))
    return pools


def needs_of(pools: Sequence[Pool]) -> list[Need]:
    """Return what the pools need of each quota; the longest run time is no matter of instances."""
    needs = []
    for pool in pools:
        kind = "spot training job" if pool.is_spot else "training job"
        why = f"the pool {pool.name} has {_instances(pool.size)}"
        effect = "the others never start: SageMaker refuses their jobs"
        needs.append(
            Need(quota=f"{on_demand_pool(pool.name)} for {kind} usage", instances=pool.size, why=why, effect=effect)
        )
        if pool.warm:
            why = f"the configuration keeps up to {_instances(pool.warm)} of the pool {pool.name} warm"
            effect = "SageMaker keeps no more warm"
            quota = f"{pool.name} for training warm pool usage"
            needs.append(Need(quota=quota, instances=pool.warm, why=why, effect=effect))
    for quota, spot in ((ALL_TRAINING, False), (ALL_SPOT_TRAINING, True)):
        of_kind = [pool for pool in pools if pool.is_spot is spot]
        if of_kind:
            size = sum(pool.size for pool in of_kind)
            why = f"the {'spot' if spot else 'on-demand'} pools have {_instances(size)} together"
            effect = "the others never start: SageMaker refuses their jobs"
            needs.append(Need(quota=quota, instances=size, why=why, effect=effect))
    return needs


def names_of(needs: Iterable[Need]) -> list[str]:
    """Return the names of all quotas that are checked."""
    return [*(need.quota for need in needs), LONGEST_RUN]


def check_quotas(needs: Iterable[Need], quotas: Mapping[str, Quota], unread: Unread | None) -> Iterator[Finding]:
    """Compare the pools with the quotas.

    Args:
        needs: of the pools.
        quotas: those that were read, by their names.
        unread: why others could not be read; None if all were.
    """
    for need in needs:
        value = quotas[need.quota].value if need.quota in quotas else None
        if value is None:
            yield _unknown(need.quota, quotas, unread)
        elif value < need.instances:
            yield Finding(
                check="quota",
                result="problem",
                asked=_asked(need.quota),
                said=f"{_said(quotas[need.quota])}; {need.why}, so {need.effect}",
                remedy=(
                    f"Ask for at least {need.instances} (Service Quotas, Amazon SageMaker), or make it smaller in the "
                    "configuration."
                ),
            )
        else:
            said = f"{_said(quotas[need.quota])}; {need.why}"
            yield Finding(check="quota", result="ok", asked=_asked(need.quota), said=said)
    yield _check_longest_run(quotas, unread)


def _check_longest_run(quotas: Mapping[str, Quota], unread: Unread | None) -> Finding:
    value = quotas[LONGEST_RUN].value if LONGEST_RUN in quotas else None
    if value is None:
        return _unknown(LONGEST_RUN, quotas, unread)
    said = f"{_said(quotas[LONGEST_RUN])} s"
    if value <= 0:
        remedy = "Ask for a higher quota (Service Quotas, Amazon SageMaker)."
        return Finding(
            check="quota", result="problem", asked=_asked(LONGEST_RUN), said=f"{said}; no job can run", remedy=remedy
        )
    said += f": SageMaker refuses jobs with a MaxRuntimeInSeconds of more than {in_words(value * 1000)}"
    return Finding(check="quota", result="ok", asked=_asked(LONGEST_RUN), said=said)


def _unknown(name: str, quotas: Mapping[str, Quota], unread: Unread | None) -> Finding:
    if name not in quotas and unread is not None:
        return unread.note("quota", _asked(name))
    said = "AWS has an error in place of its value" if name in quotas else "AWS lists no quota of that name"
    remedy = "Compare the instance type with those that the region has, and look the quota up (Service Quotas)."
    return Finding(check="quota", result="note", asked=_asked(name), said=said, remedy=remedy)


def _asked(name: str) -> str:
    return f'the quota "{name}"'


def _said(quota: Quota) -> str:
    return f"{int(quota.value or 0)}{', the default of AWS' if quota.is_default else ''}"


def _instances(number: int) -> str:
    return "1 instance" if number == 1 else f"{number} instances"
