"""What a span of time has cost, by what SageMaker has run."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.refusals.figures import Figures, Run, Wanted, figures_of

POOL = "ml.p5.48xlarge"
HOUR_S = 3600.0


def run(job: str, begin_min: float, end_min: float | None, count: int = 1, **changes: Any) -> Run:
    settings: dict[str, Any] = {
        "job": job,
        "instances": {POOL: count},
        "created_s": begin_min * 60,
        "ended_s": None if end_min is None else end_min * 60,
        "had_instances": True,
        "completed": False,
    }
    return Run(**{**settings, **changes})


def wanted(job: str, since_min: float = 0, count: int = 1) -> Wanted:
    return Wanted(job=job, instances={POOL: count}, since_s=since_min * 60)


def in_an_hour(runs: list[Run], waiting: list[Wanted], size: int = 4) -> Figures:
    return figures_of(runs, waiting, {POOL: size}, begin_s=0.0, end_s=HOUR_S)


def test_instances_are_in_use_from_the_creation_to_the_end_of_training_jobs_that_got_them():
    found = in_an_hour([run("a", 0, 30), run("b", 15, None, 2), run("c", 0, None, 4, had_instances=False)], [])
    assert found.used == {POOL: pytest.approx(0.5 + 1.5)}
    assert found.used_at_end == {POOL: 2}


@pytest.mark.parametrize(
    ("runs", "waiting", "percent"),
    [
        pytest.param([], [], 0, id="no job waits"),
        pytest.param([], [wanted("a")], 25, id="one of four is idle for one that waits"),
        pytest.param([], [wanted("a"), wanted("b", count=3)], 100, id="all are for two that wait"),
        pytest.param([], [wanted("a", count=5)], 0, id="it does not fit"),
        pytest.param([run("x", 0, None, 4)], [wanted("a")], 0, id="others use them"),
        pytest.param([run("x", 0, None, 4, had_instances=False)], [wanted("a")], 25, id="another waits for instances"),
        pytest.param([run("a", 30, None)], [wanted("a")], 12.5, id="it starts after half of the time"),
        pytest.param([run("a", 0, 30, completed=True)], [wanted("a")], 0, id="it has completed"),
        pytest.param([run("a", 0, 30)], [wanted("a")], 12.5, id="it was stopped after half of the time"),
        pytest.param([], [wanted("a", since_min=45)], 6.25, id="it comes after three quarters of the time"),
    ],
)
def test_instances_are_idle_while_jobs_wait_that_fit(runs: list[Run], waiting: list[Wanted], percent: float):
    assert in_an_hour(runs, waiting).idle_percent == pytest.approx(percent)


@pytest.mark.parametrize(
    ("runs", "wait_s"),
    [
        pytest.param([run("a", 5, None), run("b", 2, None)], 300, id="the longest counts"),
        pytest.param([run("a", 5, None)], None, id="one never starts"),
        pytest.param([run("a", 5, None), run("b", 1, 3, had_instances=False)], None, id="one never gets instances"),
        pytest.param([run("a", 5, 6), run("b", 5, 6), run("b", 50, 60)], 300, id="the first start counts"),
    ],
)
def test_a_job_waits_for_its_first_start_with_instances(runs: list[Run], wait_s: float | None):
    assert in_an_hour(runs, [wanted("a"), wanted("b")]).wait_s == wait_s


@pytest.mark.parametrize(
    ("runs", "stopped", "back_s"),
    [
        pytest.param([run("a", 0, 10, completed=True)], 0, 0, id="it has completed"),
        pytest.param([run("a", 0, None)], 0, 0, id="it runs"),
        pytest.param(
            [run("a", 0, 10), run("a", 25, None), run("b", 0, 5), run("b", 6, None)], 2, 900, id="the longest"
        ),
        pytest.param(
            [run("a", 0, 10), run("a", 12, 13, had_instances=False), run("a", 25, None)], 1, 900, id="in vain"
        ),
        pytest.param([run("a", 0, 10)], 1, None, id="never"),
    ],
)
def test_a_stopped_job_is_back_when_it_has_instances_again(runs: list[Run], stopped: int, back_s: float | None):
    found = in_an_hour(runs, [])
    assert (found.stopped, found.back_s) == (stopped, back_s)


def test_completed_training_jobs_are_counted():
    assert in_an_hour([run("a", 0, 10, completed=True), run("b", 0, 10), run("c", 0, None)], []).completed == 1
