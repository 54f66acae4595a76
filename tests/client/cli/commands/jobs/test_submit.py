from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headway_client.cli.commands.jobs import submit, wait
from headway_client.http.api import HeadwayApi
from tests.client.command_line import SOURCES, Run, Write, answers
from tests.client.fakes.contract import request
from tests.client.fakes.server import ContractServer, Fault
from tests.client.terminal import Terminal


def test_a_submitted_request_is_reported_with_its_place(run: Run, request_file: Write, server: ContractServer):
    code, out, err = run("submit", request_file(request("job1")))

    assert (code, err) == (0, "")
    assert out == "job1 is pending (priority 0, place 1 in the queue): Waits for 1 ml.p5.48xlarge.\n"
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
    command = [sys.executable, "-m", "headway_client.cli.main", "submit", "-o", "json", path]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": SOURCES}, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=30)[0] for process in running]

    assert [process.returncode for process in running] == [0, 0]
    assert answers[0] == answers[1]
    assert list(server.queue.jobs) == ["job1"]
    assert len(server.received) == 2


# --------------------------------------------------------------------------------------------------- changed on the way


def test_times_are_given_on_the_command_line(run: Run, request_file: Write, server: ContractServer):
    tags = [{"Key": "headway:not-before", "Value": "2026-12-01T00:00Z"}]
    code, _, _ = run(
        "submit", "--not-before", "2999-12-01T08:00Z", "--start-by", "2999-12-02", "--after", "job0",
        request_file(request("job1", Tags=tags)),
    )  # fmt: skip
    assert code == 0
    assert server.queue.jobs["job1"]["request"]["Tags"] == [
        {"Key": "headway:not-before", "Value": "2999-12-01T08:00:00.000Z"},
        {"Key": "headway:start-by", "Value": "2999-12-02T00:00:00.000Z"},
    ]


def test_fields_name_and_priority_are_given_on_the_command_line(run: Run, request_file: Write, server: ContractServer):
    code, out, _ = run(
        "submit", request_file(request("job1")), "--name", "job2", "--priority", "4",
        "--set", "ResourceConfig.InstanceCount=2", "--set", "HyperParameters.lr=0.1", "--set", "Tags.team=nlp",
    )  # fmt: skip

    assert (code, out.split()[0]) == (0, "job2")
    submitted = server.queue.jobs["job2"]["request"]
    assert submitted["ResourceConfig"] == {**request()["ResourceConfig"], "InstanceCount": 2}
    assert submitted["HyperParameters"] == {"lr": "0.1"}
    assert submitted["Tags"] == [{"Key": "team", "Value": "nlp"}, {"Key": "priority", "Value": "4"}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "nothing"], "not key=value"),
        (["--set", "TrainingJobName.x=1"], "is preceded by a value, which has no fields"),
        (["--dry-run", "--wait"], "not allowed with"),
        (["--priority", "10000"], "whole number from 0 to 9999"),
    ],
)
def test_a_submission_with_invalid_arguments_sends_nothing(
    run: Run, request_file: Write, server: ContractServer, arguments: list[str], words: str
):
    code, out, err = run("submit", request_file(request()), *arguments)

    assert (code, out) == (2, "")
    assert words in err
    assert server.received == []


# ------------------------------------------------------------------------------------------------------- many at once


def lines(*documents: object) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


def test_many_requests_go_through_the_batch_endpoint(run: Run, tmp_path: Path, server: ContractServer):
    (tmp_path / "many.jsonl").write_text(lines(request("a"), request("b")))
    (tmp_path / "list.json").write_text(json.dumps([request("c")]))

    code, out, err = run("submit", str(tmp_path / "many.jsonl"), str(tmp_path / "list.json"), "--priority", "3")

    assert code == 0
    assert [received.target for received in server.received] == ["/v1/job-batches"]
    assert [line.split()[:3] for line in out.splitlines()[2:]] == [[name, "pending", "3"] for name in "abc"]
    assert err == "headway: 3 submitted, 0 not accepted.\n"


def test_refused_requests_of_a_batch_are_reported_by_name_and_exit_code(
    run: Run, tmp_path: Path, server: ContractServer
):
    path = tmp_path / "many.jsonl"
    server.queue.add("known")
    server.queue.add("taken")
    path.write_text(lines(request("new"), request("known"), request("taken", RoleArn="arn:b"), request("x" * 70)))

    code, out, err = run("submit", str(path))

    # 5: a conflict; 3: a refusal.
    assert code == 5
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["new", "known"]
    assert "headway: taken is in use by another request; choose another name.\n" in err
    assert f"headway: {'x' * 70}: The request is not valid.\n  TrainingJobName: has 70" in err
    assert err.endswith("headway: 1 submitted, 1 already in the queue, 2 not accepted.\n")
    code, out, err = run("submit", str(path), "-o", "json")
    assert (code, err) == (5, "")
    first, _, third, _ = json.loads(out)["results"]
    assert (first["created"], first["job"]["jobName"]) == (False, "new")
    assert (third["jobName"], third["error"]["code"]) == ("taken", "NameInUse")


def test_refused_requests_are_reported_with_wait_too(run: Run, tmp_path: Path, server: ContractServer):
    path = tmp_path / "many.jsonl"
    path.write_text(lines(request("a"), request("x" * 70)))
    server.queue.add("a", jobState="completed")

    code, out, err = run("submit", str(path), "--wait", "-o", "json")

    assert (code, json.loads(out)["jobName"]) == (3, "a")
    assert (json.loads(err)["jobName"], json.loads(err)["error"]["code"]) == ("x" * 70, "InvalidRequest")


def test_many_requests_on_a_terminal_have_a_progress_bar(endpoint_set: str, tmp_path: Path, server: ContractServer):
    path = tmp_path / "many.jsonl"
    path.write_text(lines(*(request(f"job{number}") for number in range(120))))

    terminal = Terminal("submit", str(path))

    assert terminal.close() == 0
    assert f"[{'#' * 25}.....] 100/120" in terminal.seen
    assert "120/120" in terminal.seen
    assert len(server.queue.jobs) == 120


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--name", "x"], "--name is for one request; there are 2"),
        (["-", "-"], "only once"),
    ],
)
def test_a_batch_with_invalid_arguments_sends_nothing(
    run: Run, tmp_path: Path, server: ContractServer, arguments: list[str], words: str
):
    path = tmp_path / "many.jsonl"
    path.write_text(lines(request("a"), request("b")))

    code, _, err = run("submit", str(path), *arguments)

    assert code == 2
    assert words in err
    assert server.received == []


def test_more_requests_than_a_command_takes_are_refused(
    run: Run, tmp_path: Path, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(submit, "MAX_REQUESTS", 1)
    path = tmp_path / "many.jsonl"
    path.write_text(lines(request("a"), request("b")))

    assert "2 requests are too many; a command takes up to 1." in run("submit", str(path))[2]
    assert server.received == []


# -------------------------------------------------------------------------------------------- tried out, waited for


def test_a_dry_run_prints_the_effect_and_submits_nothing(run: Run, request_file: Write, server: ContractServer):
    server.queue.foresight["dry-run"] = {
        "expectedStart": "2026-01-02T09:30:00.000Z",
        "preempts": ["job\x1b[2J0"],
        "releases": ["job\x1b[2J1", "job2"],
        "delays": [{"jobName": "job9", "before": None, "after": "2026-01-02T05:00:00.000Z"}],
    }

    code, out, err = run("submit", "--dry-run", request_file(request("job1")))

    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        "This was a dry run; nothing was submitted.",
        "job1 is pending (priority 0, place 1 in the queue): Waits for 1 ml.p5.48xlarge.",
        "Expected start: 2026-01-02 09:30:00 UTC (in 3 h).",
        "It would preempt job\\x1b[2J0.",
        "Warm pools that would be released for it: those of job\\x1b[2J1, job2.",
    ]
    assert out.splitlines()[-1].split() == ["job9", "-", "now"]
    assert server.queue.jobs == {}
    assert json.loads(run("submit", "--dry-run", request_file(request("job1")), "-o", "json")[1])["dryRun"] is True


def test_an_old_server_is_not_asked_for_a_dry_run(run: Run, request_file: Write, server: ContractServer):
    server.queue.server_version = None

    code, _, err = run("submit", "--dry-run", request_file(request("job1")))

    assert code == 10
    assert "older than this client" in err
    assert server.queue.jobs == {}


def test_a_submission_can_be_waited_for(
    run: Run, request_file: Write, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(wait, "_pause", lambda _: server.queue.jobs["job1"].update(jobState="failed"))

    code, out, err = run("submit", "--wait", request_file(request("job1")))

    assert code == 8
    assert out.startswith("job1 has failed")
    assert "place 1 in the queue" in err


# ------------------------------------------------------------------------------- refusals by reason, stops in between


def test_refusals_are_grouped_by_reason_with_their_lines(run: Run, tmp_path: Path, server: ContractServer):
    path = tmp_path / "many.jsonl"
    server.queue.add("taken1")
    server.queue.add("taken2")
    refused = [request("taken1", RoleArn="arn:b"), request("taken2", RoleArn="arn:b")]
    path.write_text(lines(refused[0], request("new"), request("x" * 70), refused[1]))

    code, _, err = run("submit", str(path))

    assert code == 5
    assert f"\n  {path}, line 1; {path}, line 4\n" in err
    assert f"\n  {path}, line 3\n" in err
    assert err.endswith("headway: 1 submitted, 3 not accepted.\n")


def test_requests_without_an_answer_are_not_reported_as_refused(run: Run, tmp_path: Path, server: ContractServer):
    path = tmp_path / "many.jsonl"
    path.write_text(lines(*(request(f"job{number}") for number in range(250))))
    # The second hundred is accepted, and no answer to it arrives.
    server.fail(None, *[Fault(drop=True, after=True)] * 4)

    _, _, err = run("submit", str(path))

    assert "headway: 100 submitted, 0 not accepted." in err
    assert "headway: 150 have no answer: some of them may have been accepted. Submit the same again" in err
    assert run("submit", str(path))[2].startswith("headway: 50 submitted, 200 already in the queue, 0 not accepted.")


def test_a_full_queue_ends_the_submission(run: Run, tmp_path: Path, server: ContractServer):
    path = tmp_path / "many.jsonl"
    path.write_text(lines(*(request(f"job{number}") for number in range(250))))
    full = {"status": 409, "error": {"code": "QueueFull", "message": "3 jobs wait.", "fields": []}, "requestId": None}
    server.fail(answers(200, results=[full] * 100))

    code, _, err = run("submit", str(path))

    assert code != 0
    assert [each.target for each in server.received] == ["/v1/job-batches"]
    assert "headway: 0 submitted, 250 not accepted." in err
    assert "The queue is full, so that no more requests were sent. Submit the same again" in err
    assert run("submit", str(path))[0] == 0
    assert len(server.queue.jobs) == 250


def test_an_interrupted_submission_says_how_many_are_accepted(
    run: Run, tmp_path: Path, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "many.jsonl"
    path.write_text(lines(*(request(f"job{number}") for number in range(120))))
    sent: list[object] = []
    send: Any = HeadwayApi._send_new

    def interrupt(*args: object, **named: object) -> object:
        sent.append(args)
        if len(sent) == 2:
            raise KeyboardInterrupt
        return send(*args, **named)

    monkeypatch.setattr(HeadwayApi, "_send_new", interrupt)

    code, _, err = run("submit", str(path))

    assert code == 130
    assert "interrupted; 100 of 120 requests are accepted so far" in err
    assert len(server.queue.jobs) == 100
