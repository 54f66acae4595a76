from __future__ import annotations

import re
from typing import Any

import pytest

from headway_client.cli import output
from headway_client.cli.output import times
from headway_client.models import Capacity, DryRun, Explanation, Forecast, Job, JobDetails, RogueJob, WhatIf
from tests.client.fakes.contract import Queue


def make_job(name: str = "job1", **changes: Any) -> Job:
    return Job.from_document(details_document(name, **changes))


def details_document(name: str = "job1", **changes: Any) -> dict[str, Any]:
    queue = Queue()
    queue.add(name)
    document = queue.answer("GET", f"/jobs/{name}", b"")[1]
    return {**document, **changes}


def test_the_queue_is_a_table_of_name_state_priority_owner_demand_age_and_why():
    jobs = [make_job("job2", jobState="running", priority=12, reason={"code": "c", "message": "Runs."}), make_job()]

    assert output.jobs_table(jobs).splitlines() == [
        "Job Name  State    Prio  Owner  Demand            Age  Why",
        "--------  -------  ----  -----  ----------------  ---  ---------------------------",
        "job2      running  12    ada    1 ml.p5.48xlarge  3 h  Runs.",
        "job1      pending  0     ada    1 ml.p5.48xlarge  3 h  Waits for 1 ml.p5.48xlarge.",
    ]


def test_a_table_says_why_in_a_few_words_and_csv_and_the_wide_table_in_a_sentence():
    reason = {"code": "WouldDelay", "message": "would delay `big`, a job ahead of it", "jobs": ["big"]}
    rows = output.job_rows([make_job(reason=reason)])

    assert rows.text().endswith("would delay big")
    row = rows.csv().splitlines()[1]
    assert ",arn:aws:sts::123456789012:assumed-role/researcher/ada," in row
    assert row.endswith(',"would delay `big`, a job ahead of it"')
    assert output.jobs_table([make_job(reason=reason)], wide=True).endswith("would delay `big`, a job ahead of it")


def test_a_narrow_terminal_has_no_column_for_the_age():
    (header, *_), (wider, *_) = (output.jobs_table([make_job()], width=width).splitlines() for width in (60, 100))

    assert header.split() == ["Job", "Name", "State", "Prio", "Owner", "Demand", "Why"]
    assert "Age" in wider


def test_the_wide_table_adds_place_entry_owner_and_attempt():
    job = make_job(demand={"ml.b": 2, "ml.a": 1}, owner=None, liveAttempt="job1-r2")

    header, _, row = output.jobs_table([job], wide=True).splitlines()

    assert header.split("  ")[0] == "Job Name"
    for words in ("1 ml.a, 2 ml.b", "2026-01-02 03:04:05 UTC", "job1-r2"):
        assert words in row


@pytest.mark.parametrize("name", ["007", "1e5", "0x1", "nan", "1-2"])
def test_names_that_look_like_numbers_are_unchanged(name: str):
    job = Job.from_document({**details_document(), "jobName": name})

    assert output.jobs_table([job]).splitlines()[2].split()[0] == name


@pytest.mark.parametrize(("width", "longest"), [(80, 80), (90, 90), (20, 77), (None, 261)])
def test_only_the_last_column_is_cut_to_the_terminals_width(width: int | None, longest: int):
    job = make_job("name-of-a-job", reason={"code": "c", "message": "why " * 50 + "!"})

    lines = output.jobs_table([job], width=width).splitlines()

    assert "name-of-a-job" in lines[2]
    assert longest - 2 <= len(lines[2].rstrip()) <= longest
    assert ("…" in lines[2]) is (width is not None)


def test_no_text_of_other_users_reaches_the_terminal_raw():
    evil = "\x1b[2J\x1b]0;owned\x07\u202e\nnext"
    reason = {"code": "c", "message": evil}
    attempt = {
        "attemptName": evil, "number": 1, "attemptState": evil, "trainingJobStatus": evil, "secondaryStatus": evil,
        "startedTime": evil, "endedTime": evil, "failureReason": evil, "reason": reason,
    }  # fmt: skip
    document = details_document(
        jobName=evil, jobState=evil, owner=evil, reason=reason, demand={evil: 1}, entryTime=evil, endedTime=evil,
        liveAttempt=evil, attempts=[attempt],
        history=[{"time": evil, "jobState": evil, "reason": reason, "attemptName": evil}],
    )  # fmt: skip
    job = Job.from_document(document)
    pool = {"pool": evil, "size": 1, "allocated": 0, "stopping": 0, "reserved": 0, "rogue": 0, "free": 1, "waiting": 0}

    rogue = {
        "trainingJobName": evil, "trainingJobStatus": evil, "demand": {evil: 1}, "charged": {}, "team": evil,
        "createdTime": evil, "seenTime": evil, "reason": reason,
    }  # fmt: skip

    shift = {"jobName": evil, "before": evil, "after": None}
    foresight = {"starts": [evil], "preempts": [evil], "delays": [shift], "moved": [shift], "note": evil}
    ahead = {
        "jobName": evil, "jobState": evil, "priority": 1, "demand": {evil: 1}, "startedTime": evil, "expectedEnd": evil,
        "expectedStart": evil,
    }  # fmt: skip
    explanation = {
        "jobName": evil, "jobState": evil, "held": True, "place": 1, "reason": reason, "expectedStart": evil,
        "expectedEnd": evil, "note": evil, "ahead": [ahead], "more": 1, "pools": [pool], "remedy": evil,
        "predictedStart": {"about": evil, "from": evil, "until": evil},
        "predictedEnd": {"about": evil, "from": evil, "until": evil},
    }  # fmt: skip

    for text in (
        output.jobs_table([job], wide=True),
        output.job_sheet(JobDetails.from_document(document)),
        output.job_sentence(job),
        output.jobs_table([], [RogueJob.from_document(rogue)], wide=True),
        output.pool_rows(Capacity.from_document({"pools": [pool]}).pools).text(),
        output.history_rows([job], wide=True).text(colour=False),
        output.dry_run_sheet(DryRun.from_document({**foresight, "job": document, "expectedStart": evil})),
        output.what_if_sheet(WhatIf.from_document(foresight)),
        output.explanation_sheet(Explanation.from_document(explanation)),
        output.forecast_rows(
            Forecast.from_document(
                {
                    **foresight,
                    "asOf": evil,
                    "jobs": [{**ahead, "place": 1, "predictedStart": explanation["predictedStart"]}],
                }
            )
        ).text(),
    ):
        assert not any(character < " " or character in "\x7f\x9b\u202e" for character in text.replace("\n", ""))
        assert "\nnext" not in text


def test_a_job_is_shown_with_the_names_of_withheld_parts():
    withheld = JobDetails.from_document(details_document(withheld=["Environment", "HyperParameters"]))
    assert "Withheld  Environment and HyperParameters of the request" in output.job_sheet(withheld).splitlines()
    for document in (details_document(withheld=[]), details_document()):
        assert "Withheld" not in output.job_sheet(JobDetails.from_document(document))


def test_a_jobs_sheet_has_the_elapsed_time_of_its_live_attempt_of_the_limit():
    attempt = {
        "attemptName": "job1-r2", "number": 2, "attemptState": "live", "trainingJobStatus": "InProgress",
        "secondaryStatus": "Training", "startedTime": "2026-01-02T06:00:00.000Z", "endedTime": None,
        "failureReason": None, "reason": None,
    }  # fmt: skip
    document = details_document(liveAttempt="job1-r2", limitSeconds=7200, attempts=[attempt])

    assert "Elapsed   30 min of 2 h" in output.job_sheet(JobDetails.from_document(document)).splitlines()
    waits = output.job_sheet(JobDetails.from_document({**document, "liveAttempt": None}))
    assert "Limit     2 h" in waits.splitlines()


@pytest.mark.parametrize(
    ("own", "said", "shown"),
    [
        ("failed: AlgorithmError: exit code 1", "AlgorithmError: exit code 1", "failed: AlgorithmError: exit code 1"),
        ("retried in 1 min", "InternalServerError", "retried in 1 min InternalServerError"),
        ("preempted", None, "preempted"),
        (None, "AlgorithmError", "AlgorithmError"),
        (None, None, "-"),
    ],
)
def test_why_an_attempt_has_ended_is_said_once(own: str | None, said: str | None, shown: str) -> None:
    attempt = {
        "attemptName": "job1", "number": 1, "attemptState": "ended", "trainingJobStatus": "Failed",
        "secondaryStatus": "Failed", "startedTime": None, "endedTime": None, "failureReason": said,
        "reason": own and {"code": "FAILED", "message": own, "jobs": []},
    }  # fmt: skip
    sheet = output.job_sheet(JobDetails.from_document(details_document(attempts=[attempt])))
    (row,) = [line for line in sheet.splitlines() if line.startswith("1 ")]
    assert re.split(" {2,}", row)[-1] == shown


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        ({"maxRuntimeSeconds": 3600, "limitSeconds": 5400}, "1 h (holds its instances for 90 min at most)"),
        ({"maxRuntimeSeconds": 7200, "limitSeconds": 9000}, "2 h (holds its instances for 2 h 30 min at most)"),
        ({"maxRuntimeSeconds": 86400, "limitSeconds": 88200}, "1 d (holds its instances for 24 h 30 min at most)"),
        ({"maxRuntimeSeconds": 3600, "limitSeconds": None}, "1 h"),
        ({"maxRuntimeSeconds": None, "limitSeconds": 5400}, "90 min"),
        ({"maxRuntimeSeconds": None, "limitSeconds": None}, "-"),
    ],
)
def test_a_limit_is_shown_as_the_request_has_it_with_what_it_may_hold(limits: dict[str, Any], shown: str):
    assert f"Limit     {shown}" in output.job_sheet(JobDetails.from_document(details_document(**limits))).splitlines()


def test_the_last_checkpoint_of_the_live_attempt_is_shown_if_it_was_seen():
    attempt = {
        "attemptName": "job1", "number": 1, "attemptState": "live", "trainingJobStatus": "InProgress",
        "secondaryStatus": "Training", "startedTime": "2026-01-02T06:00:00.000Z", "endedTime": None,
        "failureReason": None, "reason": None, "checkpointTime": (written := "2026-01-02T06:20:00.000Z"),
    }  # fmt: skip
    document = details_document(liveAttempt="job1", attempts=[attempt])

    lines = output.job_sheet(JobDetails.from_document(document)).splitlines()
    assert f"Checkpoint {times.both(written)}, as seen in S3" in lines
    assert "State      pending" in lines
    for unseen in ({**document, "liveAttempt": None}, {**document, "attempts": [{**attempt, "checkpointTime": None}]}):
        sheet = output.job_sheet(JobDetails.from_document(unseen))
        assert "Checkpoint" not in sheet
        assert "State     pending" in sheet


def test_what_is_expected_of_a_run_time_is_shown_beside_the_limit_if_the_order_compares_it():
    document = details_document(limitSeconds=36_000, expectedRun={"seconds": 7230, "runs": 14})
    lines = output.job_sheet(JobDetails.from_document(document)).splitlines()
    at = lines.index("Limit     10 h")
    assert lines[at + 1] == "Expected  2 h, by 14 earlier jobs"
    for without in (details_document(expectedRun=None), details_document()):
        assert "Expected" not in output.job_sheet(JobDetails.from_document(without))


def test_the_instances_of_attempts_are_shown_if_the_server_names_them():
    attempt = {
        "attemptName": "job1", "number": 1, "attemptState": "ended", "trainingJobStatus": "Stopped",
        "secondaryStatus": None, "startedTime": None, "endedTime": None, "failureReason": None, "reason": None,
    }  # fmt: skip
    old = output.job_sheet(JobDetails.from_document(details_document(attempts=[attempt])))
    assert "SageMaker  Started" in old
    named = details_document(attempts=[{**attempt, "demand": {"ml.g5.xlarge": 2}}, attempt])
    lines = output.job_sheet(JobDetails.from_document(named)).splitlines()
    assert [line.split()[4:6] for line in lines if line.startswith("1 ")] == [["2", "ml.g5.xlarge"], ["-", "-"]]


@pytest.mark.parametrize(
    ("unpriced", "left_out"), [({}, ""), ({"ml.x": 3600}, ", without 1.00 instance hours of unknown price")]
)
def test_a_job_is_shown_with_its_cost_if_it_is_known(unpriced: dict[str, int], left_out: str):
    priced = details_document(cost=12.5, currency="USD", unpricedSeconds=unpriced)
    lines = output.job_sheet(JobDetails.from_document(priced)).splitlines()
    assert f"Cost      12.50 USD for ended attempts{left_out}" in lines
    assert "Cost" not in output.job_sheet(JobDetails.from_document(details_document()))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, []), (1800, ["Lost      0.50 instance hours, 1.50 USD of the cost"])],
)
def test_a_job_is_shown_with_what_it_has_lost(seconds: int, shown: list[str]):
    details = details_document(lostSeconds=seconds, lostCost=1.5, currency="USD")
    sheet = output.job_sheet(JobDetails.from_document(details))
    assert [line for line in sheet.splitlines() if line.startswith("Lost")] == shown


def test_a_job_is_shown_with_its_attempts_and_history_in_order():
    entered = {"code": "Entered", "message": "Accepted."}
    preempted = {"code": "Preempted", "message": "Made room for job9."}
    document = details_document(
        attempts=[
            {
                "attemptName": "job1", "number": 1, "attemptState": "ended", "trainingJobStatus": "Stopped",
                "secondaryStatus": "Stopped", "startedTime": "2026-01-02T03:04:06.000Z",
                "endedTime": "2026-01-02T03:05:06.000Z", "failureReason": None, "reason": preempted,
            },
            {
                "attemptName": "job1-r2", "number": 2, "attemptState": "live", "trainingJobStatus": "InProgress",
                "secondaryStatus": "Training", "startedTime": "2026-01-02T03:06:06.000Z", "endedTime": None,
                "failureReason": None, "reason": None,
            },
        ],
        history=[
            {"time": "2026-01-02T03:04:05.000Z", "jobState": "pending", "reason": entered, "attemptName": None},
            {
                "time": "2026-01-02T03:05:06.000Z", "jobState": "preempted", "reason": preempted,
                "attemptName": "job1",
            },
        ],
        startedTime="2026-01-02T03:04:06.000Z", preemptions=1, instanceSeconds={"ml.b": 60, "ml.a": 9000},
        watches=[{"watch": "idle", "hosts": 2, "note": None}, {"watch": "low", "hosts": 0, "note": "It has no GPU."}],
    )  # fmt: skip

    assert output.job_sheet(JobDetails.from_document(document)).splitlines() == [
        "Job Name  job1",
        "State     pending",
        "Why       Waits for 1 ml.p5.48xlarge.",
        "Priority  0",
        "Place     1",
        "Demand    1 ml.p5.48xlarge",
        "Team      -",
        "Owner     arn:aws:sts::123456789012:assumed-role/researcher/ada",
        "Entered   2026-01-02 03:04:05 UTC (3 h ago)",
        "Started   2026-01-02 03:04:06 UTC (3 h ago)",
        "Ended     -",
        "Limit     -",
        "Preempted 1 time",
        "Used      2.50 ml.a, 0.02 ml.b (instance-hours)",
        "",
        "Attempts",
        "#  Training Job  State  SageMaker  Started  Ended    Why",
        "-  ------------  -----  ---------  -------  -------  -------------------",
        "1  job1          ended  Stopped    3 h ago  3 h ago  Made room for job9.",
        "2  job1-r2       live   Training   3 h ago  -        -",
        "",
        "Watches",
        "Watch  Hosts  Not Monitored",
        "-----  -----  --------------",
        "idle   2      -",
        "low    0      It has no GPU.",
        "",
        "History",
        "Time                     State      Training Job  Why",
        "-----------------------  ---------  ------------  -------------------",
        "2026-01-02 03:04:05 UTC  pending    -             Accepted.",
        "2026-01-02 03:05:06 UTC  preempted  job1          Made room for job9.",
    ]


def test_the_width_is_that_of_the_terminal_or_of_columns(monkeypatch: pytest.MonkeyPatch):
    assert output.output_width() is None
    monkeypatch.setenv("COLUMNS", "77")
    assert output.output_width() == 77


def test_pools_have_a_column_for_warm_instances_while_there_are_any():
    pool = {"pool": "p", "size": 2, "allocated": 0, "stopping": 0, "reserved": 0, "rogue": 0, "free": 0, "waiting": 0}
    kept, none = (
        output.pool_rows(Capacity.from_document({"pools": [{**pool, "pause": None, "warm": warm}]}).pools).text()
        for warm in (2, 0)
    )
    assert kept.splitlines()[0].split()[-1] == "Warm"
    assert kept.splitlines()[-1].split()[-1] == "2"
    assert "Warm" not in none


def test_pools_say_below_what_is_kept_of_them_for_whom_and_when():
    pool = {
        "pool": "p", "size": 4, "allocated": 0, "stopping": 0, "reserved": 0, "rogue": 0, "free": 4, "waiting": 0,
        "pause": None,
        "bookings": [
            {"name": "guarantee of a", "instances": 2, "kept": 2, "team": "a"},
            {
                "name": "night", "instances": 3, "kept": 1, "team": None, "tag": "project=thesis", "weekly": True,
                "begin": "2026-01-02T18:00:00.000Z", "end": "2026-01-03T06:00:00.000Z",
            },
        ],
    }  # fmt: skip
    shown = output.pool_rows(Capacity.from_document({"pools": [pool]}).pools).text().splitlines()
    assert shown[-2:] == [
        "p: guarantee of a keeps 2 of 2 for team a.",
        "p: night keeps 1 of 3 for tag project=thesis (2026-01-02 18:00:00 UTC to 2026-01-03 06:00:00 UTC, each week).",
    ]
