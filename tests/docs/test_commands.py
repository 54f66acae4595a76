"""Commands that the docs mention or show can be run, and names of attempts are real ones."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from headway_client.cli.app import cli
from headway_service.sagemaker_api.names import attempt_name
from tests.docs.shell_commands import PAGES, ROOT, commands_of, spans

SOURCES = ("client/src", "layers", "sandbox/src", "functions", "deploy")

PROGRAM = re.compile(r"(?:[A-Z_]+=\S+ )*(?:\S*/)?headway (.+)", re.DOTALL)
"""The program with variables before it, and its arguments."""

NOT_ARGUMENTS = re.compile(r"\.\.\.|…|[<>|].*")


def usage_error(arguments: list[str], *, placeholders: bool = True) -> str | None:
    """Return what the command line has against a command; missing arguments are fine.

    Args:
        arguments: the arguments of the program.
        placeholders: whether words may stand for others, such as N or COMMAND, so that values are not checked.
    """
    words = list(arguments)
    command: click.Command = cli
    # Commands keep the help option that they are first used with, so they get the settings of their groups.
    context = click.Context(cli, info_name="headway", **cli.context_settings)
    try:
        while isinstance(command, click.Group) and words:
            # Common options may come before the command.
            _, words, _ = command.make_parser(context).parse_args(words)
            if not words:
                return None
            name = words.pop(0)
            if placeholders and name.isupper():
                return None
            found = command.get_command(context, name)
            if found is None:
                return f"there is no command {name}"
            command = found
            context = click.Context(command, parent=context, info_name=name)
        if not isinstance(command, click.Group):
            command.make_context(command.name, words, parent=context.parent)
    except click.exceptions.Exit:
        return None
    except click.MissingParameter:
        return None
    except click.UsageError as error:
        unchecked = placeholders and isinstance(error, click.BadParameter | click.BadOptionUsage)
        return None if unchecked else error.format_message()
    return None


def mentioned_in(text: str) -> list[str]:
    """Return the commands that a page mentions within its text, which may be wrapped."""
    return [found[1] for _, span in spans(text) if (found := PROGRAM.fullmatch(span)) is not None]


def run_in(text: str) -> list[list[str]]:
    """Return the arguments of each command of a page's blocks of shell commands."""
    return [list(typed.words[1:]) for typed in commands_of(text) if typed.shown and typed.program == "headway"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_mentioned_command_takes_its_options_and_arguments(page: Path) -> None:
    mentioned = mentioned_in(page.read_text(encoding="utf-8"))
    wrong = {command: usage_error(shlex.split(NOT_ARGUMENTS.sub("", command))) for command in mentioned}
    assert {command: error for command, error in wrong.items() if error is not None} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_block_can_be_run_as_it_stands(page: Path) -> None:
    wrong = {" ".join(words): usage_error(words, placeholders=False) for words in run_in(page.read_text("utf-8"))}
    assert {command: error for command, error in wrong.items() if error is not None} == {}


def test_every_command_that_the_code_names_takes_its_options_and_arguments() -> None:
    named = {
        (path.name, command)
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*.py")
        for command in re.findall(r"`headway ([a-z][^`\n]*)`", path.read_text(encoding="utf-8"))
    }
    wrong = {each: usage_error(shlex.split(NOT_ARGUMENTS.sub("", each[1]))) for each in named}
    assert len(named) > 50
    assert {each: error for each, error in wrong.items() if error is not None} == {}


@pytest.mark.parametrize(
    "command",
    [
        "history JOB",
        "shwo JOB",
        "show --all JOB",
        "config shw",
        "config --all show",
        "-x queue",
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str) -> None:
    assert usage_error(command.split()) is not None


@pytest.mark.parametrize(
    "command", ["queue -o xml", "submit job.json --priority N", "queue --limit", "history --since yesterday"]
)
def test_a_value_of_a_block_that_is_none_is_found(command: str) -> None:
    assert usage_error(command.split(), placeholders=False) is not None
    assert usage_error(command.split()) is None


PAGE = """\
Type `headway queue --all`, or `.venv/bin/headway config
show` and `make demo`.

```console
$ headway queue -o name \\
    | xargs headway stop --yes > out.txt
headway: output
$ export NAME="$(headway submit job.json -o name)"; HEADWAY_PROFILE=x headway show "$NAME"  # it
```

```bash
eval "$(headway completion bash)"
```

```text
headway nonsense
```
"""


def test_commands_are_found_in_text_and_in_blocks() -> None:
    assert mentioned_in(PAGE) == ["queue --all", "config show"]
    assert run_in(PAGE) == [
        ["queue", "-o", "name"],
        ["stop", "--yes"],
        ["submit", "job.json", "-o", "name"],
        ["show", "$NAME"],
        ["completion", "bash"],
    ]


@pytest.mark.parametrize(
    ("page", "job"),
    [("docs/how-to/clients/sdk-v3.md", "vision-20261121100000"), ("docs/how-to/clients/boto3.md", "bert-large")],
)
def test_later_attempts_have_their_real_names(page: str, job: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert attempt_name(job, 2) in text
    assert f"{job}-r2" not in text
