"""All questions of a run, in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from headway_verification.acceptance.errors import NotAsked
from headway_verification.acceptance.evidence import Answer, Events, Evidence, Figures, Missing, Runs
from headway_verification.acceptance.gathering import quotas, requests, roles, signals, stack
from headway_verification.acceptance.gathering.asking import answer_to, gathered, present
from headway_verification.acceptance.gathering.events import Listener
from headway_verification.acceptance.gathering.jobs import Jobs
from headway_verification.acceptance.gathering.warm_pool import warm_pool
from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import FAILURES, Temporary
from headway_verification.acceptance.waiting import until

FIGURES_LATE_S = 300.0
"""How long figures are waited for after the jobs have ended."""
FIGURES_EVERY_S = 5.0

UNKNOWN = "unknown"


def gather(target: Target, temporary: Temporary, *, jobs_s: float, tell: Callable[[str], None]) -> Evidence:
    """Ask everything that the checks judge.

    Args:
        jobs_s: how long the jobs are waited for, s.
        tell: called with each step.
    """
    tell("The stack, and a temporary one that is deleted again")
    deployment = gathered(lambda: stack.deployment(target))
    deleted_stack = gathered(lambda: stack.deleted_stack(target, temporary))
    permissions = gathered(lambda: roles.permissions(target))
    known_quotas = gathered(lambda: quotas.all_of(target))
    listener = gathered(lambda: Listener(target, temporary))
    tell("Three jobs through the queue")
    runs, figures = _runs(target, temporary, jobs_s=jobs_s)
    tell("The texts of refusals, by two temporary roles")
    stranger = gathered(lambda: roles.TemporaryRole(target, temporary, "stranger"))
    refusals = _refusals(target, temporary, stranger, runs)
    callers = gathered(lambda: roles.callers(target, present(stranger)))
    tell("Events, alarms and metrics")
    return Evidence(
        deployment=deployment,
        deleted_stack=deleted_stack,
        callers=callers,
        permissions=permissions,
        runs=runs,
        **refusals,
        over_quota=gathered(lambda: quotas.over_quota(target, temporary, present(known_quotas))),
        events=gathered(lambda: _events(present(listener), present(runs))),
        figures=figures,
        alarm=gathered(lambda: signals.alarm_sent(target, temporary)),
        metrics=gathered(lambda: signals.queue_metrics(target)),
        cold_starts=gathered(lambda: signals.cold_starts(target)),
        invocations=gathered(lambda: signals.invocations(target)),
        quota_use=gathered(lambda: quotas.use(target, present(known_quotas), present(runs))),
        warm_pool=gathered(lambda: warm_pool(target, temporary, present(known_quotas))),
    )


def _runs(target: Target, temporary: Temporary, *, jobs_s: float) -> tuple[Runs | Missing, Figures | Missing]:
    """Run the jobs, and read the figures of the busy one while it trains and until they have come."""
    readers: dict[str, signals.FiguresReader] = {}

    def look(training_job: str) -> bool:
        if training_job not in readers:
            readers[training_job] = signals.FiguresReader(target, training_job)
        return readers[training_job].look()

    def look_meanwhile(training_job: str) -> None:
        try:
            look(training_job)
        except FAILURES:  # the figures are read once more at the end, and that error is told
            return

    runs = gathered(lambda: Jobs(target, temporary).run(timeout_s=jobs_s, meanwhile=look_meanwhile))

    def figures() -> Figures:
        attempt = present(runs).works.attempt
        if not attempt:
            raise NotAsked("No training job was launched.")
        until(lambda: look(attempt), timeout_s=FIGURES_LATE_S, every_s=FIGURES_EVERY_S)
        return readers[attempt].figures()

    return runs, gathered(figures)


class _Refusals(TypedDict):
    name_in_use: Answer | Missing
    stop_of_ended: Answer | Missing
    stop_of_unknown: Answer | Missing
    denied_create: Answer | Missing
    denied_stop: Answer | Missing
    denied_role: Answer | Missing


def _refusals(
    target: Target, temporary: Temporary, stranger: roles.TemporaryRole | Missing, runs: Runs | Missing
) -> _Refusals:
    """Ask for what has to be refused. Whatever is accepted against expectation has the limits of the run's jobs."""
    client = target.client("sagemaker")
    short = requests.fails(target, temporary)

    def ended() -> str:
        run = present(runs).works
        if not run.attempt or run.described.get("TrainingJobStatus") not in {"Completed", "Failed", "Stopped"}:
            raise NotAsked("No training job has ended in time.")
        return run.attempt

    def name_in_use() -> Answer:
        request = {**short, "TrainingJobName": ended()}
        return answer_to(lambda: client.create_training_job(**request))

    def denied_role() -> Answer:
        passer = roles.TemporaryRole(target, temporary, "passer", [requests.may_create(target)])
        request = {**short, "TrainingJobName": temporary.name("denied-role")}
        sagemaker = passer.client("sagemaker")
        return roles.answer_once_in_force(lambda: sagemaker.create_training_job(**request), told="iam:PassRole")

    def denied_create() -> Answer:
        request = {**short, "TrainingJobName": temporary.name("denied")}
        return answer_to(lambda: present(stranger).client("sagemaker").create_training_job(**request))

    return {
        "name_in_use": gathered(name_in_use),
        "stop_of_ended": gathered(lambda: answer_to(lambda: client.stop_training_job(TrainingJobName=ended()))),
        "stop_of_unknown": gathered(
            lambda: answer_to(lambda: client.stop_training_job(TrainingJobName=temporary.name(UNKNOWN)))
        ),
        "denied_create": gathered(denied_create),
        "denied_stop": gathered(
            lambda: answer_to(lambda: present(stranger).client("sagemaker").stop_training_job(TrainingJobName=ended()))
        ),
        "denied_role": gathered(denied_role),
    }


def _events(listener: Listener, runs: Runs) -> Events:
    return Events(
        details=listener.details(),
        statuses={run.attempt: run.secondary_statuses for run in runs.launched},
    )
