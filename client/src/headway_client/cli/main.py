"""The entry point of ``headway``: parse the arguments, run the command, print errors and return the exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path

import click

from headway.errors import HeadwayError
from headway_client.cli.app import cli
from headway_client.cli.command import CommonOptions
from headway_client.cli.commands.local.completion import VARIABLE
from headway_client.cli.context import as_client_error, document_text, print_error
from headway_client.cli.exit_codes import (
    EXIT_BROKEN_PIPE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_UNEXPECTED,
    EXIT_USAGE,
    error_document,
    exit_code_of,
)
from headway_client.cli.interruption import sentence_of
from headway_client.cli.near_misses import near_misses_named
from headway_client.errors import ClientError, UsageError
from headway_client.text import to_stderr

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What a file, a disk or a terminal answers that takes no more output."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; those of the process by default.

    Returns:
        The exit code, one of those in `headway_client.cli.exit_codes`.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:
        # The caller has closed it: nothing is printed.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    _never_fail_on_encoding()
    if VARIABLE in os.environ:
        return _complete(os.environ[VARIABLE])
    try:
        return _run(arguments)
    except BrokenPipeError:
        _drop_output()
        return EXIT_BROKEN_PIPE
    except KeyboardInterrupt as interrupt:
        with suppress(BrokenPipeError):
            to_stderr(f"interrupted; {sentence_of(interrupt)}")
        return EXIT_INTERRUPTED


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    return shell_complete(cli, {}, "headway", VARIABLE, instruction)


def _run(arguments: list[str]) -> int:
    try:
        # Not `cli.main()`, which maps Ctrl-C and closed pipes to exit codes of its own.
        with cli.make_context("headway", list(arguments)) as ctx, near_misses_named(ctx):
            code: int | None = cli.invoke(ctx)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:  # --help and --version
        return leaving.exit_code
    except click.ClickException as error:
        _print(_usage_error(error), _asked_output(arguments))
        return EXIT_USAGE
    except HeadwayError as error:
        _print(error, _asked_output(arguments))
        return exit_code_of(error)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Users get a sentence in place of a traceback.
        if os.environ.get("HEADWAY_DEBUG"):
            raise
        _print(_unexpected(error), _asked_output(arguments))
        return EXIT_UNEXPECTED
    return code or EXIT_OK


def _usage_error(error: click.ClickException) -> UsageError:
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    message = " ".join(error.format_message().split())
    end = "" if message.endswith((".", "?", "?)")) else "."
    return UsageError(f"{message}{end} See `{ctx.command_path if ctx else 'headway'} --help`.")


def _unexpected(error: Exception) -> ClientError:
    if isinstance(error, OSError) and error.errno in _FULL:
        return ClientError(f"The output can't be written: {error.strerror}.")
    return ClientError(
        f"Unexpected {type(error).__name__}: {error} This is a bug in Headway: please report it with the "
        "traceback that HEADWAY_DEBUG=1 shows."
    )


def _print(error: HeadwayError, output: str) -> None:
    own = as_client_error(error)
    if CommonOptions(output=output).is_document:
        print(document_text(output, error_document(own)), file=sys.stderr)
    else:
        print_error(own)


def _asked_output(arguments: Sequence[str]) -> str:
    """Return the last output format that is asked for, even if the arguments as a whole can't be parsed; or empty."""
    asked = ""
    for option, value in pairwise(["", *arguments]):
        if option in {"--output", "-o"}:
            asked = value
        elif value.startswith(("--output=", "-o")):
            asked = value.removeprefix("--output=").removeprefix("-o")
    return asked


def _never_fail_on_encoding() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    # Python flushes standard output at exit, which would fail again and print a traceback.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
