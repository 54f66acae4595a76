"""Plays one state, and measures it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from headway.pool_names import SPOT_SUFFIX
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.sagemaker.training_job import TrainingJob
from headway_service.testing.memory_table import MemoryTable
from headway_verification.alarms.rings import Ring, all_rings
from headway_verification.alarms.template import alarms_of
from headway_verification.refusals.deployment import BUCKET, FUNCTIONS, JOB_TAG, NAMESPACES, RefusingDeployment
from headway_verification.refusals.figures import Figures, Run, Wanted, figures_of
from headway_verification.refusals.jobs import submit
from headway_verification.refusals.states import State


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a state.

    Attributes:
        state: the state.
        figures: its figures.
        launches: calls of CreateTrainingJob.
        futile: launches that were refused, or accepted without ever getting instances.
        waited_ticks: ticks between the submission of the job that is asked about and its first launch that got
            instances, which is in the last of them; None if there was none.
        ticks: ticks that have run.
        failed_ticks: ticks that have failed.
        why: state and reason of the job that is asked about, at the end, as the API says it.
        rings: when alarms rang.
    """

    state: State
    figures: Figures
    launches: int
    futile: int
    waited_ticks: int | None
    ticks: int
    failed_ticks: int
    why: str
    rings: tuple[Ring, ...]


def play(state: State) -> Outcome:
    """Play a state from its begin to its end."""
    deployment = RefusingDeployment(state.document, MemoryTable(), state.answers, state.s3_call_s)
    deployment.fleet.faults = deployment.fleet.faults.with_changes(state.faults)
    deployment.objects.put(BUCKET, "train/a", b"1")
    # The first runs of a new queue find no pools yet.
    deployment.pass_time(START_S + 2 * 60)
    begin_s = deployment.now_s
    end_s = begin_s + state.hours * 3600
    refused: dict[str, str] = {}
    asked_since = 0
    for minute in sorted({job.at_min for job in state.jobs} | {at_min for at_min, _ in state.acts}):
        deployment.pass_time(begin_s + minute * 60)
        jobs = [job for job in state.jobs if job.at_min == minute]
        if any(job.name == state.asked for job in jobs):
            asked_since = deployment.ticks
        if jobs:
            refused |= submit(deployment, jobs)
        for at_min, do in state.acts:
            if at_min == minute:
                do(deployment)
    others = {name: sentence for name, sentence in refused.items() if name != state.asked}
    if others:
        raise RuntimeError(f"{state.key} is not the state that it is said to be: {others}")
    deployment.pass_time(end_s)
    runs = runs_of(deployment.fleet.jobs(now=deployment.now_s))
    wanted = [
        Wanted(job=name, instances=job.usable, since_s=begin_s + max(job.at_min, state.ready_min) * 60)
        for job in state.jobs
        if job.usable and job.name not in refused
        for name in job.launched_as
    ]
    had = {run.attempt for run in runs if run.run.had_instances}
    # A launch without an answer is repeated under the same name.
    useful = [each for each in deployment.launches if each.accepted and each.attempt in had]
    first = next((each for each in useful if each.job == state.asked), None)
    return Outcome(
        state=state,
        figures=figures_of([each.run for each in runs], wanted, state.usable, begin_s=begin_s, end_s=end_s),
        launches=len(deployment.launches),
        futile=len(deployment.launches) - len(useful),
        waited_ticks=None if first is None else first.tick - asked_since,
        ticks=deployment.ticks,
        failed_ticks=deployment.failed_ticks,
        why=refused.get(state.asked) or _why(deployment, state.asked),
        rings=tuple(
            ring._replace(since_s=ring.since_s - begin_s, until_s=ring.until_s and ring.until_s - begin_s)
            for ring in all_rings(
                alarms_of(Checkout.here().template(), namespaces=NAMESPACES, functions=FUNCTIONS),
                deployment.samples,
                begin_s=begin_s,
                end_s=end_s,
            )
        ),
    )


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A training job, by name."""

    attempt: str
    run: Run


def runs_of(jobs: Iterable[TrainingJob]) -> list[NamedRun]:
    """The training jobs as values."""
    return [NamedRun(job.name, _run_of(job)) for job in jobs]


def _run_of(job: TrainingJob) -> Run:
    suffix = SPOT_SUFFIX if job.spot else ""
    return Run(
        job=job.tags.get(JOB_TAG, job.name),
        instances={kind + suffix: count for kind, count in job.instances.items()},
        created_s=job.created,
        ended_s=job.modified if job.ended else None,
        # Its image is downloaded to the instances that it has got.
        had_instances=any(step.status == "Downloading" for step in job.transitions),
        completed=job.status == "Completed",
    )


def _why(deployment: RefusingDeployment[Any], job: str) -> str:
    status, answer = deployment.call_api("GET", f"/jobs/{job}")
    if status != HTTPStatus.OK:
        return f"{status} {answer['error']['code']}: {answer['error']['message']}"
    return f"{answer['jobState']}, {answer['reason']['code']}: {answer['reason']['message']}"
