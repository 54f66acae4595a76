from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headway_client
from headway_client import parser
from headway_client.commands import sandbox
from headway_client.errors import UsageError
from tests.client.conftest import FAST
from tests.client.contract import request
from tests.client.server import ContractServer, Fault

Run = Callable[..., tuple[int, str, str]]
Write = Callable[[Any], str]

ROOT = Path(__file__).resolve().parents[2]


def headway(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    path = os.pathsep.join(str(ROOT / folder) for folder in ("client/src", "layers/core/src"))
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-m", "headway_client.cli", *arguments],
        env=environment, capture_output=True, text=True, timeout=30, check=False, **options,
    )  # fmt: skip


def test_a_request_is_submitted_and_told_with_its_place(run: Run, request_file: Write, server: ContractServer):
    code, out, err = run("submit", request_file(request("job1")))

    assert (code, err) == (0, "")
    assert out == "job1 is pending (priority 0, place 1 in line): Waits for 1 ml.p5.48xlarge.\n"
    assert server.queue.jobs["job1"]["request"] == request("job1")


def test_submitting_again_says_that_nothing_was_added(run: Run, request_file: Write):
    run("submit", request_file(request("job1")))
    code, out, err = run("submit", request_file(request("job1")))

    assert code == 0
    assert out.startswith("job1 is pending")
    assert "nothing was added" in err


def test_a_priority_option_replaces_the_requests_tag(run: Run, request_file: Write, server: ContractServer):
    tags = [{"Key": "headway:priority", "Value": "1"}, {"Key": "team", "Value": "vision"}]
    code, _, _ = run("submit", "--priority", "7", request_file(request("job1", Tags=tags)))

    assert code == 0
    assert server.queue.jobs["job1"]["priority"] == 7
    assert server.queue.jobs["job1"]["request"]["Tags"] == [tags[1], {"Key": "priority", "Value": "7"}]


def test_a_request_comes_from_standard_input(run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(request("job1")).encode())))

    assert run("submit", "-")[0] == 0
    assert list(server.queue.jobs) == ["job1"]


def test_two_processes_that_submit_one_file_at_once_give_one_job(
    endpoint_set: str, request_file: Write, server: ContractServer
):
    path = request_file(request("job1"))
    command = [sys.executable, "-m", "headway_client.cli", "submit", "-o", "json", path]
    python_path = os.pathsep.join(str(ROOT / folder) for folder in ("client/src", "layers/core/src"))
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": python_path}, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=30)[0] for process in running]

    assert [process.returncode for process in running] == [0, 0]
    assert answers[0] == answers[1]
    assert list(server.queue.jobs) == ["job1"]
    assert len(server.received) == 2


def test_the_queue_is_shown_as_a_table(run: Run, server: ContractServer):
    assert run("queue") == (0, "No jobs.\n", "")
    server.queue.add("job1")
    server.queue.add("done", jobState="completed")

    code, out, _ = run("queue")

    assert code == 0
    assert out.splitlines()[0].split() == ["Job", "Name", "State", "Priority", "Why"]
    assert "job1" in out
    assert "done" not in out
    assert "Demand" in run("queue", "-o", "wide")[1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["a", "b", "c"]),
        (["--state", "running"], ["b"]),
        (["--state", "running", "--state", "failed"], ["b", "d"]),
        (["--all"], ["a", "b", "c", "d", "e"]),
        (["--limit", "2"], ["a", "b"]),
        (["--all", "--limit", "4"], ["a", "b", "c", "d"]),
    ],
)
def test_the_queue_is_filtered_and_limited(run: Run, server: ContractServer, options: list[str], expected: list[str]):
    for name, state in zip("abcde", ["pending", "running", "preempted", "failed", "stopped"], strict=True):
        server.queue.add(name, jobState=state)

    code, out, _ = run("queue", "--output", "json", *options)

    shown = json.loads(out)
    assert code == 0
    assert [job["jobName"] for job in shown["jobs"]] == expected
    assert shown["truncated"] is ("--limit" in options)


def test_a_queue_that_is_cut_off_says_so(run: Run, server: ContractServer):
    for name in "abc":
        server.queue.add(name)

    assert "first 2" in run("queue", "--limit", "2")[2]
    assert run("queue", "--limit", "3")[2] == ""


def test_what_bypassed_the_queue_is_shown_below_the_jobs_if_all_is_asked_for(run: Run, server: ContractServer):
    server.queue.bypass("past", demand={"ml.p5.48xlarge": 2})
    assert run("queue") == (0, "No jobs.\n", "")
    assert json.loads(run("queue", "-o", "json")[1]) == {"jobs": [], "truncated": False}
    server.queue.add("job1")

    code, out, err = run("queue", "--all")

    assert (code, err) == (0, "")
    assert [line.split()[:3] for line in out.splitlines()[2:]] == [["job1", "pending", "0"], ["past", "rogue", "-"]]
    assert out.splitlines()[3].endswith("did not come through the queue")
    assert "2 ml.p5.48xlarge" in run("queue", "--all", "-o", "wide")[1]
    shown = json.loads(run("queue", "--all", "-o", "json")[1])
    assert (shown["rogueJobs"], shown["moreRogueJobs"]) == (server.queue.rogues, False)
    server.queue.more_rogues = True
    assert "these are the first 1" in run("queue", "--all")[2]


def test_a_job_is_shown_stopped_and_given_another_priority(run: Run, server: ContractServer):
    server.queue.add("job1")

    assert "Why       Waits for" in run("show", "job1")[1]
    assert json.loads(run("show", "job1", "-o", "json")[1])["request"] == request("job1")
    assert "(priority 9, place 1 in line)" in run("priority", "job1", "9")[1]
    assert run("stop", "job1")[1] == "job1 is stopped (priority 9): Stopped by its owner.\n"
    assert json.loads(run("stop", "job1", "--output", "json")[1])["jobState"] == "stopped"


def test_capacity_is_shown(run: Run, server: ContractServer):
    code, out, _ = run("capacity")

    assert code == 0
    assert out.splitlines()[0].split("  ")[0] == "Pool"
    pool = json.loads(run("capacity", "-o", "json")[1])["pools"][0]
    assert pool["size"] == sum(pool[part] for part in ("allocated", "reserved", "rogue", "free"))
    assert out.splitlines()[2].split() == [pool["pool"], "2", "1", "1", "0", "1", "0", "7"]
    server.queue.settings = {"pools": {}}
    assert "headway config set" in run("capacity")[1]


def test_a_shown_configuration_can_be_set_again(run: Run, request_file: Write, server: ContractServer):
    code, out, err = run("config", "show")

    assert (code, err) == (0, "headway: This is version 1.\n")
    assert run("config", "set", request_file(json.loads(out)))[0] == 0
    assert json.loads(run("config", "show", "-o", "json")[1])["version"] == 2
    code, _, err = run("config", "set", request_file({}))
    assert code == 3
    assert "pools: is missing." in err


def test_a_configuration_that_can_not_be_used_says_why(run: Run, server: ContractServer):
    document = {"document": None, "version": 0, "problem": "The parameter holds no JSON."}
    server.fail(Fault(status=200, body=json.dumps(document).encode()))

    assert run("config", "show")[1:] == (
        "{}\n",
        "headway: This is version 0.\nheadway: It can't be used: The parameter holds no JSON.\n",
    )


def test_dead_letters_are_shown(run: Run, server: ContractServer):
    assert run("dlq", "show") == (0, "No dead letters.\n", "")
    server.queue.bury()
    server.queue.bury(about=None, errorType=None, errorMessage=None, problem="it is no JSON")

    code, out, err = run("dlq", "show")

    assert (code, err) == (0, "")
    header, _, first, second = out.splitlines()
    assert header.split() == ["Queue", "Sent", "About", "Why"]
    assert re.split(" {2,}", first) == ["event", "2026-01-02 03:04:05Z", "job1 Failed", "KeyError: 'TrainingJobStatus'"]
    assert second.endswith("-            can't be redriven: it is no JSON")
    assert "Received" in run("dlq", "show", "-o", "wide")[1]
    assert json.loads(run("dlq", "show", "-o", "json")[1]) == {"letters": server.queue.letters, "more": False}
    server.queue.more_letters = 1
    assert "may be more" in run("dlq", "show")[2]


def test_what_a_dead_letter_says_can_not_move_the_cursor(run: Run, server: ContractServer):
    server.queue.bury(about="a\x1b[2Jb", errorMessage="c\nd\x9b31m", problem="e\u202ef")

    assert "a\\x1b[2Jb" in run("dlq", "show")[1]
    for arguments in (["dlq", "show"], ["dlq", "show", "-o", "wide"], ["dlq", "redrive"]):
        _, out, err = run(*arguments)
        assert (out + err).replace("\n", "").isprintable()


def test_dead_letters_are_redriven_and_counted(run: Run, server: ContractServer):
    server.queue.bury()

    assert run("dlq", "redrive") == (0, "1 redriven, 0 dropped, 0 failed, 0 left.\n", "")
    assert json.loads(run("dlq", "redrive", "-o", "json")[1])["redriven"] == 0


def test_a_letter_that_can_not_be_redriven_is_told_and_in_the_exit_code(run: Run, server: ContractServer):
    server.queue.bury(problem="it is no JSON")
    server.queue.more_letters = 7

    assert run("dlq", "redrive") == (
        7,
        "0 redriven, 0 dropped, 1 failed, 8 left.\n",
        "headway: m0 (event) stays: it is no JSON.\nheadway: There are more: redrive again.\n",
    )
    code, out, err = run("dlq", "redrive", "-o", "json")
    assert (code, json.loads(out)["failed"], err) == (7, 1, "")


def test_wake_ups_that_one_wake_up_stands_for_are_told_as_dropped(run: Run, server: ContractServer):
    done = {"redriven": 1, "dropped": 4, "failed": 0, "left": 0, "failures": []}
    server.fail(Fault(status=200, body=json.dumps(done).encode()))

    assert run("dlq", "redrive")[:2] == (
        0,
        "1 redriven, 4 dropped (one wake-up does for all), 0 failed, 0 left.\n",
    )


def test_common_options_stand_before_the_command_or_behind_it(run: Run, server: ContractServer):
    server.queue.add("job1")
    wrong = "http://127.0.0.1:9/v1"

    for arguments in (
        ["--endpoint", server.endpoint, "-o", "json", "queue"],
        ["queue", "--endpoint", server.endpoint, "-o", "json"],
        ["--endpoint", wrong, "queue", "--endpoint", server.endpoint, "--output=json"],
    ):
        assert json.loads(run(*arguments)[1])["jobs"]


# ------------------------------------------------------------------------------------------------------ exit codes


def answers(status: int, **document: Any) -> Fault:
    return Fault(status=status, body=json.dumps(document).encode())


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
    (answers(401, message="Unauthorized"), 6, "execute-api:Invoke"),
    (Fault(drop=True), 6, "no connection"),
    (answers(404, message="Not Found"), 6, "stage"),
    (answers(429, message="Too Many Requests"), 7, "too many requests"),
    (answers(500, message="Internal server error"), 7, "status 500"),
    (answers(503, error={"code": "Busy", "message": "Come back."}), 7, "Come back."),
    (Fault(status=200, body=b"<html>"), 7, "other than JSON"),
    (Fault(status=200, body=b"[]"), 7, "same version"),
]


@pytest.mark.parametrize(("fault", "expected", "words"), EXIT_CODES)
def test_each_failure_has_its_exit_code_and_says_what_to_do(
    run: Run, server: ContractServer, fault: Fault, expected: int, words: str
):
    server.fail(*[fault] * FAST.tries)

    code, out, err = run("show", "x")

    assert code == expected
    assert out == ""
    assert err.startswith("headway: ")
    assert words in err


@pytest.mark.parametrize(("fault", "expected", "words"), EXIT_CODES)
def test_each_failure_is_told_as_json_if_asked_for(
    run: Run, server: ContractServer, fault: Fault, expected: int, words: str
):
    server.fail(*[fault] * FAST.tries)

    code, _, err = run("show", "x", "--output", "json")

    told = json.loads(err)
    assert code == told["exitCode"] == expected
    fields = "".join(f"  {item['field']}: {item['message']}\n" for item in told["error"]["fields"])
    assert words in told["error"]["message"] + fields


def test_a_field_is_not_told_twice(run: Run, server: ContractServer):
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
        ([], "COMMAND"),
        (["fly"], "fly"),
        (["submit"], "FILE"),
        (["submit", "/nowhere/request.json"], "can't be read"),
        (["queue", "--state", "flying"], "flying"),
        (["queue", "--state", "running", "--all"], "not allowed with"),
        (["queue", "--limit", "0"], "whole number from 1 to 10000"),
        (["queue", "--lim", "5"], "--lim"),
        (["priority", "job1", "10000"], "whole number from 0 to 9999"),
        (["priority", "job1", "-1"], "-1"),
        (["priority", "job1", "1.5"], "'1.5' is no whole number"),
        (["priority", "job1", "¹"], "is no whole number"),
        (["show", ".."], "no job name"),
        (["queue", "--endpoint", "queue"], "https://HOST/v1"),
        (["queue", "--profile", "nope"], 'no profile "nope"'),
        (["config"], "ACTION"),
        (["dlq"], "ACTION"),
        (["sandbox", "up", "--speed", "0"], "is no factor"),
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


def test_a_file_that_is_no_json_tells_line_and_column(run: Run, tmp_path: Path):
    path = tmp_path / "request.json"
    path.write_text('{\n  "TrainingJobName": a\n}\n')

    code, _, err = run("submit", str(path))

    assert code == 2
    assert f"{path} is no JSON: line 2, column 22" in err


def test_missing_credentials_are_exit_code_6(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    code, _, err = run("queue")

    assert code == 6
    assert "no AWS credentials" in err


def test_no_endpoint_says_exactly_what_to_type(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HEADWAY_ENDPOINT")

    code, _, err = run("queue")

    assert code == 2
    assert "export HEADWAY_ENDPOINT=https://HOST/v1" in err


def test_in_a_checkout_with_a_sandbox_the_queue_is_found_and_said(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HEADWAY_ENDPOINT")
    monkeypatch.delenv("HEADWAY_REGION")
    Path(".sandbox").mkdir()
    Path(".sandbox/sandbox.json").write_text(
        json.dumps(
            {
                "endpoint": server.endpoint,
                "region": "eu-west-1",
                "access_key": os.environ["AWS_ACCESS_KEY_ID"],
                "secret_key": os.environ["AWS_SECRET_ACCESS_KEY"],
            }
        )
    )

    assert run("queue") == (0, "No jobs.\n", f"headway: No endpoint is set: this is the sandbox of {Path.cwd()}.\n")
    assert run("queue", "--profile", "sandbox") == (0, "No jobs.\n", "")


def test_an_unexpected_error_is_exit_code_1_with_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch):
    def break_down(*_: Any) -> None:
        raise ZeroDivisionError("oh\x1b[2J")

    monkeypatch.setattr("headway_client.render.jobs_table", break_down)
    monkeypatch.setattr("headway_client.commands.jobs.open_api", break_down)

    code, _, err = run("queue")
    assert code == 1
    assert "Unexpected ZeroDivisionError: oh\\x1b[2J" in err
    monkeypatch.setenv("HEADWAY_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("queue")


def test_an_interrupt_is_exit_code_130(run: Run, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headway_client.commands.jobs.open_api", interrupt)

    code, _, err = run("queue")
    assert code == 130
    assert "interrupted" in err


@pytest.mark.parametrize("jobs", [1, 300])
def test_a_reader_that_goes_away_is_exit_code_141_without_a_word(endpoint_set: str, server: ContractServer, jobs: int):
    for number in range(jobs):
        server.queue.add(f"job{number}")
    read_end, write_end = os.pipe()
    os.close(read_end)
    path = os.pathsep.join(str(ROOT / folder) for folder in ("client/src", "layers/core/src"))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "headway_client.cli", "queue", "-o", "json"],
            env=os.environ | {"PYTHONPATH": path}, stdout=write_end, stderr=subprocess.PIPE, timeout=30, check=False,
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

HEAVY = ("boto3", "botocore", "requests", "urllib3", "tabulate", "sagemaker", "headway_service", "headway_sandbox")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["submit", "--help"], ["fly"]])
def test_help_needs_neither_an_http_library_nor_an_sdk(arguments: list[str]):
    script = (
        "import sys\n"
        "from headway_client.cli import main\n"
        f"code = main({arguments!r})\n"
        f"print(code, *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    path = os.pathsep.join(str(ROOT / folder) for folder in ("client/src", "layers/core/src"))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    assert done.stderr.splitlines()[-1] == ("2" if arguments == ["fly"] else "0")


def test_the_help_lists_every_command_and_exit_code(run: Run):
    code, out, _ = run("--help")

    assert code == 0
    for command in ("submit", "queue", "show", "stop", "priority", "capacity", "config", "policy", "dlq", "sandbox"):
        assert f"    {command} " in out
    assert "6 not reachable or not allowed" in out
    assert run("queue", "--help")[0] == 0


def test_the_version_is_that_of_the_distribution(run: Run):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert headway_client.__version__ == project["version"]
    assert run("--version")[1] == f"headway {project['version']}\n"


def test_the_command_line_runs_as_a_module():
    assert headway("--version").stdout == f"headway {headway_client.__version__}\n"


def test_every_public_name_can_be_had(monkeypatch: pytest.MonkeyPatch):
    for name in set(headway_client.__all__) - {"QueueTrainingJobSession"}:
        assert getattr(headway_client, name)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = headway_client.Nothing


# --------------------------------------------------------------------------------------------------------- sandbox


def test_a_sandbox_that_is_not_installed_says_how_to_get_it(run: Run, monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(sandbox, "import_module", missing)

    for action in ("up", "down", "status", "demo"):
        code, _, err = run("sandbox", action)
        assert code == 2
        assert "headway_sandbox.errors is missing" in err
        assert "make setup" in err


class FakeSandbox:
    """The parts of `headway_sandbox` that the command line touches."""

    class SandboxError(Exception):
        pass

    class SetupMissing(SandboxError):
        pass

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.error: Exception | None = None
        self.info: Any = None
        self.code = 0

    def _act(self, name: str, **options: Any) -> Any:
        self.calls.append((name, options))
        if self.error is not None:
            raise self.error
        return self.info

    def up(self, *, report: Callable[[str], None], **options: Any) -> Any:
        report("starting")
        return self._act("up", **options)

    def down(self) -> bool:
        return bool(self._act("down"))

    def status(self) -> Any:
        return self._act("status")

    def main(self, arguments: list[str]) -> int:
        self._act("demo")
        return self.code


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeSandbox:
    made = FakeSandbox()
    monkeypatch.setattr(sandbox, "import_module", lambda _: made)
    return made


def sandbox_info() -> Any:
    from headway_sandbox.manager import SandboxInfo

    return SandboxInfo(
        endpoint="http://127.0.0.1:4566/v1", aws_endpoint="http://127.0.0.1:4566", port=4566, pid=42,
        region="eu-west-1", account="123456789012", access_key="test", secret_key="test", role_arn="arn:role",
        bucket="jobs", speed=60.0, stack="headway",
    )  # fmt: skip


def test_the_sandbox_is_started_and_its_addresses_told(run: Run, fake: FakeSandbox):
    fake.info = sandbox_info()

    code, out, err = run("sandbox", "up", "--port", "4567", "--speed", "60")

    assert (code, err) == (0, "headway: starting\n")
    assert fake.calls == [("up", {"port": 4567, "speed": 60.0})]
    assert "export HEADWAY_ENDPOINT=http://127.0.0.1:4566/v1" in out
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:4566" in out
    assert json.loads(run("sandbox", "up", "-o", "json")[1])["bucket"] == "jobs"


def test_whether_the_sandbox_runs_is_told_and_in_the_exit_code(run: Run, fake: FakeSandbox):
    assert run("sandbox", "status")[0] == 6
    assert run("sandbox", "status", "-o", "json")[:2] == (6, '{\n  "running": false\n}\n')
    fake.info = sandbox_info()
    assert run("sandbox", "status")[:2] == (
        0,
        "The sandbox runs at http://127.0.0.1:4566/v1 (process 42, 60 times real speed).\n",
    )


def test_stopping_the_sandbox_tells_whether_it_ran(run: Run, fake: FakeSandbox):
    assert run("sandbox", "down")[:2] == (0, "No sandbox was running.\n")
    fake.info = sandbox_info()
    assert "state is kept" in run("sandbox", "down")[1]
    assert json.loads(run("sandbox", "down", "-o", "json")[1]) == {"wasRunning": True}


def test_the_demos_exit_code_is_passed_on(run: Run, fake: FakeSandbox):
    assert run("sandbox", "demo")[0] == 0
    fake.code = 1
    assert run("sandbox", "demo")[0] == 1


def test_the_sandboxs_own_errors_are_told_as_sentences(run: Run, fake: FakeSandbox):
    fake.error = FakeSandbox.SetupMissing("Run `make setup`.")
    assert run("sandbox", "up")[0] == 2
    fake.error = FakeSandbox.SandboxError("The port is taken.")
    code, _, err = run("sandbox", "up")
    assert (code, err) == (1, "headway: starting\nheadway: The port is taken.\n")


def test_the_real_sandbox_package_has_what_the_commands_need():
    assert issubclass(sandbox._load("errors").SetupMissing, sandbox._load("errors").SandboxError)
    for name in ("up", "down", "status"):
        assert callable(getattr(sandbox._load("manager"), name))


def test_errors_keep_what_the_command_line_does_not_know():
    with pytest.raises(UsageError):
        parser.build().parse_args(["nothing"])
