"""Bills of materials contain all deployed components, with permitted licences only."""

from __future__ import annotations

import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from deploy import sbom
from deploy.archives import SUMS
from deploy.licences import ALLOWED, licence
from deploy.pins import LAYER_PINS, Pin, installed_in, normalised, read_pins
from tests.deploy.test_contents import FILES, PINS, install

ROOT = Path(__file__).resolve().parents[2]
LAYER = [pin.name for pin in read_pins(ROOT / LAYER_PINS)]


def client() -> dict[str, Any]:
    pins = read_pins(ROOT / sbom.TESTED_PINS)
    return sbom.client(dict(installed_in(sbom._packages())), pins)


def test_pins_are_read_with_all_their_hashes() -> None:
    text = (ROOT / LAYER_PINS).read_text(encoding="utf-8")
    pins = read_pins(ROOT / LAYER_PINS)
    assert {"botocore", "pydantic", "aws-lambda-powertools"} <= {pin.name for pin in pins}
    assert sum(len(pin.sha256) for pin in pins) == text.count("--hash=sha256:")


@pytest.mark.parametrize("name", LAYER)
def test_each_deployed_package_has_a_licence_that_is_allowed(name: str) -> None:
    # .venv has the same versions as the layer: test_pins.py.
    found = licence(distribution(name))
    assert found
    assert set(found.split(" OR ")) <= ALLOWED


def test_an_unknown_licence_is_not_a_licence(tmp_path: Path) -> None:
    install(tmp_path, {})
    (tmp_path / "six-1.17.0.dist-info/METADATA").write_text("Name: six\nVersion: 1.17.0\nLicense: AGPL-3.0\n")
    assert [licence(each) for _, each in installed_in(tmp_path)] == [""]


def test_the_clients_bill_has_its_dependencies_and_theirs() -> None:
    bill = client()
    names = {component["name"] for component in bill["components"]}
    assert {"boto3", "click", "requests", "tabulate", "urllib3", "certifi"} <= names
    assert "pydantic" not in names
    assert all(component["licenses"][0]["expression"] for component in bill["components"])


def test_every_reference_in_a_bill_leads_to_a_component_and_every_component_is_reached() -> None:
    bill = client()
    known = {component["bom-ref"] for component in bill["components"]}
    edges = {edge["ref"]: edge["dependsOn"] for edge in bill["dependencies"]}
    assert known == edges.keys() - {bill["metadata"]["component"]["bom-ref"]}
    assert known == {ref for refs in edges.values() for ref in refs}


def test_a_bill_is_reproducible() -> None:
    bill = client()
    assert bill == client()
    assert not {"serialNumber", "timestamp"} & {*bill, *bill["metadata"]}


def test_the_bill_lists_the_deployed_archives_and_packages(tmp_path: Path) -> None:
    install(tmp_path / "DependenciesLayer" / "python", FILES)
    (tmp_path / SUMS).write_text(f"{'0' * 64}  DependenciesLayer.zip\n")
    bill = sbom.deployed(tmp_path, PINS)
    assert [component["name"] for component in bill["components"]] == ["DependenciesLayer.zip", "six"]
    assert {"ref": "archive:DependenciesLayer.zip", "dependsOn": ["pkg:pypi/six@1.17.0"]} in bill["dependencies"]
    assert "://" not in json.dumps(bill)


def test_a_package_with_another_version_than_pinned_is_refused_in_a_bill(tmp_path: Path) -> None:
    install(tmp_path / "DependenciesLayer" / "python", FILES)
    (tmp_path / SUMS).write_text("")
    with pytest.raises(SystemExit, match=r"six 1\.17\.0 is installed, 1\.16\.0 pinned"):
        sbom.deployed(tmp_path, [Pin("six", "1.16.0", ())])


@pytest.mark.parametrize(("name", "expected"), [("Typing_Extensions", "typing-extensions"), ("a.b--c", "a-b-c")])
def test_names_are_compared_as_in_the_index(name: str, expected: str) -> None:
    assert normalised(name) == expected
