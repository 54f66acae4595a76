from __future__ import annotations

import json

import pytest

from headway_client.cli.commands.operations.config import DEFAULT_HISTORY
from headway_client.errors import ServerFaultError
from headway_client.http.api import HeadwayApi
from tests.client.command_line import Run, Write
from tests.client.fakes.contract_config import record
from tests.client.fakes.server import ContractServer

POOL = "ml.p5.48xlarge"


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


# ------------------------------------------------------------------------------------------- changes of a configuration

PREEMPTED = {
    "code": "Preempted",
    "count": 7,
    "message": "7 running jobs would be preempted within the hour",
    "names": ["a", "b", "c", "d", "e", "f", "g"],
}


def test_a_configuration_that_is_set_shows_each_change_and_its_version_only(run: Run, request_file: Write):
    path = request_file({"pools": {POOL: {"size": 5}, "ml.g5.xlarge": {"size": 1}}, "version": 1})

    code, out, err = run("config", "set", path)

    assert (code, out) == (0, "The configuration is version 2 now.\n")
    assert err.splitlines() == [
        "headway: pools.ml.g5.xlarge.size: not set → 1",
        f"headway: pools.{POOL}.size: 2 → 5",
    ]
    assert "No changes." in run("config", "set", path, "--if-version", "2")[2]


def test_a_dry_run_only_shows_the_changes_and_the_effects(run: Run, request_file: Write, server: ContractServer):
    server.queue.effects = [PREEMPTED]
    path = request_file({"pools": {POOL: {"size": 0}}, "version": 1})

    code, out, err = run("config", "set", path, "--dry-run")

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"pools.{POOL}.size: 2 → 0",
        "7 running jobs would be preempted within the hour. [Preempted: a, b, c, d, e and 2 more]",
        "Holds if no job comes.",
    ]
    shown = json.loads(run("config", "set", path, "--dry-run", "-o", "json")[1])
    assert shown == {
        "dryRun": True,
        "version": 1,
        "changes": [{"field": f"pools.{POOL}.size", "message": "2 → 0"}],
        "effects": [PREEMPTED],
        "note": "Holds if no job comes.",
        "isWhole": True,
    }
    assert "not based on the newest version, 1" in run("config", "set", path, "--dry-run", "--if-version", "7")[2]
    assert not [each for each in server.received if each.method == "PUT"]


def test_a_dry_run_of_a_document_that_is_not_valid_is_refused(run: Run, request_file: Write):
    code, out, err = run("config", "set", request_file({"version": 1}), "--dry-run")
    assert (code, out) == (3, "")
    assert "pools: is missing." in err


@pytest.mark.parametrize("asks", [True, False])
def test_a_configuration_with_effects_needs_a_confirmation(
    run: Run, request_file: Write, server: ContractServer, *, asks: bool
):
    server.queue.effects = [PREEMPTED] if asks else []
    path = request_file({"pools": {POOL: {"size": 1}}, "version": 1})

    code, _, err = run("config", "set", path)

    assert code == (2 if asks else 0)
    assert ("add --yes" in err) == ("would be preempted" in err) == asks
    assert server.queue.version == (1 if asks else 2)
    if asks:
        assert run("config", "set", path, "--yes")[0] == 0
        assert server.queue.settings["pools"] == {POOL: {"size": 1}}


def test_effects_that_are_not_whole_are_asked_about(run: Run, request_file: Write, server: ContractServer):
    server.queue.sees_all = False
    code, _, err = run("config", "set", request_file({"pools": {POOL: {"size": 1}}, "version": 1}))
    assert code == 2
    assert "Holds if no job comes." in err
    assert server.queue.version == 1


def test_a_confirmed_configuration_is_set_although_its_effects_are_not_known(
    run: Run, request_file: Write, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: object) -> None:
        raise ServerFaultError("The queue failed.")

    monkeypatch.setattr(HeadwayApi, "config_effects", fails)
    path = request_file({"pools": {POOL: {"size": 1}}, "version": 1})
    assert run("config", "set", path)[0] == 7
    assert run("config", "set", path, "--dry-run", "--yes")[0] == 7
    assert server.queue.version == 1
    code, _, err = run("config", "set", path, "--yes")
    assert code == 0
    assert "The effects are not known: The queue failed." in err


def test_a_document_that_is_based_on_another_version_is_refused_and_not_asked_about(
    run: Run, request_file: Write, server: ContractServer
):
    server.queue.effects = [PREEMPTED]
    code, _, err = run("config", "set", request_file({"pools": {POOL: {"size": 1}}, "version": 7}))
    assert code == 5
    assert "Preempted" not in err


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
    assert f"pools.{POOL}.size: not set → 2" in err
    assert server.queue.settings["pools"] == {POOL: {"size": 2}}


# ---------------------------------------------------------------------------------------------------- the history


def set_sizes(run: Run, request_file: Write, *sizes: int) -> None:
    for version, size in enumerate(sizes, 1):
        document = {"pools": {POOL: {"size": size}}, "version": version}
        assert run("config", "set", request_file(document), "--reason", f"size {size}")[0] == 0


def test_the_history_names_who_changed_what_and_why_the_newest_first(run: Run, request_file: Write):
    set_sizes(run, request_file, 3, 4)
    code, out, _ = run("config", "history")
    assert code == 0
    rows = out.splitlines()
    assert rows[0].split() == ["Version", "When", "Who", "Changes", "Why"]
    assert [row.split()[0] for row in rows[2:]] == ["3", "2", "1"]
    assert f"pools.{POOL}.size: 3 → 4" in rows[2]
    assert rows[2].rstrip().endswith("size 4")
    assert "(not known)" in rows[4]
    wide = run("config", "history", "-o", "wide")[1]
    assert "10.0.0.7" in wide


def test_a_long_history_is_read_page_by_page_up_to_the_limit(run: Run, server: ContractServer):
    for _ in range(130):
        server.queue.version += 1
        record(server.queue, "again")
    assert len(json.loads(run("config", "history", "-o", "json")[1])["versions"]) == DEFAULT_HISTORY
    shown = json.loads(run("config", "history", "--limit", "120", "-o", "json")[1])
    assert [each["version"] for each in shown["versions"]] == list(range(131, 11, -1))
    assert shown["next"] == "12"
    whole = json.loads(run("config", "history", "--limit", "1000", "-o", "json")[1])
    assert (len(whole["versions"]), whole["next"]) == (131, None)


def test_two_versions_are_compared_and_a_version_with_the_one_before(run: Run, request_file: Write):
    set_sizes(run, request_file, 3, 4, 4)
    assert run("config", "diff", "3")[:2] == (0, f"pools.{POOL}.size: 3 → 4\n")
    assert run("config", "diff", "3", "1")[1] == f"pools.{POOL}.size: 2 → 4\n"
    assert run("config", "diff", "4")[1] == "No changes since version 3.\n"
    assert run("config", "diff", "1")[1] == "No version before it is known.\n"
    assert json.loads(run("config", "diff", "3", "-o", "json")[1])["document"] == {"pools": {POOL: {"size": 4}}}


@pytest.mark.parametrize("arguments", [("diff", "9"), ("diff", "1", "9"), ("rollback", "9")])
def test_a_version_that_is_not_known_is_not_found(run: Run, server: ContractServer, arguments: tuple[str, ...]):
    code, _, err = run("config", *arguments)
    assert code == 4
    assert "No such version" in err
    assert server.queue.version == 1


def test_a_rollback_sets_a_version_again_as_a_new_one(run: Run, request_file: Write, server: ContractServer):
    set_sizes(run, request_file, 3, 4)
    code, out, err = run("config", "rollback", "2")
    assert code == 0
    assert (out, err) == (
        "The configuration is version 4 now.\n",
        f"headway: pools.{POOL}.size: 4 → 3\n",
    )
    assert server.queue.settings == {"pools": {POOL: {"size": 3}}}
    assert server.queue.configs[4]["reason"] == "as in version 2"
    assert run("config", "rollback", "1", "--reason", "too dear")[0] == 0
    assert server.queue.configs[5]["reason"] == "too dear"


def test_a_rollback_with_effects_needs_a_confirmation(run: Run, request_file: Write, server: ContractServer):
    set_sizes(run, request_file, 3)
    said = {"code": "Preempted", "count": 1, "message": "1 running job would be preempted", "names": ["a"]}
    server.queue.effects = [said]
    code, out, _ = run("config", "rollback", "1", "--dry-run")
    assert (code, out.splitlines()[1]) == (0, "1 running job would be preempted. [Preempted: a]")
    assert run("config", "rollback", "1")[0] == 2
    assert server.queue.version == 2
    assert run("config", "rollback", "1", "--yes")[0] == 0
    assert server.queue.settings == {"pools": {POOL: {"size": 2}}}


def test_a_rollback_to_a_version_that_is_not_valid_any_more_changes_nothing(run: Run, server: ContractServer):
    server.queue.configs[0] = {"settings": {}, "reason": ""}
    code, _, err = run("config", "rollback", "0")
    assert code == 3
    assert "pools: is missing." in err
    assert server.queue.version == 1


def test_a_rollback_beside_another_change_is_refused(
    run: Run, request_file: Write, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    set_sizes(run, request_file, 3)
    real = server.queue.answer

    def answer(method: str, *arguments: object) -> object:
        found = real(method, *arguments)  # type: ignore[arg-type]
        if "effects" in str(arguments[0]):
            server.queue.version += 1
        return found

    monkeypatch.setattr(server.queue, "answer", answer)
    assert run("config", "rollback", "1")[0] == 5
