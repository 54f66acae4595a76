"""The commands on the sandbox; they are carried out by the package `headway_sandbox` of a checkout."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from headway_client.cli import grammar
from headway_client.cli.context import show_json, wants_json
from headway_client.cli.grammar import Commands
from headway_client.errors import EXIT_NOT_REACHABLE, EXIT_OK, ClientError, UsageError
from headway_client.text import to_stderr


def register(commands: Commands) -> None:
    """Say which arguments they take."""
    group = commands.group("sandbox", "run it all on this machine, with a fake SageMaker")
    start = group.add("up", up, "start the sandbox, with the state of the last time")
    start.add_argument(
        "--port", type=grammar.whole(1, 65_535), metavar="N", help="where to listen (default: 4566, or a free one)"
    )
    start.add_argument("--speed", type=_speed, default=1.0, metavar="X", help="how much faster than real time")
    group.add("down", down, "stop the sandbox and keep its state")
    group.add("status", status, "show whether the sandbox runs (exit code 0), and where")
    group.add("demo", demo, "play a story of priorities and preemption")


def up(args: argparse.Namespace) -> None:
    """Start the sandbox, or find it running, and deploy the checkout's sources to it."""
    from dataclasses import asdict

    with _sandbox_errors():
        info = _load("local.manager").up(port=args.port, speed=args.speed, report=to_stderr)
    if wants_json(args):
        show_json(asdict(info))
        return
    print(
        f"The sandbox runs at {info.endpoint}\n"
        "In this checkout `headway queue` finds it by itself. From elsewhere, and for the AWS SDKs, set:\n"
        f"  export HEADWAY_ENDPOINT={info.endpoint} HEADWAY_REGION={info.region}\n"
        f"  export AWS_ENDPOINT_URL={info.aws_endpoint} AWS_DEFAULT_REGION={info.region}\n"
        f"  export AWS_ACCESS_KEY_ID={info.access_key} AWS_SECRET_ACCESS_KEY={info.secret_key}\n"
        f"Training jobs may use the role {info.role_arn} and the bucket {info.bucket}."
    )


def down(args: argparse.Namespace) -> None:
    """Stop the sandbox and keep its state."""
    with _sandbox_errors():
        was_running = bool(_load("local.manager").down())
    if wants_json(args):
        show_json({"wasRunning": was_running})
    else:
        print("The sandbox has stopped; its state is kept." if was_running else "No sandbox was running.")


def status(args: argparse.Namespace) -> int:
    """Show whether the sandbox runs, and where; the exit code tells, too."""
    from dataclasses import asdict

    with _sandbox_errors():
        info = _load("local.manager").status()
    if wants_json(args):
        show_json({"running": info is not None, **(asdict(info) if info is not None else {})})
    elif info is not None:
        print(f"The sandbox runs at {info.endpoint} (process {info.pid}, {info.speed:g} times real speed).")
    else:
        print("No sandbox runs here. Start one with `headway sandbox up`.")
    return EXIT_NOT_REACHABLE if info is None else EXIT_OK


def demo(_: argparse.Namespace) -> int:
    """Play the demo on a sandbox of its own."""
    with _sandbox_errors():
        return int(_load("demo.preemption").main([]) or EXIT_OK)


def _speed(text: str) -> float:
    speed = grammar.decimal(text)
    if speed == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no factor such as 1 or 60")
    return speed


def _load(module: str) -> Any:
    try:
        return import_module(f"headway_sandbox.{module}")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The sandbox is not installed here ({error.name} is missing). It runs in a checkout of Headway: "
            "type `make setup` there, then use its .venv/bin/headway.",
            code="NoSandbox",
        ) from error


@contextmanager
def _sandbox_errors() -> Iterator[None]:
    """Turn the sandbox's own errors, which say what to do, into the client's."""
    errors = _load("errors")
    try:
        yield
    except errors.SetupMissing as error:
        raise UsageError(str(error), code="NoSandbox") from error
    except errors.SandboxError as error:
        raise ClientError(str(error), code=type(error).__name__) from error
