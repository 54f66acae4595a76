"""Errors on names that no job has say which one may have been meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from headway_client.cli.command import CommonOptions
from headway_client.cli.job_names import GIVEN_NAMES, some_names
from headway_client.errors import JobNotFoundError

if TYPE_CHECKING:
    import click


@contextmanager
def near_misses_named(ctx: click.Context) -> Iterator[None]:
    """Add the nearest name to the error on a name on the command line that no job has.

    Args:
        ctx: the context of the command line.
    """
    try:
        yield
    except JobNotFoundError as error:
        near_misses = NearMisses(ctx.ensure_object(CommonOptions))
        raise near_misses.explained(error, ctx.meta.get(GIVEN_NAMES, ())) from error


class NearMisses:
    """Adds the nearest name to the errors on names that no job has; the names are requested once, if there is one.

    Args:
        common: the common options.
    """

    def __init__(self, common: CommonOptions) -> None:
        self._common = common

    def explained(self, error: JobNotFoundError, names: Iterable[str]) -> JobNotFoundError:
        """Return the error with the name that may have been meant.

        Args:
            error: about one of the names.
            names: what the user has written; one of them no job has.
        """
        found = [near for name in names if (near := self._near(name)) is not None]
        if not found:
            return error
        return JobNotFoundError(
            f"{error.message.rstrip('.')}. Did you mean {' or '.join(found)}?",
            code=error.code,
            fields=error.fields,
            status=error.status,
            request_id=error.request_id,
        )

    def _near(self, name: str) -> str | None:
        from difflib import get_close_matches

        if name in self._names:
            return None
        return next(iter(get_close_matches(name, self._names, n=1)), None)

    @cached_property
    def _names(self) -> list[str]:
        return some_names(self._common)
