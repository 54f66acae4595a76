"""The configuration in force: a document in the table, and the pools and teams that follow it (decision 115)."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from headway_service.actions.action import DEPLOYMENT, ActionKind, ActionRecord, Author
from headway_service.config import document as configuration
from headway_service.config.document import Configuration
from headway_service.errors import Conflict
from headway_service.observability.logging import logger
from headway_service.pools.config_history import find_record, read_history, record_of
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Absent, Check, Condition, Equals, Item, Key, Put, Table
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.schema_version import stamp, upgrade

TEAM_KEPT_MS = 86_400_000
"""A team that was removed keeps its queues at least this long, for submissions that were in progress."""

KEY = Key("config", "config")
"""Where the configuration in force is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectiveConfig:
    """The configuration that decisions are made by."""

    configuration: Configuration
    #: Grows by one with each document.
    version: int
    #: When it came into force, machine time, ms.
    modified_ms: int = 0
    #: How often versions have begun again, from 1 on. They did while the document was a parameter.
    life: int = 1
    #: The teams that have queues, beginning with the empty name for jobs without a team; None if only the ledger has
    #: them, as pools and teams are still being updated.
    queue_teams: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The document as it is stored, without a version."""
        return configuration.text_of(self.configuration)


def find_applied(table: Table) -> EffectiveConfig | None:
    """The configuration in force; None if there has not been one."""
    item = table.get(KEY)
    if item is None:
        return None
    # Not parsed like a new document: its length was checked before, and it is not refused for that now.
    item = upgrade(item)
    document = configuration.validate_recorded(json.loads(item["document"]))
    # Pools and teams have not been updated yet if the item lacks the removed teams.
    queue_teams = ("", *document.teams, *item["left"]) if "left" in item else None
    return EffectiveConfig(
        configuration=document,
        version=int(item["version"]),
        modified_ms=int(item.get("modifiedMs", 0)),
        life=int(item.get("life", 1)),
        queue_teams=queue_teams,
    )


def not_applied(item: Item) -> Item:
    """The item at :data:`KEY` as it is while pools and teams have yet to follow it."""
    return {name: value for name, value in item.items() if name != "left"}


def get_effective(table: Table, first: str, clocks: Clocks) -> EffectiveConfig:
    """The configuration in force; in a new queue, the first one is put in force.

    Args:
        first: the document that the deployment begins with.
        clocks: the two times.

    Raises:
        InvalidConfiguration: there is none, and the first one is not valid.
    """
    known = find_applied(table)
    return known if known is not None else _begin(table, first, clocks)


def apply_configuration(table: Table, first: str, clocks: Clocks) -> EffectiveConfig:
    """As :func:`get_effective`, and let the pools and teams follow it if a change has ended before they did.

    Args:
        first: the document that the deployment begins with.
        clocks: the two times.

    Raises:
        InvalidConfiguration: as :func:`get_effective`.
    """
    known = get_effective(table, first, clocks)
    return known if known.queue_teams is not None else _apply_to_ledger(table, known, clocks)


def put_in_force(
    table: Table, known: EffectiveConfig, wanted: Configuration, author: Author | None, clocks: Clocks
) -> EffectiveConfig:
    """Replace the configuration in force, and let the pools and teams follow it.

    One transaction replaces the document and records who has done it. Each change that follows has the condition
    that this document is still the one in force. So nothing returns to an older one.

    Args:
        known: the configuration that it replaces, with its queues: jobs may wait in queues of teams that only it names.
        author: who replaces it; None if that is not known.
        clocks: the two times.

    Raises:
        Conflict: another document came into force in between.
    """
    noted = EffectiveConfig(
        configuration=wanted, version=known.version + 1, modified_ms=clocks.machine_ms(), life=known.life
    )
    records = [*_records(noted, author, clocks), *_missing_record(table, known)]
    table.write([Put(item=_item(noted), requires=_is_noted(known)), *records])
    return _apply_to_ledger(table, noted, clocks)


def _begin(table: Table, first: str, clocks: Clocks) -> EffectiveConfig:
    noted, author = _lost(table, clocks), None
    if noted is None:
        document = configuration.parse(first)
        noted, author = EffectiveConfig(configuration=document, version=1, modified_ms=clocks.machine_ms()), DEPLOYMENT
    else:
        logger.error("the configuration was lost: the last one that is known comes into force again")
    try:
        table.write([Put(item=_item(noted), requires=Absent()), *_records(noted, author, clocks)])
    except Conflict:
        # Two at once, such as the first two submissions after a deployment. The other one completes it.
        logger.info("another call puts the first configuration in force at the same time")
        return find_applied(table) or noted
    return _apply_to_ledger(table, noted, clocks)


def _lost(table: Table, clocks: Clocks) -> EffectiveConfig | None:
    """The last known configuration of a table that lacks its item, as the next version; None of a new table.

    Only somebody who deletes the item by hand makes it so. The first document would take the rights of all teams.
    """
    page = read_history(table, 1)
    if not page.records:
        return None
    newest, _ = page.records[0]
    return EffectiveConfig(
        configuration=configuration.validate_recorded(json.loads(newest.document)),
        version=newest.version + 1,
        modified_ms=clocks.machine_ms(),
        life=newest.life,
    )


def _records(noted: EffectiveConfig, author: Author | None, clocks: Clocks) -> list[Put]:
    """What the history and the list of actions say of a new document."""
    record = record_of(
        noted.text,
        version=noted.version,
        life=noted.life,
        author=author,
        changed_ms=clocks.training_ms(),
        machine_ms=clocks.machine_ms(),
    )
    action = ActionRecord.of(ActionKind.CONFIGURE, str(noted.version), author or Author(name=""), clocks)
    return [record.put(), action.put()]


def _missing_record(table: Table, known: EffectiveConfig) -> list[Put]:
    """The record of a document in force that has none: it is from before there were any, or the table forgot it."""
    if find_record(table, known.life, known.version) is not None:
        return []
    record = record_of(
        known.text,
        version=known.version,
        life=known.life,
        author=None,
        changed_ms=known.modified_ms,
        machine_ms=known.modified_ms,
    )
    return [record.put()]


def _apply_to_ledger(table: Table, noted: EffectiveConfig, clocks: Clocks) -> EffectiveConfig:
    """Update the pools and teams to match the document."""
    still = Check(key=KEY, requires=_is_noted(noted))
    try:
        left = _apply_teams(table, noted.configuration, clocks.machine_ms(), still)
        _resize(table, noted.configuration, still)
        table.write([Put(item={**_item(noted), "left": left}, requires=_is_noted(noted))])
    except Conflict:
        # The document is in effect all the same if it is the newest; the next tick completes it.
        logger.info("another call applies a configuration at the same time", extra={"version": noted.version})
        return noted
    logger.info("configuration applied", extra={"version": noted.version})
    return replace(noted, queue_teams=("", *noted.configuration.teams, *left))


def _item(noted: EffectiveConfig) -> dict[str, Any]:
    # The code of before decision 115 compares modifiedMs with the time of its parameter, which has to be older.
    said = {"document": noted.text, "version": noted.version, "modifiedMs": noted.modified_ms, "life": noted.life}
    return stamp({"pk": KEY.pk, "sk": KEY.sk, **said})


def require_in_force(version: int) -> Check:
    """Check that the document of this version is still the one in force."""
    return Check(key=KEY, requires=Equals("version", version))


def _is_noted(known: EffectiveConfig) -> Condition:
    return Equals("version", known.version)


def _resize(table: Table, wanted: Configuration, still: Check) -> None:
    """Idempotent: after a crash, the next call continues from the state of the ledger.

    Raises:
        Conflict: another call resizes the same pool now, or another document is recorded.
    """
    read = read_ledger(table)
    ledger = {pool.pool: pool for pool in read.pools}
    # What cannot be read is left as it is, and keeps no other pool from its size.
    unreadable = read.names_of_unreadable("pool")
    for name, pool in sorted(wanted.pools.items()):
        if name in unreadable:
            continue
        if name not in ledger:
            # The next tick gives a pool with a schedule or a plan the size of the time.
            table.write([*transitions.add_pool(name, 0 if pool.plan else pool.sizes.smallest), still])
        elif ledger[name].size != pool.size and not pool.follows:
            table.write([*transitions.resize_pool(ledger[name], pool.size), still])
    for name in sorted(ledger.keys() - wanted.pools.keys()):
        if ledger[name].size:
            table.write([*transitions.resize_pool(ledger[name], 0), still])
        try:
            table.write([*transitions.remove_pool(ledger[name]), still])
        except Conflict:
            # In use: it stays with size 0, starts nothing, and a tick removes it when it is empty.
            logger.info("a removed pool is still in use", extra={"pool": name})


def _apply_teams(table: Table, wanted: Configuration, now_ms: int, still: Check) -> list[str]:
    """Idempotent, as :func:`_resize`.

    Returns:
        The teams that are no longer in the configuration and may still have queues.

    Raises:
        Conflict: another call adds a team again that is removed now, a job of a team that is added or removed is
            started now, or another document is recorded.
    """
    ledger = read_ledger(table)
    known = {team.team: team for team in ledger.teams}
    for name in sorted(wanted.teams.keys() - ledger.names_of_unreadable("team")):
        if name not in known or known[name].left_ms is not None:
            table.write([*transitions.add_team(name, known.get(name)), still])
    pools = {pool.pool for pool in ledger.pools} | wanted.pools.keys()
    left = sorted(known.keys() - wanted.teams.keys())
    gone = set()
    for name in left:
        team = known[name]
        if team.left_ms is None:
            table.write([*transitions.retire_team(team, now_ms), still])
        elif team.left_ms + TEAM_KEPT_MS < now_ms and not _has_jobs(table, team, pools):
            table.write([*transitions.remove_team(team), still])
            gone.add(name)
    return [name for name in left if name not in gone]


def _has_jobs(table: Table, team: TeamRecord, pools: Collection[str]) -> bool:
    """Whether a job of a team waits or holds instances. No new job can enter, as the team was removed long ago."""

    def waits() -> bool:
        return any(table.query(QueueEntry.partition(pool, team.team), limit=1) for pool in sorted(pools))

    def holds() -> bool:
        ledger = read_ledger(table)
        return bool(ledger.names_of_unreadable("attempt")) or any(each.team == team.team for each in ledger.attempts)

    # Jobs move between the queues and the ledger, so reading each once could miss a job that moves meanwhile.
    return waits() or holds() or waits()
