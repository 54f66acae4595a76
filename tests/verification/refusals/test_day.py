"""A short time in a state, through the handlers, the fake SageMaker and the published metrics."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway_verification.refusals import answers
from headway_verification.refusals.__main__ import HEADERS, WIDTHS, duration, row_of
from headway_verification.refusals.day import play
from headway_verification.refusals.jobs import P5, Job, several
from headway_verification.refusals.states import STATES, State


def state(**changes: object) -> State:
    usual = State(
        key="test",
        what="two instances, two jobs of half an hour",
        asked="small-0",
        pools={P5: 2},
        usable={P5: 2},
        jobs=several(2, "small", run_h=0.5),
        hours=1,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def test_where_nothing_is_refused_nothing_is_idle_and_no_alarm_rings():
    outcome = play(state())
    assert (outcome.launches, outcome.futile, outcome.figures.completed) == (2, 0, 2)
    assert (outcome.figures.idle_percent, outcome.figures.wait_s, outcome.figures.back_s) == (0, 1, 0)
    assert outcome.waited_ticks == 1
    assert outcome.rings == ()
    assert outcome.why.startswith("completed")


def test_refused_launches_are_counted_and_leave_instances_idle():
    outcome = play(state(answers=(answers.debugger_over_quota("small-0"),)))
    assert outcome.futile == outcome.launches - 1 > 1
    assert outcome.figures.completed == 1
    assert outcome.figures.wait_s is None
    assert outcome.figures.idle_percent == pytest.approx(50)
    assert outcome.why.startswith("pending")


def test_an_answer_ends_after_so_many_launches():
    outcome = play(state(answers=(answers.runs_too_long(longest_s=3600),), hours=0.5))
    assert outcome.figures.wait_s is None
    once = replace(answers.runs_too_long(longest_s=3600), times=1)
    outcome = play(state(answers=(once,)))
    assert outcome.futile == 1
    assert outcome.figures.completed == 2


def test_a_launch_that_is_repeated_under_its_name_counts_as_futile_until_it_is_answered():
    outcome = play(state(answers=(answers.unanswered("small-0", times=1),)))
    assert (outcome.launches, outcome.futile) == (3, 1)
    assert outcome.waited_ticks is not None
    assert outcome.waited_ticks > 1


def test_ticks_that_fail_ring_the_alarm_on_them():
    broken = replace(STATES["10 garbled"], hours=0.2, jobs=STATES["10 garbled"].jobs[:1])
    outcome = play(broken)
    # Whether ticks fail or report the record: an operator hears of it.
    assert "TickFailed" in {ring.alarm for ring in outcome.rings}


def test_a_submission_that_was_to_be_accepted_and_is_not_is_an_error():
    other = Job(name="unknown-pool", demand={"ml.g5.xlarge": 1})
    with pytest.raises(RuntimeError, match="unknown-pool"):
        play(state(jobs=(*several(2, "small"), other)))


def test_a_refused_submission_of_the_job_that_is_asked_about_is_its_reason():
    other = Job(name="unknown-pool", demand={"ml.g5.xlarge": 1})
    outcome = play(state(asked="unknown-pool", jobs=(*several(2, "small"), other), hours=0.1))
    assert "ml.g5.xlarge" in outcome.why
    assert outcome.waited_ticks is None


def test_the_row_of_a_state_has_a_cell_for_each_heading():
    row = row_of(play(state()))
    assert len(row) == len(HEADERS) == len(WIDTHS)
    assert row[2:9] == ("1.13 of 2", "0 of 2", "0.0 %", "2", "2 (0)", "1 s, 1 ticks", "-")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (599, "599 s"), (600, "0:10"), (45_600, "12:40"), (None, "never")]
)
def test_a_duration_is_short(seconds: float | None, text: str):
    assert duration(seconds) == text


def test_each_state_asks_about_one_of_its_jobs_and_names_its_pools():
    for key, each in STATES.items():
        assert each.key == key
        assert each.asked in {job.name for job in each.jobs}
        assert each.usable.keys() == each.pools.keys() or key == "9 paused"
        assert all(each.usable[pool] <= size for pool, size in each.pools.items() if pool in each.usable)
