"""The architecture page matches the code."""

from __future__ import annotations

import importlib.util
import re

import pytest

from docs.site import packages
from tests.docs.test_docs import ROOT

PAGE = (ROOT / "docs/explanation/architecture.md").read_text()
MODULES = sorted(set(re.findall(r"`(headway(?:_\w+)?(?:\.\w+)+)`", PAGE)))
FILES = sorted(set(re.findall(r"`(functions/\w+/app\.py)`", PAGE)))


def test_the_pictures_are_drawn_from_the_import_graph() -> None:
    stored = {path.name: path.read_text() for path in packages.FOLDER.glob("*.svg")}
    drawn = packages.pictures()
    stale = sorted(name for name in stored.keys() | drawn.keys() if stored.get(name) != drawn.get(name))
    assert not stale, "run `make docs-pictures`"
    assert all(f"architecture/{name}" in PAGE for name in drawn)


@pytest.mark.parametrize("module", MODULES)
def test_every_module_that_the_page_names_exists(module: str) -> None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    assert found, f"docs/explanation/architecture.md names {module}, which does not exist"


@pytest.mark.parametrize("file", FILES)
def test_every_function_that_the_page_names_exists(file: str) -> None:
    assert (ROOT / file).is_file()


def test_the_page_answers_typical_changes() -> None:
    rows = re.findall(r"^\| ", PAGE.partition("## Where does X go?")[2], re.MULTILINE)
    assert len(rows) == 2 + 12


def test_a_package_is_drawn_above_what_it_imports_and_implied_arrows_are_left_out() -> None:
    graph = {"a": frozenset({"b", "c"}), "b": frozenset({"c"}), "c": frozenset()}
    assert packages.levels(graph) == {"c": 0, "b": 1, "a": 2}
    assert packages.direct(graph) == [("a", "b"), ("b", "c")]


def test_a_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match="import each other"):
        packages.levels({"a": frozenset({"b"}), "b": frozenset({"a"})})
