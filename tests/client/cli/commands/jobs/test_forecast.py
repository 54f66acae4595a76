from __future__ import annotations

import json
from typing import Any

import pytest

from tests.client.command_line import Run, Write
from tests.client.fakes.contract import request
from tests.client.fakes.server import ContractServer

AHEAD = {
    "jobName": "job0", "jobState": "running", "priority": 5, "demand": {"ml.p5.48xlarge": 1},
    "startedTime": "2026-01-02T03:00:00.000Z", "expectedEnd": "2026-01-02T05:00:00.000Z",
    "owner": "arn:aws:iam::123456789012:user/ada",
}  # fmt: skip


def test_the_explanation_of_a_waiting_job_is_complete(run: Run, server: ContractServer):
    server.queue.add("job1")
    server.queue.foresight["job1"] = {
        "expectedStart": "2026-01-02T05:00:00.000Z", "ahead": [AHEAD], "more": 3, "remedy": "Ask for\x1b[2J less.",
    }  # fmt: skip

    code, out, err = run("why", "job1")

    assert (code, err) == (0, "")
    head, ahead, pools = out.split("\n\n")
    assert head.splitlines() == [
        "Job Name  job1",
        "State     pending",
        "Place     1",
        "Why       Waits for 1 ml.p5.48xlarge.",
        "Starts    2026-01-02 05:00:00 UTC (now)",
        "Assumed   Each job runs until its limit.",
        "To do     Ask for\\x1b[2J less.",
    ]
    assert ahead.splitlines()[3].split() == [
        "job0", "running", "5", "ada", "4", "h", "ago", "now", "1", "ml.p5.48xlarge",
    ]  # fmt: skip
    assert ahead.splitlines()[-1] == "and 3 more"
    assert pools.splitlines()[0] == "Pools"
    assert json.loads(run("why", "job1", "-o", "json")[1])["more"] == 3


def test_what_the_team_used_lately_is_told_where_it_counts(run: Run, server: ContractServer):
    server.queue.add("job1")
    server.queue.foresight["job1"] = {"turn": "team `a` used 61% of what all teams used lately"}

    _, out, _ = run("why", "job1")

    assert "\nTurn      team `a` used 61% of what all teams used lately\n" in out


def test_an_ended_job_has_a_short_explanation(run: Run, server: ContractServer):
    server.queue.add("job1", jobState="completed")
    server.queue.foresight["job1"] = {"pools": []}

    assert run("why", "job1")[1] == (
        "Job Name  job1\nState     completed\nWhy       Waits for 1 ml.p5.48xlarge.\n"
        "Assumed   Each job runs until its limit.\n"
    )
    assert run("why", "nobody")[0] == 4


def test_starts_are_forecast(run: Run, server: ContractServer):
    assert run("forecast") == (0, "No jobs are waiting.\n", "")
    server.queue.add("a", held=True)
    server.queue.add("b")
    server.queue.foresight["b"] = {"expectedStart": "2026-01-02T09:30:00.000Z"}

    code, out, err = run("forecast")

    assert code == 0
    assert [line.split() for line in out.splitlines()[2:]] == [
        ["a", "held", "-", "0", "1", "ml.p5.48xlarge", "-"],
        ["b", "pending", "1", "0", "1", "ml.p5.48xlarge", "in", "3", "h"],
    ]
    assert err == "headway: Each job runs until its limit.\n"
    assert "more jobs than the first 1" in run("forecast", "--limit", "1")[2].lower()
    assert run("forecast", "b", "-o", "csv")[1].splitlines()[1].startswith("b,pending,1,0,")
    assert run("forecast", "-o", "wide")[1].endswith("2026-01-02 09:30:00 UTC\n")
    assert run("forecast", "-o", "csv")[1].splitlines()[-1].endswith(",2026-01-02T09:30:00.000Z")
    assert run("forecast", "nobody")[0] == 4
    server.queue.add("c", jobState="running")
    assert run("forecast", "c") == (0, "c is not waiting.\n", "")


LIKELY = {
    "about": "2026-01-02T07:30:00.000Z",
    "from": "2026-01-02T07:00:00.000Z",
    "until": "2026-01-02T08:30:00.000Z",
}


def test_likely_starts_are_shown_beside_the_expected_ones_if_any_is_predicted(run: Run, server: ContractServer):
    server.queue.add("a", held=True)
    server.queue.add("b")
    server.queue.foresight["b"] = {"expectedStart": "2026-01-02T09:30:00.000Z", "predictedStart": LIKELY}

    out = run("forecast")[1].splitlines()

    assert [part.strip() for part in out[0].split("  ") if part][-3:] == ["Likely Start", "From", "Until"]
    assert [line.split()[6:] for line in out[2:]] == [
        ["-", "-", "-", "-"],
        ["in", "3", "h", "in", "1", "h", "in", "30", "min", "in", "2", "h"],
    ]
    assert run("forecast", "-o", "csv")[1].splitlines()[-1].endswith(",".join(["", *LIKELY.values()]))


def test_an_explanation_says_when_a_job_is_likely_to_start(run: Run, server: ContractServer):
    server.queue.add("b")
    server.queue.foresight["b"] = {"pools": [], "predictedStart": LIKELY}

    about, between = "about 2026-01-02 07:30:00 UTC (in 1 h)", "2026-01-02 07:00:00 UTC and 2026-01-02 08:30:00 UTC"
    assert f"Likely    {about}, between {between}" in run("why", "b")[1].splitlines()
    server.queue.add("c", jobState="running")
    server.queue.foresight["c"] = {"pools": [], "predictedEnd": LIKELY}
    assert f"Likely    {about}, between {between}" in run("why", "c")[1].splitlines()


def test_an_explanation_says_what_is_expected_of_the_run_time(run: Run, server: ContractServer):
    server.queue.add("b")
    server.queue.foresight["b"] = {"pools": [], "expectedRun": {"seconds": 900, "runs": 3}}
    lines = run("why", "b")[1].splitlines()
    assert "Expected  15 min, by 3 earlier jobs" in lines
    server.queue.add("c")
    server.queue.foresight["c"] = {"pools": []}
    assert "Expected" not in run("why", "c")[1]


def test_a_shown_job_has_its_likely_start_or_end_if_run_times_are_predicted(run: Run, server: ContractServer):
    between = "between 2026-01-02 07:00:00 UTC and 2026-01-02 08:30:00 UTC"
    likely = f"Likely    about 2026-01-02 07:30:00 UTC (in 1 h), {between}"
    server.queue.add("b", predictable=True)
    server.queue.foresight["b"] = {"pools": [], "expectedStart": "2026-01-02T09:30:00.000Z", "predictedStart": LIKELY}
    lines = run("show", "b")[1].splitlines()
    assert lines[lines.index(likely) - 1] == "Starts    2026-01-02 09:30:00 UTC (in 3 h)"
    server.queue.add("c", jobState="running", predictable=True)
    server.queue.foresight["c"] = {"pools": [], "expectedEnd": "2026-01-02T09:30:00.000Z", "predictedEnd": LIKELY}
    lines = run("show", "c")[1].splitlines()
    assert lines[lines.index(likely) - 1] == "Ends by   2026-01-02 09:30:00 UTC (in 3 h)"


def test_no_forecast_is_made_for_a_shown_job_that_cannot_be_predicted(run: Run, server: ContractServer):
    server.queue.add("b")
    run("show", "b")
    run("show", "b", "-o", "json")
    assert not [each for each in server.received if "explanation" in each.target]


def test_a_job_is_shown_though_what_is_likely_cannot_be_read(run: Run, server: ContractServer):
    server.queue.add("b", predictable=True)
    server.queue.foresight["b"] = {"pools": "none"}
    code, out, _ = run("show", "b")
    assert (code, "Likely" in out, "Job Name  b" in out.splitlines()) == (0, False, True)


def test_changes_are_simulated_in_the_given_order(run: Run, request_file: Write, server: ContractServer):
    path = request_file(request("new"))
    server.queue.foresight["what-if"] = {
        "starts": ["new", "b"], "moved": [{"jobName": "c", "before": "2026-01-02T09:30:00.000Z", "after": None}],
    }  # fmt: skip

    code, out, err = run(
        "what-if", "--pool", "ml.a=3", "--submit", path, "--priority", "b=9", "--withdraw", "a", "--pool", "ml.b=0"
    )

    assert (code, err) == (0, "")
    assert json.loads(server.received[0].body) == {
        "changes": [
            {"change": "resize", "pool": "ml.a", "size": 3},
            {"change": "submit", "request": request("new")},
            {"change": "reprioritise", "jobName": "b", "priority": 9},
            {"change": "withdraw", "jobName": "a"},
            {"change": "resize", "pool": "ml.b", "size": 0},
        ]
    }
    assert out.splitlines()[:4] == [
        "Nothing was changed. With these changes,",
        "- new, b would start at once,",
        "- no job would be preempted.",
        "Each job runs until its limit.",
    ]
    assert out.splitlines()[-1].split() == ["c", "in", "3", "h", "-"]
    assert json.loads(run("what-if", "--withdraw", "a", "-o", "json")[1])["starts"] == ["new", "b"]
    server.queue.foresight["what-if"] = {"releases": ["d", "e"]}
    assert run("what-if", "--withdraw", "a")[1].splitlines()[3] == "- the warm pools of d, e would be released."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "There are 0 changes; give 1 to 10"),
        (["--withdraw", "a"] * 11, "There are 11 changes"),
        (["--priority", "a"], "expected NAME=N"),
        (["--priority", "a=10000"], "whole number from 0 to 9999"),
        (["--pool", "=3"], "expected POOL=N"),
        (["--pool", "ml.a=x"], "is not a whole number"),
        (["--submit", "/nowhere"], "can't be read"),
        (["--withdraw", "a", "-o", "csv"], "use --output json"),
    ],
)
def test_invalid_changes_are_refused(run: Run, server: ContractServer, arguments: list[str], words: str):
    code, out, err = run("what-if", *arguments)

    assert (code, out) == (2, "")
    assert words in err
    assert server.received == []


@pytest.mark.parametrize("arguments", [["why", "a"], ["forecast"], ["what-if", "--withdraw", "a"], ["hold", "a"]])
def test_an_old_server_is_reported(run: Run, server: ContractServer, arguments: list[Any]):
    server.queue.server_version = None
    server.queue.add("a")

    code, _, err = run(*arguments)

    assert code == 10
    assert "older than this client" in err
