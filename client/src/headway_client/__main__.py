"""``python -m headway_client script.py``: run an unchanged program with its training jobs in the queue.

This includes the training jobs of its child processes.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from headway_client.child_processes.inherit import InstallSettings, share
from headway_client.cli.exit_codes import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, exit_code_of
from headway_client.errors import ClientError
from headway_client.text import to_stderr


def main(argv: Sequence[str] | None = None) -> int:
    """Run a script or a module as ``__main__``.

    Args:
        argv: the arguments without the program's name; those of the process by default.

    Returns:
        0 if the program ran to its end, 130 if Ctrl-C ended it, 2 or 6 if no queue was found. The program's exceptions,
        including SystemExit, are not caught.
    """
    args = _parser().parse_args(argv)
    module: list[str] = args.module or []
    script: list[str] = args.program
    if not (module or script):
        _parser().print_usage(sys.stderr)
        to_stderr("name the script to run, or a module after -m")
        return EXIT_USAGE
    settings = InstallSettings(
        endpoint=args.endpoint,
        profile=args.profile,
        region=args.region,
        priority=args.priority,
        quiet=args.quiet,
        folder=str(Path.cwd()),
    )
    try:
        settings.install()
    except ClientError as error:
        to_stderr(error.full_message())
        return exit_code_of(error)
    share(settings)
    try:
        _run(module, script)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_OK


def _run(module: list[str], script: list[str]) -> None:
    # The same as for `python script.py` and `python -m module`.
    sys.argv = module or script
    if module:
        sys.path[0] = str(Path.cwd())
        runpy.run_module(module[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(script[0]).resolve().parent)
        runpy.run_path(script[0], run_name="__main__")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m headway_client",
        usage="%(prog)s [options] script.py [arguments]\n       %(prog)s [options] -m module [arguments]",
        description="Run an unchanged program; its training jobs go to the queue.",
        allow_abbrev=False,
    )
    parser.add_argument("--endpoint", help="the queue's endpoint")
    parser.add_argument("--profile", help="a profile of the profile file")
    parser.add_argument("--region", help="the queue's region")
    parser.add_argument("--priority", type=int, help="0 to 9999, for jobs without a priority tag")
    parser.add_argument("--quiet", action="store_true", help="do not report changes of jobs")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="a module, and its arguments")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a script, and its arguments")
    return parser


if __name__ == "__main__":
    sys.exit(main())
