"""The report on mutants: its table and its complaints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.mutants.report import Mutant, Reason, Status, changed, problems, table
from tests.mutants.run import MODULES, ROOT, main, read_reasons, status_of

DIFF = """--- src/headway_service/scheduling/tick.py
+++ src/headway_service/scheduling/tick.py
@@ -1,4 +1,4 @@
 def run(self):
-        if a < b:
+        if a <= b:
             return 1"""
CHANGE = "- if a < b:\n+ if a <= b:"

SURVIVOR = Mutant(module="tick", function="Ticker.run", status=Status.SURVIVED, diff=DIFF)
KILLED = Mutant(module="tick", function="Ticker.run", status=Status.KILLED)
REASON = Reason(module="tick", function="Ticker.run", diff=CHANGE, reason="a is never b")


def test_a_change_is_known_by_its_lines_wherever_they_stand() -> None:
    moved = DIFF.replace("@@ -1,4 +1,4 @@", "@@ -101,4 +101,4 @@").replace("        if", "    if")
    assert changed(DIFF) == changed(moved) == CHANGE


@pytest.mark.parametrize(
    ("reason", "complaints"),
    [
        (REASON, []),
        (Reason(module="tick", function="*", diff=CHANGE, reason="x"), []),
        (Reason(module="tick", function="Ticker.run", diff=f"\n  {CHANGE}\n", reason="x"), []),
        (Reason(module="tick", function="Ticker.stop", diff=CHANGE, reason="x"), ["no reason", "stale reason"]),
        (Reason(module="ledger", function="Ticker.run", diff=CHANGE, reason="x"), ["no reason", "stale reason"]),
        (
            Reason(module="tick", function="*", diff="- if a < c:\n+ if a <= c:", reason="x"),
            ["no reason", "stale reason"],
        ),
    ],
)
def test_a_survivor_needs_a_reason_and_a_reason_a_survivor(reason: Reason, complaints: list[str]) -> None:
    found = problems([SURVIVOR, KILLED], [reason])
    assert [each.partition(":")[0] for each in found] == complaints


def test_a_reason_is_not_stale_while_mutants_of_its_module_are_not_tried() -> None:
    untried = Mutant(module="tick", function="Ticker.run", status=Status.UNTRIED)
    assert problems([untried], [REASON]) == ["not finished: tick"]
    assert problems([KILLED], [REASON])[0].startswith("stale reason: tick Ticker.run: a is never b")


def test_each_of_two_survivors_of_one_function_needs_its_own_reason() -> None:
    other = Mutant(module="tick", function="Ticker.run", status=Status.SURVIVED, diff=DIFF.replace("<=", "=="))
    (complaint,) = problems([SURVIVOR, other], [REASON])
    assert complaint == "no reason: tick Ticker.run\n    - if a < b:\n    + if a == b:"


def test_a_line_around_the_change_tells_two_changes_of_one_function_apart() -> None:
    other = Mutant(
        module="tick", function="Ticker.run", status=Status.SURVIVED, diff=DIFF.replace("return 1", "return 2")
    )
    (complaint,) = problems([SURVIVOR, other], [REASON])
    assert complaint.startswith("ambiguous reason: tick Ticker.run: a is never b")
    around = [replace(REASON, diff=f"{CHANGE}\nreturn {number}") for number in (1, 2)]
    assert problems([SURVIVOR, other], around) == []
    assert problems([SURVIVOR], [replace(REASON, diff=f"def run(self):\n{CHANGE}")]) == []


def test_the_table_counts_by_module_and_lists_survivors_with_their_reasons() -> None:
    late = Mutant(module="ledger", function="read", status=Status.TIMED_OUT)
    lines = table([SURVIVOR, KILLED, KILLED, late], [REASON]).splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["module", "mutants", "killed", "by", "types", "timed", "out", "survived", "not", "tried", "no", "reason"],
        ["tick", "3", "2", "0", "0", "1", "0", "0"],
        ["ledger", "1", "0", "0", "1", "0", "0", "0"],
        ["all", "4", "2", "0", "1", "1", "0", "0"],
    ]
    assert lines[5:] == ["tick Ticker.run: a is never b", "    - if a < b:", "    + if a <= b:"]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (None, Status.UNTRIED),
        (2, Status.UNTRIED),
        (0, Status.SURVIVED),
        (33, Status.SURVIVED),
        (1, Status.KILLED),
        (3, Status.KILLED),
        (-11, Status.KILLED),
        (37, Status.UNTYPED),
        (36, Status.TIMED_OUT),
        (-9, Status.TIMED_OUT),
        (-24, Status.TIMED_OUT),
    ],
)
def test_what_mutmuts_exit_codes_mean(code: int | None, status: Status) -> None:
    assert status_of(code) is status


def test_every_module_and_every_file_of_tests_that_is_named_is_there() -> None:
    for target in MODULES.values():
        paths = [*(f"{target.package}/{module}" for module in target.modules), *target.tests, *target.without]
        assert [path for path in paths if not (ROOT / path).exists()] == []
        for path, name in (each.split("::") for each in target.deselected):
            assert f"def {name}(" in (ROOT / path).read_text()


def test_every_committed_reason_is_one_line_and_for_a_module_that_is_tried() -> None:
    for reason in read_reasons():
        assert reason.module in MODULES
        assert reason.reason
        assert "\n" not in reason.reason


def test_an_unknown_module_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "no such module: nothing; there are transitions" in capsys.readouterr().err
