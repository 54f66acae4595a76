"""Refusals that last for hours: quotas below the pools, fewer instances than they have, denials of single jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service_facts import ALL_TRAINING, LARGEST_JOB

FIRST_S = (0.0, 600.0, 1800.0, 3600.0)
"""How long after the beginning of a run refusals begin, s ..."""

LASTS_S = (5400.0, 9000.0, 14_400.0)
"""... and for how long they last, s."""

FOR_EVER_S = 1_000_000.0
"""For how long SageMaker looks for instances that it does not have."""

NAMED = ("j", "k")
"""How the names of all jobs begin, followed by a number."""


@dataclass(frozen=True, kw_only=True)
class LastingRefusals:
    """What SageMaker refuses clearly, and always in the same way, from one time to another.

    Attributes:
        begin_s: when it begins, s.
        end_s: when it ends, s.
        limits: quotas and capacities, as switches of :class:`headway_sandbox.sagemaker.faults.Faults`. Each counts
            where it is less than that of the account.
        denials: the policies that deny single jobs.
        capacity_wait_s: how long SageMaker looks for instances that it does not have, s.
    """

    begin_s: float
    end_s: float
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    denials: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    capacity_wait_s: float = 0.0

    @classmethod
    def draw(cls, random: Random, sizes: Mapping[str, int], now_s: float) -> LastingRefusals | None:
        """Draw those of one run; about half of the runs have none.

        Args:
            random: determines them.
            sizes: the instance types with the sizes of their pools.
            now_s: the beginning of the run, s.
        """
        if random.random() < 0.5:
            return None
        limits: dict[str, Mapping[str, int]] = {}
        denials: Mapping[str, Mapping[str, Any]] = {}
        wait_s = 0.0
        for kind in random.sample(["quota", "spot", "capacity", "denial", "account"], random.choice([1, 1, 2])):
            pool = random.choice(sorted(sizes))
            fewer = {pool: random.choice([0, sizes[pool] - 1, sizes[pool] - 1])}
            match kind:
                case "quota":
                    limits["quotas"] = fewer
                case "spot":
                    limits["spot_quotas"] = fewer
                case "capacity":
                    limits["capacity"] = fewer
                    wait_s = random.choice([300.0, 3000.0, FOR_EVER_S])
                case "account":
                    account = random.choice([{ALL_TRAINING: sum(sizes.values()) - 1}, {LARGEST_JOB: 1}])
                    limits["account_limits"] = account
                case _:
                    denials = _denials(random)
        begin_s = now_s + random.choice(FIRST_S)
        return cls(
            begin_s=begin_s,
            end_s=begin_s + random.choice(LASTS_S),
            limits=limits,
            denials=denials,
            capacity_wait_s=wait_s,
        )

    def over(self, faults: Faults, now_s: float) -> Faults:
        """Add them to what an account has at a time.

        Args:
            faults: the account.
        """
        if not self.begin_s <= now_s < self.end_s:
            return faults
        changes: dict[str, Any] = {name: _least(getattr(faults, name), least) for name, least in self.limits.items()}
        if self.denials:
            changes["denials"] = {**faults.denials, **self.denials}
        return faults.with_changes({**changes, "capacity_wait_s": max(self.capacity_wait_s, faults.capacity_wait_s)})


def _denials(random: Random) -> dict[str, dict[str, Any]]:
    """Policies that deny jobs by their names, or by what they ask for."""
    policy = random.choice(["scp", "boundary", "unnamed", "identity"])
    if random.random() < 0.3:
        return {"spot": {"present": "EnableManagedSpotTraining", "policy": policy}}
    first = random.randrange(3)
    return {
        f"{letter}{digit}": {"name_prefix": f"{letter}{digit}", "policy": policy}
        for letter in NAMED
        for digit in range(first, 10, 3)
    }


def _least(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {**one, **{name: min(count, one.get(name, count)) for name, count in other.items()}}
