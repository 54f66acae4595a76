"""Docstrings say what names do not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("layers", "functions", "client", "sandbox", "verification")

FILLERS = {"a", "an", "its", "of", "the", "these", "this"}
ALSO_SAY = {"now": {"current", "time"}, "machine": {"time"}}
"""What words of a name say as well."""


def repeats_its_name(name: str, text: str) -> bool:
    known = _words(name.replace("_", " "))
    known |= {each for word in known for each in ALSO_SAY.get(word, ())}
    return _words(text) - _words(" ".join(FILLERS)) <= known


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") if len(word) > 3 else word for word in re.findall("[a-z]+", text.lower())}


def entries_of(docstring: str) -> Iterator[tuple[str, str]]:
    """The parameters of a docstring in Google style, each with its text."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n(?=    ))+)", docstring, re.MULTILINE)
    for entry in re.split(r"\n(?=    \S)", section[1]) if section else ():
        name, _, text = entry.strip().partition(":")
        yield name.lstrip("*"), text


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("job", "the job.", True),
        ("queue_teams", "The teams of the queue.", True),
        ("now_ms", "the current time, ms.", True),
        ("job", "the name of the job.", False),
        ("limit", "the fewest entries.", False),
    ],
)
def test_an_entry_repeats_its_name_if_it_has_no_other_word(name: str, text: str, expected: bool) -> None:
    assert repeats_its_name(name, text) is expected


def test_the_entries_of_a_docstring_are_found() -> None:
    docstring = "X.\n\nArgs:\n    a: the a.\n    bs: more\n        of them.\n\nReturns:\n    Nothing: at all."
    assert [(name, text.split()) for name, text in entries_of(docstring)] == [
        ("a", ["the", "a."]),
        ("bs", ["more", "of", "them."]),
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_entry_of_a_docstring_repeats_the_name_of_its_parameter(folder: str) -> None:
    repeated = [
        f"{path.relative_to(ROOT)}: {node.name}: {name}"
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for name, text in entries_of(ast.get_docstring(node) or "")
        if repeats_its_name(name, text)
    ]
    assert repeated == []
