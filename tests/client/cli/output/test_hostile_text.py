"""Text of other users never controls a terminal, a log or a spreadsheet."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_client.cli import output as render
from headway_client.cli.command import CommonOptions
from headway_client.cli.commands.jobs import logs
from headway_client.cli.output.table import Table
from headway_client.http import error_mapping
from headway_client.job_sentences import progress_sentence
from headway_client.logs.reader import LogEvent
from headway_client.models import (
    Capacity,
    DeadLetters,
    DryRun,
    Explanation,
    Forecast,
    Job,
    JobDetails,
    Redrive,
    RogueJobs,
    WhatIf,
)
from headway_client.text import to_stderr

_REASON = {"code": "x", "message": "x", "jobs": ["x"]}
_POOL = {
    "pool": "x", "size": 1, "allocated": 1, "stopping": 0, "reserved": 0, "rogue": 0, "free": 0, "waiting": 1,
}  # fmt: skip
_JOB: dict[str, Any] = {
    "jobName": "x", "jobState": "x", "held": False, "priority": 1, "entryTime": "x", "demand": {"x": 1}, "team": "x",
    "owner": "x", "place": 1, "reason": _REASON, "attemptCount": 1, "liveAttempt": "x", "preemptions": 0,
    "startedTime": "x", "endedTime": "x", "instanceSeconds": {"x": 7}, "request": {"x": "x"},
    "attempts": [
        {
            "attemptName": "x", "number": 1, "attemptState": "x", "trainingJobStatus": "x", "secondaryStatus": "x",
            "startedTime": "x", "endedTime": "x", "failureReason": "x", "reason": _REASON,
        }
    ],
    "history": [{"time": "x", "jobState": "x", "reason": _REASON, "attemptName": "x"}],
    "watches": [{"watch": "x", "hosts": 1, "note": "x"}],
}  # fmt: skip
_SHIFT = {"jobName": "x", "before": "x", "after": "x"}
_AHEAD = {
    "jobName": "x", "jobState": "x", "priority": 1, "demand": {"x": 1}, "startedTime": "x", "expectedEnd": "x",
}  # fmt: skip
_ROGUE = {
    "trainingJobName": "x", "trainingJobStatus": "x", "demand": {"x": 1}, "charged": {"x": 1}, "team": "x",
    "createdTime": "x", "seenTime": "x", "reason": _REASON,
}  # fmt: skip
_LETTER = {
    "queue": "x", "id": "x", "sentTime": "x", "receiveCount": 1, "about": "x", "errorType": "x", "errorMessage": "x",
    "problem": "x",
}  # fmt: skip
_VERDICT = {"rule": "x", "applies": True, "violations": [{"field": "x", "message": "x"}]}

FEW = settings(max_examples=20)

# Control characters, bidirectional overrides, separators and starts of formulas, more often than by chance.
HOSTILE = st.text(
    st.sampled_from("\x1b[]0;m\x07\x9b\r\n\t\x00\x7f\x85\u2028\u202e\u2066\u200b=+-@'\"|, a") | st.characters()
)


def hostile(document: Any) -> st.SearchStrategy[Any]:
    """Generate documents of this shape, with any text in place of each string and key ``x``."""
    match document:
        case "x":
            return HOSTILE
        case {"x": inner}:
            return st.dictionaries(HOSTILE, hostile(inner), min_size=1, max_size=2)
        case dict():
            return st.fixed_dictionaries({name: hostile(inner) for name, inner in document.items()})
        case list():
            return st.lists(hostile(document[0]), min_size=1, max_size=2) if document else st.just([])
        case _:
            return st.just(document)


def _tables(*tables: Table) -> str:
    return "\n".join(table.text(width=width) for table in tables for width in (None, 40))


def _all_of_a_job(document: Any) -> str:
    details = JobDetails.from_document(document)
    job = details.job
    shown = [render.job_sheet(details), render.job_sentence(job), _tables(*_job_tables(details))]
    return "\n".join(shown)


def _job_tables(details: JobDetails) -> list[Table]:
    jobs = [details.job]
    return [make(jobs, wide=wide) for make in (render.job_rows, render.history_rows) for wide in (False, True)]


def _all_of_rogues(document: Any) -> str:
    return _tables(*(render.job_rows([], RogueJobs.from_document(document).jobs, wide=wide) for wide in (False, True)))


RENDERERS: dict[str, tuple[Any, Callable[[Any], str]]] = {
    "a job": (_JOB, _all_of_a_job),
    "rogue jobs": ({"rogueJobs": [_ROGUE], "more": False}, _all_of_rogues),
    "pools": ({"pools": [_POOL]}, lambda found: _tables(render.pool_rows(Capacity.from_document(found).pools))),
    "dead letters": (
        {"letters": [_LETTER], "more": False},
        lambda found: _tables(render.letter_rows(DeadLetters.from_document(found).letters, wide=True)),
    ),
    "a redrive": (
        {"redriven": 1, "dropped": 1, "failed": 0, "left": 0, "failures": []},
        lambda found: render.redrive_sentence(Redrive.from_document(found)),
    ),
    "an explanation": (
        {
            "jobName": "x", "jobState": "x", "held": False, "place": 1, "reason": _REASON, "expectedStart": "x",
            "expectedEnd": "x", "note": "x", "ahead": [_AHEAD], "more": 1, "pools": [_POOL], "remedy": "x",
            "predictedStart": {"about": "x", "from": "x", "until": "x"},
        },
        lambda found: render.explanation_sheet(Explanation.from_document(found)),
    ),
    "a forecast": (
        {
            "asOf": "x", "until": "x", "note": "x", "more": False,
            "jobs": [
                {
                    "jobName": "x", "jobState": "x", "held": False, "priority": 1, "place": 1, "demand": {"x": 1},
                    "expectedStart": "x", "predictedStart": {"about": "x", "from": "x", "until": "x"},
                }
            ],
        },
        lambda found: _tables(render.forecast_rows(Forecast.from_document(found))),
    ),
    "a dry run": (
        {
            "dryRun": True, "job": _JOB, "expectedStart": "x", "preempts": ["x"], "delays": [_SHIFT], "note": "x",
        },
        lambda found: render.dry_run_sheet(DryRun.from_document(found)),
    ),
    "a what-if": (
        {"starts": ["x"], "preempts": ["x"], "moved": [_SHIFT], "more": False, "note": "x"},
        lambda found: render.what_if_sheet(WhatIf.from_document(found)),
    ),
    "a rehearsal": (
        {"rules": [_VERDICT], "problems": [{"field": "x", "message": "x"}], "team": "x", "refused": True},
        render.rehearsal_sheet,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", RENDERERS)
@FEW
@given(data=st.data())
def test_no_output_has_a_control_character(kind: str, data: st.DataObject) -> None:
    document, shown = RENDERERS[kind]
    assert live_characters(shown(data.draw(hostile(document)))) == set()


@FEW
@given(hostile(_JOB))
def test_no_cell_of_a_csv_controls_anything_or_begins_a_formula(document: Any) -> None:
    for table in _job_tables(JobDetails.from_document(document)):
        text = table.csv()
        assert live_characters(text.replace("\r\n", "\n")) == set()
        for row in csv.reader(io.StringIO(text)):
            assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in row)


@FEW
@given(HOSTILE, HOSTILE, st.sampled_from([400, 403, 404, 409, 422, 429, 500, 503]))
def test_no_shown_error_has_a_control_character(message: str, field: str, status: int) -> None:
    fields = [{"field": field, "message": message}]
    for document in ({"error": {"code": field, "message": message, "fields": fields}}, {"message": message}):
        error = error_mapping.error_from_document("https://queue.example/v1", status, document, request_id=field)
        assert live_characters(str(error)) == set()


@FEW
@given(hostile(_JOB))
def test_no_notification_is_printed_raw(document: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stderr", written := io.StringIO())
        to_stderr(progress_sentence(Job.from_document(document)))
    assert live_characters(written.getvalue()) == set()


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "csv"])
@FEW
@given(message=HOSTILE)
def test_no_log_line_has_a_control_character(output: str, message: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", written := io.StringIO())
        show = logs._show(CommonOptions(output=output), name_hosts=True)
        show([LogEvent(time_ms=0, attempt=1, host=1, message=message)])
    assert live_characters(written.getvalue().replace("\r\n", "\n")) == set()


def live_characters(text: str) -> set[str]:
    """Return the characters, except line breaks, that move the cursor, or color, hide or reorder text."""
    return {each for each in text if unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n"}
