"""What it costs to run a script in the sandbox, and how much work a preempted script does again.

The same script runs by itself and as a job, in turn: as many processes as the job has hosts, so that both have the same
share of the machine. A preemption is what the queue calls: StopTrainingJob, and later a job with the same checkpoints.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.metering.machine import describe_machine
from headway_sandbox.local import training_options
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.training.container import usage
from headway_sandbox.training.container.isolation import CannotIsolate

HOSTS = (1, 4)
EVERY = (1, 10, 50)
"""Steps between two checkpoints."""
GRACE_S = 1.0
LOG_GROUP = "/aws/sagemaker/TrainingJobs"
DURATIONS = Durations(provisioning_s=0.1, download_s=0.1, upload_s=0.1, release_s=0.1)
READY = "ready"
_LONGEST_S = 120.0
_LOOK_EVERY_S = 0.05

WORKS = """
state = 1
for step in range({steps}):
    for _ in range(200_000):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
    print("step", step, state)
"""
WAITS = f"import time; print('{READY}'); time.sleep(600)"
SAVES = """
import pathlib, signal, sys, time
folder = pathlib.Path("/opt/ml/checkpoints")
step = max((int(path.name) for path in folder.glob("*[0-9]")), default=0)
begun = time.monotonic()
print("begins at", step, 0.0)
def save(*_):
    draft = folder / "draft"
    draft.write_text("weights")
    draft.rename(folder / str(step))
def end(*_):
    save()
    sys.exit(0)
if {handles_sigterm}:
    signal.signal(signal.SIGTERM, end)
while step < {last}:
    time.sleep(0.02)
    step += 1
    print("step", step, time.monotonic() - begun)
    if step % {every} == 0:
        save()
"""


class Jobs:
    """Runs jobs in a sandbox.

    Args:
        sandbox: the sandbox.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._sagemaker = sandbox.client("sagemaker")
        self._logs = sandbox.client("logs")
        self._count = 0

    def start(self, script: str, *, hosts: int = 1, checkpoints: str = "") -> str:
        """Start a job and return its name.

        Args:
            script: what each of its hosts runs.
            hosts: their number.
            checkpoints: the folder of its checkpoints; empty: it has none.
        """
        self._count += 1
        name, bucket = f"bench-{self._count}", self.sandbox.info.bucket
        self.sandbox.client("s3").put_object(Bucket=bucket, Key=f"code/{name}/train.py", Body=script.encode())
        code = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bucket}/code/{name}/"}
        saved = {"CheckpointConfig": {"S3Uri": f"s3://{bucket}/checkpoints/{checkpoints}"}} if checkpoints else {}
        self._sagemaker.create_training_job(
            TrainingJobName=name,
            RoleArn=self.sandbox.info.role_arn,
            AlgorithmSpecification={
                "TrainingImage": "bench",
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["python", "/opt/ml/input/data/code/train.py"],
            },
            InputDataConfig=[{"ChannelName": "code", "DataSource": {"S3DataSource": code}}],
            OutputDataConfig={"S3OutputPath": f"s3://{bucket}/output"},
            ResourceConfig={"InstanceType": "ml.m5.xlarge", "InstanceCount": hosts, "VolumeSizeInGB": 30},
            StoppingCondition={"MaxRuntimeInSeconds": 600},
            **saved,
        )
        return name

    def end(self, name: str, expected: str) -> dict[str, Any]:
        """Wait until a job has ended and return its description.

        Raises:
            RuntimeError: it has ended in another way than expected, or not in time.
        """
        described = self._wait(name, lambda found: found["TrainingJobStatus"] not in {"InProgress", "Stopping"})
        if described["TrainingJobStatus"] != expected:
            raise RuntimeError(f"{name} is {described['TrainingJobStatus']}: {described.get('FailureReason')}")
        return described

    def preempt(self, name: str, step: int) -> None:
        """Stop a job at a step, and wait until it is stopped."""
        self.wait_for_line(name, f"step {step} ")
        self._sagemaker.stop_training_job(TrainingJobName=name)
        self.end(name, "Stopped")

    def wait_for_line(self, name: str, begin: str, *, hosts: int = 1) -> None:
        """Wait until all hosts of a job have printed a line that begins so."""
        self._wait(name, lambda _found: sum(line.startswith(begin) for line in self.log(name)) >= hosts)

    def log(self, name: str) -> list[str]:
        """Return what the hosts of a job have printed."""
        try:
            streams = self._logs.describe_log_streams(logGroupName=LOG_GROUP, logStreamNamePrefix=f"{name}/")
        except self._logs.exceptions.ResourceNotFoundException:
            return []
        return [
            event["message"]
            for stream in streams["logStreams"]
            for event in self._logs.get_log_events(
                logGroupName=LOG_GROUP, logStreamName=stream["logStreamName"], startFromHead=True
            )["events"]
        ]

    def _wait(self, name: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        ends_at = time.monotonic() + _LONGEST_S
        while time.monotonic() < ends_at:
            described: dict[str, Any] = self._sagemaker.describe_training_job(TrainingJobName=name)
            if holds(described):
                return described
            time.sleep(_LOOK_EVERY_S)
        raise RuntimeError(f"{name} took longer than {_LONGEST_S:g} s")


# ------------------------------------------------------------------------------------------------------- overhead


def overhead(jobs: Jobs, hosts: int, *, runs: int, steps: int) -> dict[str, Any]:
    """Measure a script by itself and in jobs of a number of hosts.

    Args:
        jobs: where jobs run.
        hosts: the number of hosts, and of processes of the script by itself.
        runs: how often.
        steps: length of the script.

    Returns:
        Seconds of all processes by themselves (`alone`), of the same in the job (`container`), and of the whole job
        with its stages around the script (`job`); and MB that the sandbox takes for each host.
    """
    script = WORKS.format(steps=steps)
    found: dict[str, list[float]] = {"alone": [], "container": [], "job": []}
    for _ in range(runs):
        with processes(script, hosts) as started:
            began = time.monotonic()
            for process in started:
                process.wait()  # what it prints fits into the pipe
        found["alone"].append(time.monotonic() - began)
        described = jobs.end(jobs.start(script, hosts=hosts), "Completed")
        training = next(each for each in described["SecondaryStatusTransitions"] if each["Status"] == "Training")
        found["container"].append((training["EndTime"] - training["StartTime"]).total_seconds())
        found["job"].append((described["TrainingEndTime"] - described["CreationTime"]).total_seconds())
    seconds = {name: [round(each, 3) for each in values] for name, values in found.items()}
    return {**seconds, "mbPerHost": round(memory_bytes(jobs, hosts) / hosts / 2**20, 1)}


def memory_bytes(jobs: Jobs, hosts: int) -> int:
    """Return the memory of the sandbox's own processes around the script of a job, for all of its hosts."""
    name = jobs.start(WAITS, hosts=hosts)
    jobs.wait_for_line(name, READY, hosts=hosts)
    in_sandbox = usage.measure(jobs.sandbox.info.pid).memory_bytes
    jobs.sandbox.finish(name)
    jobs.end(name, "Completed")
    before = usage.measure(os.getpid()).memory_bytes  # the sandbox may be a child of this process
    with processes(WAITS, hosts) as started:
        for output in [process.stdout for process in started if process.stdout]:
            output.readline()
        return in_sandbox - (usage.measure(os.getpid()).memory_bytes - before)


@contextmanager
def processes(script: str, number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start processes with a script, and end them."""
    command = [sys.executable, "-u", "-c", script]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(number)]  # noqa: S603  its own script
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()  # closes the pipe too


# ------------------------------------------------------------------------------------------------- a preemption


def work_lost(jobs: Jobs, *, every: int, handles_sigterm: bool, runs: int) -> dict[str, list[float]]:
    """Preempt a script and let it continue from its checkpoint.

    Args:
        jobs: where jobs run.
        every: its steps between two checkpoints.
        handles_sigterm: whether it also saves one when it receives SIGTERM.
        runs: how often.

    Returns:
        The steps that it did again, and the seconds of training that these were, by its own clock.
    """
    found: dict[str, list[float]] = {"steps": [], "seconds": []}
    for number in range(runs):
        script = SAVES.format(every=every, handles_sigterm=handles_sigterm, last=100_000)
        folder = f"{every}-{handles_sigterm}-{number}"
        first = jobs.start(script, checkpoints=folder)
        # At another place between two checkpoints in each run.
        jobs.preempt(first, 60 + number * (every // 2 + 3))
        second = jobs.start(script, checkpoints=folder)
        jobs.wait_for_line(second, "begins at ")
        jobs.sandbox.finish(second)
        done = dict(_steps(jobs.log(first)))
        begun = _begin(jobs.log(second))
        found["steps"].append(max(done) - begun)
        found["seconds"].append(round(done[max(done)] - done[begun], 3))
    return found


def _steps(lines: Iterable[str]) -> Iterator[tuple[int, float]]:
    for line in lines:
        if found := re.fullmatch(r"(?:step|begins at) (\d+) (\d+\.\d+)", line):
            yield int(found[1]), float(found[2])


def _begin(lines: Iterable[str]) -> int:
    return next(int(line.split()[2]) for line in lines if line.startswith("begins at "))


# ------------------------------------------------------------------------------------------------------ the report


def measure(*, runs: int, steps: int) -> dict[str, Any]:
    """Measure all of it.

    Args:
        runs: how often each.
        steps: length of the script whose overhead is measured.

    Raises:
        CannotIsolate: this machine cannot isolate scripts.
    """
    training = training_options.settings([f"*={sys.executable}"], stop_grace_s=GRACE_S)
    with Sandbox(deploy=False, durations=DURATIONS, training=training) as sandbox:
        jobs = Jobs(sandbox)
        kinds = [(each, False) for each in EVERY] + [(max(EVERY), True)]
        return {
            "runs": runs,
            "isolation": str(training.isolation),
            "hosts": {str(hosts): overhead(jobs, hosts, runs=runs, steps=steps) for hosts in HOSTS},
            "lost": [
                {
                    "every": every,
                    "handlesSigterm": handles,
                    **work_lost(jobs, every=every, handles_sigterm=handles, runs=runs),
                }
                for every, handles in kinds
            ],
        }


def too_much(found: Mapping[str, Any]) -> list[str]:
    """Return what is wrong: a script may do again the steps since its last checkpoint, and no more."""
    return [
        f"with a checkpoint each {each['every']} steps, a preemption lost {max(each['steps'])} steps"
        for each in found["lost"]
        if max(each["steps"]) > (0 if each["handlesSigterm"] else each["every"])
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 if a preemption lost more than the steps since a checkpoint, 2 if none can run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run of a short script")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    try:
        found = measure(runs=1, steps=20) if options.quick else measure(runs=5, steps=100)
    except CannotIsolate as error:
        print(error)
        if options.json:
            options.json.write_text(json.dumps({"skipped": str(error)}) + "\n")
        return 2
    for hosts, each in found["hosts"].items():
        alone, container, job = (median(each[name]) for name in ("alone", "container", "job"))
        print(
            f"{hosts} hosts: alone {alone:.2f} s, in the container {container:.2f} s ({container / alone:.2f} times), "
            f"the whole job {job:.2f} s; {each['mbPerHost']:g} MB for each host"
        )
    for each in found["lost"]:
        handler = ", and at SIGTERM" if each["handlesSigterm"] else ""
        print(f"a checkpoint each {each['every']} steps{handler}: lost {each['steps']} steps, {each['seconds']} s")
    print(f"{found['runs']} runs; {describe_machine()}")
    if options.json:
        options.json.write_text(json.dumps({"machine": describe_machine(), **found}, indent=2) + "\n")
    for problem in too_much(found):
        print(f"FAILED: {problem}")
    return int(bool(too_much(found)))


if __name__ == "__main__":
    sys.exit(main())
