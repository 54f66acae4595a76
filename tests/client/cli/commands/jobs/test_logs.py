from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from headway_client.cli.commands.jobs import logs
from headway_client.config.profile import Connection
from headway_client.logs import streams
from tests.client.command_line import Run, answers
from tests.client.conftest import FAST
from tests.client.fakes.log_store import LogStore
from tests.client.fakes.server import ContractServer


def attempt(number: int, name: str, *, ended: str | None = None) -> dict[str, Any]:
    return {
        "attemptName": name, "number": number, "attemptState": "live" if ended is None else "ended",
        "trainingJobStatus": "InProgress" if ended is None else "Stopped", "secondaryStatus": None,
        "startedTime": "2026-01-02T03:04:06.000Z", "endedTime": ended, "failureReason": None, "reason": None,
    }  # fmt: skip


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> LogStore:
    """CloudWatch Logs."""
    made = LogStore()
    monkeypatch.setattr(Connection, "aws_client", lambda _, service: {"logs": made}[service])
    return made


@pytest.fixture
def written(server: ContractServer, store: LogStore) -> LogStore:
    """Write the logs of a job on two hosts in its second attempt."""
    server.queue.add(
        "job1", jobState="running", demand={"ml.a": 2}, liveAttempt="job1-r2",
        attempts=[attempt(1, "job1", ended="2026-01-02T04:00:00.000Z"), attempt(2, "job1-r2")],
    )  # fmt: skip
    store.write("job1/algo-1-1", 1_767_326_646_000, "one")
    store.write("job1/algo-2-1", 1_767_326_646_001, "two\x1b[2J")
    store.write("job1-r2/algo-1-1", 1_767_326_647_500, "=three")
    return store


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["algo-1 | one", "algo-2 | two\\x1b[2J", "algo-1 | =three"]),
        (["--host", "algo-2"], ["two\\x1b[2J"]),
        (["--tail", "1"], ["algo-1 | =three"]),
        (["--tail", "1", "--host", "algo-2"], ["two\\x1b[2J"]),
        (["--tail", "0"], []),
        (["-o", "wide", "--tail", "1"], ["2026-01-02T04:04:07.500Z 2 algo-1 | =three"]),
    ],
)
def test_the_logs_of_all_attempts_and_hosts_are_shown(
    run: Run, written: LogStore, arguments: list[str], expected: list[str]
):
    assert run("logs", "job1", *arguments) == (0, "".join(f"{line}\n" for line in expected), "")


@pytest.mark.parametrize("options", [[], ["--follow"]])
def test_the_logs_of_a_host_that_does_not_exist_are_refused_with_the_hosts(
    run: Run, written: LogStore, options: list[str]
):
    code, out, err = run("logs", "job1", "--host", "algo-3", *options)

    assert (code, out) == (2, "")
    assert err == "headway: job1 has no host algo-3; it has algo-1 to algo-2.\n"


@pytest.mark.usefixtures("written")
def test_programs_get_logs_as_json_lines_or_csv(run: Run):
    out = run("logs", "job1", "-o", "json")[1]

    assert [json.loads(line) for line in out.splitlines()][2] == {
        "time": "2026-01-02T04:04:07.500Z", "attempt": 2, "host": "algo-1", "message": "=three",
    }  # fmt: skip
    rows = list(csv.reader(io.StringIO(run("logs", "job1", "-o", "csv")[1])))
    assert rows[0] == ["Time", "Attempt", "Host", "Message"]
    assert rows[3] == ["2026-01-02T04:04:07.500Z", "2", "algo-1", "'=three"]


@pytest.mark.usefixtures("store")
def test_a_job_without_logs_is_reported_with_its_state(run: Run, server: ContractServer):
    server.queue.add("job1")

    code, out, err = run("logs", "job1")

    assert (code, out) == (0, "")
    assert err == "headway: job1 has no logs yet; it is pending: Waits for 1 ml.p5.48xlarge.\n"
    assert run("logs", "nobody")[0] == 4


@pytest.fixture
def at_each_pause(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Apply the next change in each pause of `headway logs --follow`."""

    def at_each_pause(*steps: Callable[[], object]) -> list[float]:
        coming = list(steps)
        now = [0.0]

        def pause(seconds: float) -> None:
            now[0] += seconds
            coming.pop(0)()

        monkeypatch.setattr(logs, "_pause", pause)
        monkeypatch.setattr(logs, "_clock", lambda: now[0])
        return now

    return at_each_pause


def test_following_continues_over_attempts_until_the_end(
    run: Run,
    server: ContractServer,
    store: LogStore,
    at_each_pause: Callable[..., list[float]],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(streams, "FRESH_S", 0.0)
    job = server.queue.add("job1")

    def start() -> None:
        job.update(jobState="running", liveAttempt="job1", attempts=[attempt(1, "job1")])
        store.write("job1/algo-1-1", 1000, "one")

    def preempt() -> None:
        job.update(jobState="preempted", liveAttempt=None)

    def end() -> None:
        job.update(jobState="completed", attempts=[attempt(1, "job1"), attempt(2, "job1-r2")])

    def write_late() -> None:
        store.write("job1-r2/algo-1-1", 2000, "late")

    at_each_pause(start, preempt, end, lambda: None, write_late, lambda: None)

    code, out, err = run("logs", "job1", "--follow")

    assert (code, out) == (0, "one\nlate\n")
    told = err.splitlines()
    assert len(told) == 4
    for line, words in zip(told, ("place 1", "runs as job1", "preempted", "completed"), strict=True):
        assert words in line


def test_following_survives_a_short_outage(
    run: Run, server: ContractServer, written: LogStore, at_each_pause: Callable[..., list[float]]
):
    def interrupt() -> None:
        raise KeyboardInterrupt

    busy = answers(503, error={"code": "Busy", "message": "Come back."})
    at_each_pause(lambda: server.fail(*[busy] * FAST.tries), lambda: None, interrupt)

    code, out, err = run("logs", "job1", "-f", "--tail", "1")

    assert (code, out) == (130, "algo-1 | =three\n")
    assert "interrupted; the job continues; `headway logs --follow job1`" in err
    assert "retrying: Come back." in err


def test_following_ends_after_a_long_outage(
    run: Run, server: ContractServer, written: LogStore, at_each_pause: Callable[..., list[float]]
):
    busy = answers(503, error={"code": "Busy", "message": "Come back."})
    now = at_each_pause(*[lambda: server.fail(*[busy] * FAST.tries)] * 1000)

    code, _, err = run("logs", "job1", "-f")

    assert code == 7
    assert err.endswith("headway: Come back.\n")
    assert 900 < now[0] < 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "one"], "not a host such as algo-1"),
        (["--tail", "-1"], "whole number"),
        (["--tail", "x"], "whole number"),
    ],
)
def test_invalid_arguments_of_logs_are_wrong_usage(run: Run, arguments: list[str], words: str):
    code, out, err = run("logs", "job1", *arguments)

    assert (code, out) == (2, "")
    assert words in err
