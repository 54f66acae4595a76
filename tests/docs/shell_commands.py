"""The commands that a page mentions in its text or shows in its blocks, and the lines that they are on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "examples", "bench")
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")),
    ]
)

_FENCED = re.compile(r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<code>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`")
_SHELLS = ("console", "bash", "sh")
_COMMAND_ENDS = {"|", "||", "&&", ";", "&"}
_REDIRECTION = re.compile(r"\d?[<>]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]+=")
_RUNNERS = {"xargs", "time", "do", "then"}
"""Words after which a command begins, if need be after options."""
_RUNNERS_OPTION = re.compile(r"-|\d+$")


@dataclass(frozen=True, kw_only=True)
class Typed:
    """A command: its program and its arguments, without variables before them and redirections after."""

    line: int
    """Where its block's or its text's line begins on the page, from 1."""
    words: tuple[str, ...]
    shown: bool
    """Whether it stands in a block, to be typed as it is."""

    @property
    def program(self) -> str:
        """The name of the program without its folder."""
        return Path(self.words[0]).name


def spans(text: str) -> Iterator[tuple[int, str]]:
    """Yield what a page has between backticks within its text, which may be wrapped, with its line."""
    # The blocks give way to as many empty lines.
    prose = _FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)
    for span in _INLINE.finditer(prose):
        yield prose.count("\n", 0, span.start()) + 1, " ".join(span[1].split())


def commands_of(text: str) -> Iterator[Typed]:
    """Yield the commands of a page, in its blocks and in its text."""
    for number, line in _lines_of_blocks(text):
        for words in _commands(line):
            yield Typed(line=number, words=tuple(words), shown=True)
    for number, span in spans(text):
        with suppress(ValueError):  # a span is often no command, and then it may have one quotation mark
            for words in _commands(span):
                yield Typed(line=number, words=tuple(words), shown=False)


def _lines_of_blocks(text: str) -> Iterator[tuple[int, str]]:
    for block in _FENCED.finditer(text):
        if block["language"] in _SHELLS:
            first = text.count("\n", 0, block.start("code")) + 1
            yield from _lines(block["code"], first, prompted=block["language"] == "console")


def _lines(code: str, first: int, *, prompted: bool) -> Iterator[tuple[int, str]]:
    """The command lines of a block; in a console with prompts, all else is output."""
    # A backslash joins lines; as many empty ones keep the numbers.
    joined = re.sub(
        r"(?:[^\n]*\\\n)+[^\n]*", lambda part: part[0].replace("\\\n", " ") + "\n" * part[0].count("\n"), code
    )
    numbered = [(first + offset, line) for offset, line in enumerate(joined.split("\n")) if line]
    prompts = [(number, line.removeprefix("$ ")) for number, line in numbered if line.startswith("$ ")]
    begun: list[tuple[int, str]] = []
    for each in prompts if prompted and prompts else numbered:
        begun.append(each)
        whole = "\n".join(line for _, line in begun)
        # A quoted text may go on in the next line.
        with suppress(ValueError):
            _words(whole)
            yield begun[0][0], whole
            begun = []
    assert begun == [], "a quotation is not closed"


def _commands(line: str) -> Iterator[list[str]]:
    """The commands of a command line, those in a substitution included."""
    for inner in re.findall(r"\$\(([^()]*)\)", line):
        yield from _commands(inner)
    words: list[str] = []
    for word in [*_words(re.sub(r"\$\([^()]*\)", "X", line)), ";"]:
        if word not in _COMMAND_ENDS:
            words.append(word)
            continue
        if called := _called(words):
            yield called
        words = []


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    return list(lexer)


def _called(words: list[str]) -> list[str]:
    """A program and its arguments, without what stands before; what redirects is no argument."""
    rest = list(words)
    while rest and (_ASSIGNMENT.match(rest[0]) or rest[0] in _RUNNERS):
        runs = rest.pop(0) in _RUNNERS
        while runs and rest and _RUNNERS_OPTION.match(rest[0]):
            rest.pop(0)
    return [*takewhile(lambda word: not _REDIRECTION.match(word), rest)]
