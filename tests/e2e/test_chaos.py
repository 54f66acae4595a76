"""A small chaos run, and the violations that the checks detect."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.chaos.__main__ import main
from headway_verification.chaos.invariants import Accepted, Invariants
from headway_verification.chaos.raw_state import RawState

SIZES = {"p5": 2}
REQUEST = {"Environment": {"SANDBOX_RUN_SECONDS": "60"}}


@pytest.mark.e2e
def test_thirty_jobs_complete_despite_faults_a_kill_and_a_restart(capsys: pytest.CaptureFixture[str]):
    # A minute as a rule; the limit is for machines that stand still for minutes.
    assert main(["--jobs", "30", "--seed", "7", "--minutes", "10"]) == 0, capsys.readouterr().out
    output = capsys.readouterr().out
    print(output)
    assert "30 names accepted" in output
    assert "sandbox restarted" in output
    assert "sandbox killed" in output
    assert "✓ no job lost or duplicated" in output


def pool(free: int) -> dict[str, Any]:
    return {"pk": "ledger", "sk": "pool#p5", "pool": "p5", "size": 2, "free": free}


def attempt(name: str, job: str) -> dict[str, Any]:
    return {"pk": "ledger", "sk": f"attempt#{name}", "attemptName": name, "jobName": job, "demand": {"p5": 1}}


def job(name: str, *states: str) -> list[dict[str, Any]]:
    """The items of a job that went through these states."""
    live = {"liveAttempt": name} if states[-1] in {"running", "stopping"} else {}
    history = [{"jobState": state} for state in states]
    return [
        {"pk": f"job#{name}", "sk": "job", "jobName": name, "jobState": states[-1], "history": history, **live},
        {"pk": f"job#{name}", "sk": "request", "jobDetails": '{"Environment": {"SANDBOX_RUN_SECONDS": "60"}}'},
    ]


def training_job(name: str, of: str, status: str, begin: float = 0.0, end: float = 1.0) -> dict[str, Any]:
    return {
        "TrainingJobName": name,
        "TrainingJobStatus": status,
        "Tags": {"headway:job": of},
        "Instances": {"p5": 1},
        "CreationTime": begin,
        "LastModifiedTime": end,
    }


def look(
    *items: list[dict[str, Any]], ledger: tuple[dict[str, Any], ...] = (pool(2),), training_jobs: Any = ()
) -> RawState:
    return RawState(
        items=tuple(item for of_job in items for item in of_job), ledger=ledger, training_jobs=training_jobs
    )


def broken(*looks: RawState, accepted: Accepted | None = None) -> list[str]:
    """Return the violations of these observations, of which the last is at rest."""
    invariants = Invariants(SIZES)
    for each in looks[:-1]:
        invariants.check(each, accepted or {})
    invariants.check_end(looks[-1], accepted or {})
    return [violation.sentence for violation in invariants.violations]


DONE = look(job("a", "pending", "running", "completed"), training_jobs=(training_job("a", "a", "Completed"),))


def test_a_job_accepted_and_trained_once_violates_nothing():
    assert broken(DONE, accepted={"a": [REQUEST]}) == []


@pytest.mark.parametrize(
    ("looks", "sentence"),
    [
        ([look(job("a", "pending"))], "a is still pending"),
        ([look(job("a", "completed"))], "a is completed, but no attempt completed"),
        ([DONE, look(job("a", "completed", "pending"))], "a was completed, but is pending"),
        (
            [look(job("a", "completed", "completed"))],
            "a is completed, but its history has the ends ['completed', 'completed']",
        ),
        (
            [look(job("a", "failed"), training_jobs=(training_job("a", "a", "Completed"),))],
            "a is failed, but was trained 1 times",
        ),
        (
            [
                look(
                    job("a", "completed"),
                    training_jobs=(training_job("a", "a", "Completed"), training_job("a-2", "a", "Completed", 2, 3)),
                )
            ],
            "a is completed, but was trained 2 times",
        ),
        ([look(ledger=(pool(1),))], "p5: 1 of 2 free, 0 held, 0 reserved"),
        ([look(ledger=(pool(-1), attempt("a", "a"), attempt("b", "b"), attempt("c", "c")))], "p5 is exceeded by 1"),
        ([look(ledger=(pool(0), attempt("a", "a"), attempt("a-2", "a")))], "a has 2 live attempts in the ledger"),
        ([look(ledger=(pool(1), attempt("a", "a")))], "still in the ledger: attempt#a"),
        (
            [look(training_jobs=tuple(training_job(name, name, "InProgress") for name in "abc"))],
            "SageMaker runs 3 p5 of 2",
        ),
        (
            [look(training_jobs=tuple(training_job(name, "a", "InProgress") for name in ("a", "a-2")))],
            "SageMaker runs 2 training jobs for a",
        ),
        (
            [look(training_jobs=(training_job("a", "a", "InProgress"),))] * 2,
            "SageMaker runs a, which the ledger does not hold",
        ),
        (
            [look(training_jobs=tuple(training_job(name, name, "Stopped") for name in "abc"))],
            "by SageMaker's records there were 3 p5 of 2",
        ),
        (
            [look(training_jobs=(training_job("a", "a", "Stopped"), training_job("a-2", "a", "Failed", 0.5)))],
            "by SageMaker's records there were 2 concurrent training jobs for a",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_violations_are_detected(looks: list[RawState], sentence: str):
    assert sentence in broken(*looks)


def test_lost_and_changed_jobs_are_detected():
    other = {"Environment": {"SANDBOX_RUN_SECONDS": "61"}}
    assert "b was accepted but is lost" in broken(DONE, accepted={"b": [REQUEST]})
    assert broken(DONE, accepted={"a": [other]}) == ["a is stored with a request other than the accepted one"]
    assert broken(DONE, accepted={"a": [REQUEST, other]}) == ["2 different requests were accepted as a"]
