"""The guardrails page: its policy is applied to its request, and the page shows the real output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway_client.cli.main import main
from headway_service.config import rules
from tests.docs.test_docs import ROOT

PAGE = (ROOT / "docs/how-to/guardrails.md").read_text()
RULES = PAGE.partition("## Rules\n")[2].partition("\n## ")[0]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", RULES, re.MULTILINE | re.DOTALL)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the page's files into the working folder."""
    for name, text in zip(("policy.json", "job.json"), blocks("json"), strict=True):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("block", blocks("console"))
def test_a_command_of_the_page_prints_the_output_on_the_page(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, shown = block.partition("\n")
    main(command.removeprefix("$ headway ").split())
    printed = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    assert printed == shown


def test_the_page_names_every_field_of_a_rule() -> None:
    for part in (rules.Rule, rules.When, rules.Require, rules.FileSystem):
        for field in part.model_fields.values():
            assert f"`{field.alias}`" in RULES
