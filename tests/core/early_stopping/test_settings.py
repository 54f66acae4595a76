"""What an array says of early stopping is checked as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.early_stopping import EarlyStopping, Goal, InvalidEarlyStopping, MedianRule

BY_TIME = {"metric": "loss", "goal": "minimize"}
BY_STEP = {**BY_TIME, "stepMetric": "epoch"}


def test_defaults_are_five_others_and_ten_minutes_or_one_step() -> None:
    by_time, by_step = EarlyStopping.parse(BY_TIME), EarlyStopping.parse(BY_STEP)
    assert by_time.document() == {**BY_TIME, "minMembers": 5, "minTrainingSeconds": 600}
    assert by_step.document() == {**BY_STEP, "minMembers": 5, "minSteps": 1}
    assert by_time.rule == MedianRule(goal=Goal.MINIMIZE, min_members=5, min_step=600)


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"metric": None}, "metric", "is None; write the name of a metric"),
        ({"metric": ""}, "metric", "write the name of a metric"),
        ({"metric": "x" * 256}, "metric", "write the name of a metric"),
        ({"goal": "less"}, "goal", "is 'less'; write minimize or maximize"),
        ({"goal": None}, "goal", "write minimize or maximize"),
        ({"goal": ["minimize"]}, "goal", "write minimize or maximize"),
        ({"stepMetric": "loss"}, "stepMetric", "is the metric that is compared"),
        ({"stepMetric": None}, "stepMetric", "write the name of a metric"),
        ({"minMembers": 0}, "minMembers", "is 0; it is a whole number from 1 to 100"),
        ({"minMembers": 101}, "minMembers", "it is a whole number from 1 to 100"),
        ({"minMembers": True}, "minMembers", "is True; it is a whole number"),
        ({"minMembers": 2.0}, "minMembers", "it is a whole number"),
        ({"minSteps": -1}, "minSteps", "is -1; it is a whole number from 0"),
        ({"minSteps": 0.5}, "minSteps", "it is a whole number"),
        ({"minSteps": float("nan")}, "minSteps", "it is a whole number from 0"),
        ({"minSteps": 10**16}, "minSteps", "it is a whole number from 0"),
        ({"minTrainingSeconds": 60}, "minTrainingSeconds", "is for members that are compared by training time"),
        ({"patience": 3}, "patience", "is not known; members: metric, goal, stepMetric"),
    ],
)
def test_a_wrong_member_is_named(changes: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(InvalidEarlyStopping) as caught:
        EarlyStopping.parse({**BY_STEP, **changes})
    assert [each.path for each in caught.value.problems] == [path]
    assert message in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"minSteps": 3}, "minSteps"),
        ({"minTrainingSeconds": 2_592_001}, "minTrainingSeconds"),
        ({"minTrainingSeconds": 1.5}, "minTrainingSeconds"),
    ],
)
def test_without_a_step_metric_time_counts(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidEarlyStopping) as caught:
        EarlyStopping.parse({**BY_TIME, **changes})
    assert [each.path for each in caught.value.problems] == [path]


def test_a_member_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidEarlyStopping, match=r"metric is missing; write .*goal is missing; write minimize"):
        EarlyStopping.parse({})


def test_all_problems_are_reported() -> None:
    with pytest.raises(InvalidEarlyStopping, match=r"goal is 'best'.*minMembers is 0"):
        EarlyStopping.parse({"metric": "loss", "goal": "best", "minMembers": 0})


@given(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()),
    st.dictionaries(
        st.sampled_from(["metric", "goal", "stepMetric", "minMembers", "minSteps", "minTrainingSeconds", "else"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["minimize"]),
    ),
)
def test_any_document_is_parsed_or_refused(value: object, document: dict[str, Any]) -> None:
    for each in (value, document):
        try:
            found = EarlyStopping.parse(each)
        except InvalidEarlyStopping:
            continue
        assert EarlyStopping.parse(found.document()) == found
