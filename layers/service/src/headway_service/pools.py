"""Brings the pools of the ledger in line with the configuration document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headway_service import configuration, transitions
from headway_service.configuration import Configuration
from headway_service.errors import Conflict, InvalidConfiguration
from headway_service.ledger import read_ledger
from headway_service.log import logger
from headway_service.ports import ConfigurationStore, Key, Put, Table

_KEY = Key("config", "config")


@dataclass(frozen=True, kw_only=True, slots=True)
class InForce:
    """The configuration that decisions are made under."""

    configuration: Configuration
    version: int
    #: Why the stored document is not in force, if it is not.
    problem: str | None = None


def in_force(table: Table, store: ConfigurationStore) -> InForce:
    """The last valid document that was applied; before the first tick, the stored one.

    Raises:
        InvalidConfiguration: there has never been a valid document.
    """
    known = _applied(table)
    return known if known is not None else apply_configuration(table, store)


def apply_configuration(table: Table, store: ConfigurationStore) -> InForce:
    """Read the stored document and, if it is new and valid, give the pools the sizes it says.

    An invalid document changes nothing: the last valid one stays in force, and the problem is told.

    Raises:
        InvalidConfiguration: the document is invalid and there has never been a valid one.
    """
    stored = store.read()
    known = _applied(table)
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
        return InForce(configuration=known.configuration, version=known.version, problem=str(error))
    try:
        _resize(table, wanted)
    except Conflict:
        # Two at once, such as the first two submissions after a deployment. The document is in force all the same;
        # as it is not noted as applied here, the next tick does what the other may have left undone.
        logger.info("somebody else applies the configuration at the same time", extra={"version": stored.version})
        return InForce(configuration=wanted, version=stored.version)
    item = {"pk": _KEY.pk, "sk": _KEY.sk, "document": configuration.text_of(wanted), "version": stored.version}
    table.write([Put(item=item)])
    logger.info("configuration applied", extra={"version": stored.version})
    return InForce(configuration=wanted, version=stored.version)


def current(table: Table, store: ConfigurationStore) -> InForce:
    """The configuration in force, and whether the stored document has a problem.

    Raises:
        InvalidConfiguration: there has never been a valid document.
    """
    known = in_force(table, store)
    try:
        configuration.parse(store.read().text)
    except InvalidConfiguration as error:
        return replace(known, problem=str(error))
    return known


def configure(table: Table, store: ConfigurationStore, document: Any) -> InForce:
    """Check a document, keep it and apply it.

    Raises:
        InvalidConfiguration: the document is not valid; nothing was changed.
    """
    text = configuration.text_of(configuration.validate(document))
    configuration.parse(text)
    store.write(text)
    return apply_configuration(table, store)


def _applied(table: Table) -> InForce | None:
    item = table.get(_KEY)
    if item is None:
        return None
    return InForce(configuration=configuration.parse(item["document"]), version=int(item["version"]))


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
