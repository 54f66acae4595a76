"""The wheel: what it ships for a sandbox without a checkout, and what it leaves out."""

from __future__ import annotations

import re
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from headway_sandbox.local.installed_package import InstalledPackage
from tests.wheels import ROOT, build_wheel

BUNDLE = "headway_sandbox/_bundle/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build_wheel(tmp_path_factory.mktemp("wheel")))


def metadata(wheel: zipfile.ZipFile, field: str) -> list[str]:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode()).get_all(field) or []


def requirements(wheel: zipfile.ZipFile) -> list[str]:
    return metadata(wheel, "Requires-Dist")


def test_it_ships_the_template_and_the_handlers_unchanged(wheel):
    handlers = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("functions/*/app.py")]
    assert handlers
    for name in ("template.yaml", *handlers):
        assert wheel.read(BUNDLE + name) == (ROOT / name).read_bytes()


def test_it_ships_each_folder_that_the_template_refers_to(wheel):
    packages = {folder: path.name for folder, path in InstalledPackage.here().packages.items()}
    template = wheel.read(f"{BUNDLE}template.yaml").decode()
    folders = re.findall(r"^ +(?:CodeUri|ContentUri): (\S+)$", template, re.MULTILINE)
    assert len(folders) == 10
    for folder in folders:
        shipped = f"{packages[folder]}/__init__.py" if folder in packages else f"{BUNDLE}{folder}/"
        assert any(name.startswith(shipped) for name in wheel.namelist()), folder


def test_it_ships_no_verification_no_tests_and_no_settings_of_tools(wheel):
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "headway", "headway_client", "headway_covalent", "headway_sandbox", "headway_service",
    }  # fmt: skip
    unwanted = re.compile(r"(^|/)(tests?/|test_|conftest|__pycache__|ruff\.toml)")
    assert [name for name in wheel.namelist() if unwanted.search(name)] == []


def test_it_ships_the_pages_of_the_board(wheel):
    folder = ROOT / "client/src/headway_client/board"
    files = [path for path in folder.rglob("*") if path.suffix in {".css", ".html", ".js", ".tcss"}]
    assert len(files) >= 6
    assert {f"headway_client/board/{path.relative_to(folder).as_posix()}" for path in files} <= set(wheel.namelist())


def test_the_client_alone_needs_seven_packages(wheel):
    needed = {re.split(r"[<>=~!]", entry)[0] for entry in requirements(wheel) if "extra ==" not in entry}
    assert needed == {"boto3", "botocore", "click", "pyyaml", "requests", "tabulate", "wcwidth"}


def test_it_installs_on_newer_versions_of_python_than_the_tested_ones_which_the_docs_name(wheel):
    assert metadata(wheel, "Requires-Python") == [">=3.11"]
    tested = [each.rpartition(" ")[2] for each in metadata(wheel, "Classifier") if ":: Python :: 3." in each]
    sentence = f"Python 3.11 or later (tested with {tested[0]} to {tested[-1]})"
    for page in ("docs/reference/cli.md", "docs/how-to/clients/README.md"):
        assert sentence in (ROOT / page).read_text(encoding="utf-8").replace("\n", " ")


def test_the_extra_of_the_sandbox_brings_the_emulator_and_what_functions_import(wheel):
    extra = [entry for entry in requirements(wheel) if re.search(r"extra == .sandbox.", entry)]
    names = {re.split(r"[\s<>=~!;]", entry)[0] for entry in extra}
    assert names == {"ministack", "aws-sam-translator", "aws-lambda-powertools", "pydantic", "tzdata"}


def test_an_editable_install_has_no_copy_of_the_template(tmp_path: Path):
    with zipfile.ZipFile(build_wheel(tmp_path, "editable")) as editable:
        assert not any("_bundle" in name for name in editable.namelist())
