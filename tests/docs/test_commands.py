"""Commands that the docs mention or show can be run, and names of attempts are real ones."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from itertools import dropwhile, takewhile
from pathlib import Path

import click
import pytest

from headway_client.cli.app import cli
from headway_service.sagemaker_api.names import attempt_name

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "examples", "bench")
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")),
    ]
)

SOURCES = ("client/src", "layers", "sandbox/src", "functions", "deploy")

FENCED = re.compile(r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<code>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
SHELLS = ("console", "bash", "sh")
PROGRAM = re.compile(r"(?:[A-Z_]+=\S+ )*(?:\S*/)?headway (.+)", re.DOTALL)
"""The program with variables before it, and its arguments."""

NOT_ARGUMENTS = re.compile(r"\.\.\.|…|[<>|].*")
COMMAND_ENDS = {"|", "||", "&&", ";", "&"}
REDIRECTION = re.compile(r"\d?[<>]")
ASSIGNMENT = re.compile(r"[A-Za-z_]+=")
RUNNERS = {"xargs", "time"}
"""Commands whose arguments are a command."""


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
    spans = [" ".join(span.split()) for span in INLINE.findall(FENCED.sub("", text))]
    return [found[1] for span in spans if (found := PROGRAM.fullmatch(span)) is not None]


def run_in(text: str) -> list[list[str]]:
    """Return the arguments of each command of a page's blocks of shell commands."""
    return [
        arguments
        for block in FENCED.finditer(text)
        if block["language"] in SHELLS
        for line in _lines(block["code"], prompted=block["language"] == "console")
        for arguments in _commands(line)
    ]


def _lines(code: str, *, prompted: bool) -> Iterator[str]:
    """The command lines of a block; in a console with prompts, all else is output."""
    lines = code.replace("\\\n", " ").splitlines()
    prompts = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    begun: list[str] = []
    for line in prompts if prompted and prompts else lines:
        begun.append(line)
        # A quoted text may go on in the next line.
        with suppress(ValueError):
            _words("\n".join(begun))
            yield "\n".join(begun)
            begun = []
    assert begun == [], "a quotation is not closed"


def _commands(line: str) -> Iterator[list[str]]:
    """The arguments of each call of the program in a command line, those in a substitution included."""
    for inner in re.findall(r"\$\(([^()]*)\)", line):
        yield from _commands(inner)
    words: list[str] = []
    for word in [*_words(re.sub(r"\$\([^()]*\)", "X", line)), ";"]:
        if word not in COMMAND_ENDS:
            words.append(word)
            continue
        yield from _arguments(words)
        words = []


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    return list(lexer)


def _arguments(words: list[str]) -> Iterator[list[str]]:
    """The arguments of the program if a command is a call of it; what redirects is none of them."""
    called = [*dropwhile(lambda word: ASSIGNMENT.match(word) or word in RUNNERS, words)]
    if called and Path(called[0]).name == "headway":
        yield [*takewhile(lambda word: not REDIRECTION.match(word), called[1:])]


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
