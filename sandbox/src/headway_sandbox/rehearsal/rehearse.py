"""Rehearses preemptions of a script, and judges whether it survives them."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from headway_sandbox.local import training_options
from headway_sandbox.local.deferred_signals import deferred_signals
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.rehearsal import account, cases, judgement
from headway_sandbox.rehearsal.attempt import Attempt
from headway_sandbox.rehearsal.baseline import Baseline
from headway_sandbox.rehearsal.cases import Case
from headway_sandbox.rehearsal.errors import CannotRehearse
from headway_sandbox.rehearsal.judgement import Criteria, Judged
from headway_sandbox.rehearsal.report import Report
from headway_sandbox.rehearsal.runs import CheckpointFolder, Run
from headway_sandbox.rehearsal.subject import Subject
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.training.assignment import Assignment
from headway_sandbox.training.container.isolation import Isolation
from headway_sandbox.training.container.root_folder import ML
from headway_sandbox.training.endpoint import RELAY
from headway_sandbox.training.platform.checkpoints import local_path
from headway_sandbox.training.platform.s3_objects import Location
from headway_sandbox.training.selection import why_timer
from headway_sandbox.training.settings import TrainingSettings

_UNDISTURBED = 2
_SEEDS = 1_000_000
# A tenth of the run time by default, so that a script that goes on during the grace period does not end in it.
_GRACE_PART, _SHORTEST_GRACE_S = 0.1, 1.0

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a script is rehearsed."""

    preempt_after: str = "50%"
    """Chosen moments."""
    times: int = 1
    """How many random moments there are besides."""
    seed: int | None = None
    """Draws them; None: another one each time."""
    ignored: Sequence[str] = ()
    """Patterns of the files in the checkpoint folder that are no checkpoints, such as logs."""
    tolerance: float = 0.0
    """How much the metric may differ, besides the spread of the undisturbed runs."""
    timeout_s: float
    """When a run is ended, s."""
    stop_grace_s: float | None = None
    """From SIGTERM to SIGKILL, s; None: a tenth of the run time, at most that of SageMaker."""
    images: Sequence[str] = ()
    """`PATTERN=PYTHON` each; none: this Python for all images."""


def rehearse(subject: Subject, options: Options, *, report: Progress) -> Report:
    """Run a script undisturbed and preempted, and return what it survives.

    Nothing of it is left at the end, also after SIGINT and SIGTERM: no process, no mount and no file.

    Args:
        subject: The script.
        options: How it is rehearsed.
        report: Called with a line for each run.

    Raises:
        CannotRehearse: The script or an option has to be changed.
        CannotIsolate: This machine cannot isolate scripts.
    """
    moments = cases.parse_moments(options.preempt_after)
    training = training_options.settings(options.images)
    reason = why_timer(subject.request, training)
    if reason:
        raise CannotRehearse(f"There is no script to run: {reason}.")
    seed = random.SystemRandom().randrange(_SEEDS) if options.seed is None else options.seed
    with _stage(subject, training, options) as stage:
        runs = []
        for number in range(1, _UNDISTURBED + 1):
            report(f"undisturbed run {number} of {_UNDISTURBED}")
            runs.append(stage.run(f"undisturbed-{number}", stage.checkpoints(f"undisturbed-{number}")))
            Baseline.of(runs)  # the second run is not needed if the first one fails
        baseline = Baseline.of(runs)
        planned = cases.cases(moments, times=options.times, seed=seed, baseline=baseline)
        stage.stop_grace_s = _stop_grace_s(baseline) if options.stop_grace_s is None else options.stop_grace_s
        judged = []
        for number, case in enumerate(planned, start=1):
            report(f"preemption {number} of {len(planned)}: {case.disturbance} after {case.at_s:.1f} s")
            judged.append(stage.rehearse(number, case, baseline))
    return Report(
        seed=seed,
        metric=subject.metric_name,
        baseline=baseline,
        cases=judgement.with_common_cause(judged, stage.criteria),
    )


def _stop_grace_s(baseline: Baseline) -> float:
    return min(service_facts.STOP_GRACE_S, max(_SHORTEST_GRACE_S, _GRACE_PART * baseline.run_s))


class _Stage:
    """Runs a script in a sandbox.

    Args:
        sb: The sandbox.
        subject: The script.
        training: With which interpreters and isolation it runs.
        options: How it is rehearsed.
    """

    def __init__(self, sb: Sandbox, subject: Subject, training: TrainingSettings, options: Options) -> None:
        self._sb = sb
        self._subject = subject
        self._training = training
        self._options = options
        self._role_arn = account.create_role(sb)
        config = subject.request.get("CheckpointConfig")
        self._has_checkpoints = config is not None
        self._folder = local_path(config or {})
        self.criteria = Criteria(
            folder=str(ML / self._folder) if self._has_checkpoints else "", tolerance=options.tolerance
        )
        self.stop_grace_s: float = service_facts.STOP_GRACE_S
        account.upload(sb, subject.files)

    def checkpoints(self, name: str) -> Location:
        """Return a place for the checkpoints of a case, which is empty."""
        return Location(bucket=self._sb.info.bucket, key=f"rehearsal/{name}")

    def rehearse(self, number: int, case: Case, baseline: Baseline) -> Judged:
        """Run the script with a preemption, then as its continuation, and judge both."""
        place = self.checkpoints(f"case-{number}")
        before = self.run(f"case-{number}-1", place, case)
        after = self.run(f"case-{number}-2", place) if judgement.is_preempted(before) else None
        return judgement.judge(case, before, after, baseline=baseline, criteria=self.criteria)

    def run(self, name: str, checkpoints: Location, case: Case | None = None) -> Attempt:
        """Run the script once."""
        attempt = Attempt(step_name=self._subject.step_name, metric_name=self._subject.metric_name)
        run = Run(
            self._assignment(name, checkpoints),
            attempt,
            folder=CheckpointFolder(
                path=self._folder,
                is_checkpoint=self._is_checkpoint,
                count_uploaded=lambda: sum(map(self._is_checkpoint, account.paths(self._sb, checkpoints))),
            ),
            case=case,
            timeout_s=self._options.timeout_s,
        )
        run.run()
        if run.written is not None:
            attempt.written_in = str(run.written.path)
            if run.written.half is not None:
                account.put(self._sb, checkpoints, run.written.path, run.written.half)
        return attempt

    def _is_checkpoint(self, path: PurePosixPath) -> bool:
        return not any(fnmatchcase(str(path), pattern) for pattern in self._options.ignored)

    def _assignment(self, name: str, checkpoints: Location) -> Assignment:
        info, request = self._sb.info, dict(self._subject.request)
        request["TrainingJobName"] = name
        request["OutputDataConfig"] = {"S3OutputPath": f"s3://{info.bucket}/output"}
        if self._has_checkpoints:
            request["CheckpointConfig"] = {**request["CheckpointConfig"], "S3Uri": str(checkpoints)}
        image = str(request["AlgorithmSpecification"].get("TrainingImage", ""))
        interpreter = self._training.interpreter(image)
        if interpreter is None:
            raise CannotRehearse(f"No --image pattern fits the image {image}.")
        return Assignment(
            arn=f"arn:aws:sagemaker:{info.region}:{info.account}:training-job/{name}",
            request=request,
            resources=request["ResourceConfig"],
            folder=str(self._sb.state_dir.resolve() / "training" / name),
            interpreter=interpreter,
            isolation=Isolation(self._training.isolation),
            stop_grace_s=self.stop_grace_s,
            disk_bytes=self._training.disk_bytes,
            memory_bytes=self._training.memory_bytes,
            port=info.port,
            relay=str(self._sb.state_dir.resolve() / RELAY),
            region=info.region,
            credentials=account.credentials(self._sb, self._role_arn),
        )


@contextmanager
def _stage(subject: Subject, training: TrainingSettings, options: Options) -> Iterator[_Stage]:
    """Yield a stage, and remove it at the end, which a further signal does not interrupt."""
    with _interrupted_by_sigterm():
        stack = ExitStack()
        sb = stack.enter_context(Sandbox(deploy=False, relays=True))
        try:
            yield _Stage(sb, subject, training, options)
        finally:
            with deferred_signals(signal.SIGINT, signal.SIGTERM):
                stack.close()


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, which ends the steps of many CI systems, have the effect of Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
