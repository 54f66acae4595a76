"""Applies the configuration document: updates the pools and teams of the ledger."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from headway_service.actions.action import DEPLOYMENT, ActionKind, ActionRecord, Author
from headway_service.config import document as configuration
from headway_service.config.document import Configuration
from headway_service.errors import Conflict, InvalidConfiguration, RetryLater
from headway_service.observability.logging import logger
from headway_service.pools.config_history import find_record, record_of
from headway_service.pools.config_writes import ConfigWrite, intended, read_edits, write_of
from headway_service.ports.clocks import Clocks
from headway_service.ports.config_store import ConfigurationStore, ConfigurationText
from headway_service.ports.table import Absent, Check, Condition, Equals, Key, Put, Table
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.schema_version import stamp, upgrade

TEAM_KEPT_MS = 86_400_000
"""A team that was removed keeps its queues at least this long, for submissions that were in progress."""

CLOCK_MARGIN_MS = 60_000
"""Times of two clocks that differ by less are not compared."""

_REPLACED = (
    "the stored document replaced a newer one that it was not made from, so it is not in force; set the configuration "
    "again"
)

_KEY = Key("config", "config")


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectiveConfig:
    """The configuration that decisions are made by."""

    configuration: Configuration
    version: int
    #: When the store wrote it, ms; 0 if unknown.
    modified_ms: int = 0
    #: How often versions have begun again, as the parameter was deleted and created again, from 1 on.
    life: int = 1
    #: The teams that have queues, beginning with the empty name for jobs without a team; None if only the ledger has
    #: them, as pools and teams are still being updated.
    queue_teams: tuple[str, ...] | None = None
    #: Why the stored document is not in effect, if it is not.
    problem: str | None = None

    def is_older_than(self, stored: ConfigurationText) -> bool:
        """Whether a document was stored after this one. The document that was read may be older than this one.

        Versions only grow, but they begin again if the parameter is deleted and created again.
        """
        later = self.modified_ms > 0 and stored.modified_ms >= self.outdated_from_ms
        return stored.version > self.version or later

    @property
    def outdated_from_ms(self) -> int:
        """A document stored at this time or later is newer than this one, whatever its version."""
        return self.modified_ms + CLOCK_MARGIN_MS


def find_applied(table: Table) -> EffectiveConfig | None:
    """The last valid document that was applied, or is being applied, if there is one."""
    item = table.get(_KEY)
    if item is None:
        return None
    # Not parsed like a stored document: its length was checked before, and it is not refused for that now.
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


def get_effective(table: Table, store: ConfigurationStore, clocks: Clocks) -> EffectiveConfig:
    """The last valid document that was applied; before the first tick, the stored one.

    Args:
        store: the configuration store.
        clocks: the two times.

    Raises:
        InvalidConfiguration: there has never been a valid document.
    """
    known = find_applied(table)
    return known if known is not None else apply_configuration(table, store, clocks)


def apply_configuration(table: Table, store: ConfigurationStore, clocks: Clocks) -> EffectiveConfig:
    """Read the stored document and, if it is new and valid, apply it to the pools and teams.

    An invalid document changes nothing: the last valid one stays in effect, and the problem is reported.

    Args:
        store: the configuration store.
        clocks: the two times.

    Raises:
        InvalidConfiguration: the document is invalid and there has never been a valid one.
    """
    stored = store.read()
    known = find_applied(table)
    if known is None or known.is_older_than(stored):
        try:
            found = intended(stored, read_edits(table), store, clocks.machine_ms())
        except RetryLater as error:
            if known is None:
                raise
            return replace(known, problem=str(error))
        if found.text != stored.text:
            logger.error("the stored configuration replaced a newer one", extra={"version": stored.version})
        stored = found
    return _apply(table, known, stored, clocks)


def apply_text(
    table: Table, stored: ConfigurationText, clocks: Clocks, made_by: ConfigWrite | None = None
) -> EffectiveConfig:
    """As :func:`apply_configuration`, for a document that was just read or written.

    The document is recorded first, on the condition that no other was recorded meanwhile. Each change that follows from
    it has the condition that it is still the recorded one. So nothing returns to an older document.

    Args:
        stored: the stored document with its version.
        clocks: the two times.
        made_by: the write that stored it; None to look for it among those that are recorded.

    Raises:
        InvalidConfiguration: as :func:`apply_configuration`.
    """
    return _apply(table, find_applied(table), stored, clocks, made_by)


def _apply(
    table: Table,
    known: EffectiveConfig | None,
    stored: ConfigurationText,
    clocks: Clocks,
    made_by: ConfigWrite | None = None,
) -> EffectiveConfig:
    if known is not None and not known.is_older_than(stored):
        return known if known.queue_teams is not None else _apply_to_ledger(table, known, clocks)
    try:
        wanted = configuration.parse(stored.text)
    except InvalidConfiguration as error:
        if known is None:
            raise
        logger.error(
            "the stored configuration is invalid; the last valid one stays in force", extra={"error": str(error)}
        )
        return replace(known, problem=str(error))
    if known is not None and known.queue_teams is None:
        # Jobs may already wait in queues of teams that only this document names.
        known = _apply_to_ledger(table, known, clocks)
        if known.queue_teams is None:
            return known
    begins_again = known is not None and stored.version <= known.version
    noted = EffectiveConfig(
        configuration=wanted,
        version=stored.version,
        modified_ms=stored.modified_ms,
        life=(known.life if known is not None else 1) + begins_again,
    )
    made_by = made_by or write_of(stored, read_edits(table))
    author = made_by.author if made_by is not None else _author_of_parameter(known, noted.version)
    record = record_of(
        configuration.text_of(wanted),
        version=noted.version,
        life=noted.life,
        author=author,
        changed_ms=clocks.training_ms(),
        machine_ms=clocks.machine_ms(),
    )
    action = ActionRecord.of(ActionKind.CONFIGURE, str(noted.version), author or Author(name=""), clocks)
    records = [record.put(), action.put(), *(_missing_record(table, known) if known is not None else [])]
    # With the record of the write gone at once, an equal document that is set later is no late write.
    done = [made_by.deletion] if made_by is not None else []
    requires = Absent() if known is None else _is_noted(known)
    try:
        table.write([Put(item=_item(noted), requires=requires), *records, *done])
    except Conflict:
        # Two at once, such as the first two submissions after a deployment. The other one completes it.
        logger.info("another call applies a configuration at the same time", extra={"version": stored.version})
        return find_applied(table) or noted
    return _apply_to_ledger(table, noted, clocks)


def _author_of_parameter(known: EffectiveConfig | None, version: int) -> Author | None:
    """Who has written a document that no call has written; None if that is not known.

    The template creates the parameter, with its first version. Any other document is somebody's edit of the parameter.
    """
    return DEPLOYMENT if known is None and version == 1 else None


def _missing_record(table: Table, known: EffectiveConfig) -> list[Put]:
    """The record of a document in force that has none: it is from before there were any, or the table forgot it."""
    if find_record(table, known.life, known.version) is not None:
        return []
    record = record_of(
        configuration.text_of(known.configuration),
        version=known.version,
        life=known.life,
        author=None,
        changed_ms=known.modified_ms,
        machine_ms=known.modified_ms,
    )
    return [record.put()]


def _apply_to_ledger(table: Table, noted: EffectiveConfig, clocks: Clocks) -> EffectiveConfig:
    """Update the pools and teams to match the recorded document."""
    still = Check(key=_KEY, requires=_is_noted(noted))
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
    text = configuration.text_of(noted.configuration)
    said = {"document": text, "version": noted.version, "modifiedMs": noted.modified_ms, "life": noted.life}
    return stamp({"pk": _KEY.pk, "sk": _KEY.sk, **said})


def require_in_force(version: int) -> Check:
    """Check that the document of this version is still the recorded one."""
    return Check(key=_KEY, requires=Equals("version", version))


def _is_noted(known: EffectiveConfig) -> Condition:
    return Equals("version", known.version)


def get_newest(table: Table, store: ConfigurationStore, clocks: Clocks) -> tuple[Configuration | None, int]:
    """The newest valid document, whether or not it is in force yet, and the version that a change has to be based on.

    Args:
        store: the configuration store.
        clocks: the two times.

    Returns:
        None in place of the document if there has never been a valid one.
    """
    known, stored = find_applied(table), store.read()
    if known is not None and not known.is_older_than(stored):
        return known.configuration, known.version
    found = intended(stored, read_edits(table), store, clocks.machine_ms())
    try:
        return configuration.parse(found.text), found.version
    except InvalidConfiguration:
        return (known.configuration if known is not None else None), found.version


def get_with_problem(table: Table, store: ConfigurationStore, clocks: Clocks) -> EffectiveConfig:
    """The configuration in effect, and whether the stored document has a problem.

    Args:
        store: the configuration store.
        clocks: the two times.

    Raises:
        InvalidConfiguration: there has never been a valid document.
    """
    known = get_effective(table, store, clocks)
    stored = store.read()
    try:
        document = configuration.text_of(configuration.parse(stored.text))
    except InvalidConfiguration as error:
        return replace(known, problem=str(error))
    if stored.version == known.version and document != configuration.text_of(known.configuration):
        return replace(known, problem=_REPLACED)
    return known


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
