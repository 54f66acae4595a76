"""A failed audit never counts as a clean one."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from deploy import audit

CLEAN = {"name": "six", "version": "1.17.0", "vulns": []}
FLAWED = {"name": "six", "version": "1.17.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.18.0"]}]}
SKIPPED = {"name": "six", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("dependencies", "status"),
    [
        ([CLEAN], 0),
        ([CLEAN, FLAWED], 1),
        ([SKIPPED, FLAWED], 1),
        ([CLEAN, SKIPPED], audit.UNKNOWN),
        ([], audit.UNKNOWN),
    ],
)
def test_the_exit_code_distinguishes_clean_vulnerable_and_unknown(
    dependencies: list[dict[str, Any]], status: int
) -> None:
    assert audit.report(dependencies) == status


def test_a_vulnerability_is_reported_with_the_version_that_fixes_it(capsys: pytest.CaptureFixture[str]) -> None:
    audit.report([FLAWED])
    assert "six 1.17.0: PYSEC-1, fixed in 1.18.0" in capsys.readouterr().out


def test_a_database_that_does_not_respond_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[-2:] == ["--requirement", "pins.txt"]
        return subprocess.CompletedProcess(command, 1, stdout="", stderr="ERROR: connection refused\n")

    monkeypatch.setattr(subprocess, "run", unreachable)
    assert audit.main(["pins.txt"]) == audit.UNKNOWN
    assert "could not be read (ERROR: connection refused)" in capsys.readouterr().err
