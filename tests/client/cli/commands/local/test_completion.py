from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from headway_client.cli.app import cli
from headway_client.cli.commands.local.completion import VARIABLE
from tests.client.command_line import Run, levels

# The Makefile's own shell, so it is available wherever these tests run.
BASH = "/bin/bash"


def complete(script: str, *words: str) -> list[str]:
    """Return bash's completions of the last word, from the function that `complete` registered."""
    # The script requests completions from the program.
    line = f"""
headway() {{ {shlex.quote(sys.executable)} -m headway_client.cli.main "$@"; }}
env() {{ local "${{@:1:3}}"; export COMP_WORDS COMP_CWORD _HEADWAY_COMPLETE; "${{@:4}}"; }}
compopt() {{ :; }}
{script}
function_of_headway=$(complete -p headway | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
$function_of_headway headway
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        [BASH, "--norc", "-c", line, "bash", *words], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stderr == ""
    return [word for word in done.stdout.split("\n") if word]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["headway", "su"], ["submit"]),
        (["headway", "co"], ["compare", "connect", "comment", "config", "completion"]),
        (["headway", "config", ""], ["show", "set", "history", "diff", "rollback"]),
        (["headway", "queue", "--mi"], ["--mine"]),
        (["headway", "queue", "--state", "p"], ["preempted", "pending"]),
        (["headway", "-o", "json", "queue", "--state", "ru"], ["running"]),
        (["headway", "queue", "-o", ""], ["table", "wide", "name", "json", "yaml", "csv"]),
        (["headway", "--output", "w"], ["wide"]),
        (["headway", "history", "--state", ""], ["completed", "failed", "stopped"]),
        (["headway", "completion", "z"], ["zsh"]),
        (["headway", "submit", "--set", "x"], []),
        (["headway", "submit", "fi"], []),
        (["headway", "sandbox", "up", "--sp"], ["--speed"]),
        (["headway", "stop", "queue"], []),
    ],
    ids=" ".join,
)
def test_bash_completes_commands_options_and_values(run: Run, words: list[str], expected: list[str]):
    assert complete(run("completion", "bash")[1], *words) == expected


def test_every_command_and_every_option_is_offered():
    completer = ShellComplete(cli, {}, "headway", VARIABLE)
    for level in levels():
        offered = completer.get_completions(list(level.path), "")
        words = [each.value for each in offered if each.type == "plain"]
        assert words == [*level.commands, *level.words]
        options = completer.get_completions(list(level.path), "-")
        assert sorted(each.value for each in options) == sorted(level.options)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_calls_the_program(run: Run, shell: str):
    code, out, err = run("completion", shell)

    assert (code, err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in out
    assert {character for character in out if not character.isprintable()} <= set("\n\t")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_accepts_its_script(run: Run, shell: str):
    program = shutil.which(shell)
    # Neither is required for development; the completions themselves are tested above.
    if program is None:
        pytest.skip(f"there is no {shell} here")

    done = subprocess.run(
        [program, "-n", "/dev/stdin"], input=run("completion", shell)[1], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_wrong_usage(run: Run):
    assert run("completion", "csh")[0] == 2
