"""The command `headway simulate`; it is carried out by the package `headway_sandbox` of a checkout."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from headway_client.commands.context import show_json, tell, wants_json
from headway_client.errors import UsageError
from headway_client.text import to_json


def simulate(args: argparse.Namespace) -> None:
    """Play a trace under the policies, and show how they compare."""
    errors, trace, run, report, picture = (_load(name) for name in ("errors", "trace", "run", "report", "picture"))
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
            scenarios, processes=args.processes, report=lambda one: tell(f"{one.label}: {one.wall_s:.1f} s")
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


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}") from error


def _load(module: str) -> Any:
    try:
        return import_module(f"headway_sandbox.simulate.{module}")
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
