"""What the containers of a training job print, as CloudWatch Logs is told.

Source: SageMaker guide, "CloudWatch Logs for Amazon SageMaker AI": training jobs have the log group GROUP, and in it a
stream `[training-job-name]/algo-[instance-number-in-cluster]-[epoch_timestamp]` for each host. That a spot job which
comes back prints to new streams follows from the time in their names.

What is printed is little: where a container begins and from which checkpoint, a step now and then, SIGTERM, and its
exit status. Pure: all of it follows from the jobs and the time, so nothing has to be kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.training_intervals import TrainingInterval, spells
from headway_sandbox.sagemaker.training_job import TrainingJob

GROUP = "/aws/sagemaker/TrainingJobs"
# A step is a second of training. One a minute of the real world is printed, at most one in a second here.
_INTERVAL_S = 60.0
_SHORTEST_INTERVAL_S = 1.0
# A container falls silent after so many: a job that runs for days must not fill the machine's memory.
STEPS_MAX = 500
# 128 and the number of the signal, as shells tell it.
_ENDED_BY_SIGTERM, _KILLED = 143, 137


class LogLine(NamedTuple):
    """One line of one host."""

    stream: str
    time_s: float
    text: str


def lines(job: TrainingJob, clock: Clock, *, after_s: float, until_s: float, found_step: int = 0) -> Iterator[LogLine]:
    """All that is printed after one moment and not after another, s since the epoch; in order for each host.

    Args:
        job: whose hosts print.
        clock: how fast the world goes.
        after_s: what was printed by then is left out.
        until_s: the last moment.
        found_step: of the checkpoint that it found when it was created (`checkpointed_step`).
    """
    hosts = service_facts.hosts(job.request)
    for spell in spells(job, clock):
        printed = [
            (time_s, text)
            for time_s, text in _printed(job, spell, clock, found_step, after_s=after_s, until_s=until_s)
            if after_s < time_s <= until_s
        ]
        for number, instance_type in enumerate(hosts, start=1):
            stream = f"{job.name}/algo-{number}-{int(spell.started_s * 1000)}"
            if after_s < spell.started_s <= until_s:
                host = f"algo-{number} of {len(hosts)} ({instance_type})"
                yield LogLine(stream, spell.started_s, f"training job {job.name} begins on {host}")
            yield from (LogLine(stream, time_s, text) for time_s, text in printed)


def checkpointed_step(job: TrainingJob, others: Iterable[TrainingJob], clock: Clock) -> int:
    """At which step is the checkpoint that a job finds in its folder, left by those before it; 0 if there is none."""
    folder = _checkpoint_folder(job.request)
    if folder is None:
        return 0
    return sum(
        max((_steps_by(spell, spell.ended_s, clock) for spell in spells(other, clock) if spell.ended_s), default=0)
        for other in others
        if other.ended and other.modified <= job.created and _checkpoint_folder(other.request) == folder
    )


def _steps_by(spell: TrainingInterval, moment_s: float, clock: Clock) -> int:
    """How many steps a job had done by a moment of a spell."""
    return int(spell.trained_s + clock.world_s(moment_s - spell.started_s))


def _checkpoint_folder(request: Mapping[str, Any]) -> str | None:
    uri = (request.get("CheckpointConfig") or {}).get("S3Uri")
    return str(uri).rstrip("/") if uri else None


def _printed(
    job: TrainingJob, spell: TrainingInterval, clock: Clock, found_step: int, *, after_s: float, until_s: float
) -> Iterator[tuple[float, str]]:
    """What every host prints in a spell; of the steps those of a certain time and perhaps a few more."""
    folder = _checkpoint_folder(job.request)
    yield spell.started_s, _origin(folder, found_step + _steps_by(spell, spell.started_s, clock))

    interval_s = max(clock.wait_s(_INTERVAL_S), _SHORTEST_INTERVAL_S)
    # One or two too many, as fractions are rounded.
    for number in range(max(1, int((after_s - spell.started_s) / interval_s) - 1), STEPS_MAX + 1):
        moment_s = spell.started_s + number * interval_s
        if moment_s > until_s or (spell.ended_s is not None and moment_s >= spell.ended_s):
            break
        step = found_step + _steps_by(spell, moment_s, clock)
        yield moment_s, f"step {step}: loss {4 / (1 + step / 1000):.4f}"

    if spell.ended_s is not None:
        yield from _end(spell, folder, found_step + _steps_by(spell, spell.ended_s, clock))


def _origin(folder: str | None, step: int) -> str:
    if folder is None:
        return "no checkpoints: training from step 0"
    if step == 0:
        return f"no checkpoint in {folder} yet: training from step 0"
    return f"resumed from checkpoint {folder}/step-{step}"


def _end(spell: TrainingInterval, folder: str | None, step: int) -> Iterator[tuple[float, str]]:
    then, ended_s = spell.then, spell.ended_s
    if then is None or ended_s is None:
        return
    match then.status:
        case "Uploading":
            yield ended_s, "exit status 0"
        case "Failed" if then.message.startswith("AlgorithmError"):
            yield ended_s, then.message
            yield ended_s, "exit status 1"
        case "Failed":  # the container is not told why
            yield ended_s, f"exit status {_KILLED}"
        case _:
            kept = f"saving checkpoint {folder}/step-{step}" if folder else f"ending at step {step}"
            yield ended_s, f"SIGTERM received: {kept}"
            # Who is asked to stop has some time to do so; spot instances go at once.
            gone_s = then.end if then.status == "Stopping" else ended_s
            if gone_s is not None:
                yield gone_s, f"exit status {_ENDED_BY_SIGTERM}"
