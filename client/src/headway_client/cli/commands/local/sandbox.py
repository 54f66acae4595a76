"""The commands of the sandbox, which are implemented in the package `headway_sandbox`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from headway_client.cli.arguments.params import Decimal, WholeNumber
from headway_client.cli.command import CommonOptions, Group, pass_common
from headway_client.cli.confirmation import confirm, yes_option
from headway_client.cli.context import show_document
from headway_client.cli.exit_codes import EXIT_NOT_REACHABLE, EXIT_OK
from headway_client.cli.interruption import UNCHANGED
from headway_client.errors import ClientError, NotReachableError, UsageError
from headway_client.install_hint import install_command
from headway_client.text import to_stderr


class _Factor(Decimal):
    name = "factor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        speed = super().convert(value, param, ctx)
        if speed == 0:
            self.fail(f"{value!r} is not a factor such as 1 or 60", param, ctx)
        return speed


POLICIES = ("UserPolicy", "LeadPolicy", "OnCallPolicy", "OperatorPolicy", "AdminPolicy")
"""The stack's managed policies, by their names in the template."""

sandbox = Group("sandbox", help="Run the whole service on this machine, with a fake SageMaker.")


_UP_INTERRUPTED = (
    "the sandbox may run without the queue; `headway sandbox up` continues, `headway sandbox down` stops it."
)


@sandbox.command("up", interrupted=_UP_INTERRUPTED)
@click.option(
    "--port", type=WholeNumber(1, 65_535), metavar="N", help="The port to listen on (default: 4566, or a free one)."
)
@click.option("--speed", type=_Factor(), metavar="X", help="How much faster than real time (default: as before, or 1).")
@click.option("--train", is_flag=True, help="Run the scripts of training jobs on this machine, isolated.")
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="PATTERN=PYTHON",
    help="With --train: the Python for the images that fit a pattern (default: this Python for all).",
)
@click.option(
    "--stop-grace",
    "stop_grace_s",
    type=Decimal(),
    metavar="SECONDS",
    help="With --train: the time from SIGTERM to SIGKILL (default: 120, as on SageMaker).",
)
@click.option(
    "--memory",
    "memory_gib",
    type=Decimal(),
    metavar="GIB",
    help="With --train: the memory of each host (default: that of this machine).",
)
@pass_common
def up(
    common: CommonOptions,
    port: int | None,
    speed: float | None,
    train: bool,  # noqa: FBT001  click passes options by name
    images: tuple[str, ...],
    stop_grace_s: float | None,
    memory_gib: float | None,
) -> None:
    """Start the sandbox with its last state, and deploy this version of Headway to it."""
    from dataclasses import asdict

    if not train and (images or stop_grace_s is not None or memory_gib is not None):
        raise UsageError("Options --image, --stop-grace and --memory need --train.")
    with sandbox_errors():
        manager = load("local.manager")
        options: dict[str, Any] = {"port": port, "speed": speed}
        if train:
            settings = load("local.training_options").settings(
                images, stop_grace_s=stop_grace_s, memory_gib=memory_gib, speed=speed
            )
            options |= {"speed": 1.0, "training": settings}
        info = manager.up(**options, report=to_stderr)
    if common.is_document:
        show_document(common, asdict(info))
        return
    folder = manager.default_state_dir().parent
    print(
        f"The sandbox runs at {info.endpoint}\n"
        f"In {folder} `headway queue` finds it by itself. From elsewhere, and for the AWS SDKs, set:\n"
        f"{_exports(info, indent='  ')}\n"
        f"Training jobs may use the role {info.role_arn} and the bucket {info.bucket}."
    )


@sandbox.command("user")
@click.argument("who", metavar="NAME")
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default=POLICIES[0],
    show_default=True,
    help="What the user may do: one of the stack's managed policies.",
)
@pass_common
def user(common: CommonOptions, who: str, policy: str) -> None:
    """Make a user of the sandbox's account, and print the variables with which commands are this user's."""
    with sandbox_errors():
        info = load("local.manager").user(who, policy=policy)
    if common.is_document:
        show_document(common, info.exports())
    else:
        print(_exports(info))


def _exports(info: Any, *, indent: str = "") -> str:
    from shlex import quote

    return "\n".join(f"{indent}export {name}={quote(value)}" for name, value in info.exports().items())


@sandbox.command("reset")
@yes_option
@pass_common
def reset(common: CommonOptions, yes: bool) -> None:  # noqa: FBT001  click passes options by name
    """Stop the sandbox and remove its state: jobs, configuration, users, objects and logs."""
    with sandbox_errors():
        manager = load("local.manager")
        folder = manager.default_state_dir()
        had_state = manager.has_state(state_dir=folder)
        if had_state:
            confirm(common, f"Stop the sandbox and remove its state, {folder}?", yes=yes)
            had_state = manager.reset(state_dir=folder)
    if common.is_document:
        show_document(common, {"hadState": had_state})
    else:
        print(
            f"The sandbox's state, {folder}, is removed. `headway sandbox up` starts an empty one with other keys and "
            "maybe another port: other users then run `headway sandbox user` again."
            if had_state
            else f"There is no sandbox in {folder.parent}."
        )


@sandbox.command("down")
@pass_common
def down(common: CommonOptions) -> None:
    """Stop the sandbox and keep its state."""
    with sandbox_errors():
        was_running = bool(load("local.manager").down())
    if common.is_document:
        show_document(common, {"wasRunning": was_running})
    else:
        print("The sandbox has stopped; its state is kept." if was_running else "No sandbox was running.")


@sandbox.command("status", interrupted=UNCHANGED)
@pass_common
def status(common: CommonOptions) -> int:
    """Show whether the sandbox runs, and where; exit code 0 if the queue is deployed to it."""
    from dataclasses import asdict

    with sandbox_errors():
        manager = load("local.manager")
        info = manager.status()
        kept = manager.default_state_dir() if info is None and manager.has_state() else None
    if common.is_document:
        show_document(common, {"running": info is not None, **(asdict(info) if info is not None else {})})
    elif kept is not None:
        print(f"No sandbox runs here, but {kept} has the state of one. `headway sandbox up` continues it.")
    elif info is None:
        print("No sandbox runs here. Start one with `headway sandbox up`.")
    elif info.endpoint:
        print(f"The sandbox runs at {info.endpoint} (process {info.pid}, {info.speed:g} times real speed).")
        if info.function_variables:
            print(f"For `sam local invoke`: {info.function_variables} and {info.container_variables}.")
    else:
        print(
            f"The sandbox runs (process {info.pid}), but the queue is not deployed to it. Deploy it with "
            "`headway sandbox up`."
        )
    return EXIT_OK if info is not None and info.endpoint else EXIT_NOT_REACHABLE


@sandbox.command("demo")
def demo() -> int:
    """Run a demonstration of priorities and preemption on a sandbox of its own."""
    with sandbox_errors():
        return int(load("demo.preemption").main([]) or EXIT_OK)


def load(module: str) -> Any:
    """Import a module of the package `headway_sandbox`.

    Args:
        module: its name in the package.

    Raises:
        UsageError: the package, or one that it needs, is not installed.
    """
    try:
        return import_module(f"headway_sandbox.{module}")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The sandbox is not installed here ({error.name} is missing): run `{install_command('sandbox')}`, "
            "or type `make setup-sandbox` in a checkout and use its .venv/bin/headway.",
            code="NoSandbox",
        ) from error


@contextmanager
def sandbox_errors() -> Iterator[None]:
    """Convert the sandbox's errors, whose messages say what to do, into the client's."""
    errors = load("errors")
    try:
        yield
    except errors.SetupMissing as error:
        raise UsageError(str(error), code="NoSandbox") from error
    except errors.WrongUsage as error:
        raise UsageError(str(error), code=type(error).__name__) from error
    except errors.NotRunning as error:
        raise NotReachableError(str(error), code=type(error).__name__) from error
    except errors.SandboxError as error:
        raise ClientError(str(error), code=type(error).__name__) from error
