"""Scripts that complete command lines, made from the command line's own grammar."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Level:
    """What may be typed behind a command, such as ``config show``.

    Attributes:
        path: the command; empty for the program itself.
        commands: the commands below it, with what they do.
        options: its options, with what they do.
        values: the values of options that have a choice, by option.
        free: options that take a value of any kind, such as a file.
        words: the choice of its own arguments, such as shells.
    """

    path: tuple[str, ...]
    commands: Mapping[str, str]
    options: Mapping[str, str]
    values: Mapping[str, Sequence[str]]
    free: Sequence[str]
    words: Sequence[str]

    @property
    def name(self) -> str:
        """The command as one typed it."""
        return " ".join(self.path)

    @property
    def arguments(self) -> dict[str, str]:
        """What may be typed there, be it a command, with what it does."""
        return {**self.commands, **dict.fromkeys(self.words, "")}


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the completion script for ``bash``, ``zsh`` or ``fish``."""
    makers: dict[str, Callable[[list[Level]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    return makers[shell](list(levels(parser)))


def levels(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Level]:
    """Yield each command of a parser, and what may be typed behind it."""
    options: dict[str, str] = {}
    values: dict[str, Sequence[str]] = {}
    free: list[str] = []
    words: list[str] = []
    below: dict[str, argparse.ArgumentParser] = {}
    texts: dict[str, str] = {}
    # argparse has no public way to look at what was added to a parser.
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            below = dict(action.choices)
            texts = {each.dest: each.help or "" for each in action._choices_actions}  # noqa: SLF001
            continue
        choices = [str(choice) for choice in action.choices or ()]
        for option in action.option_strings:
            options[option] = _first_clause(action.help or "")
            if choices:
                values[option] = choices
            elif action.nargs != 0:
                free.append(option)
        if not action.option_strings:
            words += choices
    yield Level(path=path, commands=texts, options=options, values=values, free=free, words=words)
    for name, command in below.items():
        yield from levels(command, (*path, name))


def _bash(found: list[Level]) -> str:
    commands = "|".join(shlex.quote(level.name) for level in found if level.path)
    values = "".join(
        f"        {shlex.quote(f'{level.name} {option}'.strip())}) words={shlex.quote(' '.join(choices))} ;;\n"
        for level in found
        for option, choices in level.values.items()
    )
    free = "|".join(shlex.quote(f"{level.name} {option}".strip()) for level in found for option in level.free)
    words = "".join(
        f"        {shlex.quote(level.name)}) words={shlex.quote(' '.join(level.arguments))}"
        f" options={shlex.quote(' '.join(level.options))} ;;\n"
        for level in found
    )
    return f"""\
# Completion of headway for bash: eval "$(headway completion bash)"
_headway() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local path="" words="" options="" next i
    for ((i = 1; i < COMP_CWORD; i++)); do
        next="${{path:+$path }}${{COMP_WORDS[i]}}"
        case "$next" in
        {commands}) path="$next" ;;
        esac
    done
    next="${{path:+$path }}$previous"
    case "$next" in
{values}        {free}) COMPREPLY=(); return ;;
    esac
    if [[ -z $words ]]; then
        case "$path" in
{words}        esac
        [[ $current == -* ]] && words="$options"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _headway headway
"""


def _zsh(found: list[Level]) -> str:
    commands = "|".join(shlex.quote(level.name) for level in found if level.path)
    values = "".join(
        f"    {shlex.quote(f'{level.name} {option}'.strip())}) compadd -- {shlex.join(choices)}; return ;;\n"
        for level in found
        for option, choices in level.values.items()
    )
    free = "|".join(shlex.quote(f"{level.name} {option}".strip()) for level in found for option in level.free)
    words = "".join(
        f"    {shlex.quote(level.name)})\n"
        f"        words_here=({_described(level.arguments)})\n"
        f"        options_here=({_described(level.options)}) ;;\n"
        for level in found
    )
    return f"""\
#compdef headway
# Completion of headway for zsh: eval "$(headway completion zsh)", after compinit
_headway() {{
    local command_path="" next i
    local -a words_here options_here
    for ((i = 2; i < CURRENT; i++)); do
        next="${{command_path:+$command_path }}${{words[i]}}"
        case "$next" in
        {commands}) command_path="$next" ;;
        esac
    done
    next="${{command_path:+$command_path }}${{words[CURRENT-1]}}"
    case "$next" in
{values}    {free}) _files; return ;;
    esac
    case "$command_path" in
{words}    esac
    if [[ ${{words[CURRENT]}} == -* ]]; then
        _describe option options_here
    elif (( ${{#words_here}} )); then
        _describe command words_here
    else
        _files
    fi
}}
compdef _headway headway
"""


def _fish(found: list[Level]) -> str:
    lines = [
        "# Completion of headway for fish: headway completion fish | source",
        "function __headway_path",
        "    set -l path",
        "    for word in (commandline -opc)[2..-1]",
        "        switch (string join ' ' $path $word)",
        f"            case {' '.join(_fish_quote(level.name) for level in found if level.path)}",
        "                set -a path $word",
        "        end",
        "    end",
        "    string join ' ' $path",
        "end",
    ]
    for level in found:
        condition = _fish_quote(f'test "$(__headway_path)" = "{level.name}"')
        if level.commands or level.words:
            lines.append(f"complete -c headway -n {condition} -f")
        lines += [
            f"complete -c headway -n {condition} -a {_fish_quote(word)} -d {_fish_quote(text)}"
            for word, text in level.arguments.items()
        ]
        for option, text in level.options.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            takes = ""
            if option in level.values:
                takes = f" -x -a {_fish_quote(' '.join(level.values[option]))}"
            elif option in level.free:
                takes = " -r"
            lines.append(f"complete -c headway -n {condition} {kind}{takes} -d {_fish_quote(text)}")
    return "\n".join(lines) + "\n"


def _described(words: Mapping[str, str]) -> str:
    # _describe takes what stands before the first colon for the word.
    return " ".join(shlex.quote(f"{word}:{text}" if text else word) for word, text in words.items())


def _fish_quote(text: str) -> str:
    # Inside single quotes fish knows two escapes, \\ and \' (source: fish's manual, "Quotes").
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _first_clause(text: str) -> str:
    return text.partition(";")[0].partition(" (")[0]
