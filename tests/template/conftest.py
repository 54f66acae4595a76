"""The template after the SAM transform, with two VPC endpoints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.template import expanded

ROOT = Path(__file__).resolve().parents[2]
ENDPOINTS = ["vpce-0123456789abcdef0", "vpce-0fedcba9876543210"]

Resource = dict[str, Any]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def text(root: Path) -> str:
    """The source text of the template."""
    return (root / "template.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def template(root: Path) -> dict[str, Any]:
    """The template after the SAM transform."""
    return expanded(Checkout.here(), VpcEndpointIds=",".join(ENDPOINTS))


@pytest.fixture(scope="session")
def resources(template: dict[str, Any]) -> dict[str, Resource]:
    """All resources by logical id."""
    found: dict[str, Resource] = template["Resources"]
    return found


@pytest.fixture(scope="session")
def of_type(resources: dict[str, Resource]) -> Callable[[str], dict[str, Resource]]:
    """The properties of all resources of a type, by logical id; at least one."""

    def find(kind: str) -> dict[str, Resource]:
        found = {name: r["Properties"] for name, r in resources.items() if r["Type"] == kind}
        assert found, f"the template has no {kind}"
        return found

    return find
