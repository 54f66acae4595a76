from __future__ import annotations

import shutil
import subprocess

import pytest

from headway_client.cli import parser, shell_completion
from tests.client.command_line import Run

# The Makefile's own shell, so it is wherever these tests run.
BASH = "/bin/bash"


def complete(script: str, *words: str) -> list[str]:
    """Return what bash offers for the last word, through what `complete` registered."""
    line = f"""
{script}
function_of_headway=$(complete -p headway | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
$function_of_headway
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
        (["headway", "co"], ["connect", "config", "completion"]),
        (["headway", "config", ""], ["show", "set"]),
        (["headway", "queue", "--mi"], ["--mine"]),
        (["headway", "queue", "--state", "p"], ["preempted", "pending"]),
        (["headway", "-o", "json", "queue", "--state", "ru"], ["running"]),
        (["headway", "queue", "-o", ""], ["table", "wide", "json", "csv"]),
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


def test_bash_knows_every_command_and_every_option(run: Run):
    script = run("completion", "bash")[1]

    for level in shell_completion.levels(parser.build()):
        assert complete(script, "headway", *level.path, "-") == list(level.options)
        if level.arguments:
            assert complete(script, "headway", *level.path, "") == list(level.arguments)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shells_script_names_every_command_and_option(run: Run, shell: str):
    code, out, err = run("completion", shell)

    assert (code, err) == (0, "")
    for level in shell_completion.levels(parser.build()):
        assert level.name in out
        for option in level.options:
            assert (option.lstrip("-") if shell == "fish" else option) in out


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_itself_takes_its_script(run: Run, shell: str):
    program = shutil.which(shell)
    # Neither is needed for anything else here; what the scripts offer is tested above without them.
    if program is None:
        pytest.skip(f"there is no {shell} here")

    done = subprocess.run(
        [program, "-n", "/dev/stdin"], input=run("completion", shell)[1], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_wrong_usage(run: Run):
    assert run("completion", "csh")[0] == 2
