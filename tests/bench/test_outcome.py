"""The end of a part is reported in words that show what to do."""

from __future__ import annotations

import pytest

from bench.outcome import Outcome, outcomes_table
from bench.part_process import TOO_LONG


@pytest.mark.parametrize(
    ("outcome", "failed", "told"),
    [
        (Outcome(code=0, said="done", took_s=3.2), False, "passed after 3 s"),
        (
            Outcome(code=1, said="the goal is missed", took_s=3),
            True,
            "FAILED after 3 s: exit code 1: the goal is missed",
        ),
        (Outcome(code=1), True, "FAILED after 0 s: exit code 1"),
        (Outcome(code=-9, took_s=1), True, "FAILED after 1 s: ended by SIGKILL"),
        (Outcome(code=TOO_LONG, took_s=60), True, "FAILED after 60 s: took too long, and was broken off"),
        (Outcome(code=2, skipped="no root"), False, "skipped after 0 s: no root"),
    ],
)
def test_an_outcome_says_how_it_ended_and_why(outcome, failed, told):
    assert outcome.failed is failed
    assert str(outcome) == told


def test_the_table_has_each_part_those_included_that_were_not_done():
    outcomes = {"help": Outcome(code=0, took_s=1.25), "kueue": Outcome(code=1, said="late", took_s=90)}
    assert outcomes_table(["help", "kueue", "slurm"], outcomes).splitlines() == [
        "part       seconds",
        "help           1.2  passed",
        "kueue         90.0  FAILED   exit code 1: late",
        "slurm               not done",
        "in all        91.2",
    ]
