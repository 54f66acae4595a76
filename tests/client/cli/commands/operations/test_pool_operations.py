from __future__ import annotations

import json

import pytest

from headway_client.cli.commands.operations import pool_operations
from headway_client.cli.output import pool_sentence
from headway_client.models import PoolUse
from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer

P5 = "ml.p5.48xlarge"
SINCE = "since 2026-01-02 03:04:05 UTC by user/ada"


def sent(server: ContractServer) -> list[tuple[str, str, bytes]]:
    return [(each.method, each.target.removeprefix("/v1"), each.body) for each in server.received]


@pytest.mark.parametrize(
    ("arguments", "path", "says"),
    [
        (["pause", P5, "--reason", "so it is"], f"/pools/{P5}/pause", f"{P5} is paused {SINCE}: so it is; 1 of 2"),
        (["pause", P5], f"/pools/{P5}/pause", f"{P5} is paused {SINCE}: {pool_operations.NO_REASON}; 1 of 2"),
        (["pause"], "/pause", f"{P5} is paused with everything {SINCE}"),
        (["resume", P5], f"/pools/{P5}/resume", f"{P5} is open; 1 of 2 instances in use, 1 of them stopping; waiting"),
        (["resume"], "/resume", f"{P5} is open"),
        (["drain", P5, "--reason", "x", "--stop"], f"/pools/{P5}/drain", f"{P5} is paused {SINCE}: x"),
    ],
)
def test_a_pool_or_everything_is_paused_and_resumed(
    run: Run, server: ContractServer, arguments: list[str], path: str, says: str
):
    code, out, err = run(*arguments)

    assert (code, err) == (0, "")
    assert out.startswith(says)
    ((method, target, _),) = sent(server)
    assert (method, target) == ("POST", path)


def test_a_pause_is_seen_in_the_capacity(run: Run):
    run("pause", P5, "--reason", "so it is")

    table = run("capacity")[1].splitlines()
    assert table[0].split()[-1] == "Waiting"
    assert table[-1].endswith(f"is paused {SINCE}: so it is.")
    assert run("capacity", "-o", "wide")[1].splitlines()[2].endswith(f"{SINCE}: so it is")
    (pool,) = json.loads(run("capacity", "-o", "json")[1])["pools"]
    assert pool["pause"]["reason"] == "so it is"


def test_a_drain_waits_until_the_pool_is_empty_and_reports_running_jobs(
    run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    left = [{"allocated": 1, "stopping": 1}, {"allocated": 1, "stopping": 1}, {"allocated": 0, "stopping": 0}]
    server.queue.uses[P5] = {"allocated": 2, "stopping": 1}
    monkeypatch.setattr(pool_operations, "_pause", lambda _: server.queue.uses.update({P5: left.pop(0)}))

    code, out, err = run("drain", P5, "--wait")

    assert code == 0
    assert err.splitlines() == [
        f"headway: 2 instances of {P5} are in use, 1 of them stopping.",
        f"headway: 1 instances of {P5} are in use, 1 of them stopping.",
    ]
    assert "; 0 of 2 instances in use;" in out


def test_a_drain_gives_up_waiting_when_time_is_up(run: Run, monkeypatch: pytest.MonkeyPatch):
    clock = iter(range(0, 100, 5))
    monkeypatch.setattr(pool_operations, "_clock", lambda: next(clock))
    monkeypatch.setattr(pool_operations, "_pause", lambda _: None)

    assert run("drain", P5, "--wait", "--timeout", "20")[0] == 9
    assert run("drain", P5, "--timeout", "20")[0] == 2


def test_a_removed_pool_counts_as_empty(run: Run, server: ContractServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool_operations, "_pause", lambda _: server.queue.settings.update(pools={}))

    assert run("drain", P5, "--wait")[0] == 0


def test_a_resize_reports_instances_beyond_the_new_size(run: Run):
    assert run("resize", P5, "4")[1].startswith(f"{P5} is open; 1 of 4 instances in use")
    out = run("resize", P5, "1")[1]
    assert out.splitlines()[1] == "Nothing is stopped, and nothing starts until 1 of them are free."


def test_an_unknown_pool_has_an_exit_code(run: Run):
    for arguments in (["pause", "ml.x.y"], ["drain", "ml.x.y"], ["resume", "ml.x.y"], ["resize", "ml.x.y", "1"]):
        code, _, err = run(*arguments)
        assert code == 4
        assert f"there are: {P5}" in err


def test_a_reason_given_by_a_user_can_not_control_the_terminal():
    pause = {"everything": False, "by": "user/ada", "since": "?", "reason": "\x1b[2J", "stops": False}
    numbers = dict.fromkeys(("size", "allocated", "stopping", "reserved", "rogue", "free", "waiting"), 0)

    assert "\x1b" not in pool_sentence(PoolUse.from_document({"pool": P5, **numbers, "pause": pause}))


@pytest.mark.parametrize("asks", [True, False])
def test_a_resize_with_effects_needs_a_confirmation(run: Run, server: ContractServer, *, asks: bool):
    said = {"code": "Preempted", "count": 1, "message": "1 running job would be preempted", "names": ["a"]}
    server.queue.effects = [said] if asks else []
    code, _, err = run("resize", P5, "1")
    assert code == (2 if asks else 0)
    assert f"pools.{P5}.size: 2 → 1" in err
    assert ("1 running job would be preempted. [Preempted: a]" in err) == asks
    assert server.queue.settings["pools"][P5]["size"] == (2 if asks else 1)
    assert run("resize", P5, "1", "--yes")[0] == 0
    assert server.queue.settings["pools"][P5]["size"] == 1


def test_a_dry_run_of_a_resize_changes_nothing(run: Run, server: ContractServer):
    assert run("resize", P5, "1", "--dry-run")[:2] == (0, f"pools.{P5}.size: 2 → 1\n")
    assert server.queue.settings["pools"][P5]["size"] == 2


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--yes",)])
def test_a_pool_that_is_not_in_force_is_not_resized(run: Run, server: ContractServer, options: tuple[str, ...]):
    code, _, err = run("resize", "ml.x.y", "1", *options)
    assert code == 4
    assert f"there are: {P5}" in err
    assert not [each for each in server.received if each.method == "PATCH"]
