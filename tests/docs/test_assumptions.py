"""The table of assumptions has what the code says that AWS does not document, and the checks of `make accept`."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway_verification.acceptance.catalogue import CHECKS
from tests.docs.test_docs import ROOT

PAGE = (ROOT / "docs/reference/assumptions.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| service", "| ---"))
]
SOURCES = ("layers/core/src", "layers/service/src", "client/src", "sandbox/src")
SAYS_SO = re.compile(
    r"(?:not|n't) document(?:ed)?\b(?!\[)|documents (?:neither|no)\b|undocumented|(?:(?:is|are) |\()assumed\b(?! to)",
    re.IGNORECASE,
)
"""How comments and docstrings say that AWS does not document something."""

TEMPLATE = "template.yaml"
NO_CHECK = re.compile(r"no check: \w+")


def names(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def modules() -> set[str]:
    return {name for row in ROWS for name in names(row[2]) if name != TEMPLATE}


def says_so(text: str) -> Iterator[str]:
    """The lines of a file that say it."""
    return (line.strip() for line in text.splitlines() if SAYS_SO.search(line))


def module_of(path: Path, source: str) -> str:
    return ".".join(path.relative_to(ROOT / source).with_suffix("").parts).removesuffix(".__init__")


def test_each_row_has_all_its_cells() -> None:
    assert [row for row in ROWS if len(row) != 5 or not all(row)] == []
    assert len({row[1] for row in ROWS}) == len(ROWS) > 40


def test_the_rows_are_grouped_by_service() -> None:
    services = [row[0] for row in ROWS]
    assert len(list(dict.fromkeys(services))) == sum(
        first != second for first, second in zip(services, ["", *services[:-1]], strict=True)
    )


def test_each_check_is_in_the_table_and_each_named_check_exists() -> None:
    named = [name for row in ROWS for name in re.findall(r"`([a-z-]+)`", row[4])]
    assert sorted(named) == sorted(check.name for check in CHECKS)


def test_a_check_is_in_a_row_of_its_service() -> None:
    services = {check.name: check.service for check in CHECKS}
    wrong = [
        (name, row[0])
        for row in ROWS
        for name in names(row[4])
        # What SageMaker shows to IAM is asked of SageMaker.
        if services[name] != row[0] and {services[name], row[0]} != {"SageMaker", "IAM"}
    ]
    assert wrong == []


@pytest.mark.parametrize("row", [row for row in ROWS if not names(row[4])], ids=lambda row: row[1][:40])
def test_a_row_without_a_check_says_why(row: list[str]) -> None:
    assert NO_CHECK.search(row[4])


@pytest.mark.parametrize("module", sorted(modules()))
def test_each_module_that_the_table_names_exists(module: str) -> None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    assert found, f"docs/reference/assumptions.md names {module}, which does not exist"


def test_each_module_that_says_so_is_in_the_table() -> None:
    saying = {
        module_of(path, source): list(says_so(path.read_text(encoding="utf-8")))
        for source in SOURCES
        for path in (ROOT / source).rglob("*.py")
    }
    lacking = {module: lines for module, lines in saying.items() if lines and module not in modules()}
    assert lacking == {}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("# AWS does not document how long that takes.", True),
        ('"""AWS documents neither the status nor the time."""', True),
        ("Code and wording are assumed; AWS documents neither.", True),
        ("that sagemaker:KeepAlivePeriod exists is undocumented", True),
        ('principal = "arn:aws:sts::1:assumed-role/a/b"', False),
        ("if not document[name]:", False),
        ("No policy allows it, or the role cannot be assumed.", False),
        ('f"Paused pools are assumed to stay paused"', False),
    ],
)
def test_a_line_that_says_so_is_found(line: str, found: bool) -> None:
    assert bool(list(says_so(line))) is found
