from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox.rehearsal.attempt import Attempt
from headway_sandbox.rehearsal.baseline import Baseline
from headway_sandbox.rehearsal.cases import Case, Disturbance
from headway_sandbox.rehearsal.judgement import (
    Criteria,
    Judged,
    Problem,
    Verdict,
    is_preempted,
    judge,
    with_common_cause,
)
from tests.sandbox.rehearsal.attempts import BASELINE, LAST, attempt, continued, preempted

CRITERIA = Criteria(folder="/opt/ml/checkpoints", tolerance=0.01)
TERM = Case(disturbance=Disturbance.SIGTERM, at_s=10.0)
LOSS = Case(disturbance=Disturbance.LOST_IN_WRITE, at_s=10.0, after_upload=True)
HALF = {"written_in": "step-50"}


def judged(
    before: Attempt,
    after: Attempt | None,
    *,
    case: Case = TERM,
    baseline: Baseline = BASELINE,
    criteria: Criteria = CRITERIA,
) -> Judged:
    return judge(case, before, after, baseline=baseline, criteria=criteria)


@pytest.mark.parametrize(
    ("case", "before", "after"),
    [
        (TERM, {}, {}),
        (TERM, {"uploaded": 1}, {"restored": 1, "first_step": 51}),
        (LOSS, HALF, {}),
        # The first checkpoint was the one that was lost: there is nothing to go back to.
        (LOSS, {**HALF, "uploaded": 0}, {"restored": 1, "first_step": 1}),
        # It is preempted before an undisturbed run writes its first checkpoint.
        (replace(TERM, at_s=1.0), {"uploaded": 0, "last_step": 3}, {"restored": 0, "first_step": 1}),
        # It reached its last step in the grace period, and only has to save its model again.
        (TERM, {"last_step": LAST}, {"first_step": None, "last_step": None, "metric": None}),
        (TERM, {}, {"metric": 0.2599}),
        (TERM, {}, {"metric": 0.2401}),
    ],
    ids=["periodic", "handler", "loss", "first write", "before the first", "last step", "above", "below"],
)
def test_a_script_that_continues_and_ends_the_same_survives(case: Case, before: Any, after: Any):
    found = judged(preempted(**before), continued(**after), case=case)
    assert (found.problem, found.sentence, found.verdict) == (None, "", Verdict.SURVIVES)


@pytest.mark.parametrize(
    ("case", "before", "after", "problem", "sentence"),
    [
        (
            TERM,
            {"uploaded": 0},
            {"restored": 0, "first_step": 1},
            Problem.NOT_WRITTEN,
            "Write one there every few steps",
        ),
        (
            TERM,
            {"uploaded": 0, "elsewhere": ("/opt/ml/model/state",)},
            {"restored": 0, "first_step": 1},
            Problem.WRITTEN_ELSEWHERE,
            "but /opt/ml/model/state, which is lost with the instance. Write checkpoints to /opt/ml/checkpoints.",
        ),
        (TERM, {}, {"first_step": 1}, Problem.BEGAN_AGAIN, "found 5 files in /opt/ml/checkpoints and began at step 1"),
        (
            TERM,
            {},
            {"trained": False, "failure": "AlgorithmError: bad"},
            Problem.FAILED_AFTER,
            "AlgorithmError: bad. It found 5 files in /opt/ml/checkpoints: let the script load what it has saved",
        ),
        (TERM, {}, {"trained": False, "timed_out": True}, Problem.TIMED_OUT, "within --timeout"),
        (LOSS, HALF, {"first_step": 1}, Problem.HALF_WRITTEN, "began at step 1 again. A kill left half of step-50"),
        (
            LOSS,
            HALF,
            {"trained": False, "failure": "AlgorithmError: bad"},
            Problem.HALF_WRITTEN,
            "failed: AlgorithmError: bad. A kill left half of step-50. .* rename it",
        ),
        (LOSS, {**HALF, "uploaded": 0}, {"trained": False, "failure": "bad"}, Problem.HALF_WRITTEN, "rename it"),
        (TERM, {}, {"last_step": 150}, Problem.OTHER_LAST_STEP, "ended at step 150, not at 100"),
        (TERM, {}, {"last_step": 99}, Problem.OTHER_LAST_STEP, "ended at step 99, not at 100"),
        (TERM, {}, {"first_step": None, "last_step": None}, Problem.OTHER_LAST_STEP, "ended at step 50"),
        (TERM, {}, {"metric": 0.27}, Problem.OTHER_METRIC, "loss is 0.27, not 0.25: .* the optimizer"),
        (TERM, {}, {"metric": None}, Problem.OTHER_METRIC, "no finite value of loss"),
        (TERM, {}, {"metric": 0.23}, Problem.OTHER_METRIC, "loss is 0.23"),
    ],
)
def test_a_script_that_forgets_something_is_told_what_and_what_to_change(
    case: Case, before: Any, after: Any, problem: Problem, sentence: str
):
    found = judged(preempted(**before), continued(**after), case=case)
    assert (found.problem, found.verdict) == (problem, Verdict.FAILS)
    assert re.search(sentence, found.sentence)


def test_a_script_that_writes_no_checkpoint_undisturbed_needs_one_at_any_moment():
    baseline = replace(BASELINE, first_checkpoint_s=None, uploads=0)
    early = replace(TERM, at_s=0.1)
    found = judged(preempted(uploaded=0), continued(first_step=1), case=early, baseline=baseline)
    assert found.problem is Problem.NOT_WRITTEN


@pytest.mark.parametrize(("restored", "files"), [(0, "no files"), (1, "1 file in"), (2, "2 files")])
def test_a_sentence_counts_the_files_that_were_found(restored: int, files: str):
    found = judged(preempted(), continued(first_step=1, restored=restored))
    assert f"It found {files}" in found.sentence


def test_without_a_checkpoint_config_it_is_what_is_missing():
    found = judged(preempted(uploaded=0), continued(first_step=1), criteria=Criteria(folder=""))
    assert found.problem is Problem.NO_CHECKPOINT_CONFIG
    assert "CheckpointConfig" in found.sentence


def test_the_spread_of_the_undisturbed_runs_is_added_to_the_tolerance():
    baseline = replace(BASELINE, metrics=(0.25, 0.3))
    assert judged(preempted(), continued(metric=0.334), baseline=baseline).problem is None
    assert judged(preempted(), continued(metric=0.336), baseline=baseline).problem is Problem.OTHER_METRIC


def test_without_a_metric_none_is_compared():
    baseline = replace(BASELINE, metrics=())
    assert judged(preempted(metric=None), continued(metric=None), baseline=baseline).problem is None


@pytest.mark.parametrize(
    ("case", "before", "problem", "verdict"),
    [
        (TERM, attempt(), Problem.ENDED_FIRST, Verdict.NOT_JUDGED),
        (LOSS, attempt(), Problem.NO_WRITE, Verdict.NOT_JUDGED),
        (LOSS, attempt(uploaded=0), Problem.NOT_WRITTEN, Verdict.FAILS),
        (LOSS, attempt(uploaded=0, elsewhere=("/tmp/x",)), Problem.WRITTEN_ELSEWHERE, Verdict.FAILS),
    ],
)
def test_a_run_that_was_not_preempted_says_why(case: Case, before: Attempt, problem: Problem, verdict: Verdict):
    assert not is_preempted(before)
    found = judged(before, None, case=case)
    assert (found.problem, found.verdict) == (problem, verdict)
    assert found.sentence


def test_a_run_that_ended_just_before_its_preemption_was_not_preempted():
    assert not is_preempted(attempt(preempted_s=20.0))
    assert is_preempted(preempted())


@pytest.mark.parametrize(
    ("last", "first", "stride", "lost"),
    [
        (50, 51, 1, 0),
        (50, 46, 1, 5),
        (50, 1, 1, 50),
        (50, 60, 10, 0),
        (50, 40, 10, 20),
        (50, 70, 1, 0),
        (50, None, 1, None),
    ],
)
def test_lost_steps_are_those_that_are_trained_twice(last: int, first: int | None, stride: int, lost: int | None):
    baseline = replace(BASELINE, stride=stride)
    assert judged(preempted(last_step=last), continued(first_step=first), baseline=baseline).lost_steps == lost


def test_a_script_that_never_continues_does_not_fail_for_half_a_file():
    term = judged(preempted(), continued(first_step=1))
    loss = judged(preempted(**HALF), continued(first_step=1), case=LOSS)
    crash = judged(preempted(**HALF), continued(trained=False, failure="bad"), case=LOSS)
    assert [each.problem for each in with_common_cause([term, loss, crash], CRITERIA)] == [
        Problem.BEGAN_AGAIN, Problem.BEGAN_AGAIN, Problem.HALF_WRITTEN
    ]  # fmt: skip
    survives = judged(preempted(), continued())
    assert with_common_cause([survives, loss], CRITERIA) == [survives, loss]


RUNS = st.builds(
    continued,
    restored=st.integers(0, 3),
    first_step=st.none() | st.integers(0, 120),
    last_step=st.none() | st.integers(90, 110),
    metric=st.none() | st.floats(0, 1),
    trained=st.booleans(),
    timed_out=st.booleans(),
    failure=st.none() | st.just("AlgorithmError: x"),
)
CASES = st.builds(Case, disturbance=st.sampled_from(Disturbance), at_s=st.floats(0, 20))


@given(case=CASES, uploaded=st.integers(0, 3), written_in=st.sampled_from(["", "step-5"]), after=RUNS)
def test_what_survives_has_ended_as_the_undisturbed_runs_and_was_not_begun_again(
    case: Case, uploaded: int, written_in: str, after: Attempt
):
    before = preempted(uploaded=uploaded, written_in=written_in)
    found = judged(before, after, case=case)
    assert (found.verdict is Verdict.SURVIVES) == (found.sentence == "")
    if found.verdict is Verdict.SURVIVES:
        assert after.trained
        assert not after.timed_out
        assert (after.last_step if after.last_step is not None else before.last_step) == BASELINE.last_step
        if after.last_step is not None:
            assert after.metric is not None
            assert abs(after.metric - 0.25) <= CRITERIA.tolerance
        assert not uploaded or after.first_step is None or after.first_step > BASELINE.first_step
