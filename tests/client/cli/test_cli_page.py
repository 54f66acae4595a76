"""docs/reference/cli.md agrees with the command line."""

from __future__ import annotations

import importlib
import re

import pytest

from headway_client.cli import exit_codes
from headway_client.cli.command import common_options
from tests.client.command_line import ROOT, levels

PAGE = (ROOT / "docs/reference/cli.md").read_text()
FOLDER = ROOT / "client/src/headway_client"
LEVELS = {level.name: level for level in levels()}
COMMANDS = {name: level for name, level in LEVELS.items() if name and not level.commands}


COMMON = {name for option in common_options() for name in option.opts} | {"-h", "--help", "--version"}


def sections() -> dict[str, str]:
    parts = re.split(r"^### headway (.+)\n", PAGE, flags=re.MULTILINE)
    return {
        name: re.split(r"^## ", text, flags=re.MULTILINE)[0]
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def rows(title: str) -> list[list[str]]:
    text = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_command_has_a_section_and_every_section_a_command():
    assert set(sections()) == set(COMMANDS)


SELECTING = ("stop", "priority", "change", "comment", "hold", "release")
"""Commands whose options for the selection of jobs are in one table above their sections."""


def named_options(text: str) -> set[str]:
    table = "\n".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    return set(re.findall(r"`(--?[a-zA-Z][a-z-]*)", table))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_names_every_option_of_its_command_and_no_other(name: str):
    shared = PAGE.partition("\n## Changing jobs\n")[2].partition("\n### ")[0] if name in SELECTING else ""

    assert named_options(shared + sections()[name]) == set(COMMANDS[name].options) - COMMON


def test_the_common_options_are_named():
    for option in COMMON - {"-h", "--help", "--version"}:
        assert re.search(f"`{option}[ `]", PAGE.partition("## Common options")[2].partition("\n## ")[0]), option


def test_the_exit_codes_are_those_of_the_code():
    documented = [(int(code), meaning) for code, meaning in rows("Exit codes")]
    told = re.findall(r"^\| (\d+) \| (.+) \|$", str(exit_codes.__doc__), re.MULTILINE)

    assert documented == [(int(code), meaning) for code, meaning in told]
    constants = {value for name, value in vars(exit_codes).items() if name.startswith("EXIT_")}
    assert {code for code, _ in documented} == constants
    tutorial = (ROOT / "docs/tutorial/quickstart.md").read_text().partition("## Exit codes\n")[2]
    assert {int(code) for code in re.findall(r"\b(\d+) ", tutorial)} == constants


@pytest.mark.parametrize("row", rows("Limits"), ids=lambda row: row[2])
def test_a_limit_is_that_of_the_code(row: list[str]):
    module, _, name = row[2].strip("`").rpartition(".")

    assert getattr(importlib.import_module(f"headway_client.{module}"), name) == int(row[1].replace(",", ""))


def test_every_limit_of_the_command_line_is_on_the_page():
    documented = {row[2].strip("`") for row in rows("Limits")}
    for path in [
        *(FOLDER / "cli/commands").glob("*/*.py"),
        FOLDER / "cli/arguments/filters.py",
        FOLDER / "cli/hosts.py",
        FOLDER / "cli/arguments/input_files.py",
        FOLDER / "cli/arguments/params.py",
        FOLDER / "http/batch_submit.py",
        FOLDER / "http/transport.py",
    ]:
        module = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        for name in re.findall(r"^(MAX_\w+) = ", path.read_text(), re.MULTILINE):
            assert f"{module}.{name}" in documented
