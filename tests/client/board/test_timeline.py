"""What the timeline remembers."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headway_client.board.web import timeline as module
from headway_client.board.web.timeline import Timeline
from headway_client.models import RecentlyEnded, Summary
from tests.client.board.builders import NOW_S, contract, summary_of

BASE = summary_of(contract())
RUNS = BASE.running[0]
STARTED_S = 1_767_323_045.678


def running(*names: str, **changes: object) -> Summary:
    jobs = tuple(replace(RUNS, job_name=name, attempt_name=f"{name}-1", **changes) for name in names)  # type: ignore[arg-type]
    return replace(BASE, running=jobs, ended=())


def ended(name: str) -> RecentlyEnded:
    queue = contract()
    queue.jobs["trains"].update(jobState="completed")
    return replace(summary_of(queue).ended[0], job_name=name)


def test_a_running_attempt_is_a_bar_without_an_end() -> None:
    timeline = Timeline()
    timeline.add(running("a"), NOW_S)
    (bar,) = timeline.bars
    assert (bar.job, bar.attempt, bar.start_s, bar.end_s, bar.outcome) == ("a", "a-1", STARTED_S, None, "running")


def test_an_attempt_that_is_gone_has_ended_and_one_that_was_preempted_is_shown_as_such() -> None:
    timeline = Timeline()
    timeline.add(running("a", stop_cause="preemption", stops_for="b"), NOW_S)
    timeline.add(running("b"), NOW_S + 60)
    first, second = sorted(timeline.bars, key=lambda bar: bar.job)
    assert (first.outcome, first.end_s, first.by) == ("preempted", NOW_S + 60, "b")
    assert (second.outcome, second.end_s) == ("running", None)


def test_a_job_that_ended_has_its_state_and_its_time() -> None:
    timeline = Timeline()
    timeline.add(running("a"), NOW_S)
    timeline.add(replace(running(), ended=(ended("a"),)), NOW_S + 60)
    (bar,) = timeline.bars
    assert bar.outcome == "completed"
    assert bar.end_s is not None
    assert bar.end_s < NOW_S


def test_a_job_that_ended_before_is_one_bar_and_only_once() -> None:
    timeline = Timeline()
    for _ in range(3):
        timeline.add(replace(running(), ended=(ended("old"),)), NOW_S)
    (bar,) = timeline.bars
    assert (bar.job, bar.attempt, bar.outcome) == ("old", "old", "completed")


def test_an_attempt_beyond_the_limit_of_a_summary_may_still_run() -> None:
    timeline = Timeline()
    timeline.add(running("a"), NOW_S)
    timeline.add(replace(running("b"), more_running=1), NOW_S + 10)
    assert all(bar.end_s is None for bar in timeline.bars)


def test_the_use_of_the_pools_is_kept_for_each_summary() -> None:
    timeline = Timeline()
    timeline.add(running("a"), NOW_S)
    (sample,) = timeline.document()["samples"]
    assert sample == {"time": NOW_S, "use": {"ml.p5.48xlarge": [1, 0, 2]}}


@given(st.lists(st.sets(st.sampled_from("abcdef"), max_size=5), max_size=30))
def test_an_attempt_is_open_as_long_as_it_is_in_the_summaries(pictures: list[set[str]]) -> None:
    timeline = Timeline()
    for number, names in enumerate(pictures):
        timeline.add(running(*sorted(names)), NOW_S + number)
    live = {bar.job for bar in timeline.bars if bar.end_s is None}
    assert live == (pictures[-1] if pictures else set())


def test_no_more_is_kept_than_the_limit(monkeypatch: object) -> None:
    timeline = Timeline()
    for number in range(module.MAX_BARS + 50):
        timeline.add(running(f"j{number}"), NOW_S + number)
    assert len(timeline.bars) <= module.MAX_BARS + 1
    assert len(timeline.document()["samples"]) == module.MAX_SAMPLES
