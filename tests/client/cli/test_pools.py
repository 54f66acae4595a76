from __future__ import annotations

import json

import pytest

from tests.client.command_line import Run, Write
from tests.client.server import ContractServer, Fault


def test_capacity_is_shown(run: Run, server: ContractServer):
    code, out, _ = run("capacity")

    assert code == 0
    assert out.splitlines()[0].split("  ")[0] == "Pool"
    pool = json.loads(run("capacity", "-o", "json")[1])["pools"][0]
    assert pool["size"] == sum(pool[part] for part in ("allocated", "reserved", "rogue", "free"))
    assert out.splitlines()[2].split() == [pool["pool"], "2", "1", "1", "0", "1", "0", "7"]
    server.queue.settings = {"pools": {}}
    assert "headway config set" in run("capacity")[1]


def test_a_shown_configuration_can_be_set_again(run: Run, request_file: Write, server: ContractServer):
    code, out, err = run("config", "show")

    assert (code, err) == (0, "headway: This is version 1.\n")
    assert run("config", "set", request_file(json.loads(out)))[0] == 0
    assert json.loads(run("config", "show", "-o", "json")[1])["version"] == 2
    code, _, err = run("config", "set", request_file({}))
    assert code == 3
    assert "pools: is missing." in err


def test_a_configuration_is_set_if_nothing_changed_since_it_was_shown(run: Run, request_file: Write):
    shown = request_file(json.loads(run("config", "show")[1]))
    assert run("config", "set", shown)[0] == 0
    code, _, err = run("config", "set", shown)
    assert code == 5
    assert "pools.ml.p5.48xlarge.size: 2 → 3" in err
    assert run("config", "set", shown, "--if-version", "2")[0] == 0
    assert run("config", "set", shown, "--force")[0] == 0


@pytest.mark.parametrize("options", [("--if-version", "x"), ("--if-version", "1", "--force")])
def test_a_version_is_a_number_and_is_not_given_where_it_does_not_matter(
    run: Run, request_file: Write, options: tuple[str, ...]
):
    assert run("config", "set", request_file({}), *options)[0] == 2


def test_a_configuration_that_can_not_be_used_says_why(run: Run, server: ContractServer):
    document = {"document": {}, "version": 0, "problem": "The parameter holds no JSON."}
    server.fail(Fault(status=200, body=json.dumps(document).encode()))

    assert run("config", "show")[1:] == (
        "{}\n",
        "headway: This is version 0.\nheadway: It is not valid: The parameter holds no JSON.\n",
    )
