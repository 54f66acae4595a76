"""What sums of usage are by."""

from __future__ import annotations

from typing import Any

import click

NAMES = ("team", "owner", "pool")


class Dimension(click.ParamType[str]):
    """A team, an owner, a pool, or a tag."""

    name = "dimension"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the dimension."""
        text = str(value)
        if text not in NAMES and not text.removeprefix("tag:"):
            self.fail("tag: has no name after it", param, ctx)
        if text not in NAMES and not text.startswith("tag:"):
            self.fail(f"{text!r} is none of {', '.join(NAMES)} and tag:NAME", param, ctx)
        return text
