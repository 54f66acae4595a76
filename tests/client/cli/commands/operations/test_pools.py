from __future__ import annotations

import json

import pytest

from tests.client.command_line import Run, Write
from tests.client.fakes.server import ContractServer, Fault


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


# ------------------------------------------------------------------------------------------- changes of a configuration

POOL = "ml.p5.48xlarge"


def test_a_configuration_that_is_set_shows_each_change(run: Run, request_file: Write):
    path = request_file({"pools": {POOL: {"size": 5}, "ml.g5.xlarge": {"size": 1}}, "version": 1})

    code, out, err = run("config", "set", path)

    assert (code, json.loads(out)["version"]) == (0, 2)
    assert f"headway: pools.{POOL}.size: 2 → 5\n" in err
    assert 'headway: pools.ml.g5.xlarge: not set → {"size": 1}\n' in err
    assert "No changes." in run("config", "set", path, "--if-version", "2")[2]


def test_a_dry_run_only_shows_the_changes(run: Run, request_file: Write, server: ContractServer):
    path = request_file({"pools": {POOL: {"size": 0}}, "version": 1})

    code, out, err = run("config", "set", path, "--dry-run")

    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"pools.{POOL}.size: 2 → 0"
    assert "would have 0 instances; 1 are in use or reserved" in out
    shown = json.loads(run("config", "set", path, "--dry-run", "-o", "json")[1])
    assert shown["changes"] == [{"field": f"pools.{POOL}.size", "before": "2", "after": "0"}]
    assert len(shown["risks"]) == 1
    assert "not based on the newest version, 1" in run("config", "set", path, "--dry-run", "--if-version", "7")[2]
    assert not [each for each in server.received if each.method == "PUT"]


@pytest.mark.parametrize(
    ("use", "pools", "asks"),
    [
        ({"allocated": 1, "reserved": 0, "waiting": 0}, {}, True),
        ({"allocated": 0, "reserved": 1, "waiting": 0}, {}, True),
        ({"allocated": 0, "reserved": 0, "waiting": 1}, {}, True),
        ({"allocated": 0, "reserved": 0, "waiting": 0}, {}, False),
        ({"allocated": 1, "reserved": 1, "waiting": 0}, {POOL: {"size": 1}}, True),
        ({"allocated": 1, "reserved": 0, "waiting": 9}, {POOL: {"size": 1}}, False),
        ({"allocated": 9, "reserved": 0, "waiting": 9}, {POOL: {"size": 3}}, False),
    ],
)
def test_a_change_that_takes_instances_from_jobs_needs_a_confirmation(
    run: Run, request_file: Write, server: ContractServer, use: dict[str, int], pools: dict[str, object], *, asks: bool
):
    server.queue.uses[POOL] = use
    path = request_file({"pools": pools, "version": 1})

    code, _, err = run("config", "set", path)

    assert code == (2 if asks else 0)
    assert ("add --yes" in err) == asks
    assert server.queue.version == (1 if asks else 2)
    if asks:
        assert run("config", "set", path, "--yes")[0] == 0
        assert server.queue.settings["pools"] == pools


def test_the_json_that_show_prints_can_be_set(run: Run, request_file: Write, server: ContractServer):
    shown = json.loads(run("config", "show", "-o", "json")[1])

    assert run("config", "set", request_file(shown))[0] == 0
    assert {**server.queue.settings, "version": 1} == shown["document"]
    # A second time it is based on an old version.
    assert run("config", "set", request_file(shown))[0] == 5


def test_a_removed_pool_comes_back_with_a_document_that_contains_it(
    run: Run, request_file: Write, server: ContractServer
):
    shown = json.loads(run("config", "show", "-o", "json")[1])
    assert run("config", "set", request_file({"pools": {}, "version": 1}), "--yes")[0] == 0
    assert server.queue.settings == {"pools": {}}

    code, _, err = run("config", "set", request_file(shown), "--if-version", "2")

    assert code == 0
    assert f'pools.{POOL}: not set → {{"size": 2}}' in err
    assert server.queue.settings["pools"] == {POOL: {"size": 2}}
