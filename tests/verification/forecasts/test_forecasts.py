"""The forecasts of `make forecasts`, a few of them: no job starts later than it was told."""

from __future__ import annotations

import pytest

from headway.forecasting import members
from headway_verification.forecasts.__main__ import main
from headway_verification.forecasts.random_queues import Late, examine


@pytest.mark.parametrize("seed", range(1, 9))
def test_no_job_behind_an_array_starts_later_than_it_was_told(seed: int) -> None:
    outcome = examine(seed)
    assert [str(late) for late in outcome.late] == []


def test_most_of_the_starts_that_are_told_come_at_that_moment() -> None:
    outcomes = [examine(seed) for seed in range(1, 5)]
    assert sum(each.forecasts for each in outcomes) > 10
    assert sum(each.exact for each in outcomes) > 0.9 * sum(each.starts for each in outcomes) > 0


def test_forecasts_without_the_members_to_come_are_seen_to_be_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(members.MembersToCome, "enter", lambda *_: [])
    assert main(["--count", "10", "--seed", "1"]) == 1
    assert "was told" in capsys.readouterr().out


def test_a_late_job_is_shown_with_its_queue() -> None:
    late = Late(7, "job-1", 0, 3_600_000, 9_000_000)
    assert str(late) == "seed 7: job-1 was told 1.0 h and started after 2.5 h"
    assert str(Late(7, "job-1", 0, 3_600_000, None)).endswith("never started")
