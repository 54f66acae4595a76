"""The columns of lists of jobs, and their order."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.cli import columns as options
from headway_client.cli.output import columns, times
from tests.client.command_line import Run
from tests.client.fakes.server import QUEUE_TIME, ContractServer

ENTERED = "2026-01-02T05:15:00.000Z"


@pytest.fixture
def jobs(server: ContractServer) -> None:
    server.queue.add("b", priority=2, entryTime=ENTERED, team="nlp")
    server.queue.add(
        "a", priority=2, jobState="running", entryTime="2026-01-02T03:30:00.000Z", limitSeconds=7200, attemptCount=1,
        startedTime="2026-01-02T06:00:00.000Z", demand={"ml.a": 12, "ml.b": 1},
    )  # fmt: skip
    server.queue.add("c", priority=5, held=True, entryTime="2026-01-01T03:00:00.000Z")


def names(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines()[2:]]


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("name", "abc"),
        ("-name", "cba"),
        ("-priority,name", "cab"),
        ("age", "bac"),
        ("-age", "cab"),
        ("instances", "bca"),
        ("-started", "abc"),
        ("started", "abc"),
        ("state,-name", "cba"),
        ("TEAM, name", "bac"),
    ],
)
def test_the_queue_is_sorted_by_columns_with_missing_values_last(run: Run, order: str, expected: str):
    assert names(run("ls", "--sort", order)[1]) == list(expected)
    shown = json.loads(run("queue", f"--sort={order}", "-o", "json")[1])
    assert [job["jobName"] for job in shown["jobs"]] == list(expected)


def test_the_instances_of_an_array_are_those_of_its_members_alone(run: Run, server: ContractServer):
    progress = {"count": 2, "atOnce": 1, "maxFailures": None, "unmade": 1, "completed": 0, "failed": 0, "stopped": 0}
    started = {"attemptCount": 1, "startedTime": "2026-01-02T06:00:00.000Z"}
    server.queue.add("a", jobState="running", array=progress, demand={"ml.a": 2}, startedTime=started["startedTime"])
    server.queue.add("m", jobState="running", demand={"ml.a": 2}, **started)
    rows = run("queue", "--columns", "name,instances,elapsed", "-o", "csv")[1].splitlines()[1:]
    assert sorted(rows) == ["a,,", "m,2,1800"]


def test_the_limit_is_that_of_the_request_and_a_preempted_job_does_not_run(run: Run, server: ContractServer):
    started = {"attemptCount": 1, "startedTime": "2026-01-02T06:00:00.000Z"}
    server.queue.add("a", jobState="preempted", maxRuntimeSeconds=7200, limitSeconds=9000, **started)
    server.queue.add("b", jobState="running", maxRuntimeSeconds=None, limitSeconds=9000, **started)
    columns = ("--columns", "name,limit,elapsed")
    assert [line.split() for line in run("queue", *columns, "-o", "csv")[1].splitlines()[1:]] == [
        ["a,7200,"],
        ["b,9000,1800"],
    ]
    table = run("queue", *columns)[1]
    assert re.search(r"2 h +-\n", table)
    assert "30 min of 2 h 30 min" in table


@pytest.mark.usefixtures("jobs")
def test_the_chosen_columns_are_shown_in_their_order(run: Run):
    assert run("queue", "-O", "elapsed,Name,limit,age,started")[1].splitlines() == [
        "Elapsed        Job Name  Limit  Age     Started",
        "-------------  --------  -----  ------  ----------",
        "-              b         -      75 min  -",
        "30 min of 2 h  a         2 h    3 h     30 min ago",
        "-              c         -      28 h    -",
    ]


def test_the_other_alternatives_of_a_job_have_a_column(server: ContractServer, run: Run):
    server.queue.add("plain")
    server.queue.add(
        "a", demand={"ml.b": 8}, choices=[{"ml.a": 1}, {"ml.b": 8}, {"ml.a.spot": 1, "ml.c": 2}], alternative=1
    )
    assert run("queue", "-O", "name,demand,otherwise", "--sort", "name")[1].splitlines()[2:] == [
        "a         8 ml.b            1 ml.a or 1 ml.a.spot, 2 ml.c",
        "plain     1 ml.p5.48xlarge  -",
    ]


@pytest.mark.usefixtures("jobs")
def test_csv_has_numbers_without_units_and_times_in_utc(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()

    chosen = "name,instances,age,elapsed,limit,entered"
    rows = list(csv.reader(io.StringIO(run("queue", "-O", chosen, "-o", "csv")[1])))

    assert rows[0] == ["Job Name", "Instances", "Age (s)", "Elapsed (s)", "Limit (s)", "Entered"]
    assert rows[1] == ["b", "1", "4500", "", "", ENTERED]
    assert rows[2][:5] == ["a", "13", "10800", "1800", "7200"]
    assert run("queue", "-O", "entered", "-o", "wide")[1].splitlines()[2] == "2026-01-02 06:15:00 CET"


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("Nowhere/Bad", "2026-01-02 05:15:00 UTC"),
        ("Europe/London", "2026-01-02 05:15:00 GMT"),
        ("CET-1", "2026-01-02 06:15:00 CET"),
        ("UTC", "2026-01-02 05:15:00 UTC"),
    ],
)
def test_a_time_zone_that_nobody_knows_is_not_named(monkeypatch: pytest.MonkeyPatch, zone: str, shown: str):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert times.local(ENTERED) == shown


@pytest.mark.parametrize("command", ["queue", "history", "capacity", "teams", "forecast"])
@pytest.mark.parametrize("length", [5, 20, 63])
def test_a_list_fits_80_columns(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch, command: str, length: int
):
    name = "pytorch-training-" + "x" * 46
    server.queue.add(name[:length])
    server.queue.add(
        f"z{name}"[:length], jobState="completed", attemptCount=10, instanceSeconds={"ml.a": 10**8},
        startedTime="2026-01-02T04:54:05.000Z", endedTime="2026-01-02T06:00:00.000Z",
    )  # fmt: skip
    server.queue.pauses["ml.p5.48xlarge"] = {
        "everything": False, "by": "user/ada", "since": ENTERED, "reason": "why", "stops": False,
    }  # fmt: skip
    monkeypatch.setenv("COLUMNS", "80")

    code, out, _ = run(command)

    assert code == 0
    # A name of one job in the queue is cut to 20 characters, the sentence beside it to 20.
    assert max(map(len, out.splitlines())) <= (85 if command == "queue" and length > 13 else 80)


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("states", "expected"), [(["held"], "c"), (["held", "running"], "ac"), (["held", "pending"], "bc")]
)
def test_held_jobs_are_chosen_like_a_state(run: Run, states: list[str], expected: str):
    arguments = [word for state in states for word in ("--state", state)]

    assert sorted(names(run("queue", *arguments)[1])) == list(expected)


def test_a_limit_counts_the_held_jobs_only(run: Run, server: ContractServer):
    for number in range(5):
        server.queue.add(f"waits{number}")
    for number in range(3):
        server.queue.add(f"held{number}", held=True)

    code, out, err = run("queue", "--state", "held", "--limit", "2")

    assert (code, names(out)) == (0, ["held0", "held1"])
    assert "first 2" in err


@pytest.mark.usefixtures("jobs")
def test_how_long_a_later_attempt_has_run_is_not_in_the_list(run: Run, server: ContractServer):
    server.queue.jobs["a"]["attemptCount"] = 2

    assert "30 min" not in run("queue", "-O", "elapsed")[1]


@pytest.fixture
def ended(server: ContractServer) -> None:
    for name, lost_s, cost, day in (("sweep-1", 60, 2.0, 3), ("other", 0, None, 2), ("sweep-2", 7200, 10.5, 1)):
        server.queue.add(
            name, jobState="completed", endedTime=f"2026-01-0{day}T06:00:00.000Z", lostSeconds=lost_s, cost=cost,
            currency="USD",
        )  # fmt: skip


SINCE = ("history", "--since", "2026-01-01")


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("name", ["other", "sweep-1", "sweep-2"]),
        ("-lost", ["sweep-2", "sweep-1", "other"]),
        ("cost", ["sweep-1", "sweep-2", "other"]),
        ("-cost", ["sweep-2", "sweep-1", "other"]),
        ("ended", ["sweep-2", "other", "sweep-1"]),
        ("state,-name", ["sweep-2", "sweep-1", "other"]),
    ],
)
def test_the_jobs_of_a_span_are_sorted_by_what_they_lost_and_cost(run: Run, order: str, expected: list[str]):
    assert names(run(*SINCE, f"--sort={order}", "-O", "name")[1]) == expected
    shown = json.loads(run(*SINCE, f"--sort={order}", "-o", "json")[1])
    assert [job["jobName"] for job in shown["jobs"]] == expected


@pytest.mark.usefixtures("ended")
def test_the_jobs_of_a_span_have_the_chosen_columns(run: Run):
    rows = list(csv.reader(io.StringIO(run(*SINCE, "-O", "cost,name,lost,wait", "-o", "csv")[1])))
    assert rows == [
        ["Cost (USD)", "Job Name", "Lost Instance Hours", "Wait (s)"],
        ["2.00", "sweep-1", "0.02", "90"],
        ["", "other", "0.00", "90"],
        ["10.50", "sweep-2", "2.00", "90"],
    ]


@pytest.mark.usefixtures("ended")
def test_each_column_of_a_span_has_a_header_and_a_cell(run: Run):
    columns = ",".join(options.ENDED_NAMES)
    rows = list(csv.reader(io.StringIO(run(*SINCE, "-O", columns, "--sort", columns, "-o", "csv")[1])))
    assert [len(row) for row in rows] == [len(options.ENDED_NAMES)] * 4
    assert len(set(rows[0])) == len(options.ENDED_NAMES)


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize(
    ("text", "limit", "expected", "more"),
    [
        ("sweep", 5, ["sweep-1", "sweep-2"], False),
        ("sweep", 2, ["sweep-1", "sweep-2"], False),
        ("sweep", 1, ["sweep-1"], True),
        ("Sweep", 5, [], False),
    ],
)
def test_the_jobs_of_a_span_are_filtered_by_their_names(
    run: Run, text: str, limit: int, expected: list[str], more: bool
):
    code, out, err = run(*SINCE, "--name", text, "--limit", str(limit), "-O", "name")
    assert (code, names(out)) == (0, expected)
    assert ("use --limit" in err) is more


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--since", "2026-01-01", "-O", "name,place"],
            "With --since there is no column 'place'; there are name, state",
        ),
        (["--since", "2026-01-01", "--sort=-age"], "With --since there is no column 'age'"),
        (["-O", "name,lost"], "Without --since there is no column 'lost'; there are name, state"),
        (["--sort", "-cost"], "Without --since there is no column 'cost'"),
        (["--since", "2026-01-01", "-O", "name", "-o", "json"], "--columns does not support --output json"),
    ],
)
def test_columns_that_a_listing_of_ended_jobs_lacks_are_refused(
    run: Run, server: ContractServer, words: list[str], says: str
):
    code, _, err = run("history", *words)
    assert (code, says in err, server.received) == (2, True, [])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-O", "nme"], "there is no column 'nme'; there are name, state"),
        (["-O", "-name"], "there is no column '-name'"),
        (["--sort", "--name"], "there is no column '-name'"),
        (["-O", "name", "-o", "json"], "--columns does not support --output json"),
    ],
)
@pytest.mark.parametrize("command", ["queue", "history"])
def test_wrong_columns_are_refused_before_any_request(
    run: Run, server: ContractServer, command: str, words: list[str], says: str
):
    code, _, err = run(command, *words)

    assert code == 2
    assert says in err
    assert server.received == []


def test_every_named_column_can_be_shown_and_no_other():
    assert set(options.NAMES) == set(columns._columns(wide=False))
    shown = {*columns.QUEUE, *columns.QUEUE_WIDE, *columns.HISTORY, *columns.HISTORY_WIDE}
    assert shown <= set(options.NAMES)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"), (59, "59 s"), (60, "1 min"), (61, "61 s"), (119, "119 s"), (120, "2 min"), (3600, "1 h"),
        (3661, "61 min"), (7140, "119 min"), (7199, "2 h"), (7200, "2 h"), (86_400, "1 d"), (100_000, "28 h"),
        (172_800, "2 d"),
    ],
)  # fmt: skip
def test_a_duration_has_one_unit(seconds: int, expected: str):
    assert times.length(seconds) == expected


@given(st.integers(0, 10**9))
def test_a_shown_duration_is_within_a_quarter_of_it(seconds: int):
    count, unit = times.length(seconds).split()
    shown = int(count) * {"s": 1, "min": 60, "h": 3600, "d": 86_400}[unit]

    assert abs(shown - seconds) <= seconds / 4


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-02T09:30:00.000Z", "in 3 h"),
        ("2026-01-02T06:30:00.000Z", "now"),
        ("2026-01-02T06:29:50.000Z", "10 s ago"),
        (None, "-"),
        ("soon", "soon"),
        ("2026-01-02T06:29:50", "2026-01-02T06:29:50"),
    ],
)
def test_a_time_is_relative_to_now(value: str | None, expected: str):
    assert times.relative(value) == expected


def test_ages_are_counted_from_the_queues_time(run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(times, "now_s", time.time)
    server.queue.add("job1")
    entry = datetime.fromisoformat(server.queue.jobs["job1"]["entryTime"])
    age_s = (datetime.fromisoformat(QUEUE_TIME) - entry).total_seconds()
    assert run("queue", "--columns", "age", "-o", "csv")[1].splitlines() == ["Age (s)", str(int(age_s))]
