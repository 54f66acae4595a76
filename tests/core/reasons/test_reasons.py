"""Reasons are bounded and name their subject."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.model import ROGUE_TEAM, Allocation
from headway.plan import Wait
from headway.policy import Policy, Team
from headway.protected import Protected
from headway.reasons import (
    MAX_MESSAGE_CHARS,
    Reason,
    ReasonCode,
    members_to_come,
    outside,
    waits_for_capacity,
    waits_in_line,
)
from headway.scheduling.ordering import MAX_PRIORITY
from headway.scheduling.scheduler import schedule
from tests.core.builders import NOW_MS, P5, held, job, snapshot


def test_a_long_sentence_is_cut() -> None:
    reason = Reason(code=ReasonCode.FAILED, message="x" * 5000)
    assert len(reason.message) == MAX_MESSAGE_CHARS
    assert reason.message.endswith("…")


@pytest.mark.parametrize(
    ("ahead", "at_least", "said"),
    [
        (0, False, "is next in the queue; no decision has considered it yet, which takes a minute at most"),
        (1, False, "waits behind 1 job in the queue"),
        (2, False, "waits behind 2 jobs in the queue"),
        (1000, True, "waits behind at least 1000 jobs in the queue"),
    ],
)
def test_the_jobs_ahead_are_counted_in_a_sentence(ahead: int, *, at_least: bool, said: str) -> None:
    assert waits_in_line(ahead, at_least=at_least).message == said


@pytest.mark.parametrize(
    ("ahead", "members", "said"),
    [
        (0, {}, "waits"),
        (1, {}, "waits; 1 waiting job ahead"),
        (3, {"a": 97}, "waits; 3 waiting jobs ahead, and 97 members of `a` that are not in the queue yet"),
        (0, {"a": 1}, "waits; ahead will be 1 member of `a` that is not in the queue yet"),
        (2, {"a": 1, "b": 2}, "waits; 2 waiting jobs ahead, and 3 members of `a`, `b` that are not in the queue yet"),
        (
            2,
            dict.fromkeys("abcde", 1),
            "waits; 2 waiting jobs ahead, and 5 members of `a`, `b`, `c` and 2 more that are not in the queue yet",
        ),
    ],
)
def test_members_that_are_not_in_the_queue_are_named_by_their_arrays(
    ahead: int, members: dict[str, int], said: str
) -> None:
    wait = Wait(job="x", reason=Reason(code=ReasonCode.WAITS_BEHIND, message="waits"), ahead=ahead)
    assert wait.sentence_with(members_to_come(members)) == said


def test_a_job_far_back_may_wait_behind_members_only() -> None:
    said = waits_in_line(0, to_come=members_to_come({"a": 2})).message
    assert said == "waits behind 2 members of `a` that are not in the queue yet"
    assert "more than are counted" in members_to_come({"a": 2}, is_whole=False)


def test_a_sentence_names_three_of_many_holders() -> None:
    holders = tuple(held(f"h{i}", 9) for i in range(5))
    reason = waits_for_capacity(
        job("a", 1, count=5), {P5: 5}, holders, lambda _: Protected.NOT_LOWER, None, NOW_MS, Policy()
    )
    assert reason.jobs == ("h0", "h1", "h2")
    assert reason.message.endswith("and 2 more")


def past(name: str, count: int = 1, **more: object) -> Allocation:
    """A rogue training job."""
    allocation = held(f"rogue#{name}", MAX_PRIORITY, count=count, team=ROGUE_TEAM, preemptible=False, **more)  # type: ignore[arg-type]
    return replace(allocation, outside=name)


def test_rogue_holders_are_named_with_their_instances_and_not_as_jobs() -> None:
    holders = (past("x", 2, ends_in_s=60), held("a", 1))
    reason = waits_for_capacity(job("b", 1, count=4), {P5: 3}, holders, lambda _: None, None, NOW_MS, Policy())
    assert reason.jobs == ("a",)
    assert "held by `x` (outside the queue, until 00:17 UTC at the latest) and `a` (priority 1, " in reason.message
    assert reason.message.endswith(
        "; 2 ml.p5.48xlarge of the pool went to training jobs outside the queue (`headway queue --all`)"
    )


def test_a_job_waits_for_the_end_of_a_rogue_job_as_for_any_other() -> None:
    (hold,) = schedule(snapshot(job("a", 1), past("x", 2, stopping=True))).waits
    assert hold.reason.message == "starts on 1 ml.p5.48xlarge as soon as `x` has stopped"
    assert hold.reason.jobs == ()


@pytest.mark.parametrize("priority", [0, MAX_PRIORITY])
@pytest.mark.parametrize("guaranteed", [0, 2])
def test_no_job_preempts_a_rogue_job(priority: int, guaranteed: int) -> None:
    policy = Policy(teams={"blue": Team(guaranteed={P5: guaranteed})})
    plan = schedule(snapshot(job("a", priority, count=2, team="blue"), past("x", 1), policy=policy))
    assert plan.actions == ()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, ReasonCode.OUTSIDE),
        ({"broken": ("Tags has no 'x': add it",)}, ReasonCode.OUTSIDE_BREAKS_RULES),
        ({"broken": ("Tags has no 'x': add it",), "stop": "so it is said"}, ReasonCode.OUTSIDE_STOPPED),
        ({"stop": "so it is said", "problem": "nobody may"}, ReasonCode.OUTSIDE_NOT_STOPPED),
    ],
)
def test_the_sentence_about_a_rogue_job_has_all_known_values(arguments: dict[str, object], code: ReasonCode) -> None:
    reason = outside({P5: 2}, **{"broken": (), **arguments})  # type: ignore[arg-type]
    assert reason.code is code
    assert "2 ml.p5.48xlarge" in reason.message
    for text in (*arguments.get("broken", ()), *(arguments.get(name, "") for name in ("stop", "problem"))):  # type: ignore[misc]
        assert str(text) in reason.message
