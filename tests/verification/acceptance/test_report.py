"""The report of a run says what was asked, what was answered, and what to change."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from headway_verification.acceptance.catalogue import CHECKS
from headway_verification.acceptance.report import Report, Result
from headway_verification.acceptance.run import judge
from headway_verification.acceptance.verdict import Check, Finding, Verdict, holds, is_false, unchecked
from tests.verification.acceptance.fakes import evidence

FIRST, SECOND, THIRD = CHECKS[:3]


def report(*findings: Finding, is_sandbox: bool = False) -> Report:
    return Report(
        began=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        where="headway in eu-west-1, account 123456789012",
        is_sandbox=is_sandbox,
        version="1.2.3",
        took_s=61.4,
        results=[Result(check=check, finding=each) for check, each in zip(CHECKS, findings, strict=False)],
    )


def test_the_table_has_each_check_with_question_answer_and_verdict() -> None:
    lines = report(holds("403 a|b\nc"), unchecked("no permission")).to_markdown().splitlines()
    assert lines[2] == "2026-01-02 03:04 UTC, Headway 1.2.3, 61 s: 1 holds, 0 does not hold, 1 could not be checked."
    assert lines[6] == f"| {FIRST.name} | {FIRST.service} | holds | {FIRST.asks} | 403 a\\|b c |"
    assert lines[7].endswith("| could not be checked | " + SECOND.asks + " | no permission |")


def test_what_does_not_hold_has_what_to_change() -> None:
    text = report(holds("403"), is_false("403 for all"), unchecked("why")).to_markdown()
    assert f"## {SECOND.name} does not hold" in text
    assert SECOND.if_false in text
    assert "403 for all" in text
    assert FIRST.if_false not in text
    assert THIRD.if_false not in text


def test_only_a_report_of_a_sandbox_says_that_it_proves_nothing() -> None:
    assert "it proves nothing of AWS" in report(is_sandbox=True).to_markdown()
    assert "proves nothing" not in report().to_markdown()


def test_both_files_are_named_by_the_time_of_the_run(tmp_path: Path) -> None:
    markdown, document = report(holds("403")).write(tmp_path / "a" / "b")
    assert (markdown.name, document.name) == ("2026-01-02T03-04-05.md", "2026-01-02T03-04-05.json")
    (check,) = json.loads(document.read_text())["checks"]
    assert (check["name"], check["verdict"], check["answer"]) == (FIRST.name, "holds", "403")


def test_what_a_sandbox_cannot_show_is_decided_on_aws_only() -> None:
    (check,) = [each for each in CHECKS if each.name == "metric-delay"]
    assert judge(check, evidence(), is_sandbox=False).verdict is Verdict.HOLDS
    assert judge(check, evidence(), is_sandbox=True) == unchecked("a sandbox cannot show it: its metrics come at once")


def test_each_check_says_what_it_assumes_and_asks_and_what_to_change() -> None:
    def is_complete(check: Check) -> bool:
        return check.assumes.endswith(".") and bool(check.asks) and check.if_false.endswith(".") and check.service != ""

    assert [check.name for check in CHECKS if not is_complete(check)] == []
