"""The command `headway simulate`; it is carried out by the package `headway_sandbox` of a checkout."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from headway_client.cli import grammar
from headway_client.cli.context import show_json, wants_json
from headway_client.cli.grammar import Commands
from headway_client.errors import UsageError
from headway_client.text import to_json, to_stderr


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    command = commands.add("simulate", simulate, "play a trace of jobs under several policies and compare them")
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
        "--stop-seconds",
        type=grammar.whole(0, 86_400),
        default=120,
        metavar="S",
        help="what a preempted job takes to stop",
    )
    command.add_argument(
        "--checkpointing", type=_part, default=0.0, metavar="PART", help="the part of the jobs that writes checkpoints"
    )
    command.add_argument(
        "--seed",
        type=grammar.whole(0, 999_999_999),
        default=0,
        metavar="N",
        help="decides which jobs write checkpoints",
    )
    command.add_argument(
        "--rows", type=grammar.whole(1, 999_999_999), metavar="N", help="read only so many jobs of the trace"
    )
    command.add_argument("--processes", type=grammar.whole(1, 64), default=1, metavar="N", help="simulate side by side")
    command.add_argument("--json", metavar="FILE", help="write all figures here")
    command.add_argument("--picture", metavar="FILE.svg", help="draw use and line here")


def simulate(args: argparse.Namespace) -> None:
    """Play a trace under the policies, and show how they compare."""
    from pathlib import Path

    errors, trace, run, report, picture = (_load(name) for name in ("errors", "trace", "run", "report", "plot"))
    with _input_errors(errors):
        pools = trace.parse_capacity(args.capacity)
        read = trace.read_trace(Path(args.trace), pools, mapping=args.mapping, rows=args.rows)
        scenarios = run.scenarios(
            read,
            args.policy,
            args.limits,
            stop_ms=args.stop_seconds * 1000,
            checkpointing=args.checkpointing,
            seed=args.seed,
        )
        results = run.simulate_all(
            scenarios, processes=args.processes, report=lambda one: to_stderr(f"{one.label}: {one.wall_s:.1f} s")
        )
    document = {
        "trace": read.source,
        "pools": dict(pools),
        "mapping": args.mapping,
        "stopSeconds": args.stop_seconds,
        "checkpointing": args.checkpointing,
        "seed": args.seed,
        "results": [result.to_document() for result in results],
    }
    if args.json:
        _write(args.json, to_json(document) + "\n")
    if args.picture:
        _write(args.picture, picture.draw(results, sum(pools.values())))
    if wants_json(args):
        show_json(document)
        return
    print(report.table(results))
    for note in report.notes(results):
        print(note)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[float]:
    return [grammar.decimal(part.strip()) for part in text.split(",")]


def _part(text: str) -> float:
    part = grammar.decimal(text)
    if part > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no part from 0 to 1")
    return part


def _write(path: str, text: str) -> None:
    from pathlib import Path

    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}") from error


def _load(module: str) -> Any:
    try:
        return import_module(f"headway_sandbox.simulator.{module}")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The simulator is not installed here ({error.name} is missing). It comes with a checkout of Headway: "
            "type `make setup` there, then use its .venv/bin/headway.",
            code="NoSimulator",
        ) from error


@contextmanager
def _input_errors(errors: Any) -> Iterator[None]:
    """Turn the simulator's own errors, which say what to change, into the client's."""
    try:
        yield
    except errors.InvalidInput as error:
        text = str(error)
        raise UsageError(f"{text[:1].upper()}{text[1:]}.", code=type(error).__name__) from error
