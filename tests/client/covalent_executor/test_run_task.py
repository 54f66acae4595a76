"""A task in its training job."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest

from headway_covalent import run_task
from headway_covalent.storage import TaskStorage
from headway_covalent.task import Task
from tests.client.covalent_executor.tasks import assembled
from tests.client.fakes.aws_stub import BUCKET, AwsStub
from tests.client.fakes.server import REGION

LIMIT_S = 60

_RUN = "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); import run_task; "
_MAIN = "sys.exit(run_task.main(Path(sys.argv[2])))"


@pytest.fixture
def ml(tmp_path: Path) -> Path:
    """The folder of a host, /opt/ml in a training job."""
    (tmp_path / "ml" / "model").mkdir(parents=True)
    return tmp_path / "ml"


def run(ml: Path, aws: AwsStub, function: Callable[..., Any], *args: Any, **changes: Any) -> tuple[int, str]:
    """Run a task as its training job does, without Covalent and Headway; return the exit code and what it printed."""
    s3 = boto3.client("s3", endpoint_url=aws.url, region_name=REGION)
    TaskStorage(s3, f"s3://{BUCKET}/covalent").put("t", replace(Task.of(*assembled(function, *args)), **changes))
    channel = ml / "input" / "data" / "task"
    channel.mkdir(parents=True)
    for key, content in aws.objects.items():
        (channel / Path(key).name).write_bytes(content)
    # -I and -S: without the packages of this environment.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _RUN + _MAIN, str(channel), str(ml)],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def failure(ml: Path) -> str:
    return (ml / "output" / "failure").read_text(encoding="utf-8")


def test_the_result_is_written_without_covalent_or_cloudpickle_in_the_image(ml: Path, aws: AwsStub):
    offset = 10
    assert run(ml, aws, lambda values: [each + offset for each in values], [1, 2]) == (0, "")
    assert pickle.loads((ml / "model" / run_task.RESULT).read_bytes()) == [11, 12]
    assert not (ml / "output").exists()


def test_an_exception_is_the_reason_of_the_failure_and_its_traceback_is_printed(ml: Path, aws: AwsStub):
    def refuse(path: str) -> None:
        raise ValueError(f"there is no {path}")

    code, printed = run(ml, aws, refuse, "data.csv")
    assert code == 1
    assert failure(ml) == "ValueError: there is no data.csv"
    assert "Traceback" in printed
    assert not list((ml / "model").iterdir())


def test_a_result_that_cannot_be_pickled_is_a_failure(ml: Path, aws: AwsStub):
    def open_file() -> object:
        return (number for number in range(3))

    assert run(ml, aws, open_file)[0] == 1
    assert "cannot pickle" in failure(ml)


def test_another_version_of_python_is_refused_before_anything_is_loaded(ml: Path, aws: AwsStub):
    assert run(ml, aws, print, python="3.99")[0] == 1
    assert failure(ml).startswith("The workflow was written with Python 3.99, the training image has Python 3.")


def test_what_is_sent_is_the_same_when_it_is_sent_again(aws: AwsStub):
    s3 = boto3.client("s3", endpoint_url=aws.url, region_name=REGION)
    storage, task = TaskStorage(s3, f"s3://{BUCKET}/covalent"), Task.of(*assembled(len, "abc"))
    storage.put("t", task)
    first = dict(aws.objects)
    storage.put("t", task)
    assert aws.objects == first
    with zipfile.ZipFile(io.BytesIO(first[f"{BUCKET}/covalent/t/task/cloudpickle.zip"])) as packed:
        assert {each.date_time for each in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert sorted(Path(key).name for key in first) == ["cloudpickle.zip", "run_task.py", "task.json"]
    assert json.loads(first[f"{BUCKET}/covalent/t/task/task.json"])["args"]
