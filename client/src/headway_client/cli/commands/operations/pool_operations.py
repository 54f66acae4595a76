"""The commands for operating pools: pause, resume, drain, resize."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from headway_client.cli.arguments.params import WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.commands.jobs.wait import MAX_WAIT_S
from headway_client.cli.config_effects import confirm_effects, effects_of, show_effects
from headway_client.cli.confirmation import yes_option
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.exit_codes import EXIT_OK, EXIT_TIMEOUT
from headway_client.cli.interruption import if_interrupted
from headway_client.errors import PoolNotFoundError, UsageError
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Capacity, PoolUse

MAX_POOL_SIZE = 10_000
"""Maximum size of a pool."""

POLL_S = 5
"""The polling interval while waiting for a pool to become empty."""

NO_REASON = "no reason given"

_pause = time.sleep
_clock = time.monotonic


_POOL = click.argument("pool", metavar="POOL", help="The instance type.")
_POOL_OR_ALL = click.argument(
    "pool", metavar="[POOL]", required=False, help="The instance type; all pools if it is left out."
)
_REASON = click.option("--reason", metavar="TEXT", default=NO_REASON, help="The reason; it is shown to waiting users.")


@click.command("pause", cls=Command, rows=True)
@_POOL_OR_ALL
@_REASON
@pass_common
def pause(common: CommonOptions, pool: str | None, reason: str) -> None:
    """Start no jobs in a pool, or in all pools, until it is resumed."""
    _show(common, open_api(common).pause(reason, pool))


@click.command("resume", cls=Command, rows=True)
@_POOL_OR_ALL
@pass_common
def resume(common: CommonOptions, pool: str | None) -> None:
    """Start jobs again in a pool, or in all pools that are not paused on their own."""
    _show(common, open_api(common).resume(pool))


@click.command("drain", cls=Command, rows=True)
@_POOL
@_REASON
@click.option("--stop", is_flag=True, help="Stop the running jobs and return them to the queue.")
@click.option("--wait", is_flag=True, help="Wait until nothing runs in the pool.")
@click.option(
    "--timeout",
    type=WholeNumber(0, MAX_WAIT_S),
    metavar="SECONDS",
    help="The longest time for --wait, exit code 9 after it; no limit by default.",
)
@pass_common
def drain(common: CommonOptions, pool: str, reason: str, timeout: int | None, *, stop: bool, wait: bool) -> int:
    """Pause a pool, and let its running jobs end or stop them."""
    if timeout is not None and not wait:
        raise UsageError("--timeout needs --wait.")
    api = open_api(common)
    answer = api.drain(pool, reason, stop=stop)
    if wait:
        with if_interrupted(f"{pool} stays paused and drains; `headway resume {pool}` ends that."):
            answer = _until_empty(api, answer, timeout)
    _show(common, answer)
    return EXIT_TIMEOUT if wait and any(pool.allocated for pool in answer.pools) else EXIT_OK


@click.command("resize", cls=Command, rows=True)
@_POOL
@click.argument("size", metavar="SIZE", type=WholeNumber(0, MAX_POOL_SIZE), help="The number of instances.")
@click.option("--reason", metavar="TEXT", default="", help="The reason, for `headway config history`.")
@click.option("--dry-run", is_flag=True, help="Only show what it would do.")
@yes_option
@pass_common
def resize(common: CommonOptions, pool: str, size: int, reason: str, *, dry_run: bool, yes: bool) -> None:
    """Change the size of a pool; running jobs continue."""
    api = open_api(common)
    settings = api.get_config().settings
    pools = settings.get("pools", {})
    if pool not in pools:
        raise PoolNotFoundError(f"There is no pool {pool} in force; there are: {', '.join(sorted(pools)) or 'none'}.")
    resized = {**settings, "pools": {**pools, pool: {**pools[pool], "size": size}}}
    effects = effects_of(api, resized, yes=yes and not dry_run)
    if effects is not None:
        if dry_run:
            show_effects(common, effects, dry_run=True)
            return
        confirm_effects(common, effects, f"Resize {pool}?", yes=yes)
    _show(common, api.resize(pool, size, reason=reason))


def _until_empty(api: HeadwayApi, answer: Capacity, timeout_s: int | None) -> Capacity:
    """Poll until the only pool of a response is empty, and print each change of its use."""
    until = None if timeout_s is None else _clock() + timeout_s
    (pool,) = answer.pools
    printed: tuple[int, int] | None = None
    while pool.allocated and (until is None or _clock() < until):
        if printed != (pool.allocated, pool.stopping):
            printed = (pool.allocated, pool.stopping)
            to_stderr(f"{pool.allocated} instances of {pool.pool} are in use, {pool.stopping} of them stopping.")
        _pause(POLL_S)
        pool = _now(api, pool)
    return replace(answer, pools=(pool,)).with_document(pool.document)


def _now(api: HeadwayApi, before: PoolUse) -> PoolUse:
    # A pool that was removed from the configuration disappears when it is empty.
    gone = replace(before, allocated=0, stopping=0).with_document(before.document)
    return next((pool for pool in api.capacity().pools if pool.pool == before.pool), gone)


def _show(common: CommonOptions, answer: Capacity) -> None:
    from headway_client.cli.output import pool_rows, pool_sentence

    if not common.for_people:
        show_rows(common, answer.document, lambda *, wide: pool_rows(answer.pools, wide=wide))
        return
    for pool in answer.pools:
        print(pool_sentence(pool))
