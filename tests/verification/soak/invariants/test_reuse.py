"""The check of equal jobs finds answers that rest on other inputs, and jobs that compute the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headway_verification.soak.invariants.reuse import ReuseInvariants
from headway_verification.soak.violations import Violated

READ_MS, ENDED_MS = 20_000, 900_000
JobItem = dict[str, Any]


def computing(name: str = "a", **changes: Any) -> dict[str, JobItem]:
    """A job that computes for equal ones."""
    return {name: {"jobState": "running", "team": "vision", "summary": {"reuse": {"key": "k"}}, **changes}}


def completed(name: str = "a") -> dict[str, JobItem]:
    """The same job, which has completed."""
    summary = {"reuse": {"key": "k"}, "endedMs": ENDED_MS}
    return computing(name, jobState="completed", summary=summary, attempts=[{"attemptName": f"{name}-1"}])


def answered(name: str = "b", **changes: Any) -> dict[str, JobItem]:
    """A job that has the outputs of ``a``."""
    reuse = {"key": "k", "jobName": "a", "attemptName": "a-1"}
    return {name: {"jobState": "completed", "team": "vision", "summary": {"reuse": reuse}, **changes}}


def request_of(name: str) -> Mapping[str, Any]:
    return {"TrainingJobName": name, "ResourceConfig": {"InstanceCount": 1}, "InputDataConfig": [{"ChannelName": "in"}]}


def watching() -> ReuseInvariants:
    """Invariants that have seen how ``a`` began to compute after a read of its input."""
    invariants = ReuseInvariants()
    invariants.input_reads = [READ_MS]
    invariants.check(computing(), request_of)
    return invariants


@pytest.mark.parametrize("written_ms", [READ_MS - 1, READ_MS, ENDED_MS])
def test_an_answer_stands_if_the_input_was_written_before_the_read_or_after_the_end(written_ms: int) -> None:
    invariants = watching()
    invariants.input_writes = [written_ms]
    invariants.check(completed() | answered(), request_of)


def test_an_answer_from_an_input_that_was_written_while_the_job_computed_is_found() -> None:
    invariants = watching()
    invariants.input_writes = [READ_MS + 1]
    with pytest.raises(Violated, match="whose input was written while it ran"):
        invariants.check(completed() | answered(), request_of)


def test_an_input_that_was_written_before_the_job_was_compared_again_is_no_other_one() -> None:
    invariants = watching()
    invariants.input_writes, invariants.input_reads = [READ_MS + 1], [READ_MS, READ_MS + 2]
    again = {"key": "k", "seen": "later"}
    invariants.check(computing(summary={"reuse": again}), request_of)
    ended = completed()["a"]
    ended["summary"] = {**ended["summary"], "reuse": again}
    invariants.check({"a": ended} | answered(), request_of)


def test_a_job_without_inputs_does_not_depend_on_when_these_were_written() -> None:
    invariants = watching()
    invariants.input_writes = [READ_MS + 1]
    invariants.check(completed() | answered(), lambda name: {"TrainingJobName": name})


def test_a_read_for_another_job_does_not_move_the_beginning() -> None:
    invariants = watching()
    invariants.input_reads = [READ_MS, READ_MS + 50_000]
    invariants.input_writes = [READ_MS + 10_000]
    with pytest.raises(Violated, match="whose input was written while it ran"):
        invariants.check(completed() | answered(), request_of)


def test_an_answer_counts_in_whatever_order_the_items_are_read() -> None:
    ReuseInvariants().check(answered() | completed(), request_of)


def test_two_jobs_that_compute_the_same_are_found() -> None:
    with pytest.raises(Violated, match="compute the same"):
        watching().check(computing("a") | computing("c"), request_of)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobState": "failed"}, "but is failed"),
        ({"attempts": [{"attemptName": "b-1"}]}, "and an attempt"),
        ({"team": "audio"}, "a job of another team"),
    ],
)
def test_an_answer_that_cannot_be_is_found(changes: Mapping[str, Any], message: str) -> None:
    with pytest.raises(Violated, match=message):
        watching().check(completed() | answered(**changes), request_of)


def test_an_answer_from_a_job_that_has_not_completed_is_found() -> None:
    with pytest.raises(Violated, match="which has not completed"):
        watching().check(computing() | answered(), request_of)


def test_an_answer_from_a_job_that_computes_something_else_is_found() -> None:
    def other(name: str) -> Mapping[str, Any]:
        return {"ResourceConfig": {"InstanceCount": 1 if name == "a" else 2}}

    with pytest.raises(Violated, match="computes something else"):
        watching().check(completed() | answered(), other)
