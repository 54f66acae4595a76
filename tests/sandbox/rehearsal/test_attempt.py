from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.rehearsal.attempt import Attempt


def taken(*messages: dict[str, Any]) -> Attempt:
    """Return the attempt after messages that come a second apart, from 100 s on."""
    attempt = Attempt(step_name="step", metric_name="loss")
    for number, message in enumerate(messages):
        attempt.note(message, now_s=100.0 + number)
    return attempt


def metric(name: str, value: float) -> dict[str, Any]:
    return {"kind": "metric", "name": name, "value": value, "time": 0.0}


def test_the_messages_of_a_run_are_its_facts():
    attempt = taken(
        {"kind": "restored", "files": 2},
        {"kind": "log", "host": 1, "time": 0.0, "text": "step 9"},
        {"kind": "downloaded"},
        metric("step", 10.0),
        metric("loss", 0.5),
        metric("step", 20.0),
        metric("other", 7.0),
        {"kind": "checkpoint", "files": 1},
        {"kind": "trained"},
        {"kind": "ended", "failure": None},
    )
    assert attempt.restored == 2
    assert (attempt.first_step, attempt.last_step, attempt.metric) == (10, 20, 0.5)
    assert attempt.run_s == 6.0
    assert (attempt.trained, attempt.failure) == (True, None)


def test_uploads_count_from_the_first_checkpoint_on():
    attempt = taken({"kind": "downloaded"})
    attempt.note_upload(0, now_s=102.0)
    assert (attempt.uploaded, attempt.uploads, attempt.first_upload_s) == (0, 0, None)
    attempt.note_upload(2, now_s=104.0)
    attempt.note_upload(3, now_s=106.0)
    assert (attempt.uploaded, attempt.uploads, attempt.first_upload_s) == (3, 2, 4.0)


def test_the_end_of_a_script_that_failed_is_that_of_its_run():
    attempt = taken({"kind": "downloaded"}, {"kind": "ended", "failure": "AlgorithmError"})
    assert (attempt.trained, attempt.failure, attempt.run_s) == (False, "AlgorithmError", 1.0)


@pytest.mark.parametrize(
    ("steps", "stride"), [([], 1), ([5], 1), ([10, 20, 30], 10), ([1, 11, 13, 20], 2), ([5, 5, 5], 1), ([9, 1, 4], 3)]
)
def test_the_stride_is_the_smallest_step_forward(steps: list[int], stride: int):
    assert taken(*(metric("step", step) for step in steps)).stride == stride


def test_without_a_metric_no_value_is_taken():
    attempt = Attempt(step_name="step")
    attempt.note(metric("loss", 0.5), now_s=0.0)
    assert attempt.metric is None


def test_a_script_that_has_not_started_or_not_ended_has_no_run_time():
    assert taken({"kind": "ended", "failure": "ClientError"}).run_s == 0.0
    assert taken({"kind": "downloaded"}).run_s == 0.0
