"""The commands on pools in use: pause, resume, drain, resize."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from headway_client.cli import grammar
from headway_client.cli.commands.wait import MAX_WAIT_S
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.grammar import Commands
from headway_client.errors import EXIT_OK, EXIT_TIMEOUT, UsageError
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Capacity, PoolUse

MAX_POOL_SIZE = 10_000
"""The largest pool that the queue takes."""

POLL_S = 5
"""How often the queue is asked whether a pool is empty."""

NO_REASON = "no reason given"

_pause = time.sleep
_clock = time.monotonic


def register(commands: Commands) -> None:
    """Say which arguments they take."""
    stop_all = commands.add("pause", pause, "let nothing start in a pool, or anywhere, until it is resumed", rows=True)
    go_on = commands.add(
        "resume", resume, "let jobs start again in a pool, or wherever not paused by itself", rows=True
    )
    for command in (stop_all, go_on):
        command.add_argument("pool", metavar="POOL", nargs="?", help="the instance type; without, all pools")
    empty = commands.add("drain", drain, "pause a pool, and let what runs there end or stop it", rows=True)
    empty.add_argument("pool", metavar="POOL", help="the instance type")
    for command in (stop_all, empty):
        command.add_argument("--reason", metavar="TEXT", default=NO_REASON, help="why; everybody who waits is told")
    empty.add_argument("--stop", action="store_true", help="stop what runs, and put its jobs back into the line")
    empty.add_argument("--wait", action="store_true", help="wait until nothing runs there any more")
    empty.add_argument(
        "--timeout",
        type=grammar.whole(0, MAX_WAIT_S),
        metavar="SECONDS",
        help="for --wait, exit code 9 if time is up; without, as long as it takes",
    )
    change = commands.add("resize", resize, "change the size of a pool; what runs goes on", rows=True)
    change.add_argument("pool", metavar="POOL", help="the instance type")
    change.add_argument("size", metavar="SIZE", type=grammar.whole(0, MAX_POOL_SIZE), help="instances")


def pause(args: argparse.Namespace) -> None:
    """Let nothing start."""
    _show(args, open_api(args).pause(args.reason, args.pool))


def resume(args: argparse.Namespace) -> None:
    """Let jobs start again."""
    _show(args, open_api(args).resume(args.pool))


def drain(args: argparse.Namespace) -> int:
    """Pause a pool, and perhaps wait until it is empty."""
    if args.timeout is not None and not args.wait:
        raise UsageError("--timeout says how long to wait: give --wait too.")
    api = open_api(args)
    answer = api.drain(args.pool, args.reason, stop=args.stop)
    if args.wait:
        answer = _until_empty(api, answer, args.timeout)
    _show(args, answer)
    return EXIT_TIMEOUT if args.wait and any(pool.allocated for pool in answer.pools) else EXIT_OK


def resize(args: argparse.Namespace) -> None:
    """Change the size of a pool."""
    _show(args, open_api(args).resize(args.pool, args.size))


def _until_empty(api: HeadwayApi, answer: Capacity, timeout_s: int | None) -> Capacity:
    """Ask again until the only pool of an answer is empty, and tell what still runs there."""
    until = None if timeout_s is None else _clock() + timeout_s
    (pool,) = answer.pools
    told: tuple[int, int] | None = None
    while pool.allocated and (until is None or _clock() < until):
        if told != (pool.allocated, pool.stopping):
            told = (pool.allocated, pool.stopping)
            to_stderr(f"{pool.allocated} instances of {pool.pool} are in use, {pool.stopping} of them stopping.")
        _pause(POLL_S)
        pool = _now(api, pool)
    return replace(answer, pools=(pool,)).with_document(pool.document)


def _now(api: HeadwayApi, before: PoolUse) -> PoolUse:
    # A pool that was taken out of the configuration leaves once it is empty.
    gone = replace(before, allocated=0, stopping=0).with_document(before.document)
    return next((pool for pool in api.capacity().pools if pool.pool == before.pool), gone)


def _show(args: argparse.Namespace, answer: Capacity) -> None:
    from headway_client.cli.output import pool_rows, pool_sentence

    if args.output in {"json", "csv"}:
        show_rows(args, answer.document, lambda *, wide: pool_rows(answer.pools))  # noqa: ARG005
        return
    for pool in answer.pools:
        print(pool_sentence(pool))
