"""What a decision says, tested by deciding again: `make truths COUNT=500000 SEED=1`.

Two of three snapshots are of :mod:`tests.core.random_snapshots`, and in one of three jobs wait behind starts that are
known. Of their plans these are checked:

- **A hint that is followed starts the job.** With the limit that its reason names, the same job starts in the same
  snapshot.
- **No job starts on an alternative that it prefers less than one that it could have.** Without that alternative, and
  those behind it, it does not start.
- **The memo changes nothing.** Without it the plan has the same actions, and jobs wait for the same reasons. But of
  jobs alike that wait behind a job ahead, the first one's reason is told of all.
- **The order of keys changes nothing.** With the pools of demands and sizes in another order the plan is the same.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from headway.model import Allocation, Alternative, Snapshot, WaitingJob
from headway.plan import Plan, Start
from headway.policy import Fill
from headway.reasons import ReasonCode
from headway.scheduling.alternatives import on_what_is_promised
from headway.scheduling.placement.memo import Memo
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.scheduler import decide, schedule
from tests.core.builders import changed
from tests.core.random_snapshots import CHUNK, STEP_MS, plain_snapshot, random_snapshot

ALLOWANCE_MS = 700_500
"""What the limits of some jobs have beside their run times, as an ordinary configuration adds, and not in seconds."""

_HINT = re.compile(r"MaxRuntimeInSeconds\) of (\d+) s")


def hinted_limits_ms(plan: Plan) -> dict[str, int]:
    """The limits with which jobs could start now, as their reasons say, by job."""
    found = ((wait.job, _HINT.search(wait.reason.message)) for wait in plan.waits)
    return {job: int(hint[1]) * 1000 for job, hint in found if hint is not None}


def false_hints(snapshot: Snapshot, plan: Plan) -> Iterator[str]:
    """The jobs that do not start although the hint in their reason is followed."""
    for name, limit_ms in hinted_limits_ms(plan).items():
        waiting = tuple(limited(job, limit_ms) if job.name == name else job for job in snapshot.waiting)
        if name not in started(schedule(replace(snapshot, waiting=waiting), explain=False)):
            yield name


_WOULD_FILL = "with checkpoints (CheckpointConfig) it could start now"


def false_hints_to_fill(snapshot: Snapshot, plan: Plan) -> Iterator[str]:
    """The jobs that do not start although they write checkpoints, as their reason says."""
    for name in hinted_to_fill(plan):
        waiting = tuple(changed(job, checkpoints=True) if job.name == name else job for job in snapshot.waiting)
        if name not in started(schedule(replace(snapshot, waiting=waiting), explain=False)):
            yield name


def hinted_to_fill(plan: Plan) -> list[str]:
    """The jobs that could start now if they wrote checkpoints, as their reasons say."""
    return [wait.job for wait in plan.waits if _WOULD_FILL in wait.reason.message]


def limited(job: WaitingJob, limit_ms: int) -> WaitingJob:
    """The job with another run time, whichever alternative it runs on."""
    limit_ms += job.terms.allowance_ms or 0
    alternatives = tuple(replace(each, limit_ms=limit_ms) for each in job.alternatives)
    return replace(job, terms=replace(job.terms, limit_ms=limit_ms), alternatives=alternatives)


def missed_preferences(snapshot: Snapshot, plan: Plan) -> Iterator[str]:
    """The jobs that start on an alternative although they could start on one that they prefer."""
    demands = started(plan)
    for job in snapshot.waiting:
        number = next((n for n, each in enumerate(job.alternatives) if each.demand == demands.get(job.name)), None)
        if number is None or job.failed or any(each.failed for each in job.alternatives):
            continue
        better = replace(job, alternatives=job.alternatives[:number])
        waiting = tuple(better if each.name == job.name else each for each in snapshot.waiting)
        if job.name in started(schedule(replace(snapshot, waiting=waiting), explain=False)):
            yield job.name


class _NoMemo(Memo):
    def answer(self, job: WaitingJob) -> None:
        return None

    def is_spent(self, job: WaitingJob) -> bool:
        return False


def without_memo(snapshot: Snapshot) -> Plan:
    """Decide without the memo."""
    state, plan = _decided_without_memo(snapshot, fills_gaps=False)
    if plan.actions or not state.has_gaps:
        return plan
    return _decided_without_memo(snapshot, fills_gaps=True)[1]


def _decided_without_memo(snapshot: Snapshot, *, fills_gaps: bool) -> tuple[PassState, Plan]:
    state = PassState(on_what_is_promised(snapshot), explain=True, fills_gaps=fills_gaps)
    state.memo = _NoMemo(state.ground)
    return state, decide(state)


def same_reasons(plain: Plan, plan: Plan) -> bool:
    """Whether jobs wait for the same reasons, but for what is told of those behind a job ahead."""
    behind = {ReasonCode.WAITS_BEHIND, ReasonCode.WOULD_DELAY}
    return len(plain.waits) == len(plan.waits) and all(
        one == other or (one.job == other.job and {one.reason.code, other.reason.code} <= behind)
        for one, other in zip(plain.waits, plan.waits, strict=True)
    )


def shuffled(snapshot: Snapshot, rng: Random) -> Snapshot:
    """The same snapshot, with the keys of its mappings in another order."""

    def other(mapping: Any) -> Any:
        return dict(rng.sample(list(mapping.items()), len(mapping)))

    def choice(each: Alternative) -> Alternative:
        return replace(each, demand=other(each.demand))

    def job(each: WaitingJob) -> WaitingJob:
        return replace(each, demand=other(each.demand), alternatives=tuple(map(choice, each.alternatives)))

    def attempt(each: Allocation) -> Allocation:
        return replace(each, demand=other(each.demand), freed=other(each.freed) if each.freed else each.freed)

    return replace(
        snapshot,
        pools=other(snapshot.pools),
        allocations=tuple(map(attempt, snapshot.allocations)),
        reservations=tuple(replace(each, demand=other(each.demand)) for each in snapshot.reservations),
        waiting=tuple(map(job, snapshot.waiting)),
        calendars=other(snapshot.calendars),
    )


def started(plan: Plan) -> dict[str, Any]:
    """What the jobs demand that start, by name."""
    return {action.job: action.demand for action in plan.actions if isinstance(action, Start)}


def faults(snapshot: Snapshot, rng: Random) -> tuple[list[str], Counter[str]]:
    """What is not true of the plan of a snapshot, and how much was checked."""
    plan = schedule(snapshot)
    found = [f"the hint for {job} is false" for job in false_hints(snapshot, plan)]
    found += [f"{job} would not start with checkpoints" for job in false_hints_to_fill(snapshot, plan)]
    found += [f"{job} could start on what it prefers" for job in missed_preferences(snapshot, plan)]
    plain = without_memo(snapshot)
    if (plain.actions, plain.delayed) != (plan.actions, plan.delayed):
        found.append("the memo changes actions")
    elif not same_reasons(plain, plan):
        found.append("the memo changes reasons")
    if schedule(shuffled(snapshot, rng)) != plan:
        found.append("the order of keys changes the plan")
    later = sum(action.demand != job.demand for job in snapshot.waiting for action in plan.actions
                if isinstance(action, Start) and action.job == job.name)  # fmt: skip
    return found, Counter(snapshots=1, hints=len(hinted_limits_ms(plan)), fills=len(hinted_to_fill(plan)), later=later)


def busy_snapshot(rng: Random) -> Snapshot:
    """A snapshot in which jobs wait behind starts that are known: all have limits, and some instances are free."""
    queue = plain_snapshot(rng, 12)
    allocations = tuple(
        replace(each, terms=replace(each.terms, limit_ms=rng.choice((60, 300, 720)) * STEP_MS))
        for each in queue.allocations
    )
    waiting = tuple(
        replace(
            each, terms=replace(each.terms, limit_ms=rng.choice((100, 900, 5000)) * STEP_MS, allowance_ms=ALLOWANCE_MS)
        )
        for each in queue.waiting
    )
    # The first job of each pool demands more than is free.
    sizes = {pool: size + rng.choice((1, 2, 3)) for pool, size in queue.pools.items()}
    heads = tuple(
        changed(waiting[0], name=f"h{number}", demand={pool: sizes[pool]}, priority=9, limit_ms=100 * STEP_MS)
        for number, pool in enumerate(sizes)
    )
    waiting = (*heads, *waiting)
    preemption = rng.random() < 0.4
    fill = rng.choice(tuple(Fill)) if preemption else Fill.PROVEN
    policy = replace(queue.policy, backfill=True, preemption=preemption, fill=fill, ageing=None, teams={})
    return replace(queue, pools=sizes, allocations=allocations, waiting=waiting, policy=policy, reservations=())


KINDS = (plain_snapshot, random_snapshot, busy_snapshot)


def check(seed: int, numbers: range) -> tuple[list[tuple[str, str]], Counter[str]]:
    """The faults of the snapshots of a seed, each with its number, and how much was checked."""
    wrong, counts = [], Counter[str]()
    for number in numbers:
        rng = Random(f"truths/{seed}/{number}")
        snapshot = KINDS[number % len(KINDS)](rng)
        found, checked = faults(snapshot, rng)
        counts += checked
        wrong += [(f"{seed}/{number}", each) for each in found]
    return wrong, counts


def main() -> int:
    """Check many snapshots; exit with 1 if anything said is false."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    chunks = [range(first, min(first + CHUNK, asked.count)) for first in range(0, asked.count, CHUNK)]
    began_s, counts, kinds = time.monotonic(), Counter[str](), Counter[str]()
    with ProcessPoolExecutor(asked.processes) as pool:
        for found, checked in pool.map(partial(check, asked.seed), chunks):
            counts += checked
            for number, what in found:
                kinds[re.sub(r"\bw\d+\b", "a job", what)] += 1
                if sum(kinds.values()) <= 20:
                    print(f"snapshot {number}: {what}", flush=True)
    print(
        f"seed {asked.seed}: {counts['snapshots']} snapshots, {counts['hints']} hints followed, {counts['fills']} "
        f"of checkpoints, {counts['later']} "
        f"starts on a later preference, in {time.monotonic() - began_s:.0f} s; false: {dict(kinds) or 'none'}"
    )
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
