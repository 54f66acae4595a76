"""Each check holds on the evidence for its assumption, and does not on evidence that says the opposite."""

from __future__ import annotations

from typing import Any

import pytest

from headway_verification.acceptance.catalogue import CHECKS
from headway_verification.acceptance.checks.signals import LONGEST_DELAY_S
from headway_verification.acceptance.evidence import (
    Answer,
    ColdStarts,
    DeletedStack,
    Invocations,
    Missing,
    QueueMetrics,
    Stop,
)
from headway_verification.acceptance.verdict import Verdict
from tests.verification.acceptance import fakes
from tests.verification.acceptance.fakes import denied, event, evidence, run, runs

BY_NAME = {check.name: check for check in CHECKS}
OTHER_TEXT = Answer(status=400, code="ValidationException", message="It cannot be done.")
FAULT = Answer(status=500, code="InternalFailure", message="")
POSTPONED = "LaunchPostponed: ResourceLimitExceeded"

OPPOSITES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "stranger-is-refused": [("it is let in", {"callers": fakes.callers(stranger=Answer())})],
    "user-is-let-in": [("it is refused", {"callers": fakes.callers(user=Answer(status=403))})],
    "marked-creation": [
        ("denied with the mark", {"permissions": fakes.permissions(CREATE_MARKED="implicitDeny")}),
        ("allowed without it", {"permissions": fakes.permissions(CREATE_UNMARKED="allowed")}),
    ],
    "tag-at-creation": [
        ("denied at the creation", {"permissions": fakes.permissions(TAG_AT_CREATION="implicitDeny")}),
        ("allowed later", {"permissions": fakes.permissions(TAG_LATER="allowed")}),
    ],
    "marked-control": [
        ("no stop", {"permissions": fakes.permissions(STOP_MARKED="explicitDeny")}),
        ("no release", {"permissions": fakes.permissions(RELEASE_MARKED="implicitDeny")}),
        ("anything is changed", {"permissions": fakes.permissions(CHANGE_MARKED="allowed")}),
        ("others are stopped", {"permissions": fakes.permissions(STOP_UNMARKED="allowed")}),
    ],
    "launched-with-mark": [
        ("no tags", {"runs": runs(works=run("a", tags={}))}),
        ("another queue's mark", {"runs": runs(works=run("a", tags={"headway:attempt": "other/a"}))}),
        ("denied", {"runs": runs(works=run("a", attempt="", reasons=("LaunchPostponed: AccessDeniedException",)))}),
    ],
    "name-in-use": [
        ("another code", {"name_in_use": Answer(status=400, code="ResourceLimitExceeded", message="in use")}),
        ("accepted", {"name_in_use": Answer()}),
    ],
    "stop-of-ended": [("another text", {"stop_of_ended": OTHER_TEXT}), ("a fault", {"stop_of_ended": FAULT})],
    "stop-of-stopping": [
        (
            "another text",
            {"runs": runs(stopped=run("b", stop=Stop(secondary_status="Pending", repeated=OTHER_TEXT, took_s=1)))},
        )
    ],
    "stop-of-unknown": [("another text", {"stop_of_unknown": OTHER_TEXT}), ("accepted", {"stop_of_unknown": Answer()})],
    "denied-create": [
        ("another code", {"denied_create": OTHER_TEXT}),
        ("accepted", {"denied_create": Answer()}),
        ("it names the role", {"denied_create": denied("iam:PassRole")}),
    ],
    "denied-role": [
        ("without the action", {"denied_role": Answer(status=400, code="AccessDeniedException", message="No.")}),
        ("accepted", {"denied_role": Answer()}),
    ],
    "denied-stop": [("another code", {"denied_stop": OTHER_TEXT}), ("accepted", {"denied_stop": Answer()})],
    "over-quota": [
        ("other words", {"over_quota": Answer(status=400, code="ResourceLimitExceeded", message="Too many.")})
    ],
    "quota-after-stop": [("never launched", {"quota_use": fakes.quota_use(postponed=(POSTPONED,), unlaunched=("c",))})],
    "stop-before-training": [
        (
            "it fails",
            {
                "runs": runs(
                    stopped=run(
                        "b",
                        state="failed",
                        described={"TrainingJobStatus": "Failed", "SecondaryStatus": "Failed"},
                        stop=Stop(secondary_status="Starting", repeated=None, took_s=9),
                    )
                )
            },
        ),
        (
            "the queue takes it for something else",
            {
                "runs": runs(
                    stopped=run(
                        "b",
                        state="failed",
                        described={"TrainingJobStatus": "Stopped", "SecondaryStatus": "Stopped"},
                        stop=Stop(secondary_status="Starting", repeated=None, took_s=9),
                    )
                )
            },
        ),
    ],
    "failure-reason": [("other words", {"runs": runs(fails=run("c", described={"FailureReason": "exit code 3"}))})],
    "warm-pool-release": [
        ("it stays", {"warm_pool": fakes.warm_pool(after="Available")}),
        ("it is refused", {"warm_pool": fakes.warm_pool(release=OTHER_TEXT)}),
    ],
    "event-for-each-status": [("one is not sent", {"events": fakes.events(*map(event, fakes.STATUSES[:-1]))})],
    "event-fields": [
        ("no name", {"events": fakes.events(event("Training", TrainingJobName=None))}),
        ("a date as text", {"events": fakes.events(event("Training", LastModifiedTime="2026-01-02T03:04:05Z"))}),
        ("no ARN", {"events": fakes.events(event("Training", TrainingJobArn=None))}),
        ("no creation time", {"events": fakes.events(event("Training", CreationTime=None))}),
    ],
    "host-dimension": [("no values", {"figures": fakes.figures(values={})})],
    "full-scale": [
        (
            "100 for all cores",
            {"figures": fakes.figures(values={"CPUUtilization": (99.0,), "MemoryUtilization": (9,)})},
        ),
        ("more than all", {"figures": fakes.figures(values={"CPUUtilization": (390.0,), "MemoryUtilization": (9,)})}),
        (
            "memory beyond 100",
            {"figures": fakes.figures(values={"CPUUtilization": (190.0,), "MemoryUtilization": (180.0,)})},
        ),
    ],
    "metric-delay": [("late", {"figures": fakes.figures(delay_s=LONGEST_DELAY_S + 1)})],
    "alarm-reaches-function": [
        ("not published", {"alarm": fakes.alarm(actions=("Failed to execute action x",))}),
        ("no action", {"alarm": fakes.alarm(actions=())}),
        ("not invoked", {"alarm": fakes.alarm(heard=False)}),
    ],
    "printed-metrics": [("no values", {"metrics": QueueMetrics(values={"Measured": 0})})],
    "cold-starts": [("too slow", {"cold_starts": ColdStarts(init_ms={"Api": (10_001.0,)}, in_vpc=True)})],
    "functions-are-invoked": [
        ("never", {"invocations": Invocations(counts={"Api": (0.0, 0.0)})}),
        ("always in vain", {"invocations": Invocations(counts={"Api": (3.0, 3.0)})}),
    ],
    "deletion-policy-accepted": [("the stack failed", {"deployment": fakes.deployment(status="ROLLBACK_COMPLETE")})],
    "deletion-policy-resolved": [
        ("both are gone", {"deleted_stack": DeletedStack(kept=False, deleted=True)}),
        ("both are there", {"deleted_stack": DeletedStack(kept=True, deleted=False)}),
    ],
    "own-key": [("a key of AWS's", {"deployment": fakes.deployment(keys={"table": fakes.KEY, "WakeQueue": ""})})],
}
"""For each check, evidence that says the opposite of its assumption."""

INCONCLUSIVE: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "user-is-let-in": [
        ("others only", {"callers": fakes.callers(user=Answer(status=403), caller_arns="arn:aws:iam::1:role/a")})
    ],
    "launched-with-mark": [
        ("a full pool", {"runs": runs(works=run("a", attempt="", reasons=("WaitsForCapacity: needs 1 more",)))})
    ],
    "name-in-use": [("not permitted", {"name_in_use": denied("sagemaker:CreateTrainingJob")})],
    "stop-of-ended": [("not permitted", {"stop_of_ended": denied("sagemaker:StopTrainingJob")})],
    "stop-of-unknown": [("not permitted", {"stop_of_unknown": denied("sagemaker:StopTrainingJob")})],
    "stop-of-stopping": [
        ("never Stopping", {"runs": runs(stopped=run("b", stop=None))}),
        (
            "not permitted",
            {
                "runs": runs(
                    stopped=run(
                        "b",
                        stop=Stop(secondary_status="Pending", repeated=denied("sagemaker:StopTrainingJob"), took_s=1),
                    )
                )
            },
        ),
    ],
    "denied-role": [("the policy is not in force", {"denied_role": denied("sagemaker:CreateTrainingJob")})],
    "over-quota": [("the image is looked at first", {"over_quota": OTHER_TEXT})],
    "quota-after-stop": [
        ("a larger quota", {"quota_use": fakes.quota_use(quota=4.0)}),
        ("an unknown quota", {"quota_use": fakes.quota_use(quota=None)}),
        ("another reason", {"quota_use": fakes.quota_use(unlaunched=("c",))}),
    ],
    "stop-before-training": [
        ("too late", {"runs": runs(stopped=run("b", stop=Stop(secondary_status="Training", repeated=None, took_s=1)))})
    ],
    "failure-reason": [("not launched", {"runs": runs(fails=run("c", attempt=""))})],
    "warm-pool-release": [("no pool", {"warm_pool": fakes.warm_pool(before="no warm pool")})],
    "event-for-each-status": [("no training job", {"events": fakes.events(statuses={})})],
    "event-fields": [("no event", {"events": fakes.events(details=())})],
    "full-scale": [
        ("one core", {"figures": fakes.figures(vcpus=1)}),
        ("no memory", {"figures": fakes.figures(values={"CPUUtilization": (190.0,)})}),
    ],
    "metric-delay": [("no values", {"figures": fakes.figures(delay_s=None)})],
    "alarm-reaches-function": [("nothing is logged", {"alarm": fakes.alarm(heard=False, log_level="ERROR")})],
    "cold-starts": [("no lines", {"cold_starts": ColdStarts(init_ms={"Api": ()}, in_vpc=False)})],
    "deletion-policy-accepted": [
        ("no condition", {"deployment": fakes.deployment(template={"Resources": {"JobsTable": {}}})})
    ],
    "own-key": [("no key", {"deployment": fakes.deployment(parameters={"KmsKeyArn": ""})})],
}
"""Evidence that shows neither."""


def rows(cases: dict[str, list[tuple[str, dict[str, Any]]]]) -> list[Any]:
    return [pytest.param(name, changes, id=f"{name}: {what}") for name, each in cases.items() for what, changes in each]


@pytest.mark.parametrize("name", BY_NAME)
def test_an_assumption_that_is_true_holds(name: str) -> None:
    assert BY_NAME[name].run(evidence()).verdict is Verdict.HOLDS


@pytest.mark.parametrize(("name", "changes"), rows(OPPOSITES))
def test_an_assumption_that_is_false_does_not_hold(name: str, changes: dict[str, Any]) -> None:
    assert BY_NAME[name].run(evidence(**changes)).verdict is Verdict.FALSE


@pytest.mark.parametrize(("name", "changes"), rows(INCONCLUSIVE))
def test_evidence_that_shows_neither_is_said_to(name: str, changes: dict[str, Any]) -> None:
    assert BY_NAME[name].run(evidence(**changes)).verdict is Verdict.UNCHECKED


@pytest.mark.parametrize("name", BY_NAME)
def test_without_evidence_nothing_is_decided(name: str) -> None:
    finding = BY_NAME[name].run(fakes.nothing())
    assert (finding.verdict, finding.answer) == (Verdict.UNCHECKED, "AWS did not answer")


def test_each_check_has_evidence_that_says_the_opposite() -> None:
    assert set(OPPOSITES) == set(BY_NAME)
    assert set(INCONCLUSIVE) <= set(BY_NAME)
    assert len(BY_NAME) == len(CHECKS), "each name occurs once"


def test_all_evidence_is_judged() -> None:
    """Evidence that no check reads is gathered for nothing."""
    for part in vars(evidence()):
        without = evidence(**{part: Missing(why="it is hidden")})
        assert any(isinstance(check.evidence(without), Missing) for check in CHECKS), part
