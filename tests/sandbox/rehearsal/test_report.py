from __future__ import annotations

from dataclasses import replace

import pytest

from headway_sandbox.rehearsal.cases import Case, Disturbance
from headway_sandbox.rehearsal.judgement import Criteria, Judged, judge
from headway_sandbox.rehearsal.report import Report
from tests.sandbox.rehearsal.attempts import BASELINE, attempt, continued, preempted

CRITERIA = Criteria(folder="/opt/ml/checkpoints")
TERM = Case(disturbance=Disturbance.SIGTERM, at_s=10.0)
LOSS = Case(disturbance=Disturbance.LOST_IN_WRITE, at_s=10.0)


def judged(case: Case, *runs: object) -> Judged:
    before, after = runs
    return judge(case, before, after, baseline=BASELINE, criteria=CRITERIA)  # type: ignore[arg-type]


SURVIVES = judged(TERM, preempted(), continued())
BEGINS_AGAIN = judged(TERM, preempted(), continued(first_step=1))
HALF = judged(LOSS, preempted(written_in="state"), continued(trained=False, failure="F", first_step=None, metric=None))
ENDED_FIRST = judged(TERM, attempt(), None)


def report(*cases: Judged, metric: str = "loss") -> Report:
    return Report(seed=7, metric=metric, baseline=BASELINE, cases=cases)


@pytest.mark.parametrize(
    ("cases", "code", "summary"),
    [
        ([SURVIVES, SURVIVES], 0, "The script survives all 2 preemptions."),
        ([SURVIVES, BEGINS_AGAIN], 1, "The script does not survive 1 of 2 preemptions."),
        ([ENDED_FIRST, SURVIVES], 2, "1 of 2 preemptions could not be judged."),
        ([ENDED_FIRST, BEGINS_AGAIN], 1, "The script does not survive 1 of 2 preemptions."),
    ],
)
def test_the_exit_code_is_that_of_the_worst_case(cases: list[Judged], code: int, summary: str):
    found = report(*cases)
    assert (found.exit_code, found.notes[-1]) == (code, summary)
    assert found.document["survives"] == (code == 0)


def test_a_case_is_a_row():
    found = report(SURVIVES, BEGINS_AGAIN, HALF, ENDED_FIRST)
    assert found.headers == [
        "Preemption",
        "At",
        "Step",
        "Written",
        "Found",
        "Continued",
        "Lost",
        "Last",
        "loss",
        "Verdict",
    ]
    assert [" | ".join(row) for row in found.rows] == [
        "SIGTERM | 10.0 s | 50 | 5 files | 5 files | 46 | 5 | 100 | 0.25 | survives",
        "SIGTERM | 10.0 s | 50 | 5 files | 5 files | 1 | 50 | 100 | 0.25 | fails: began at the first step again",
        "lost in a write | 10.0 s | 50 | half of state | 5 files | - | - | 100 | - | fails: half-written checkpoint",
        "SIGTERM | - | 100 | 10 files | - | - | - | - | - | not judged: ended before the preemption",
    ]


def test_files_are_counted_in_words():
    one, none = (judged(TERM, preempted(uploaded=count), continued(restored=count)) for count in (1, 0))
    assert [row[3:5] for row in report(one, none).rows] == [["1 file", "1 file"], ["no", "no"]]


def test_without_a_metric_there_is_no_column_for_it():
    found = report(SURVIVES, metric="")
    assert "loss" not in found.headers
    assert [len(row) for row in found.rows] == [len(found.headers)]


def test_each_problem_is_explained_once():
    notes = report(BEGINS_AGAIN, replace(BEGINS_AGAIN, sentence="other"), HALF).notes
    assert notes[0] == "Undisturbed: steps 1 to 100 in 20.0 s, loss 0.25 and 0.25. Seed: 7."
    assert [note.partition(":")[0] for note in notes[1:-1]] == [
        "Began at the first step again",
        "Half-written checkpoint",
    ]
    assert "other" not in notes


def test_the_document_has_all_facts():
    document = report(SURVIVES, ENDED_FIRST).document
    assert document["undisturbed"] == {
        "runSeconds": 20.0, "firstStep": 1, "lastStep": 100, "metric": "loss", "metricValues": [0.25, 0.25]
    }  # fmt: skip
    survives, ended = document["cases"]
    assert survives == {
        "preemption": "SIGTERM", "preemptedAtSeconds": 10.0, "lastStepBefore": 50, "checkpointFilesWritten": 5,
        "halfWritten": None, "checkpointFilesFound": 5, "continuedAtStep": 46, "lostSteps": 5, "lastStep": 100,
        "metricValue": 0.25, "verdict": "survives", "problem": None, "remedy": None,
    }  # fmt: skip
    assert (ended["verdict"], ended["preemptedAtSeconds"], ended["continuedAtStep"]) == ("not judged", None, None)
    assert ended["remedy"]
