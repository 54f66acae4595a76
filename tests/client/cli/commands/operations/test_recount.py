from __future__ import annotations

import json
from typing import Any

import pytest

from headway_client.cli.commands.operations.recount import MAX_NAMED
from headway_client.cli.exit_codes import EXIT_BUSY
from tests.client.command_line import Run
from tests.client.fakes import contract_usage


@pytest.mark.parametrize(
    ("count", "named"),
    [(1, "of 1 damaged job, left out here: j0."), (MAX_NAMED, f"j{MAX_NAMED - 1}."), (MAX_NAMED + 2, " and 2 more.")],
)
def test_damaged_jobs_are_named_and_are_in_the_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch, count: int, named: str
) -> None:
    names = [f"j{i}" for i in range(count)]

    def page(_: Any) -> dict[str, Any]:
        return {"compared": 50, "repaired": 2, "unreadable": names, "nextToken": None}

    monkeypatch.setattr(contract_usage, "recount", page)
    code, out, err = run("recount")
    assert code == EXIT_BUSY
    assert out == "50 ended jobs were compared with the sums of usage; 2 were added.\n"
    assert named in err
    assert json.loads(run("recount", "-o", "json")[1])["unreadable"] == names
