from __future__ import annotations

import json

import pytest

from headway_client.cli.commands.operations.actions import MAX_ACTIONS
from tests.client.command_line import Run
from tests.client.fakes.contract_actions import record
from tests.client.fakes.server import ContractServer

POOL = "ml.p5.48xlarge"


@pytest.fixture
def done(server: ContractServer) -> None:
    record(server.queue, "pause", "all pools", "the cooling is repaired")
    record(server.queue, "resume", "all pools")


@pytest.mark.usefixtures("done")
def test_what_operators_have_done_is_listed_with_the_newest_first(run: Run):
    code, out, err = run("actions")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["When", "Who", "Action", "Target", "Why"]
    assert [row[-4:] for row in rows[2:]] == [
        ["resume", "all", "pools", "-"],
        ["the", "cooling", "is", "repaired"],
    ]
    assert "10.0.0.7" not in out
    assert "10.0.0.7" in run("actions", "-o", "wide")[1]


def test_json_output_has_all_pages_up_to_the_limit(run: Run, server: ContractServer):
    for number in range(120):
        record(server.queue, "pause", f"pool-{number}")
    shown = json.loads(run("actions", "--limit", "110", "-o", "json")[1])["actions"]
    assert [each["target"] for each in shown] == [f"pool-{number}" for number in range(119, 9, -1)]


def test_what_somebody_unknown_has_done_says_so(run: Run, server: ContractServer):
    record(server.queue, "configure", "7")
    server.queue.actions[0]["by"] = ""
    assert "(not known)" in run("actions")[1]


@pytest.mark.parametrize("limit", ["0", str(MAX_ACTIONS + 1), "x"])
def test_a_limit_out_of_range_is_wrong_usage(run: Run, limit: str):
    assert run("actions", "--limit", limit)[0] == 2
