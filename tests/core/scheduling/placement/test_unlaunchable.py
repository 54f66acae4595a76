"""How a decision tries jobs whose last launches got no instances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.model import Alternative, Pause
from headway.plan import Start
from headway.reasons import ReasonCode
from headway.scheduling.placement import unlaunchable
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, held, job, snapshot
from tests.core.scheduling.builders import HOUR_MS, refused

CPU = "ml.c5.xlarge"


def test_apart_are_the_alternatives_with_a_place_first_the_one_that_was_not_tried_for_longest() -> None:
    failed = refused("w", ago_ms=30 * HOUR_MS).failed
    # There are fewer CPU instances than that, so it has no place among these.
    others = (
        Alternative(demand={G5: 1}),
        Alternative(demand={"ml.p4d.24xlarge": 1}, failed=failed),
        Alternative(demand={CPU: 2}, failed=failed),
    )
    first = replace(refused("w", ago_ms=20 * HOUR_MS), alternatives=others)
    state = PassState(snapshot(first, pools={P5: 1, G5: 1, "ml.p4d.24xlarge": 1, CPU: 1}), explain=True)
    among = [first, *(replace(first, demand=each.demand, failed=each.failed) for each in others)]
    left, barred = unlaunchable.apart(among, state.probes)
    assert [dict(each.demand) for each in left] == [{G5: 1}]
    assert [dict(each.demand) for each in barred] == [{"ml.p4d.24xlarge": 1}, {P5: 1}]
    assert not any(each.alternatives for each in barred)


def test_the_start_that_is_reserved_for_one_is_told() -> None:
    (wait,) = schedule(snapshot(held("x", 9, ends_in_s=1800), refused("u", ago_ms=20 * HOUR_MS), size=1)).waits
    assert (wait.reason.code, wait.start_by_ms) == (ReasonCode.UNLAUNCHABLE, NOW_MS + 1_800_000)


LAST = refused("u", idled_ms=10 * HOUR_MS)
"""A job that has no place, as its last try has kept too much."""


@pytest.mark.parametrize(
    ("parts", "started", "waits", "on_leftovers"),
    [
        ((refused("u"), job("j")), "u", ["j"], False),
        ((refused("u", ago_ms=20 * HOUR_MS), refused("v", ago_ms=30 * HOUR_MS)), "v", ["u"], False),
        ((LAST,), "u", [], True),
        ((replace(refused("u"), alternatives=(Alternative(demand={G5: 9}),)),), "u", [], False),
    ],
    ids=["in its place", "before another one", "on leftovers", "beside an alternative that it cannot use"],
)
def test_one_that_is_tried_does_not_wait_as_well(
    parts: tuple[Any, ...], started: str, waits: list[str], *, on_leftovers: bool
) -> None:
    plan = schedule(snapshot(*parts, pools={P5: 1, G5: 1}))
    (start,) = plan.actions
    assert isinstance(start, Start)
    assert (start.job, start.on_leftovers, [each.job for each in plan.waits]) == (started, on_leftovers, waits)


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ((refused("u", count=2),), ReasonCode.EXCEEDS_POOL),
        ((replace(refused("u"), alternatives=(Alternative(demand={G5: 1}, failed=refused("u").failed),)),), "Paused"),
        ((held("x"), refused("u")), ReasonCode.UNLAUNCHABLE),
    ],
)
def test_its_reason_is_what_keeps_it_from_its_instances_whatever_is_free(parts: tuple[Any, ...], code: str) -> None:
    pause = Pause(by="", reason="", since_ms=0)
    queue = replace(snapshot(*parts, pools={P5: 1, G5: 1}), pauses={P5: pause, G5: pause} if code == "Paused" else {})
    (wait,) = schedule(queue).waits
    assert (wait.reason.code, wait.start_by_ms) == (code, None)
