"""Questions on a terminal are distinguished from other lines, and answered."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from headway_sandbox.errors import DeployFailed
from headway_verification.upgrade import prompt_driver

SCRIPT = """
print("Reading [all of it]: done")
first = input("\\t\\033[1mParameter Name\\033[0m [none]: ")
second = input("Sure? [y/N]: ")
print("got", repr(first), repr(second))
raise SystemExit(3)
"""


def test_questions_are_answered_by_prefix_or_with_enter(tmp_path: Path):
    result = prompt_driver.run_command(
        [sys.executable, "-c", SCRIPT], environment=dict(os.environ), folder=tmp_path, answers={"Sure?": "y"}
    )
    assert result.asked == [("Parameter Name [none]", ""), ("Sure? [y/N]", "y")]
    assert "got '' 'y'" in result.text
    assert result.status == 3


def test_a_command_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prompt_driver, "TIMEOUT_S", 0.5)
    with pytest.raises(DeployFailed, match=r"took more than 0\.5 s"):
        prompt_driver.run_command(["sleep", "60"], environment=dict(os.environ), folder=tmp_path, answers={})
