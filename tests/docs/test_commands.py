"""Commands and names of attempts that the docs mention exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from headway_client.cli.app import cli
from headway_service.sagemaker_api.names import attempt_name

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in ROOT.glob("docs/**/*.md") if "decisions" not in page.parts)
MENTIONED = re.compile(r"`(headway [a-z][^`\n]*)`")
NOT_ARGUMENTS = re.compile(r"\.\.\.|…|[<>|].*")


def usage_error(mentioned: str) -> str | None:
    """Return what the command line has against a command; missing arguments and placeholders are fine."""
    words = shlex.split(NOT_ARGUMENTS.sub("", mentioned))[1:]
    command: click.Command = cli
    # Commands keep the help option that they are first used with, so they get the settings of their groups.
    context = click.Context(cli, info_name="headway", **cli.context_settings)
    while isinstance(command, click.Group) and words:
        name = words.pop(0)
        found = command.get_command(context, name)
        if found is None:
            return f"there is no command {name}"
        command = found
        context = click.Context(command, parent=context, info_name=name)
    if isinstance(command, click.Group):
        return None
    try:
        command.make_context(command.name, words, parent=context.parent)
    except click.UsageError as error:
        # BadParameter: a placeholder such as N is no number, or an argument is missing.
        return None if isinstance(error, click.BadParameter | click.BadOptionUsage) else error.format_message()
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_mentioned_command_takes_its_options_and_arguments(page: Path) -> None:
    wrong = {command: usage_error(command) for command in MENTIONED.findall(page.read_text(encoding="utf-8"))}
    assert {command: error for command, error in wrong.items() if error is not None} == {}


@pytest.mark.parametrize(
    "command", ["headway history JOB", "headway shwo JOB", "headway show --all JOB", "headway config shw"]
)
def test_a_command_that_does_not_exist_is_found(command: str) -> None:
    assert usage_error(command) is not None


@pytest.mark.parametrize(
    ("page", "job"),
    [("docs/how-to/clients/sdk-v3.md", "vision-20261121100000"), ("docs/how-to/clients/boto3.md", "bert-large")],
)
def test_later_attempts_have_their_real_names(page: str, job: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert attempt_name(job, 2) in text
    assert f"{job}-r2" not in text
