from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from headway_sandbox.errors import SetupMissing
from headway_sandbox.local import deployment, manager
from headway_sandbox.local.checkout import Checkout


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Checkout:
    monkeypatch.setenv("HEADWAY_SANDBOX_PYTHON", sys.executable)
    (tmp_path / "template.yaml").write_text("Resources: {}")
    for name in ("functions/api/app.py", "layers/core/src/headway/model.py", "docs/index.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(name)
    return Checkout(root=tmp_path)


@pytest.mark.parametrize("changed", ["template.yaml", "functions/api/app.py", "layers/core/src/headway/new.py"])
def test_the_hash_changes_with_each_source(checkout, changed):
    before = checkout.sources_hash()
    (checkout.root / changed).write_text("other")
    assert checkout.sources_hash() != before


def test_a_source_that_moved_changes_the_hash(checkout):
    before = checkout.sources_hash()
    (checkout.root / "functions/api/app.py").rename(checkout.root / "functions/api/other.py")
    assert checkout.sources_hash() != before


@pytest.mark.parametrize("other", ["docs/index.md", "layers/core/src/headway/__pycache__/model.cpython-311.pyc"])
def test_the_hash_is_independent_of_files_that_are_not_deployed(checkout, other):
    before = checkout.sources_hash()
    path = checkout.root / other
    path.parent.mkdir(exist_ok=True)
    path.write_text("other")
    assert checkout.sources_hash() == before


def test_a_missing_environment_is_reported_with_the_remedy(checkout, monkeypatch):
    monkeypatch.delenv("HEADWAY_SANDBOX_PYTHON")
    monkeypatch.delenv("HEADWAY_SAM", raising=False)
    for tool in (checkout.sandbox_python, checkout.sam):
        with pytest.raises(SetupMissing, match=r"\.envs/.* is missing: run `make setup-sandbox`"):
            tool()


@pytest.mark.parametrize("missing", ["HEADWAY_SANDBOX_PYTHON", "HEADWAY_SAM", "template.yaml"])
def test_all_that_a_deployment_needs_is_checked_at_once(checkout, monkeypatch, missing):
    monkeypatch.setenv("HEADWAY_SAM", sys.executable)
    checkout.check()
    if missing == "template.yaml":
        checkout.template().unlink()
    else:
        monkeypatch.setenv(missing, str(checkout.root / "nothing"))
    with pytest.raises(SetupMissing):
        checkout.check()


def test_a_folder_without_a_template_is_not_a_checkout(checkout):
    (checkout.root / "template.yaml").unlink()
    with pytest.raises(SetupMissing, match=r"no template\.yaml"):
        checkout.template()


def test_no_setting_of_a_real_account_is_passed_to_sam(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "real")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    settings = deployment.environment(region="eu-west-1", endpoint="http://127.0.0.1:1", credentials=("test", "test"))
    assert "AWS_PROFILE" not in settings
    assert "AWS_SESSION_TOKEN" not in settings
    assert settings["AWS_ACCESS_KEY_ID"] == "test"
    assert settings["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert "127.0.0.1" in settings["NO_PROXY"]


def test_a_folder_without_a_sandbox_has_none_running(tmp_path):
    assert manager.status(state_dir=tmp_path) is None
    assert manager.down(state_dir=tmp_path) is False


def test_a_state_file_of_another_version_is_ignored(tmp_path: Path):
    (tmp_path / "sandbox.json").write_text('{"what": "is this"}')
    assert manager.status(state_dir=tmp_path) is None


def test_it_starts_in_this_checkout():
    assert (Checkout.here().root / "sandbox" / "src" / "headway_sandbox").is_dir()
