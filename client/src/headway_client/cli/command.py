"""The commands and groups of `headway`, and the options that every command has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from headway_client.cli import interruption

if TYPE_CHECKING:
    from headway_client.config.profile import Connection

JOB = "job"
"""What the type of an argument is called that is the name of a job."""

OUTPUTS = ("table", "wide", "name", "json", "yaml", "csv")


@dataclass
class CommonOptions:
    """The values of the options that every command has.

    Attributes:
        endpoint: the URL of the queue's API; None if not given.
        profile: the name of a profile; None if not given.
        region: the API's AWS region; None if not given.
        aws_profile: the name of a profile of the AWS command line; None if not given.
        output: one of `OUTPUTS`, or another format that the command has.
        headers: whether lists have headers; False for the rows only.
    """

    endpoint: str | None = None
    profile: str | None = None
    region: str | None = None
    aws_profile: str | None = None
    output: str = "table"
    headers: bool = True

    def connection(self) -> Connection:
        """Resolve the connection from the options, the environment and the profile file; raises `UsageError`."""
        from headway_client.config.profile import resolve_connection

        return resolve_connection(
            endpoint=self.endpoint, profile=self.profile, region=self.region, aws_profile=self.aws_profile
        )

    @property
    def for_people(self) -> bool:
        """Whether the output is for people: tables and sentences."""
        return self.output in {"table", "wide"}

    @property
    def is_document(self) -> bool:
        """Whether the output is the whole document of the API."""
        return self.output in {"json", "yaml"}


def common_options(*, hidden: bool = False, formats: Mapping[str, str] = MappingProxyType({})) -> list[click.Parameter]:
    """Return the options that every command has; their values are stored in the context's `CommonOptions`.

    Args:
        hidden: omit them from the help, as for a group, whose commands list them.
        formats: formats of the output that other commands do not have, with what they are for.
    """
    help_text = (
        "table (default); wide: more columns, nothing truncated; name: a job's name in each line; json, yaml: also for "
        "errors; csv: for lists"
    )
    more = "".join(f"; {name}: {meaning}" for name, meaning in formats.items())
    options = [
        _common("--endpoint", metavar="URL", help="The queue's API, with its stage."),
        _common("--profile", metavar="NAME", help="A profile of the profile file, or `sandbox`."),
        _common("--region", metavar="REGION", help="The API's AWS region (HEADWAY_REGION)."),
        _common("--aws-profile", metavar="NAME", help="The AWS profile whose credentials sign (AWS_PROFILE)."),
        _common(
            "--output",
            "-o",
            type=click.Choice((*OUTPUTS, *formats)),
            help=f"{help_text}{more}.",
        ),
        _common(
            "--no-headers", "headers", is_flag=True, flag_value=False, default=None, help="Only the rows of lists."
        ),
    ]
    for option in options:
        option.hidden = hidden
    return [*options]


def _common(*names: str, **attributes: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_keep, **attributes)


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    # The options are allowed before and after the command; those after it are parsed later and take precedence.
    if value is not None and param.name is not None:
        setattr(ctx.find_root().ensure_object(CommonOptions), param.name, value)


class Command(click.Command):
    """A command with the common options.

    Args:
        rows: whether its output is available as CSV.
        names: whether its output is available as the names of jobs.
        formats: see `common_options`.
        interrupted: what is true if Ctrl-C interrupts it, unless a part of it says more.
    """

    def __init__(
        self,
        *args: Any,
        rows: bool = False,
        names: bool = False,
        formats: Mapping[str, str] = MappingProxyType({}),
        interrupted: str = interruption.DEFAULT,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self._interrupted = interrupted
        self.params += common_options(formats=formats)
        self.short_help = _first_line(self.help)
        self._lacks = {"csv": not rows, "name": not names}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; names of jobs beyond the one that the command takes are refused with the way to go on.

        Args:
            ctx: the context.
            args: the arguments.
        """
        # In place of click, which does not know what the arguments are.
        ctx.allow_extra_args = self.allow_extra_args or self._takes_one_job
        left = super().parse_args(ctx, args)
        if left and self._takes_one_job and not ctx.resilient_parsing:
            each = f"`headway queue -o name | xargs -n1 {ctx.command_path}`"
            raise click.UsageError(f"This command takes one job; for several, run it for each: {each}.", ctx)
        return left

    @property
    def _takes_one_job(self) -> bool:
        return any(
            isinstance(param, click.Argument) and param.nargs == 1 and param.type.name == JOB for param in self.params
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, unless it does not support the requested output format."""
        output = ctx.ensure_object(CommonOptions).output
        if self._lacks.get(output):
            raise click.UsageError(f"This command does not support --output {output}; use --output json.", ctx)
        with interruption.if_interrupted(self._interrupted):
            return super().invoke(ctx)


class OrderedCommand(Command):
    """A command that keeps the order of repeatable options across different options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and store the names of the options in the order of the command line."""
        ctx.meta["headway.order"] = [param.name for param in self.make_parser(ctx).parse_args(list(args))[2]]
        return super().parse_args(ctx, args)

    @staticmethod
    def in_order(ctx: click.Context, values: dict[str, Sequence[str]]) -> list[tuple[str, str]]:
        """Return the values with their options' names in the order of the command line.

        Args:
            ctx: the context of the command.
            values: the values of each option.
        """
        remaining = {name: iter(given) for name, given in values.items()}
        return [(name, next(remaining[name])) for name in ctx.meta["headway.order"] if name in remaining]


class Group(click.Group):
    """A group that lists commands in the order in which they were added, in sections if it has some.

    Args:
        title: the placeholder for a command in the help and in errors.
        aliases: other names of commands, which the help does not list.
    """

    command_class = Command

    def __init__(
        self, name: str, *, title: str = "ACTION", aliases: Mapping[str, str] | None = None, **attributes: Any
    ) -> None:
        # Without a command, raise an error that names the missing argument instead of showing the help.
        super().__init__(
            name,
            no_args_is_help=False,
            invoke_without_command=True,
            subcommand_metavar=f"{title} [ARGUMENTS]",
            callback=_require_command(title),
            **attributes,
        )
        self.params = self.params or common_options(hidden=True)
        self.short_help = _first_line(self.help)
        self._aliases = aliases or {}
        self._sections: dict[str, list[click.Command]] = {}

    def add_section(self, title: str, commands: Iterable[click.Command]) -> None:
        """Add commands, listed under a title."""
        self._sections[title] = list(commands)
        for command in self._sections[title]:
            self.add_command(command)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name or another name of it.

        Args:
            ctx: the context.
        """
        return super().get_command(ctx, self._aliases.get(cmd_name, cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands into the help, section by section.

        Args:
            ctx: the context.
            formatter: writes the help.
        """
        if not self._sections:
            super().format_commands(ctx, formatter)
        width = max((len(name) for name in self.commands), default=0)
        for title, commands in self._sections.items():
            with formatter.section(title):
                formatter.write_dl(
                    [((command.name or "").ljust(width), command.get_short_help_str()) for command in commands]
                )

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(self.commands)


def _first_line(text: str | None) -> str:
    # click itself would truncate it to the width of the help.
    return (text or "").partition("\n")[0]


def _require_command(title: str) -> Callable[[], None]:
    def check() -> None:
        ctx = click.get_current_context()
        if ctx.invoked_subcommand is not None:
            return
        if ctx.parent is None:
            click.echo(ctx.get_help())
            ctx.exit()
        ctx.fail(f"Missing {title}.")

    return check


def pass_common(function: Callable[..., Any]) -> Callable[..., Any]:
    """Pass the `CommonOptions` to a command's function as its first argument."""
    return click.make_pass_decorator(CommonOptions, ensure=True)(function)
