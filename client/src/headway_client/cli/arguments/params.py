"""Types of options and arguments that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

MAX_NAMES = 100
"""Maximum number of jobs in one command."""

_UNITS_S = (86_400, 3600, 60, 1)
"""Seconds in the units of a duration, from days to seconds."""

Function = TypeVar("Function", bound=Callable[..., Any])


class WholeNumber(click.ParamType[int]):
    """A whole number in a range, written in ASCII digits."""

    name = "whole number"

    def __init__(self, low: int, high: int) -> None:
        self._low = low
        self._high = high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        text = str(value)
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and self._low <= int(text) <= self._high):
            self.fail(f"{text!r} is not a whole number from {self._low} to {self._high}", param, ctx)
        return int(text)


class Arn(click.ParamType[str]):
    """An ARN of a user or role: two may have the one name that tables show."""

    name = "ARN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the ARN."""
        text = str(value)
        if not text.startswith("arn:"):
            hint = "`headway queue -o wide` shows those of owners, and --mine selects your own jobs"
            self.fail(f"{text!r} is not an ARN; {hint}", param, ctx)
        return text


class Decimal(click.ParamType[float]):
    """A number such as 2.5."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        text = str(value)
        if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text, re.ASCII):
            self.fail(f"{text!r} is not a number such as 1 or 2.5", param, ctx)
        return float(text)


class Fraction(Decimal):
    """A number from 0 to 1."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        fraction = super().convert(value, param, ctx)
        if fraction > 1:
            self.fail(f"{value!r} is not a fraction from 0 to 1", param, ctx)
        return fraction


class Duration(click.ParamType[int]):
    """A duration such as 90s, 30m, 2h, 1d or 1h30m, as a number of seconds; a number without a unit is in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the seconds."""
        text = f"{value}s" if str(value).isdigit() else str(value)
        found = re.fullmatch(r"(\d{1,4}d)?(\d{1,5}h)?(\d{1,7}m)?(\d{1,9}s)?", text, re.ASCII)
        parts = [part or "0s" for part in found.groups()] if found else []
        seconds = sum(int(part[:-1]) * unit for part, unit in zip(parts, _UNITS_S, strict=False))
        if not seconds:
            self.fail(f"{value!r} is not a duration such as 90s, 30m, 2h, 1d or 1h30m", param, ctx)
        return seconds


class ExclusiveOption(click.Option):
    """An option that conflicts with another one.

    Args:
        conflicts_with: the other option's parameter name.
    """

    def __init__(self, *args: Any, conflicts_with: str, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self._conflicts_with = conflicts_with

    def handle_parse_result(self, ctx: click.Context, opts: Any, args: list[str]) -> tuple[Any, list[str]]:
        """Refuse the option if the other one is given."""
        if self.name in opts and self._conflicts_with in opts:
            other = self._conflicts_with.replace("_", "-")
            raise click.UsageError(f"Option '{self.opts[0]}' is not allowed with '--{other}'.", ctx)
        return super().handle_parse_result(ctx, opts, args)


PRIORITY = WholeNumber(0, 9999)

FILE = click.Path(allow_dash=True)
"""A file, or - for standard input; its existence is not checked before it is read."""
