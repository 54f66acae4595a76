"""The part of the demo of the guardrails in which a quota refuses one job, and the others go on."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from headway.reasons.codes import ReasonCode
from headway.refusals import UNLAUNCHABLE_AFTER
from headway_client.cli.output import explanation_sheet, output_width
from headway_sandbox.demo.stage import Stage, StoryFailed, check, say
from headway_sandbox.sagemaker.request_builder import G5, training_request

POOL, SIZE, QUOTA = G5, 4, 3

_ENDLESS_S = 20 * 86_400
_MINUTES_S = 150.0
"""Timeout for a retry of the queue, which may be as late as the function that runs once a minute."""

_SENTENCE = f"The account-level service limit '{POOL} for training job usage' is {QUOTA} Instances"


def play(stage: Stage, tags: Mapping[str, str]) -> None:
    """Play this part, in an empty pool of SIZE instances. All of its jobs complete.

    Args:
        tags: Tags that the policy requires.

    Raises:
        StoryFailed: The queue does not behave as expected.
    """

    def submit(name: str, count: int, priority: int = 0) -> None:
        sentence = f"submit {name}, which demands {count} of {SIZE} {POOL}"
        sentence += f", with priority {priority}" if priority else ""
        stage.submit(sentence, _request(name, count, {**tags, "priority": str(priority)}))

    say(f"the account has a quota of {QUOTA} {POOL}, but the pool has {SIZE}")
    stage.sandbox.set_faults(quotas={POOL: QUOTA})
    submit("small", 1)
    submit("medium", 2)
    stage.expect_training("small", "medium")
    submit("large", SIZE, priority=5)

    def resumes(name: str, jobs: Mapping[str, str]) -> bool:
        return jobs.get(name) == "running" and len(stage.attempts(name)) == 2

    stage.wait(
        "it preempts both, SageMaker refuses it, and both resume",
        lambda jobs: resumes("small", jobs) and resumes("medium", jobs),
        timeout_s=_MINUTES_S,
    )
    for name in ("small", "medium"):
        _expect_step(stage, name, ReasonCode.PREEMPTED, "`large`")
    _expect_step(stage, "large", ReasonCode.LAUNCH_POSTPONED, _SENTENCE, times=UNLAUNCHABLE_AFTER)
    _explain(stage)
    stage.finish("medium")
    others = {"small": "running", "large": "pending"}
    stage.expect("medium completes", {"medium": "completed"}, meanwhile=others)
    submit("next", 2)
    stage.expect("a job behind the large one starts, as nobody waits for that", {"next": "running"}, meanwhile=others)
    stage.expect_training("small", "next")
    say(f"an administrator raises the quota to {SIZE}, and an operator holds and releases the large job")
    stage.sandbox.set_faults(quotas={POOL: SIZE})
    stage.api.hold("large")
    stage.api.release("large")
    stage.expect("it is tried at once, like any urgent job", {"large": "running", "small": "preempted"})
    stage.expect_training("large")
    stage.finish("large")
    stage.expect("it completes, and the others resume", {"large": "completed", "small": "running", "next": "running"})
    stage.expect_training("small", "next")
    stage.finish("small")
    stage.finish("next")
    stage.expect("they finish", {"small": "completed", "next": "completed"})


def _expect_step(stage: Stage, name: str, code: ReasonCode, part: str, times: int = 1) -> None:
    """Check that a step is in a job's history, and how often at least.

    There may be more refusals than two: ten seconds until the next try pass within one tick of an accelerated queue.
    """
    steps = [step.reason for step in stage.api.get_job(name).history]
    found = [step.message for step in steps if step.code == code and part in step.message]
    if len(found) < times:
        raise StoryFailed(f"{name} should have been {code} {times} times with {part}: {steps}")
    check(f"{name}: {found[0]}" + (f" ({len(found)} times)" if len(found) > 1 else ""))


def _explain(stage: Stage) -> None:
    say("headway why large")
    explanation = stage.api.explain("large")
    print("\n" + textwrap.indent(explanation_sheet(explanation, width=output_width()), "    ") + "\n", flush=True)
    reason = explanation.reason
    if reason.code != ReasonCode.UNLAUNCHABLE or _SENTENCE not in reason.message:
        raise StoryFailed(f"large should be unlaunchable for its quota, not {reason}")
    check("it is unlaunchable, with SageMaker's own sentence")


def _request(name: str, count: int, tags: Mapping[str, str]) -> dict[str, Any]:
    request = training_request(name, [(POOL, count)], run_s=_ENDLESS_S, tags=tags)
    request["StoppingCondition"] = {"MaxRuntimeInSeconds": _ENDLESS_S}
    request["CheckpointConfig"] = {"S3Uri": f"s3://jobs/checkpoints/{name}"}
    return request
