from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from headway_client.cli.commands.jobs import wait
from tests.client.command_line import Run
from tests.client.fakes.contract import request
from tests.client.fakes.server import ContractServer


def test_a_job_is_shown_stopped_and_given_another_priority(run: Run, server: ContractServer):
    server.queue.add("job1")

    assert "Why       Waits for" in run("show", "job1")[1]
    assert json.loads(run("show", "job1", "-o", "json")[1])["request"] == request("job1")
    assert "(priority 9, place 1 in the queue)" in run("priority", "job1", "9")[1]
    assert run("stop", "job1")[1] == "job1 was stopped: Stopped by its owner.\n"
    assert json.loads(run("stop", "job1", "--output", "json")[1])["jobState"] == "stopped"


# ------------------------------------------------------------------------------------------------------ several at once


def test_jobs_are_stopped_with_a_reason(run: Run, server: ContractServer):
    for name in ("a", "b", "sweep-1", "sweep-2"):
        server.queue.add(name)

    sentences = ["b was stopped by its owner: wrong data", "a was stopped by its owner: wrong data"]
    assert run("stop", "a", "b", "--reason", "wrong data")[1].splitlines() == sentences
    run("stop", "--name", "sweep-*", "--reason", "cleanup", "--yes")
    assert [server.queue.jobs[name]["reason"]["message"] for name in ("sweep-1", "sweep-2")] == [
        "stopped by its owner: cleanup"
    ] * 2
    code, _, err = run("stop", "--rogue", "past", "--reason", "x")
    assert (code, err.startswith("headway: --reason is not available with --rogue")) == (2, True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7200), ("90m", 5400), ("1d12h", 129_600), ("1h30m15s", 5415), ("45s", 45), ("3600", 3600)],
)
def test_the_limit_of_jobs_is_changed(run: Run, server: ContractServer, text: str, seconds: int):
    server.queue.add("job1")
    server.queue.add("job2")

    assert run("change", "job1", "job2", "--limit", text)[0] == 0
    assert [job["limitSeconds"] for job in server.queue.jobs.values()] == [seconds, seconds]


@pytest.mark.parametrize("text", ["", "0", "0h", "h", "2x", "-1h", "1h30", "1m1h", "1.5h", "٣h", "2h ", "9" * 40])
def test_a_limit_that_is_no_duration_is_refused(run: Run, text: str):
    code, _, err = run("change", "job1", "--limit", text)

    assert (code, "is not a duration such as 90s, 30m, 2h, 1d or 1h30m" in err) == (2, True)


def test_a_change_of_nothing_is_wrong_usage(run: Run):
    assert run("change", "job1")[::2] == (2, "headway: Give --limit, --instances or both.\n")


def test_a_comment_is_shown_with_the_job_and_in_its_own_column(run: Run, server: ContractServer):
    server.queue.add("job1")
    server.queue.add("job2")

    assert "Comment" not in run("show", "job1")[1]
    assert run("comment", "job1", "job2", "new data")[0] == 0
    assert "\nComment   new data\n" in run("show", "job1")[1]
    assert [line.split(maxsplit=1)[1] for line in run("queue", "-O", "name,comment")[1].splitlines()[-2:]] == [
        "new data"
    ] * 2
    run("comment", "job1", "")
    assert [job["comment"] for job in server.queue.jobs.values()] == [None, "new data"]


def test_jobs_are_held_and_released(run: Run, server: ContractServer):
    server.queue.add("job1")
    server.queue.add("job2")

    assert run("hold", "job1")[:2] == (0, "job1 is pending (priority 0): is held until it is released\n")
    assert run("hold", "job1", "job2")[0] == 0
    assert [job["held"] for job in server.queue.jobs.values()] == [True, True]
    assert run("release", "job2")[1].startswith("job2 is pending (priority 0, place 1 in the queue)")
    assert [job["held"] for job in server.queue.jobs.values()] == [True, False]


def test_a_command_on_several_jobs_continues_and_returns_the_highest_exit_code(run: Run, server: ContractServer):
    server.queue.add("a")
    server.queue.add("done", jobState="completed")
    server.queue.add("b")

    code, out, err = run("stop", "a", "nobody", "done", "b")

    # 4: no such job; 5: a conflict.
    assert code == 5
    assert [line.split()[0] for line in out.splitlines()] == ["b", "a"]
    assert err == "headway: done has ended already.\nheadway: There is no job nobody.\n"
    code, out, err = run("stop", "a", "nobody", "-o", "json")
    assert (code, err) == (4, "")
    shown = json.loads(out)
    assert [job["jobName"] for job in shown["jobs"]] == ["a"]
    assert [(error["jobName"], error["error"]["code"]) for error in shown["errors"]] == [("nobody", "JobNotFound")]
    assert run("stop", "a", "b", "-o", "csv")[1].count("\r\n") == 3


def test_the_same_job_twice_is_one_and_too_many_are_refused(run: Run, server: ContractServer):
    server.queue.add("a")

    assert run("stop", "a", "a")[1].count("a was stopped") == 1
    assert len(server.received) == 1
    code, _, err = run("stop", *(f"job{number}" for number in range(101)))
    assert code == 2
    assert "101 jobs are too many; a command takes up to 100" in err.lower()


def test_rogue_training_jobs_are_stopped(run: Run, server: ContractServer):
    server.queue.bypass("past")
    server.queue.bypass("lost")

    sentence = "past is rogue (InProgress, to be stopped for user/ada): did not come through the queue\n"
    assert run("stop", "--rogue", "past")[:2] == (0, sentence)
    assert json.loads(run("stop", "past", "--rogue", "-o", "json")[1])["stopAskedBy"] == "user/ada"
    code, out, err = run("stop", "--rogue", "nobody", "lost")
    assert (code, err) == (4, "headway: The queue knows no live training job nobody.\n")
    assert out.startswith("lost is rogue (InProgress, to be stopped for user/ada)")
    code, out, _ = run("stop", "--rogue", "nobody", "lost", "-o", "json")
    assert (code, [each["trainingJobName"] for each in json.loads(out)["rogueJobs"]]) == (4, ["lost"])
    assert run("stop", "--rogue", "past", "lost", "-o", "csv")[1].count("\r\n") == 3


# -------------------------------------------------------------------------------------------------------------- waiting


@pytest.fixture
def after(server: ContractServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Apply the next change in each pause of a wait; the clock advances by the pauses."""

    def after(*changes: dict[str, Any]) -> list[float]:
        now = [0.0]
        coming = list(changes)
        pauses: list[float] = []

        def pause(seconds: float) -> None:
            now[0] += seconds
            pauses.append(seconds)
            if coming:
                for name, change in coming.pop(0).items():
                    server.queue.jobs[name].update(change)

        monkeypatch.setattr(wait, "_pause", pause)
        monkeypatch.setattr(wait, "_clock", lambda: now[0])
        return pauses

    return after


def test_waiting_prints_each_change_and_the_outcome(
    run: Run, server: ContractServer, after: Callable[..., list[float]]
):
    server.queue.add("job0")
    server.queue.add("job1")
    after({"job0": {"jobState": "running"}}, {}, {"job1": {"jobState": "running"}}, {"job1": {"jobState": "completed"}})

    code, out, err = run("wait", "job1")

    assert (code, out) == (0, "job1 has completed\n")
    told = err.splitlines()
    assert len(told) == 4
    for line, words in zip(
        told, ("place 2 in the queue", "place 1 in the queue", "is running", "completed"), strict=True
    ):
        assert line.startswith("headway: job1 ")
        assert words in line


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["completed", "completed"], 0),
        (["completed", "failed"], 8),
        (["stopped", "completed"], 8),
        (["failed", "running"], 9),
    ],
)
def test_the_exit_code_of_a_wait_is_that_of_the_worst_outcome(
    run: Run, server: ContractServer, after: Callable[..., list[float]], states: list[str], expected: int
):
    for number, state in enumerate(states):
        server.queue.add(f"job{number}", jobState=state)
    pauses = after()

    code, out, _ = run("wait", "job0", "job1", "--timeout", "12", "-o", "json")

    assert code == expected
    assert [job["jobState"] for job in json.loads(out)["jobs"]] == states
    assert sum(pauses) == (12 if "running" in states else 0)


def test_an_outage_when_the_wait_comes_to_the_next_job_is_tolerated(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    server.queue.add("job0", jobState="completed")
    server.queue.add("job1", jobState="completed")
    answer, failures = server.queue.answer, iter([True] * 4)

    def job1_fails_first(method: str, target: str, *args: Any, **more: Any) -> Any:
        if "job1" in target and next(failures, False):
            return 503, {"error": {"code": "Busy", "message": "busy"}}
        return answer(method, target, *args, **more)

    monkeypatch.setattr(server.queue, "answer", job1_fails_first)
    monkeypatch.setattr(wait, "_pause", lambda _: None)

    code, out, err = run("wait", "job0", "job1")

    assert (code, out) == (0, "job0 has completed\njob1 has completed\n")
    assert "does not respond; retrying" in err


def test_waiting_for_an_unknown_job_is_an_error(run: Run):
    assert run("wait", "nobody")[0] == 4


# ----------------------------------------------------------------------------------------------------------- connecting


REMOTE = {"RemoteDebugConfig": {"EnableRemoteDebug": True}}


def running(server: ContractServer, **changes: Any) -> dict[str, Any]:
    attempt = {
        "attemptName": "job1-r2", "number": 2, "attemptState": "live", "trainingJobStatus": "InProgress",
        "secondaryStatus": "Training", "startedTime": None, "endedTime": None, "failureReason": None, "reason": None,
    }  # fmt: skip
    job = server.queue.add("job1", jobState="running", liveAttempt="job1-r2", attempts=[attempt], **changes)
    job["request"] = job["request"] | REMOTE
    return job


def test_connecting_prints_the_command_for_the_live_attempt(run: Run, server: ContractServer):
    running(server, demand={"ml.a": 2, "ml.b": 1})
    command = "aws ssm start-session --target sagemaker-training-job:job1-r2_algo-{} --region eu-west-1"

    assert run("connect", "job1") == (0, command.format(1) + "\n", "")
    assert run("connect", "job1", "--host", "algo-3")[1] == command.format(3) + "\n"
    shown = json.loads(run("connect", "job1", "-o", "json")[1])
    assert shown == {"target": "sagemaker-training-job:job1-r2_algo-1", "command": command.format(1).split()}


def test_a_container_that_may_not_run_yet_is_reported(run: Run, server: ContractServer):
    running(server)["attempts"][0]["secondaryStatus"] = "Starting"

    code, out, err = run("connect", "job1")

    assert (code, out[:4]) == (0, "aws ")
    assert "SageMaker reports Starting of job1-r2" in err


@pytest.mark.parametrize(
    ("changes", "arguments", "expected", "words"),
    [
        ({"request": request()}, [], 5, "--set RemoteDebugConfig.EnableRemoteDebug=true"),
        ({"liveAttempt": None, "jobState": "pending"}, [], 5, "no training job to connect to now; it is pending"),
        ({}, ["--host", "algo-2"], 2, "it has algo-1 only"),
        ({}, ["--host", "algo-0"], 2, "not a host such as algo-1"),
        ({}, ["--host", "one"], 2, "not a host such as algo-1"),
    ],
)
def test_a_job_without_a_connection_has_the_reason(
    run: Run, server: ContractServer, changes: dict[str, Any], arguments: list[str], expected: int, words: str
):
    running(server).update(changes)

    code, out, err = run("connect", "job1", *arguments)

    assert (code, out) == (expected, "")
    assert words in err
