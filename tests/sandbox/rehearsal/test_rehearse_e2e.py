"""Real scripts under real preemptions: who survives, and what the others forget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.rehearsal import subject
from headway_sandbox.rehearsal.cases import Disturbance
from headway_sandbox.rehearsal.errors import CannotRehearse
from headway_sandbox.rehearsal.judgement import Problem
from headway_sandbox.rehearsal.rehearse import Options, rehearse
from headway_sandbox.rehearsal.report import Report
from headway_sandbox.training.container import isolation
from headway_sandbox.training.container.isolation import Isolation
from tests.docs.test_docs import blocks
from tests.sandbox.rehearsal import scripts
from tests.sandbox.training.jobs import training_settings

pytestmark = pytest.mark.e2e

Rehearse = Callable[..., Report]


@pytest.fixture
def rehearsed(tmp_path: Path) -> Rehearse:
    """Rehearse a script with the metric loss, and without random moments."""
    training_settings()  # skips where scripts cannot be isolated

    def run(script: str, **options: Any) -> Report:
        path = tmp_path / "train.py"
        path.write_text(script)
        found = subject.with_metrics(
            subject.of_script(path, [], source_dir=None, data={}), step_regex=None, metric="loss", metric_regex=None
        )
        return rehearse(found, Options(**{"times": 0, "timeout_s": 120.0, "seed": 1, **options}), report=print)

    return run


def problems(report: Report) -> dict[Disturbance, Problem | None]:
    """Return the problem of each case; those of both signals are at the same moment."""
    return {judged.case.disturbance: judged.problem for judged in report.cases}


def all_are(problem: Problem) -> dict[Disturbance, Problem | None]:
    return dict.fromkeys(Disturbance, problem)


SURVIVES: dict[Disturbance, Problem | None] = dict.fromkeys(Disturbance)


def test_a_script_with_periodic_checkpoints_survives_without_a_handler(rehearsed: Rehearse):
    report = rehearsed(scripts.PERIODIC, times=1)
    assert report.exit_code == 0, report.notes
    assert len(report.cases) == 5
    assert [judged.before.written_in for judged in report.cases] == [*[""] * 4, "draft"]
    for judged in report.cases[:4]:
        assert judged.after is not None
        assert (judged.before.uploaded > 0, judged.after.last_step) == (True, scripts.LAST)
        # SIGTERM can end the script between its draft and the rename: then the draft is uploaded beside the checkpoint.
        assert judged.after.restored in {1, 2}
        assert judged.lost_steps is not None
        assert judged.lost_steps <= scripts.EVERY


def test_a_script_that_writes_its_checkpoint_in_place_does_not_survive_a_kill_in_the_write(rehearsed: Rehearse):
    report = rehearsed(scripts.WRITES_IN_PLACE)
    assert problems(report) == {**SURVIVES, Disturbance.LOST_IN_WRITE: Problem.HALF_WRITTEN}
    assert report.exit_code == 1
    assert "JSONDecodeError" in str(report.notes)
    assert "left half of state.json" in str(report.notes)


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (scripts.HANDLER, SURVIVES),
        (scripts.HANDLER_ONLY, SURVIVES),
        (scripts.WRITES_NOTHING, all_are(Problem.NOT_WRITTEN)),
        (scripts.WRITES_ELSEWHERE, all_are(Problem.WRITTEN_ELSEWHERE)),
        (scripts.READS_NOTHING, all_are(Problem.BEGAN_AGAIN)),
        (scripts.FORGETS_THE_LOSS, all_are(Problem.OTHER_METRIC)),
        (scripts.FORGETS_THE_STEP, all_are(Problem.OTHER_LAST_STEP)),
    ],
    ids=["handler", "handler only", "nothing", "elsewhere", "reads nothing", "loss", "step"],
)
def test_a_script_survives_or_is_told_what_it_forgets(
    rehearsed: Rehearse, script: str, expected: dict[Disturbance, Problem | None]
):
    assert problems(rehearsed(script)) == expected


@pytest.mark.long
def test_a_script_that_saves_on_sigterm_loses_no_step(rehearsed: Rehearse):
    report = rehearsed(scripts.HANDLER_ONLY)
    assert [judged.lost_steps for judged in report.cases[:2]] == [0, 0]
    assert report.cases[2].before.written_in == "draft"


@pytest.mark.long
def test_a_log_in_the_checkpoint_folder_is_no_checkpoint(rehearsed: Rehearse):
    report = rehearsed(scripts.LOGS_IN_ITS_FOLDER, ignored=["*.log"])
    assert problems(report) == {**SURVIVES, Disturbance.LOST_IN_WRITE: Problem.HALF_WRITTEN}
    for judged in report.cases[:2]:
        assert judged.after is not None
        assert (judged.before.uploaded, judged.after.restored) == (1, 2)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (scripts.FAILS, "fails also when it is not preempted: AlgorithmError: .*No module named 'nonesuch'"),
        (scripts.SILENT, "nothing that --step-regex finds"),
    ],
)
def test_a_script_that_cannot_be_judged_is_refused(rehearsed: Rehearse, script: str, message: str):
    with pytest.raises(CannotRehearse, match=message):
        rehearsed(script)


def test_a_script_that_does_not_end_is_ended_at_the_timeout(rehearsed: Rehearse):
    with pytest.raises(CannotRehearse, match="does not end within --timeout"):
        rehearsed("import time; print('step 1', flush=True); time.sleep(600)", timeout_s=3.0)


@pytest.mark.long
def test_a_script_whose_workers_handle_sigterm_is_told_so_by_the_second_signal(rehearsed: Rehearse):
    """The first process ignores SIGTERM; a worker ends at it, and with it the training, before its checkpoint."""
    worker = f"""
import subprocess, sys
CODE = {scripts.PERIODIC!r}
sys.exit(subprocess.run([sys.executable, "-u", "-c", CODE]).returncode)
"""
    report = rehearsed(worker)
    assert problems(report) == SURVIVES
    # The worker has no handler, so SIGTERM ends it at once, while the first process waits for it.
    to_one, to_all, _loss = report.cases
    assert to_one.before.last_step is not None
    assert to_all.before.last_step is not None
    assert to_all.before.last_step < to_one.before.last_step


@pytest.mark.long
def test_it_works_in_a_user_namespace(rehearsed: Rehearse, monkeypatch: pytest.MonkeyPatch):
    reason = isolation.trial(Isolation.USER_NAMESPACE)
    if reason is not None:
        pytest.skip(f"This machine does not allow user namespaces: {reason}")
    monkeypatch.setattr(isolation, "find", lambda: Isolation.USER_NAMESPACE)
    assert problems(rehearsed(scripts.PERIODIC)) == SURVIVES


def request(script: Path, **changes: Any) -> subject.Subject:
    """Return a request for a script, with its own metrics and locations; a change to None leaves a member out."""
    source = {"S3DataType": "S3Prefix", "S3Uri": "s3://team-data/code"}
    document = {
        "TrainingJobName": "two-hosts",
        "RoleArn": "arn:aws:iam::123456789012:role/team",
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "/opt/ml/input/data/code/train.py"],
            "MetricDefinitions": [{"Name": "step", "Regex": "<([0-9]+)>"}, {"Name": "loss", "Regex": "loss=([0-9.]+)"}],
        },
        "InputDataConfig": [{"ChannelName": "code", "DataSource": {"S3DataSource": source}}],
        "OutputDataConfig": {"S3OutputPath": "s3://team-data/output"},
        "CheckpointConfig": {"S3Uri": "s3://team-data/checkpoints", "LocalPath": "/opt/ml/kept"},
        "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        **changes,
    }
    given = {key: value for key, value in document.items() if value is not None}
    found = subject.of_request(given, data={"code": script})
    return subject.with_metrics(found, step_regex=None, metric="loss", metric_regex=None)


@pytest.fixture
def own_format(tmp_path: Path) -> Path:
    """A script that prints its steps in a format of its own, and has a checkpoint folder of its own."""
    training_settings()
    path = tmp_path / "train.py"
    text = scripts.PERIODIC.replace("step {step}", "at <{step}>").replace("/opt/ml/checkpoints", "/opt/ml/kept")
    path.write_text(text.replace("step, loss = 0, 1.0", "folder.mkdir(exist_ok=True); step, loss = 0, 1.0"))
    return path


@pytest.mark.long
def test_a_request_runs_with_its_hosts_its_metrics_and_its_checkpoint_folder(own_format: Path):
    report = rehearse(request(own_format), Options(times=0, timeout_s=120.0, seed=1), report=print)
    assert problems(report) == SURVIVES, report.notes


@pytest.mark.long
def test_a_request_without_a_checkpoint_config_keeps_nothing(own_format: Path):
    found = request(own_format, CheckpointConfig=None)
    report = rehearse(found, Options(times=0, timeout_s=120.0, seed=1), report=print)
    assert problems(report) == all_are(Problem.NO_CHECKPOINT_CONFIG)


@pytest.mark.long
@pytest.mark.parametrize("in_place", [False, True], ids=["train.py", "in_place.py"])
def test_the_scripts_of_the_documentation_have_the_verdicts_of_its_tables(rehearsed: Rehearse, in_place: bool):
    page = "docs/how-to/rehearse.md"
    (script,) = blocks(page, "python")
    if in_place:
        begin = script.index("        draft = ")
        script = script[:begin] + "        saved.write_text(json.dumps(state))\n"
    printed = blocks(page, "console")[in_place].splitlines()
    report = rehearsed(script, times=1, seed=3, tolerance=0.001)
    verdicts = [line for line in printed if line.startswith((*Disturbance,))]
    assert len(verdicts) == len(report.rows)
    for line, row in zip(verdicts, report.rows, strict=True):
        assert line.startswith(row[0])
        assert line.endswith(row[-1])
    assert printed[-1] == report.notes[-1]
