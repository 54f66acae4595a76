"""The log lines of a training job's containers in CloudWatch Logs.

Source: SageMaker guide, "CloudWatch Logs for Amazon SageMaker AI": training jobs have the log group GROUP, with a
stream `[training-job-name]/algo-[instance-number-in-cluster]-[epoch_timestamp]` per host. A restarted spot job writes
to new streams, which follows from the time in their names.

A container prints its host and checkpoint at its start, some steps, SIGTERM and its exit status. Pure: the lines are a
function of the jobs and the time, so there is no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from headway_sandbox.sagemaker.telemetry.training_intervals import TrainingInterval, training_intervals
from headway_sandbox.sagemaker.training_job import NO_TRAINING, TrainingJob

GROUP = "/aws/sagemaker/TrainingJobs"
# A step is a second of training. One step per minute is printed.
INTERVAL_S = 60.0
# A container prints at most this number of steps: a job that runs for days must not fill the machine's memory.
STEPS_MAX = 500
# 128 plus the number of the signal, as in shells.
_ENDED_BY_SIGTERM, _KILLED = 143, 137


class LogLine(NamedTuple):
    """One line of one host."""

    stream: str
    time_s: float
    text: str


def lines(
    job: TrainingJob, *, after_s: float, until_s: float, found_step: int = 0, interval_s: float = INTERVAL_S
) -> Iterator[LogLine]:
    """Return a job's log lines of a time range, in order for each host.

    Args:
        job: The training job.
        after_s: Start of the range, exclusive, s since the epoch.
        until_s: End of the range, inclusive, s since the epoch.
        found_step: Step of the checkpoint that existed when the job was created (`checkpointed_step`).
        interval_s: Time between two steps.
    """
    hosts = job.hosts
    for interval in training_intervals(job):
        printed = [
            (time_s, text)
            for time_s, text in _printed(job, interval, found_step, interval_s, after_s=after_s, until_s=until_s)
            if after_s < time_s <= until_s
        ]
        for number, instance_type in enumerate(hosts, start=1):
            stream = f"{job.name}/algo-{number}-{int(interval.started_s * 1000)}"
            if after_s < interval.started_s <= until_s:
                host = f"algo-{number} of {len(hosts)} ({instance_type})"
                yield LogLine(stream, interval.started_s, f"training job {job.name} begins on {host}")
                if job.why_timer != NO_TRAINING:
                    yield LogLine(stream, interval.started_s, f"it is a timer and runs no script: {job.why_timer}")
            yield from (LogLine(stream, time_s, text) for time_s, text in printed)


def checkpointed_step(job: TrainingJob, others: Iterable[TrainingJob]) -> int:
    """Return the step of the checkpoint that earlier jobs saved in a job's folder; 0 if there is none.

    Args:
        job: The training job.
        others: All jobs that may have used its folder.
    """
    folder = _checkpoint_folder(job.request)
    if folder is None:
        return 0
    return sum(
        max(
            (_steps_by(each, each.ended_s) for each in training_intervals(other) if each.ended_s),
            default=0,
        )
        for other in others
        if other.ended and other.modified <= job.created and _checkpoint_folder(other.request) == folder
    )


def _steps_by(interval: TrainingInterval, moment_s: float) -> int:
    """Return the number of steps done by a moment of a training interval."""
    return int(interval.trained_s + moment_s - interval.started_s)


def _checkpoint_folder(request: Mapping[str, Any]) -> str | None:
    uri = (request.get("CheckpointConfig") or {}).get("S3Uri")
    return str(uri).rstrip("/") if uri else None


def _printed(
    job: TrainingJob, interval: TrainingInterval, found_step: int, every_s: float, *, after_s: float, until_s: float
) -> Iterator[tuple[float, str]]:
    """Return the lines that every host prints in an interval; of the steps those in range and perhaps a few more."""
    folder = _checkpoint_folder(job.request)
    yield interval.started_s, _origin(folder, found_step + _steps_by(interval, interval.started_s))

    # Begins one or two steps early, because of rounding.
    for number in range(max(1, int((after_s - interval.started_s) / every_s) - 1), STEPS_MAX + 1):
        moment_s = interval.started_s + number * every_s
        if moment_s > until_s or (interval.ended_s is not None and moment_s >= interval.ended_s):
            break
        step = found_step + _steps_by(interval, moment_s)
        yield moment_s, f"step {step}: loss {4 / (1 + step / 1000):.4f}"

    if interval.ended_s is not None:
        yield from _end(interval, folder, found_step + _steps_by(interval, interval.ended_s))


def _origin(folder: str | None, step: int) -> str:
    if folder is None:
        return "no checkpoints: training from step 0"
    if step == 0:
        return f"no checkpoint in {folder} yet: training from step 0"
    return f"resumed from checkpoint {folder}/step-{step}"


def _end(interval: TrainingInterval, folder: str | None, step: int) -> Iterator[tuple[float, str]]:
    then, ended_s = interval.then, interval.ended_s
    if then is None or ended_s is None:
        return
    match then.status:
        case "Uploading":
            yield ended_s, "exit status 0"
        case "Failed" if then.message.startswith("AlgorithmError"):
            yield ended_s, then.message
            yield ended_s, "exit status 1"
        case "Failed":  # the container does not get the reason
            yield ended_s, f"exit status {_KILLED}"
        case _:
            kept = f"saving checkpoint {folder}/step-{step}" if folder else f"ending at step {step}"
            yield ended_s, f"SIGTERM received: {kept}"
            # A stopped container has a grace period; interrupted spot instances are removed at once.
            gone_s = then.end if then.status == "Stopping" else ended_s
            if gone_s is not None:
                yield gone_s, f"exit status {_ENDED_BY_SIGTERM}"
