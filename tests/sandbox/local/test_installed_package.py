"""Headway as a wheel installs it: which sources a sandbox has, and where its state is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headway_sandbox.errors import SetupMissing
from headway_sandbox.local import installed_package, sources
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.installed_package import InstalledPackage


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstalledPackage:
    for variable in ("HEADWAY_SANDBOX_PYTHON", "HEADWAY_CALLS"):
        monkeypatch.delenv(variable, raising=False)
    bundle, core = tmp_path / "bundle", tmp_path / "headway"
    for path in (bundle / "template.yaml", bundle / "functions" / "api" / "app.py", core / "model.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    return InstalledPackage(bundle=bundle, packages={"layers/core/src": core})


def test_this_checkout_is_deployed_as_a_checkout():
    assert not InstalledPackage.here().is_installed()
    assert sources.here() == Checkout.here()


def test_a_package_with_the_bundle_of_a_wheel_is_deployed_as_it_is_installed(package, monkeypatch):
    monkeypatch.setattr(InstalledPackage, "here", lambda: package)
    assert sources.here() is package


def test_missing_packages_of_the_extra_are_reported_with_the_command_that_installs_them(package, monkeypatch):
    monkeypatch.setattr(installed_package, "find_spec", lambda name: None if name == "ministack" else object())
    with pytest.raises(SetupMissing, match=r"not installed \(ministack\): run `pip install .*\[sandbox\]'`"):
        package.check()
    monkeypatch.setattr(installed_package, "find_spec", lambda _name: object())
    package.check()


def test_the_functions_run_with_this_interpreter_unless_another_is_named(package, monkeypatch):
    assert package.sandbox_python() == Path(sys.executable)
    monkeypatch.setenv("HEADWAY_SANDBOX_PYTHON", "/opt/other/python")
    assert package.sandbox_python() == Path("/opt/other/python")


def test_calls_are_recorded_only_into_a_folder_that_is_named(package, monkeypatch, tmp_path):
    assert package.calls_folder() is None
    monkeypatch.setenv("HEADWAY_CALLS", str(tmp_path / "calls"))
    assert package.calls_folder() == tmp_path / "calls"


@pytest.mark.parametrize("changed", ["bundle/template.yaml", "bundle/functions/api/app.py", "headway/model.py"])
def test_the_hash_changes_with_each_source_and_with_the_interpreter(package, monkeypatch, tmp_path, changed):
    before = package.sources_hash()
    (tmp_path / "headway" / "__pycache__").mkdir()
    (tmp_path / "headway" / "__pycache__" / "model.cpython-311.pyc").write_text("")
    assert package.sources_hash() == before
    (tmp_path / changed).write_text("other")
    after = package.sources_hash()
    assert after != before
    monkeypatch.setenv("HEADWAY_SANDBOX_PYTHON", "/opt/other/python")
    assert package.sources_hash() != after
