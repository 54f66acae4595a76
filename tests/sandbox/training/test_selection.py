from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.local import training_options
from headway_sandbox.local.training_options import SpeedWithTraining, TooLittleMemory
from headway_sandbox.training.selection import command_of, why_timer
from headway_sandbox.training.settings import Interpreter, NoInterpreter, TrainingSettings, find_interpreters

PYTHON = Interpreter(folder="/env/bin", programs=("/env",))
SETTINGS = TrainingSettings(interpreters={"*pytorch*": PYTHON}, isolation="root")
SCRIPT_MODE: dict[str, Any] = {"HyperParameters": {"sagemaker_program": '"train.py"'}}


def request(image: str = "pytorch:2", *, train: str | None = None, **changes: Any) -> dict[str, Any]:
    algorithm = {"TrainingImage": image, **changes.pop("algorithm", {})}
    environment = {} if train is None else {"SANDBOX_TRAIN": train}
    return {"AlgorithmSpecification": algorithm, "Environment": environment, **changes}


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        ({"algorithm": {"ContainerEntrypoint": ["a", "b"], "ContainerArguments": ["c"]}}, ["a", "b", "c"]),
        (SCRIPT_MODE, ["train"]),
        ({"algorithm": {"ContainerEntrypoint": ["a"]}, **SCRIPT_MODE}, ["a"]),
        ({"algorithm": {"ContainerArguments": ["c"]}}, []),
        ({}, []),
    ],
)
def test_the_command_is_that_of_the_request_or_of_script_mode(changes: dict[str, Any], command: list[str]):
    assert command_of(request(**changes)) == command


@pytest.mark.parametrize(
    ("asked", "settings", "reason"),
    [
        (request(**SCRIPT_MODE), SETTINGS, ""),
        (request(train="true", **SCRIPT_MODE), SETTINGS, ""),
        (request(train="false", **SCRIPT_MODE), SETTINGS, "SANDBOX_TRAIN is false"),
        (request(**SCRIPT_MODE), None, "started without --train"),
        (request(), SETTINGS, "neither ContainerEntrypoint nor the hyperparameter"),
        (request("tensorflow:2", **SCRIPT_MODE), SETTINGS, "no --image pattern fits its image tensorflow:2"),
    ],
)
def test_a_job_is_a_timer_for_a_reason(asked: dict[str, Any], settings: TrainingSettings | None, reason: str):
    found = why_timer(asked, settings)
    assert (reason in found) if reason else (found == "")


@pytest.mark.parametrize(
    ("asked", "settings", "message"),
    [
        (request(train="true", **SCRIPT_MODE), None, "started without --train"),
        (request(train="true"), SETTINGS, "neither ContainerEntrypoint"),
        (request("tensorflow:2", train="true", **SCRIPT_MODE), SETTINGS, "no --image pattern fits"),
        (request(train="maybe", **SCRIPT_MODE), SETTINGS, "is `true` or `false`, not 'maybe'"),
    ],
)
def test_a_job_that_asks_to_run_and_cannot_is_refused(
    asked: dict[str, Any], settings: TrainingSettings | None, message: str
):
    with pytest.raises(AwsError, match=message):
        why_timer(asked, settings)


def test_an_interpreter_is_found_with_the_folders_that_it_needs():
    found = find_interpreters([], default=Path(sys.executable))["*"]
    assert Path(found.folder, "python").exists()
    assert {str(Path(folder).resolve()) for folder in (sys.prefix, sys.base_prefix)} <= set(found.programs)


def test_an_interpreter_behind_a_link_is_visible_at_both_paths(tmp_path: Path):
    (tmp_path / "env").symlink_to(sys.prefix)
    found = Interpreter.find(tmp_path / "env/bin/python")
    assert {str(tmp_path / "env"), str(Path(sys.prefix).resolve())} <= set(found.programs)


@pytest.mark.parametrize(
    ("image", "message"), [("python", "PATTERN=PYTHON"), ("*=/nonesuch", "is no Python that runs")]
)
def test_an_interpreter_that_does_not_run_is_refused(image: str, message: str):
    with pytest.raises(NoInterpreter, match=message):
        find_interpreters([image], default=Path(sys.executable))


def test_another_speed_than_1_is_refused():
    with pytest.raises(SpeedWithTraining, match="--train needs --speed 1, not 60"):
        training_options.settings(speed=60.0)


@pytest.mark.parametrize("memory_gib", [0.0, 0.05])
def test_a_host_without_memory_for_any_script_is_refused(memory_gib: float):
    with pytest.raises(TooLittleMemory, match=r"--memory is at least 0.0625 \(GiB\), not"):
        training_options.settings(memory_gib=memory_gib)


@pytest.mark.parametrize(
    ("memory_bytes", "text"), [(None, "; the machine's memory for each host"), (3 * 2**29, "; 1.5 GiB of memory")]
)
def test_the_memory_of_a_host_is_said_at_the_start(memory_bytes: int | None, text: str):
    assert text in training_options.describe(replace(SETTINGS, memory_bytes=memory_bytes))


def test_settings_are_the_same_after_json():
    assert TrainingSettings.from_document(SETTINGS.to_document()) == SETTINGS
