"""Plans with all later features off, byte for byte as they were before these features.

`plans.txt` has two digests of the plan of each snapshot. The one of its actions is that of the version of commit
8b9e25d: the last one without pools of spot instances, serverless jobs and jobs that preempt nobody (decisions 56, 58
and 59), but for two snapshots in which a job keeps what is being freed for it from jobs of higher rank no more. The
digest of all that it says was written when reasons came to be made from what was tried (decision 113). Both were
written again for the 44 plans with a reclaim that takes from a larger borrower (decision 116), and the words for those
with a job that exceeds a limit of its team, which name no other limit of it any more. Write them again only if plans of
existing queues are meant to change, with HEADWAY_GOLDEN=write in the environment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from headway.model import Snapshot
from headway.scheduling.scheduler import schedule
from tests.core.random_snapshots import plain_snapshot

_PLANS = Path(__file__).with_name("plans.txt")


def _snapshots() -> Iterator[tuple[str, Snapshot]]:
    for jobs, count in ((6, 600), (30, 100), (120, 20)):
        for number in range(count):
            seed = f"{jobs}/{number}"
            yield seed, plain_snapshot(Random(seed), jobs)


def _digests(snapshot: Snapshot) -> list[str]:
    """Digests of the actions of a plan, and of all of it."""
    plan = asdict(schedule(snapshot))
    # A member that only a later feature fills is left out where it is empty, so that it cannot hide another change.
    if not plan["delayed"]:
        del plan["delayed"]
    for action in plan["actions"]:
        for member in ("on_leftovers", "opportunistic", "beyond_budget"):
            if member in action and not action[member]:
                del action[member]
    return [sha256(json.dumps(each, sort_keys=True).encode()).hexdigest()[:16] for each in (plan["actions"], plan)]


def _written() -> dict[str, list[str]]:
    return {seed: digests for seed, *digests in (line.split() for line in _PLANS.read_text().splitlines())}


def test_plans_without_later_features_are_the_same_as_before_them() -> None:
    found = {seed: _digests(snapshot) for seed, snapshot in _snapshots()}
    if os.environ.get("HEADWAY_GOLDEN") == "write":
        _PLANS.write_text("".join(f"{' '.join((seed, *digests))}\n" for seed, digests in found.items()))
    written = _written()
    assert found.keys() == written.keys()
    for number, what in enumerate(("actions", "words")):
        different = [seed for seed in found if found[seed][number] != written[seed][number]]
        assert not different, f"the {what} of {len(different)} plans changed, for example of {different[0]}"


@pytest.mark.parametrize("seed", ["6/1", "30/1", "120/1"])
def test_a_later_feature_in_use_changes_the_digest(seed: str) -> None:
    snapshot = plain_snapshot(Random(seed), int(seed.partition("/")[0]))
    waiting = tuple(replace(job, preempts=False, not_before_ms=snapshot.now_ms + 1) for job in snapshot.waiting)
    assert _digests(replace(snapshot, waiting=waiting))[1] != _written()[seed][1]
