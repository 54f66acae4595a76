from __future__ import annotations

from pathlib import Path

import pytest

from headway_sandbox.errors import JournalFull
from headway_sandbox.journal.journal import Journal
from headway_sandbox.server import server


def test_a_server_whose_last_state_cannot_be_saved_says_why_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise JournalFull("free space")

    journal = Journal(tmp_path / "journal.db")
    with monkeypatch.context() as patched:
        patched.setattr(journal, "commit", fail)
        assert server._close(journal) == 1
    assert capsys.readouterr().err == "free space\n"
    again = Journal(tmp_path / "journal.db")
    assert server._close(again) == 0
    assert capsys.readouterr().err == ""
