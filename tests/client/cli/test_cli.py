from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import headway_client
from tests.client.command_line import ROOT, SOURCES, Run, answers, headway, levels
from tests.client.conftest import FAST
from tests.client.fakes.server import ContractServer, Fault
from tests.client.sandbox_files import write_sandbox


def test_common_options_may_precede_or_follow_the_command(run: Run, server: ContractServer):
    server.queue.add("job1")
    wrong = "http://127.0.0.1:9/v1"

    for arguments in (
        ["--endpoint", server.endpoint, "-o", "json", "queue"],
        ["queue", "--endpoint", server.endpoint, "-o", "json"],
        ["--endpoint", wrong, "queue", "--endpoint", server.endpoint, "--output=json"],
    ):
        assert json.loads(run(*arguments)[1])["jobs"]


# ------------------------------------------------------------------------------------------------------ exit codes


REFUSED_400 = answers(
    400,
    error={
        "code": "InvalidRequest",
        "message": "The request is not valid.",
        "fields": [
            {"field": "TrainingJobName", "message": "has 70 characters; use at most 63."},
            {"field": "RoleArn", "message": "is missing."},
        ],
    },
    requestId="r1",
)

EXIT_CODES: list[tuple[Fault, int, str]] = [
    (REFUSED_400, 3, "  TrainingJobName: has 70 characters; use at most 63.\n  RoleArn: is missing.\n"),
    (answers(413, message="Request Too Long"), 3, "Request Too Long"),
    (answers(422, error={"code": "ImpossibleDemand", "message": "The pool has 2."}), 3, "The pool has 2."),
    (answers(404, error={"code": "JobNotFound", "message": "There is no job x."}), 4, "There is no job x."),
    (answers(409, error={"code": "JobEnded", "message": "x has ended."}), 5, "x has ended."),
    (answers(403, message="Forbidden"), 6, "HEADWAY_API_ID"),
    (answers(403, error={"code": "NotAllowed", "message": "Ask user/ada."}), 6, "Ask user/ada."),
    (answers(401, message="Unauthorized"), 6, "execute-api:Invoke"),
    (Fault(drop=True), 6, "Can't connect"),
    (answers(404, message="Not Found"), 6, "stage"),
    (answers(429, message="Too Many Requests"), 7, "too many requests"),
    (answers(500, message="Internal server error"), 7, "status 500"),
    (answers(503, error={"code": "Busy", "message": "Come back."}), 7, "Come back."),
    (Fault(status=200, body=b"<html>"), 7, "no JSON"),
    (Fault(status=200, body=b"[]"), 7, "same version"),
]


@pytest.mark.parametrize(("fault", "expected", "words"), EXIT_CODES)
def test_each_failure_has_its_exit_code_and_the_next_step(
    run: Run, server: ContractServer, fault: Fault, expected: int, words: str
):
    server.fail(*[fault] * FAST.tries)

    code, out, err = run("show", "x")

    assert code == expected
    assert out == ""
    assert err.startswith("headway: ")
    assert words in err


@pytest.mark.parametrize(("fault", "expected", "words"), EXIT_CODES)
def test_each_failure_is_reported_as_json_with_that_option(
    run: Run, server: ContractServer, fault: Fault, expected: int, words: str
):
    server.fail(*[fault] * FAST.tries)

    code, _, err = run("show", "x", "--output", "json")

    told = json.loads(err)
    assert code == told["exitCode"] == expected
    fields = "".join(f"  {item['field']}: {item['message']}\n" for item in told["error"]["fields"])
    assert words in told["error"]["message"] + fields


def test_a_field_is_reported_once(run: Run, server: ContractServer):
    fields = [
        {"field": "RoleArn", "message": "is missing: add it"},
        {"field": "Tags", "message": "is no list"},
    ]
    server.fail(
        answers(400, error={"code": "C", "message": "RoleArn is missing: add it (and 1 more)", "fields": fields})
    )

    assert run("show", "x")[2] == "headway: RoleArn is missing: add it (and 1 more)\n  Tags: is no list\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fly"], "fly"),
        (["submit"], "FILE"),
        (["submit", "/nowhere/request.json"], "can't be read"),
        (["queue", "--state", "flying"], "flying"),
        (["queue", "--state", "running", "--all"], "not allowed with"),
        (["queue", "--limit", "0"], "whole number from 1 to 10000"),
        (["queue", "--lim", "5"], "--lim"),
        (["priority", "job1", "10000"], "whole number from 0 to 9999"),
        (["priority", "job1", "-1"], "-1"),
        (["priority", "job1", "1.5"], "'1.5' is not a whole number"),
        (["priority", "job1", "¹"], "is not a whole number"),
        (["show", ".."], "not a job name"),
        (["queue", "--endpoint", "queue"], "https://HOST/v1"),
        (["queue", "--profile", "nope"], 'no profile "nope"'),
        (["config"], "ACTION"),
        (["dlq"], "ACTION"),
        (["sandbox", "up", "--speed", "0"], "is not a factor"),
        (["sandbox", "up", "--port", "65536"], "whole number from 1 to 65535"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, server: ContractServer, arguments: list[str], words: str):
    code, out, err = run(*arguments)

    assert (code, out) == (2, "")
    assert words in err
    code, out, err = run(*arguments, "-o", "json")
    assert (code, out) == (2, "")
    assert words in json.loads(err)["error"]["message"]
    assert server.received == []


def test_a_file_without_json_is_reported_with_line_and_column(run: Run, tmp_path: Path):
    path = tmp_path / "request.json"
    path.write_text('{\n  "TrainingJobName": a\n}\n')

    code, _, err = run("submit", str(path))

    assert code == 2
    assert f"{path} is not JSON: line 2, column 22" in err


def test_missing_credentials_are_exit_code_6(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    code, _, err = run("queue")

    assert code == 6
    assert "no AWS credentials" in err


def test_a_missing_endpoint_is_reported_with_the_command_to_type(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HEADWAY_ENDPOINT")

    code, _, err = run("queue")

    assert code == 2
    assert "export HEADWAY_ENDPOINT=https://HOST/v1" in err


def test_the_sandbox_of_a_checkout_is_found_and_reported(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HEADWAY_ENDPOINT")
    monkeypatch.delenv("HEADWAY_REGION")
    write_sandbox(
        Path(),
        {"endpoint": server.endpoint, "region": "eu-west-1"},
        key=os.environ["AWS_ACCESS_KEY_ID"],
        secret=os.environ["AWS_SECRET_ACCESS_KEY"],
    )

    assert run("queue") == (0, "No jobs.\n", f"headway: No endpoint is set: using the sandbox of {Path.cwd()}.\n")
    assert run("queue", "--profile", "sandbox") == (0, "No jobs.\n", "")


def test_an_unexpected_error_is_exit_code_1_with_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch):
    def break_down(*_: Any) -> None:
        raise ZeroDivisionError("oh\x1b[2J")

    monkeypatch.setattr("headway_client.cli.output.job_rows", break_down)
    monkeypatch.setattr("headway_client.cli.commands.jobs.queue.open_api", break_down)

    code, _, err = run("queue")
    assert code == 1
    assert "Unexpected ZeroDivisionError: oh\\x1b[2J" in err
    monkeypatch.setenv("HEADWAY_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("queue")


def test_an_interrupt_is_exit_code_130(run: Run, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headway_client.cli.commands.jobs.queue.open_api", interrupt)

    code, _, err = run("queue")
    assert code == 130
    assert "interrupted" in err


@pytest.mark.parametrize("jobs", [1, 300])
def test_a_closed_pipe_is_exit_code_141_without_a_message(endpoint_set: str, server: ContractServer, jobs: int):
    for number in range(jobs):
        server.queue.add(f"job{number}")
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "headway_client.cli.main", "queue", "-o", "json"],
            env=os.environ | {"PYTHONPATH": SOURCES}, stdout=write_end, stderr=subprocess.PIPE, timeout=30, check=False,
        )  # fmt: skip
    finally:
        os.close(write_end)

    assert (done.returncode, done.stderr) == (141, b"")


def test_output_never_fails_on_an_encoding(endpoint_set: str, server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    server.queue.add("job1", reason={"code": "c", "message": "größer → 日本"})
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")

    done = headway("queue")

    assert (done.returncode, done.stderr) == (0, "")
    assert "gr\\xf6\\xdfer" in done.stdout


# -------------------------------------------------------------------------------------------------------- start-up

HEAVY = (
    "boto3", "botocore", "requests", "urllib3", "tabulate", "yaml", "sagemaker", "pydantic", "csv", "ssl",
    "socket", "headway_service", "headway_sandbox", "headway_client.http.api", "headway_client.models",
    "headway_client.cli.output",
)  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["submit", "--help"], ["completion", "bash"], ["version", "--client"], ["fly"]],
)
def test_help_needs_neither_an_http_library_nor_an_sdk(arguments: list[str]):
    script = (
        "import sys\n"
        "from headway_client.cli.main import main\n"
        f"code = main({arguments!r})\n"
        f"print(code, *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": SOURCES}, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    assert done.stderr.splitlines()[-1] == ("2" if arguments == ["fly"] else "0")


def test_the_help_lists_every_command_and_exit_code(run: Run):
    code, out, _ = run("--help")

    assert code == 0
    for command in next(levels()).commands:
        assert f"\n  {command} " in out
    titles = re.findall(r"^(\w[\w ]+):$", out, re.MULTILINE)
    assert titles == [
        *("Options", "Submitting", "Inspecting", "Running jobs", "Changing jobs", "Operating the queue"),
        "Local commands",
    ]
    assert "6 not reachable or not allowed" in out
    assert run("queue", "--help")[0] == 0


@pytest.mark.parametrize(("alias", "command"), [("ls", "queue"), ("cancel", "stop")])
def test_a_command_has_its_other_name(run: Run, alias: str, command: str):
    assert run(alias, "--nothing")[2] == run(command, "--nothing")[2].replace(f"headway {command}", f"headway {alias}")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["queu"], "queue"),
        (["submti"], "submit"),
        (["config", "sett"], "set"),
        (["wait", "x", "--timeot", "1"], "--timeout"),
    ],
)
def test_a_mistyped_command_or_option_is_answered_with_the_one_that_was_meant(run: Run, words: list[str], meant: str):
    code, _, err = run(*words)

    assert code == 2
    assert f"Did you mean '{meant}'?" in err


def test_the_version_is_that_of_the_distribution(run: Run):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert headway_client.__version__ == project["version"]
    assert run("--version")[1] == f"headway {project['version']}\n"


def test_the_command_line_runs_as_a_module():
    assert headway("--version").stdout == f"headway {headway_client.__version__}\n"


def test_every_public_name_can_be_imported(monkeypatch: pytest.MonkeyPatch):
    for name in set(headway_client.__all__) - {"QueueTrainingJobSession"}:
        assert getattr(headway_client, name)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = headway_client.Nothing


def test_a_name_that_is_no_text_is_wrong_usage(run: Run, server: ContractServer) -> None:
    code, _, err = run("show", "\udcff")
    assert (code, "is not a job name" in err) == (2, True)
    assert server.received == []


@pytest.mark.parametrize(
    ("redirection", "error"),
    [
        pytest.param(">&-", "", id="closed"),
        pytest.param(
            ">/dev/full",
            f"headway: The output can't be written: {os.strerror(errno.ENOSPC)}.\n",
            id="full",
            # Linux has it, macOS does not; the same handling is tested with the closed output.
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="no file of this system is always full"),
        ),
    ],
)
def test_an_output_that_takes_nothing_is_no_bug(endpoint_set: str, redirection: str, error: str) -> None:
    command = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-m", "headway_client.cli.main", "queue"]
    environment = os.environ | {"PYTHONPATH": SOURCES}
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
    assert done.stderr.partition("Exception ignored")[0] == error


def test_without_a_command_the_help_is_shown(run: Run):
    assert run() == run("--help")
    assert run()[0] == 0
