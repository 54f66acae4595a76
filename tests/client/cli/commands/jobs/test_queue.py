from __future__ import annotations

import csv
import io
import json
import re
import signal
from datetime import datetime, timedelta
from typing import Any

import pytest

from headway_client.cli.commands.jobs import queue
from tests.client.command_line import Run, answers
from tests.client.conftest import FAST
from tests.client.fakes.server import ContractServer
from tests.client.terminal import Terminal


def test_the_queue_is_shown_as_a_table(run: Run, server: ContractServer):
    assert run("queue") == (0, "No jobs.\n", "")
    server.queue.add("job1")
    server.queue.add("done", jobState="completed")

    code, out, _ = run("queue")

    assert code == 0
    assert out.splitlines()[0].split() == ["Job", "Name", "State", "Prio", "Owner", "Demand", "Age", "Why"]
    assert "job1" in out
    assert "done" not in out
    assert "Place" in run("queue", "-o", "wide")[1]


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


def test_a_truncated_queue_is_reported(run: Run, server: ContractServer):
    for name in "abc":
        server.queue.add(name)

    assert "first 2" in run("queue", "--limit", "2")[2]
    assert run("queue", "--limit", "3")[2] == ""


def test_rogue_jobs_are_listed_below_the_jobs_with_all(run: Run, server: ContractServer):
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
    assert "Only the first 1 training jobs" in run("queue", "--all")[2]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--mine"], ["a", "c"]),
        (["--team", "nlp"], ["a", "b"]),
        (["--owner", "arn:other", "--name", "b"], ["b"]),
        (["--name", "c", "--all"], ["c", "ended-c"]),
    ],
    ids=" ".join,
)
def test_the_queue_is_filtered_by_owner_team_and_name(
    run: Run, server: ContractServer, options: list[str], expected: list[str]
):
    server.queue.add("a", team="nlp")
    server.queue.add("b", team="nlp", owner="arn:other")
    server.queue.add("c")
    server.queue.add("ended-c", jobState="stopped")

    assert [job["jobName"] for job in json.loads(run("queue", "-o", "json", *options)[1])["jobs"]] == expected


def test_filters_that_the_server_ignores_are_an_error(run: Run, server: ContractServer):
    server.queue.server_version = None
    server.queue.add("a")

    code, out, err = run("queue", "--mine")

    assert (code, out) == (10, "")
    assert "older than this client" in err


def test_the_queue_as_csv_has_all_columns_and_no_formula(run: Run, server: ContractServer):
    server.queue.add("job1", reason={"code": "c", "message": '=cmd|" /C calc"!A0'})

    header, row = csv.reader(io.StringIO(run("queue", "-o", "csv")[1]))

    assert header == [
        *("Job Name", "State", "Priority", "Place", "Demand", "Instances", "Age (s)", "Elapsed (s)", "Limit (s)"),
        *("Entered", "Team", "Owner", "Attempt", "Why"),
    ]
    assert row[:5] == ["job1", "pending", "0", "1", "1 ml.p5.48xlarge"]
    assert row[-1] == '\'=cmd|" /C calc"!A0'


def test_a_held_job_is_shown_as_held(run: Run, server: ContractServer):
    server.queue.add("job1", held=True)

    assert run("queue")[1].splitlines()[2].split()[:3] == ["job1", "held", "0"]


# -------------------------------------------------------------------------------------------------- again and again


def test_watching_without_a_terminal_prints_one_block_after_another(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    server.queue.add("job1")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            server.queue.jobs["job1"]["jobState"] = "running"
            return
        raise KeyboardInterrupt

    monkeypatch.setattr(queue, "_pause", pause)

    code, out, err = run("queue", "--watch", "7")

    assert (code, err, pauses) == (130, "headway: interrupted; nothing was changed.\n", [7, 7])
    assert "\x1b" not in out
    assert [line.split()[1] for line in out.splitlines() if line.startswith("job1")] == ["pending", "running"]


def test_watching_survives_an_outage(run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(queue, "_pause", pause)
    server.fail(*[answers(503, error={"code": "Busy", "message": "Come back."})] * FAST.tries)

    code, out, err = run("queue", "--watch")

    assert (code, pauses) == (130, [queue.DEFAULT_WATCH_S] * 2)
    assert "retrying: Come back." in err
    assert "No jobs." in out


def test_watching_on_a_terminal_redraws_in_color_and_restores_it(endpoint_set: str, server: ContractServer):
    server.queue.add("job1", jobState="running")

    terminal = Terminal("queue", "--watch", "2")
    seen = terminal.read_until(lambda text: text.count("\x1b[H\x1b[J") == 2 and text.endswith("\r\n\r\n"))
    terminal.process.send_signal(signal.SIGINT)

    assert terminal.close() == 130
    assert "\x1b[32mrunning\x1b[0m" in seen
    assert "Traceback" not in terminal.seen
    assert terminal.seen.endswith("interrupted; nothing was changed.\r\n")


def test_no_color_disables_colors(endpoint_set: str, server: ContractServer):
    server.queue.add("job1", jobState="running")

    terminal = Terminal("queue", NO_COLOR="1")

    assert terminal.close() == 0
    assert "job1" in terminal.seen
    assert "\x1b" not in terminal.seen


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--watch", "1"], "whole number from 2 to 3600"),
        (["--watch", "-o", "json"], "--watch does not support --output"),
        (["--watch", "-o", "csv"], "--watch does not support --output"),
    ],
    ids=" ".join,
)
def test_watching_a_static_output_is_refused(run: Run, server: ContractServer, options: list[str], words: str):
    code, _, err = run("queue", *options)

    assert code == 2
    assert words in err
    assert server.received == []


# ---------------------------------------------------------------------------------------------------------- history


def test_the_history_has_times_and_use(run: Run, server: ContractServer):
    assert run("history") == (0, "No jobs.\n", "")
    server.queue.add("waits")
    server.queue.add(
        "done", jobState="completed", entryTime="2026-01-02T03:00:00.000Z", startedTime="2026-01-02T03:30:00.500Z",
        endedTime="2026-01-02T06:00:00.000Z", attemptCount=2, preemptions=1,
        instanceSeconds={"ml.b": 5400, "ml.a": 36},
    )  # fmt: skip
    server.queue.add("never", jobState="stopped", endedTime="2026-01-02T03:05:05.500Z")

    code, out, err = run("history")

    assert (code, err) == (0, "")
    header, _, done, never = (re.split(" {2,}", line) for line in out.splitlines())
    assert header == ["Job Name", "State", "Ended", "Wait", "Run", "Attempts", "Hours"]
    assert done == ["done", "completed", "30 min ago", "30 min", "2 h", "2", "1.51"]
    assert never[3:] == ["1 min", "-", "0", "-"]
    _, done, _ = csv.reader(io.StringIO(run("history", "-o", "csv")[1]))
    assert done[2:11] == [
        *("2026-01-02T03:00:00.000Z", "2026-01-02T03:30:00.500Z", "2026-01-02T06:00:00.000Z", "1800", "8999"),
        *("2", "1", "1.51", "0.01 ml.a, 1.50 ml.b"),
    ]
    assert "Owner" in run("history", "-o", "wide")[1]


def trace_of(out: str) -> list[dict[str, str]]:
    """The rows of an exported trace."""
    return list(csv.DictReader(io.StringIO(out)))


def test_the_history_is_exported_as_a_trace_without_names_and_owners(run: Run, server: ContractServer):
    server.queue.add(
        "late", jobState="completed", entryTime="2026-01-02T04:00:00.500Z", endedTime="2026-01-02T06:00:00.000Z",
        startedTime="2026-01-02T05:00:00.000Z",
        demand={"ml.p5.48xlarge.spot": 2}, instanceSeconds={"ml.p5.48xlarge.spot": 7200}, team="nlp", priority=3,
        limitSeconds=86400,
    )  # fmt: skip
    server.queue.add(
        "early", jobState="failed", entryTime="2026-01-02T03:00:00.000Z", endedTime="2026-01-02T03:30:00.200Z",
        startedTime="2026-01-02T03:27:30.000Z",
        demand={"ml.c7i.large": 4}, instanceSeconds={"ml.c7i.large": 600}, team=None, owner="arn:x", limitSeconds=None,
    )  # fmt: skip

    code, out, err = run("history", "-o", "trace")

    assert (code, err) == (0, "")
    early, late = trace_of(out)
    assert early == {
        "submit_s": "0.000", "duration_s": "150.000", "gpus": "4", "nodes": "4", "pool": "ml.c7i.large", "vc": "",
        "priority": "0", "limit_s": "",
    }  # fmt: skip
    assert late == {
        "submit_s": "3600.500", "duration_s": "3600.000", "gpus": "16", "nodes": "2", "pool": "ml.p5.48xlarge.spot",
        "vc": "nlp", "priority": "3", "limit_s": "86400",
    }  # fmt: skip


def test_a_trace_leaves_out_jobs_that_no_single_pool_ran_and_says_so(run: Run, server: ContractServer):
    one, two = {"ml.a": 1}, {"ml.a": 1, "ml.b": 1}
    ran = {"startedTime": "2026-01-02T04:00:00.000Z", "endedTime": "2026-01-02T04:00:09.000Z"}
    server.queue.add("never", jobState="stopped", demand=one, instanceSeconds={})
    server.queue.add("both", jobState="completed", demand=two, instanceSeconds={"ml.a": 9, "ml.b": 9}, **ran)
    server.queue.add("half", jobState="completed", demand=two, instanceSeconds={"ml.a": 9}, **ran)
    server.queue.add("changed", jobState="completed", demand=one, instanceSeconds={"ml.b": 9}, **ran)
    server.queue.add("one", jobState="completed", demand={"ml.b": 1}, instanceSeconds={"ml.b": 9}, **ran)

    code, out, err = run("history", "-o", "trace")

    assert (code, [row["pool"] for row in trace_of(out)]) == (0, ["ml.b"])
    assert "Left out: 4 jobs. A trace has jobs that held instances of one pool, the same number in each attempt." in err
    assert [each.target for each in server.received if "/jobs/" in each.target] == []


def attempt_of(number: int, *, nodes: int, begin_s: int, end_s: float | None) -> dict[str, Any]:
    """An attempt that has ended, as the API has it; without instances if it was never launched."""
    start = datetime.fromisoformat("2026-01-02T04:00:00.000Z")
    return {
        "attemptName": f"job-{number}", "number": number, "attemptState": "ended", "status": None,
        "trainingJobStatus": "Stopped", "secondaryStatus": None, "failureReason": None, "reason": None,
        "startedTime": (start + timedelta(seconds=begin_s)).isoformat(timespec="milliseconds"),
        "endedTime": end_s and (start + timedelta(seconds=end_s)).isoformat(timespec="milliseconds"),
        "demand": {"ml.a": nodes} if nodes else {},
    }  # fmt: skip


FIRST, SECOND = {"nodes": 2, "begin_s": 0, "end_s": 100}, {"nodes": 2, "begin_s": 500, "end_s": 800.6}


@pytest.mark.parametrize(
    ("attempts", "demanded", "held_s", "traced"),
    [
        pytest.param([FIRST, SECOND], 2, 801, ("400.500", "2"), id="preempted, and started again with as many"),
        pytest.param([FIRST, {**SECOND, "nodes": 8}], 8, 2604, None, id="changed between its attempts"),
        pytest.param([FIRST], 8, 200, ("100.000", "2"), id="changed after its only attempt, and withdrawn"),
        pytest.param([FIRST, {**SECOND, "nodes": 0}], 2, 200, ("100.000", "2"), id="its last attempt never launched"),
        pytest.param([SECOND], 2, 801, None, id="older attempts are not kept"),
        pytest.param([], 2, 0, None, id="no attempt is kept"),
        pytest.param([FIRST, {**SECOND, "end_s": None}], 2, 801, None, id="the end of an attempt is not known"),
    ],
)
def test_a_trace_has_the_number_of_instances_that_all_attempts_of_a_job_held(
    run: Run,
    server: ContractServer,
    attempts: list[dict[str, Any]],
    demanded: int,
    held_s: int,
    traced: tuple[str, str] | None,
):
    server.queue.add(
        "job", jobState="stopped", demand={"ml.a": demanded}, instanceSeconds={"ml.a": held_s}, attemptCount=2,
        startedTime="2026-01-02T04:00:00.000Z", endedTime="2026-01-02T05:00:00.000Z",
        attempts=[attempt_of(number, **each) for number, each in enumerate(attempts, 1)],
    )  # fmt: skip

    code, out, err = run("history", "-o", "trace")

    assert code == 0
    assert [(row["duration_s"], row["nodes"]) for row in trace_of(out)] == ([traced] if traced else [])
    assert ("Left out: 1 job." in err) == (traced is None)


def test_a_trace_leaves_out_a_job_that_is_forgotten_meanwhile(run: Run, server: ContractServer):
    server.queue.add(
        "job", jobState="stopped", demand={"ml.a": 1}, instanceSeconds={"ml.a": 5}, startedTime=None,
        endedTime="2026-01-02T05:00:00.000Z",
    )  # fmt: skip
    server.fail(None, answers(404, error={"code": "JobNotFound", "message": "gone", "fields": []}))

    code, out, err = run("history", "-o", "trace")

    assert (code, trace_of(out)) == (0, [])
    assert "Left out: 1 job." in err


def test_a_trace_has_the_jobs_that_ended_in_a_span_and_its_limit(run: Run, server: ContractServer):
    # As the API lists them: the newest first.
    for day in (3, 2, 1):
        server.queue.add(
            f"j{day}", jobState="completed", entryTime="2026-01-01T00:00:00.000Z", demand={"ml.a": 1}, priority=day,
            startedTime=f"2026-01-0{day}T11:59:51.000Z", endedTime=f"2026-01-0{day}T12:00:00.000Z",
            instanceSeconds={"ml.a": 9},
        )  # fmt: skip

    def exported(*options: str) -> list[str]:
        return [row["priority"] for row in trace_of(run("history", "-o", "trace", *options)[1])]

    assert exported() == ["1", "2", "3"]
    assert exported("--since", "2026-01-02") == ["2", "3"]
    assert exported("--until", "2026-01-03T12:00Z") == ["1", "2"]
    assert exported("--since", "2026-01-02", "--until", "2026-01-03") == ["2"]
    assert "more jobs than the newest 2: use --limit to export them" in run("history", "-o", "trace", "--limit", "2")[2]


@pytest.mark.parametrize("option", [("--sort", "age"), ("-O", "name")])
def test_the_columns_of_a_trace_are_fixed(run: Run, server: ContractServer, option: tuple[str, str]):
    code, _, err = run("history", "-o", "trace", *option)

    assert (code, server.received) == (2, [])
    assert "columns are fixed" in err


def test_other_commands_export_no_trace(run: Run):
    code, _, err = run("queue", "-o", "trace")

    assert code == 2
    assert "'trace' is not one of" in err


def test_the_history_is_filtered_and_limited(run: Run, server: ContractServer):
    for name, state in (("a", "completed"), ("b", "failed"), ("c", "failed"), ("d", "running")):
        server.queue.add(name, jobState=state)

    shown = json.loads(run("history", "-o", "json", "--state", "failed")[1])
    assert ([job["jobName"] for job in shown["jobs"]], shown["truncated"]) == (["b", "c"], False)
    assert "the newest 2" in run("history", "--limit", "2")[2]
    assert [job["jobName"] for job in json.loads(run("history", "-o", "json", "--name", "a")[1])["jobs"]] == ["a"]


def test_an_owner_is_chosen_by_the_whole_arn(run: Run, server: ContractServer):
    code, _, err = run("queue", "--owner", "ada")

    assert code == 2
    assert "'ada' is not an ARN; `headway queue -o wide` shows those of owners, and --mine selects your own jobs" in err
