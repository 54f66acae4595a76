"""Brings the pools and teams of the ledger in line with the configuration document."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from headway_service import configuration, transitions
from headway_service.configuration import Configuration
from headway_service.errors import Conflict, InvalidConfiguration
from headway_service.ledger import read_ledger
from headway_service.log import logger
from headway_service.ports import ConfigurationStore, Key, Put, Table
from headway_service.records import LineEntry, TeamRecord
from headway_service.schema import stamped, upgraded

TEAM_KEPT_MS = 86_400_000
"""A team that left the configuration keeps its lines at least this long, for submissions that were under way."""

_KEY = Key("config", "config")


@dataclass(frozen=True, kw_only=True, slots=True)
class InForce:
    """The configuration that decisions are made under."""

    configuration: Configuration
    version: int
    #: The teams that have lines, beginning with that of the jobs without a team; None if only the ledger tells.
    lines: tuple[str, ...] | None = None
    #: Why the stored document is not in force, if it is not.
    problem: str | None = None


def applied(table: Table) -> InForce | None:
    """The last valid document that was applied, if there is any yet."""
    item = table.get(_KEY)
    if item is None:
        return None
    # Not parsed like a stored document: what is in force was short enough once, and is not refused for its length.
    item = upgraded(item)
    document = configuration.validate(json.loads(item["document"]))
    # An item of a time before those who left were noted tells of none.
    lines = ("", *document.teams, *item["left"]) if "left" in item else None
    return InForce(configuration=document, version=int(item["version"]), lines=lines)


def in_force(table: Table, store: ConfigurationStore, clock: Callable[[], int]) -> InForce:
    """The last valid document that was applied; before the first tick, the stored one.

    Raises:
        InvalidConfiguration: there has never been a valid document.
    """
    known = applied(table)
    return known if known is not None else apply_configuration(table, store, clock)


def apply_configuration(table: Table, store: ConfigurationStore, clock: Callable[[], int]) -> InForce:
    """Read the stored document and, if it is new and valid, give the pools the sizes and the teams the lines it says.

    An invalid document changes nothing: the last valid one stays in force, and the problem is told.

    Raises:
        InvalidConfiguration: the document is invalid and there has never been a valid one.
    """
    stored = store.read()
    known = applied(table)
    if known is not None and known.version == stored.version:
        return known
    try:
        wanted = configuration.parse(stored.text)
    except InvalidConfiguration as error:
        if known is None:
            raise
        logger.error(
            "the stored configuration is invalid; the last valid one stays in force", extra={"error": str(error)}
        )
        return replace(known, problem=str(error))
    try:
        left = _apply_teams(table, wanted, clock())
        _resize(table, wanted)
    except Conflict:
        # Two at once, such as the first two submissions after a deployment. The document is in force all the same;
        # as it is not noted as applied here, the next tick does what the other may have left undone.
        logger.info("somebody else applies the configuration at the same time", extra={"version": stored.version})
        return InForce(configuration=wanted, version=stored.version)
    text = configuration.text_of(wanted)
    item = {"pk": _KEY.pk, "sk": _KEY.sk, "document": text, "version": stored.version, "left": left}
    table.write([Put(item=stamped(item))])
    logger.info("configuration applied", extra={"version": stored.version})
    return InForce(configuration=wanted, version=stored.version, lines=("", *wanted.teams, *left))


def current(table: Table, store: ConfigurationStore, clock: Callable[[], int]) -> InForce:
    """The configuration in force, and whether the stored document has a problem.

    Raises:
        InvalidConfiguration: there has never been a valid document.
    """
    known = in_force(table, store, clock)
    try:
        configuration.parse(store.read().text)
    except InvalidConfiguration as error:
        return replace(known, problem=str(error))
    return known


def _resize(table: Table, wanted: Configuration) -> None:
    """Idempotent: after a crash half way, the next call goes on from what the ledger says.

    Raises:
        Conflict: somebody else resizes the same pool now.
    """
    ledger = {pool.pool: pool for pool in read_ledger(table).pools}
    for name, pool in sorted(wanted.pools.items()):
        if name not in ledger:
            table.write(transitions.add_pool(name, pool.size))
        elif ledger[name].size != pool.size:
            table.write(transitions.resize_pool(ledger[name], pool.size))
    for name in sorted(ledger.keys() - wanted.pools.keys()):
        if ledger[name].size:
            table.write(transitions.resize_pool(ledger[name], 0))
        try:
            table.write(transitions.remove_pool(ledger[name]))
        except Conflict:
            # In use: it stays with size 0, starts nothing, and goes when a later configuration finds it empty.
            logger.info("a removed pool is still in use", extra={"pool": name})


def _apply_teams(table: Table, wanted: Configuration, now_ms: int) -> list[str]:
    """Idempotent, as :func:`_resize`.

    Returns:
        The teams that are not in the configuration any more and may still have lines.

    Raises:
        Conflict: somebody else brings back a team that is removed now.
    """
    ledger = read_ledger(table)
    known = {team.team: team for team in ledger.teams}
    for name in sorted(wanted.teams):
        if name not in known or known[name].left_ms is not None:
            table.write(transitions.add_team(name))
    pools = {pool.pool for pool in ledger.pools} | wanted.pools.keys()
    left = sorted(known.keys() - wanted.teams.keys())
    gone = set()
    for name in left:
        team = known[name]
        if team.left_ms is None:
            table.write(transitions.take_out_team(team, now_ms))
        elif team.left_ms + TEAM_KEPT_MS < now_ms and not _has_jobs(table, team, pools):
            table.write(transitions.remove_team(team))
            gone.add(name)
    return [name for name in left if name not in gone]


def _has_jobs(table: Table, team: TeamRecord, pools: Collection[str]) -> bool:
    """Whether a job of a team waits or holds instances. No new one can come, as the team has left long ago."""

    def waits() -> bool:
        return any(table.query(LineEntry.partition(pool, team.team), limit=1) for pool in sorted(pools))

    # Jobs go from the lines into the ledger and back, so looking at each once could miss one on its way.
    return waits() or any(attempt.team == team.team for attempt in read_ledger(table).attempts) or waits()
