"""Processes that a program under `python -m headway_client` starts."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from headway_client.child_processes.inherit import STARTUP_FOLDER, VARIABLE, InstallSettings, share
from tests.client.fakes.aws_stub import AwsStub
from tests.client.fakes.contract import request
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer
from tests.client.sandbox_files import write_sandbox

SUBMIT = f"""
import boto3

def submit(name):
    boto3.client("sagemaker").create_training_job(**{{**{request("job1")!r}, "TrainingJobName": name}})
"""

MULTIPROCESSING = """
import multiprocessing, sys
from submit import submit

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    children = [multiprocessing.Process(target=submit, args=(f"child{number}",)) for number in range(2)]
    submit("parent")
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0, child.exitcode
"""

SUBPROCESS = """
import subprocess, sys

subprocess.run([sys.executable, "-c", "import submit; submit.submit('child0')"], check=True)
"""

GRANDCHILD = """
import subprocess, sys

grandchild = "import sys; sys.path.append('FOLDER'); import submit; submit.submit('child0')"
child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}], check=True)"
subprocess.run([sys.executable, "-c", child], cwd="/", check=True)
"""

PROGRAMS = {
    "fork": (MULTIPROCESSING, ["child0", "child1", "parent"]),
    "spawn": (MULTIPROCESSING, ["child0", "child1", "parent"]),
    "forkserver": (MULTIPROCESSING, ["child0", "child1", "parent"]),
    "subprocess": (SUBPROCESS, ["child0"]),
    "a grandchild in another folder": (GRANDCHILD, ["child0"]),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "program"
    made.mkdir()
    (made / "submit.py").write_text(SUBMIT)
    return made


@pytest.fixture
def environment(aws: AwsStub, tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "AWS_ENDPOINT_URL": aws.url,
        "AWS_DEFAULT_REGION": REGION,
    }


def run(
    *arguments: str | Path, folder: Path, environment: dict[str, str], python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_training_jobs_of_child_processes_are_in_the_queue(
    name: str, folder: Path, environment: dict[str, str], server: ContractServer, aws: AwsStub
) -> None:
    program, expected = PROGRAMS[name]
    (folder / "train.py").write_text(program.replace("FOLDER", str(folder)))
    queue = ("--endpoint", server.endpoint, "--region", REGION, "--priority", "6", "--quiet")

    done = run("-m", "headway_client", *queue, "train.py", name, folder=folder, environment=environment)

    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(server.queue.jobs) == expected
    assert {job["priority"] for job in server.queue.jobs.values()} == {6}
    assert aws.calls == []


def test_a_child_process_in_another_folder_submits_to_the_sandbox_of_its_parent(
    folder: Path, environment: dict[str, str], server: ContractServer, aws: AwsStub
) -> None:
    (folder / "train.py").write_text(GRANDCHILD.replace("FOLDER", str(folder)))
    sandbox = {"endpoint": server.endpoint, "region": REGION, "aws_endpoint": aws.url}
    write_sandbox(folder, sandbox, key=ACCESS_KEY, secret=SECRET_KEY)

    done = run("-m", "headway_client", "--quiet", "train.py", folder=folder, environment=environment)

    assert done.returncode == 0, done.stderr
    assert list(server.queue.jobs) == ["child0"]


def test_a_process_that_never_calls_aws_loads_neither_botocore_nor_the_client(
    folder: Path, environment: dict[str, str]
) -> None:
    share(InstallSettings(endpoint="https://queue/v1", region=REGION), environment)
    heavy = "{'botocore', 'boto3', 'requests', 'headway_client.http'}"

    done = run("-c", f"import sys; print({heavy} & set(sys.modules))", folder=folder, environment=environment)

    assert (done.returncode, done.stdout, done.stderr) == (0, "set()\n", "")


def test_a_queue_that_is_no_longer_configured_fails_the_import_and_not_the_queue(
    folder: Path, environment: dict[str, str], aws: AwsStub
) -> None:
    share(InstallSettings(profile="gone"), environment)

    done = run("-c", "import submit; submit.submit('job1')", folder=folder, environment=environment)

    assert done.returncode == 1
    assert 'There is no profile "gone"' in done.stderr
    assert aws.calls == []


@pytest.mark.parametrize("option", ["-E", "-I", "-S"])
def test_the_switch_ends_at_a_python_that_ignores_its_environment(
    option: str, folder: Path, environment: dict[str, str]
) -> None:
    share(InstallSettings(endpoint="https://queue/v1", region=REGION), environment)

    done = run(
        option, "-c", "import sys; print('sitecustomize' in sys.modules)", folder=folder, environment=environment
    )

    assert done.stdout == "False\n"


def test_a_python_without_the_client_says_that_its_jobs_bypass_the_queue(
    folder: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    venv.create(tmp_path / "other")
    python = str(tmp_path / "other/bin/python")
    environment["PYTHONPATH"] = str(folder)
    share(InstallSettings(endpoint="https://queue/v1"), environment)

    without_botocore = run("-c", "print('ran')", folder=folder, environment=environment, python=python)
    (folder / "botocore.py").touch()
    with_botocore = run("-c", "print('ran')", folder=folder, environment=environment, python=python)

    assert (without_botocore.stdout, without_botocore.stderr) == ("ran\n", "")
    assert with_botocore.stdout == "ran\n"
    assert with_botocore.stderr.startswith(f"headway: headway_client is not installed for {python}: training jobs of")


def test_a_hidden_sitecustomize_runs_too(folder: Path, environment: dict[str, str]) -> None:
    (folder / "sitecustomize.py").write_text("print('hidden')\n")
    environment["PYTHONPATH"] = f"{folder}{os.pathsep}{environment['PYTHONPATH']}"
    share(InstallSettings(endpoint="https://queue/v1", region=REGION), environment)

    done = run("-c", "import sys; print(sys.modules['sitecustomize'].__file__)", folder=folder, environment=environment)

    assert done.stdout == f"hidden\n{folder / 'sitecustomize.py'}\n"
    assert done.stderr == ""


def test_sharing_again_replaces_the_settings_and_keeps_the_path() -> None:
    environment = {"PYTHONPATH": os.pathsep.join(["", "/one", "/two"])}
    for priority in (1, 2):
        share(InstallSettings(priority=priority), environment)

    assert environment["PYTHONPATH"].split(os.pathsep) == [str(STARTUP_FOLDER), "/one", "/two"]
    assert '"priority": 2' in environment[VARIABLE]


def test_the_startup_folder_has_nothing_else_that_a_program_could_import() -> None:
    assert [path.name for path in STARTUP_FOLDER.iterdir() if path.name != "__pycache__"] == ["sitecustomize.py"]
