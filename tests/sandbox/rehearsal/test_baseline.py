from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.rehearsal.baseline import Baseline
from headway_sandbox.rehearsal.errors import CannotRehearse
from tests.sandbox.rehearsal.attempts import attempt


def test_the_baseline_is_what_both_runs_reach():
    baseline = Baseline.of(
        [
            attempt(uploads=3, first_upload_s=2.0, metric=0.25, stride=2),
            attempt(uploads=4, first_upload_s=5.0, metric=0.5, ended_s=11.0, stride=1),
        ]
    )
    assert (baseline.run_s, baseline.first_checkpoint_s, baseline.uploads, baseline.stride) == (10.0, 5.0, 3, 1)
    assert (baseline.metrics, baseline.spread) == ((0.25, 0.5), 0.25)


def test_a_checkpoint_that_one_run_did_not_write_is_not_expected():
    baseline = Baseline.of([attempt(), attempt(uploads=0, first_upload_s=None)])
    assert (baseline.first_checkpoint_s, baseline.uploads) == (None, 0)


def test_without_a_metric_there_is_no_spread():
    baseline = Baseline.of([attempt(metric_name="", metric=None)] * 2)
    assert (baseline.metrics, baseline.spread) == ((), 0.0)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            {"trained": False, "failure": "AlgorithmError: no"},
            "fails also when it is not preempted: AlgorithmError: no",
        ),
        ({"trained": False, "timed_out": True}, "does not end within --timeout"),
        ({"first_step": None, "last_step": None}, "nothing that --step-regex finds"),
        ({"last_step": 1}, "prints one step only, 1"),
        ({"metric": None}, "no value of the metric loss"),
        ({"last_step": 90}, "their last 100 and 90"),
        ({"first_step": 2}, "their first steps are 1 and 2"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_with_what_to_change(facts: dict[str, Any], message: str):
    with pytest.raises(CannotRehearse, match=message):
        Baseline.of([attempt(), attempt(**facts)])
