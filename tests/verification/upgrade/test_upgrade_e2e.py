"""A release is played as documented: deployed, updated under load, rolled back, guarded and deleted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway_verification.upgrade.__main__ import play

PAGE = (Path(__file__).parents[3] / "docs/how-to/release.md").read_text(encoding="utf-8")


def questions_on_the_page() -> list[tuple[str, str]]:
    """Return the questions in `docs/how-to/release.md`, with their answers."""
    (block,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    asked = [re.fullmatch(r"(.*\[.*\]): ?(.*)", line) for line in block.splitlines()]
    return [(match[1], match[2]) for match in asked if match]


@pytest.mark.e2e
def test_a_release_loses_no_job_and_asks_the_documented_questions(capsys: pytest.CaptureFixture[str]):
    story = play(seed=7, short=True)
    assert story.violations == [], capsys.readouterr().out
    # The folder differs by machine, and the sandbox uses a shorter interval than the page.
    asked = [(re.sub(r"\[/.*/", "[", question), answer) for question, answer in story.asked]
    shortened = {"Parameter ReconcileAfterSeconds [300]": ""}
    assert [(question, shortened.get(question, answer)) for question, answer in asked] == questions_on_the_page()


def test_the_page_has_the_parameters_of_the_template(parameters: list[str]):
    on_the_page = [question for question, _answer in questions_on_the_page()]
    named = [question.split()[1] for question in on_the_page if question.startswith("Parameter ")]
    assert named == parameters


@pytest.fixture
def parameters() -> list[str]:
    text = (Path(__file__).parents[3] / "template.yaml").read_text(encoding="utf-8")
    (section,) = re.findall(r"^Parameters:\n(.*?)^\w", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^  (\w+):", section, re.MULTILINE)
