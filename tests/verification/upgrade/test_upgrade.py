"""The versions used in a release scenario, and the time for which two of them run side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from headway_sandbox.errors import DeployFailed
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_verification.upgrade import builds
from headway_verification.upgrade.version_overlap import Overlap
from headway_verification.upgrade.workspace import Workspace

TEMPLATE = """\
Parameters: {}
Resources:
  JobsTable:
    Properties:
      KeySchema:
      - AttributeName: pk
      - AttributeName: sk
Outputs: {}
"""
OLD = {"Api": "a1 core:1", "Schedule": "s1 core:1"}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    module = tmp_path / "built/CoreLayer/python/headway/__init__.py"
    module.parent.mkdir(parents=True)
    module.write_text("FIRST = 1\n", encoding="utf-8")
    (tmp_path / "built/template.yaml").write_text(TEMPLATE, encoding="utf-8")
    return tmp_path / "built"


def code(version: Path) -> str:
    return (version / "CoreLayer/python/headway/__init__.py").read_text(encoding="utf-8")


def resources(version: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((version / "template.yaml").read_text(encoding="utf-8"))["Resources"]
    return found


def test_a_changed_version_has_different_code_and_does_not_modify_the_build(built: Path, tmp_path: Path):
    version = builds.changed(built, tmp_path / "new")
    assert code(version) != code(built) == "FIRST = 1\n"
    assert resources(version) == resources(built)


def test_a_broken_version_cannot_be_imported(built: Path, tmp_path: Path):
    with pytest.raises(ImportError, match="never tried"):
        exec(code(builds.broken(built, tmp_path / "new")), {})


def test_a_refused_version_creates_an_existing_table_after_the_functions(built: Path, tmp_path: Path):
    found = resources(builds.refused(built, tmp_path / "new"))
    assert found.keys() == {"StrayTable", "JobsTable"}
    assert found["StrayTable"]["Properties"]["TableName"] == builds.STRAY_TABLE
    assert "ApiFunction" in found["StrayTable"]["DependsOn"]


def test_a_rekeyed_version_has_another_sort_key(built: Path, tmp_path: Path):
    found = resources(builds.rekeyed(built, tmp_path / "new"))
    assert found["JobsTable"]["Properties"]["KeySchema"] == [{"AttributeName": "pk"}, {"AttributeName": "sortKey"}]


def test_an_unknown_commit_is_reported(tmp_path: Path):
    with pytest.raises(DeployFailed, match="can't read the commit no-such-commit"):
        builds.of_commit(Checkout.here(), "no-such-commit", folder=tmp_path, region="eu-west-1")


@pytest.mark.parametrize(
    ("processes", "side_by_side", "in_both"),
    [
        ([("Api", OLD["Api"]), ("Schedule", OLD["Schedule"])], False, set()),
        ([("Api", "a2 core:2"), ("Schedule", "s1 core:2")], False, set()),
        ([("Api", "a2 core:2"), ("Schedule", OLD["Schedule"])], True, set()),
        ([("Api", "a2 core:2"), ("Api", OLD["Api"])], True, {"Api"}),
    ],
)
def test_versions_run_side_by_side_if_processes_of_both_are_alive(
    processes: list[tuple[str, str]], side_by_side: bool, in_both: set[str]
):
    class Processes:
        def functions(self) -> list[dict[str, Any]]:
            return [{"function": name, "code": code} for name, code in processes]

    overlap = Overlap(cast("Sandbox", Processes()), OLD)
    assert overlap._look() is side_by_side
    assert overlap.in_both == in_both


def test_a_parameter_is_set_in_the_settings_of_the_guided_deployment(tmp_path: Path):
    settings = tmp_path / "samconfig.local.toml"
    written = '"StageName=\\"v1\\" TableName=\\"a\\" LogLevel=\\"INFO\\""'
    settings.write_text(f"[prod.deploy.parameters]\nparameter_overrides = {written}\n", encoding="utf-8")
    place = Workspace.__new__(Workspace)
    place._folder = tmp_path
    place.set_parameter("TableName", "b")
    assert place.parameters() == {"StageName": "v1", "TableName": "b", "LogLevel": "INFO"}
    with pytest.raises(DeployFailed, match="has no parameter Colour"):
        place.set_parameter("Colour", "red")
