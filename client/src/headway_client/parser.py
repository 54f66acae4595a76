"""The command line's grammar and its help texts."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import NoReturn, TypeAlias

from headway_client import __version__
from headway_client.commands import dlq, jobs, policy, pools, sandbox, simulate
from headway_client.documents import JOB_STATES
from headway_client.errors import UsageError

OUTPUTS = ("table", "wide", "json")

DEFAULT_QUEUE_LIMIT = 200
MAX_QUEUE_LIMIT = 10_000

_DESCRIPTION = "Queue SageMaker training jobs on a fixed number of instances, the most important first."

_EPILOG = """\
The queue's endpoint is taken from --endpoint, HEADWAY_ENDPOINT, the profile (--profile, HEADWAY_PROFILE or
the default of ~/.config/headway/config.toml), or the sandbox of the checkout you stand in.

exit codes: 0 done, 2 wrong usage, 3 refused, 4 no such job, 5 conflict, 6 not reachable or not allowed,
7 busy or faulty server, 1 anything unexpected, 130 interrupted
"""

Run = Callable[[argparse.Namespace], int | None]


class _Parser(argparse.ArgumentParser):
    """Raises `UsageError` in place of leaving the process, so that --output json tells usage errors too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See `{self.prog} --help`.")


def build() -> argparse.ArgumentParser:
    """Return the parser; what it parses holds the command's function as `run`."""
    # The common options may stand before the command or behind it. Behind it they have no default, which
    # would otherwise wipe out what was given before.
    parser: argparse.ArgumentParser = _Parser(
        prog="headway",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_common(default=None)],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"headway {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    common = _common(default=argparse.SUPPRESS)
    _add_job_commands(commands, common)
    _add_pool_commands(commands, common)
    _add_policy_commands(commands, common)
    _add_dead_letter_commands(commands, common)
    _add_sandbox_commands(commands, common)
    _add_simulate_command(commands, common)
    return parser


def _common(*, default: str | None) -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    group = common.add_argument_group("common options")
    group.add_argument("--endpoint", metavar="URL", default=default, help="the queue's API, with its stage")
    group.add_argument("--profile", metavar="NAME", default=default, help="a profile of the profile file, or `sandbox`")
    group.add_argument("--region", default=default, help="the API's AWS region (HEADWAY_REGION)")
    group.add_argument(
        "--output",
        "-o",
        choices=OUTPUTS,
        default=default or "table",
        help="table (default), wide: with more columns and nothing cut, or json, for errors too",
    )
    return common


# argparse gives what add_subparsers() returns no public name.
_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


def _command(
    commands: _Commands, common: argparse.ArgumentParser, name: str, run: Run, text: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[common], allow_abbrev=False
    )
    command.set_defaults(run=run)
    return command


def _add_job_commands(commands: _Commands, common: argparse.ArgumentParser) -> None:
    submit = _command(commands, common, "submit", jobs.submit, "hand in a CreateTrainingJob request")
    submit.add_argument("file", metavar="FILE", help="the request as JSON, as for boto3; - is standard input")
    submit.add_argument("--priority", type=_priority, metavar="N", help="higher goes first; replaces the request's tag")

    queue = _command(commands, common, "queue", jobs.queue, "show who runs and who waits, and why")
    which = queue.add_mutually_exclusive_group()
    which.add_argument("--state", action="append", choices=JOB_STATES, help="only this state; may repeat")
    which.add_argument("--all", action="store_true", help="ended jobs too, and those that bypassed the queue")
    queue.add_argument(
        "--limit",
        type=_limit,
        default=DEFAULT_QUEUE_LIMIT,
        metavar="N",
        help=f"show at most N jobs (default {DEFAULT_QUEUE_LIMIT})",
    )

    show = _command(commands, common, "show", jobs.show, "show a job with its attempts, reasons and history")
    show.add_argument("name", metavar="NAME")

    stop = _command(commands, common, "stop", jobs.stop, "stop a job, waiting or running")
    stop.add_argument("name", metavar="NAME")

    priority = _command(commands, common, "priority", jobs.priority, "give a job another priority")
    priority.add_argument("name", metavar="NAME")
    priority.add_argument("priority", metavar="N", type=_priority, help="higher goes first")


def _add_pool_commands(commands: _Commands, common: argparse.ArgumentParser) -> None:
    _command(commands, common, "capacity", pools.capacity, "show the pools and how their instances are used")

    config = commands.add_parser("config", help="show or set the pools and the policy", allow_abbrev=False)
    actions = config.add_subparsers(metavar="ACTION", required=True)
    _command(actions, common, "show", pools.config_show, "show the configuration document")
    put = _command(actions, common, "set", pools.config_set, "put a configuration document, if it is valid")
    put.add_argument("file", metavar="FILE", help="the document as JSON; - reads standard input")


def _add_policy_commands(commands: _Commands, common: argparse.ArgumentParser) -> None:
    group = commands.add_parser("policy", help="try out pools and rules before they are set", allow_abbrev=False)
    actions = group.add_subparsers(metavar="ACTION", required=True)
    lint = _command(actions, common, "lint", policy.lint, "check a configuration document on this machine")
    test = _command(
        actions, common, "test", policy.test, "show what a document's rules say to a request; exit code 3 if refused"
    )
    for command in (lint, test):
        command.add_argument("file", metavar="FILE", help="the document as JSON; - reads standard input")
    test.add_argument("--request", required=True, metavar="JOB.json", help="the CreateTrainingJob request")
    test.add_argument("--team", metavar="NAME", help="replaces the team that the request names")


def _add_dead_letter_commands(commands: _Commands, common: argparse.ArgumentParser) -> None:
    group = commands.add_parser("dlq", help="show or redrive what was put aside as dead letters", allow_abbrev=False)
    actions = group.add_subparsers(metavar="ACTION", required=True)
    _command(actions, common, "show", dlq.show, "show the events and wake-ups that nobody could handle")
    _command(actions, common, "redrive", dlq.redrive, "hand them to whom they were meant for; exit code 7 if some stay")


def _add_sandbox_commands(commands: _Commands, common: argparse.ArgumentParser) -> None:
    group = commands.add_parser("sandbox", help="run it all on this machine, with a fake SageMaker", allow_abbrev=False)
    actions = group.add_subparsers(metavar="ACTION", required=True)
    up = _command(actions, common, "up", sandbox.up, "start the sandbox, with the state of the last time")
    up.add_argument("--port", type=_port, metavar="N", help="where to listen (default: 4566, or a free one)")
    up.add_argument("--speed", type=_speed, default=1.0, metavar="X", help="how much faster than real time")
    _command(actions, common, "down", sandbox.down, "stop the sandbox and keep its state")
    _command(actions, common, "status", sandbox.status, "show whether the sandbox runs (exit code 0), and where")
    _command(actions, common, "demo", sandbox.demo, "play a story of priorities and preemption")


def _add_simulate_command(commands: _Commands, common: argparse.ArgumentParser) -> None:
    command = _command(
        commands, common, "simulate", simulate.simulate, "play a trace of jobs under several policies and compare them"
    )
    command.add_argument("--trace", required=True, metavar="FILE", help="one row a job: a .csv or .csv.gz")
    command.add_argument("--capacity", required=True, metavar="POOL=N[,...]", help="the pools with their sizes")
    command.add_argument(
        "--policy",
        type=_names,
        default=["headway"],
        metavar="NAME[,...]",
        help="headway, headway-short, fifo, easy, sjf, article",
    )
    command.add_argument(
        "--limits", type=_numbers, default=[1.0], metavar="X[,...]", help="limits, as multiples of true run times"
    )
    mapping = command.add_mutually_exclusive_group()
    mapping.add_argument("--gpus", dest="mapping", action="store_const", const="gpus", help="an instance is one GPU")
    mapping.add_argument("--nodes", dest="mapping", action="store_const", const="nodes", help="an instance is a node")
    command.set_defaults(mapping="gpus")
    command.add_argument(
        "--stop-seconds", type=_seconds, default=120, metavar="S", help="what a preempted job takes to stop"
    )
    command.add_argument(
        "--checkpointing", type=_part, default=0.0, metavar="PART", help="the part of the jobs that writes checkpoints"
    )
    command.add_argument("--seed", type=_seed, default=0, metavar="N", help="decides which jobs write checkpoints")
    command.add_argument("--rows", type=_rows, metavar="N", help="read only so many jobs of the trace")
    command.add_argument("--processes", type=_processes, default=1, metavar="N", help="simulate side by side")
    command.add_argument("--json", metavar="FILE", help="write all figures here")
    command.add_argument("--picture", metavar="FILE.svg", help="draw use and line here")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[float]:
    return [_decimal(part.strip()) for part in text.split(",")]


def _part(text: str) -> float:
    part = _decimal(text)
    if part > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no part from 0 to 1")
    return part


def _decimal(text: str) -> float:
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no number such as 1 or 2.5")
    return float(text)


def _seconds(text: str) -> int:
    return _whole(text, 0, 86_400)


def _seed(text: str) -> int:
    return _whole(text, 0, 999_999_999)


def _rows(text: str) -> int:
    return _whole(text, 1, 999_999_999)


def _processes(text: str) -> int:
    return _whole(text, 1, 64)


def _priority(text: str) -> int:
    return _whole(text, 0, 9999)


def _limit(text: str) -> int:
    return _whole(text, 1, MAX_QUEUE_LIMIT)


def _port(text: str) -> int:
    return _whole(text, 1, 65_535)


def _speed(text: str) -> float:
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text, re.ASCII) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no factor such as 1 or 60")
    return float(text)


def _whole(text: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and low <= int(text) <= high):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")
    return int(text)
