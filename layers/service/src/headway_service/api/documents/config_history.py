"""The history of the configuration, as documents."""

from __future__ import annotations

import json

from headway.api_documents.config_history import ConfigurationChange, ConfigurationHistory, ConfigurationVersion
from headway.api_documents.refusals import WrongField
from headway_service.api.times import time_text
from headway_service.pools.config_history import ConfigRecord, HistoryPage, changes_since

MAX_CHANGES = 20
"""Paths that an entry of the history lists."""


def history_document(page: HistoryPage) -> ConfigurationHistory:
    """A page of the history."""
    return ConfigurationHistory(
        versions=tuple(_change(record, before) for record, before in page.records), next=page.next
    )


def version_document(record: ConfigRecord, since: ConfigRecord | None) -> ConfigurationVersion:
    """A version, and how it differs from another one."""
    return ConfigurationVersion(
        version=record.version,
        time=time_text(record.changed_ms),
        by=record.by,
        reason=record.reason,
        settings=json.loads(record.document),
        since=since.version if since is not None else None,
        changes=_fields(record, since),
    )


def _change(record: ConfigRecord, before: ConfigRecord | None) -> ConfigurationChange:
    changes = _fields(record, before)
    return ConfigurationChange(
        version=record.version,
        time=time_text(record.changed_ms),
        by=record.by,
        address=record.address,
        reason=record.reason,
        changes=changes[:MAX_CHANGES],
        more=max(0, len(changes) - MAX_CHANGES),
    )


def _fields(record: ConfigRecord, before: ConfigRecord | None) -> tuple[WrongField, ...]:
    return tuple(WrongField(field=each.field, message=each.message) for each in changes_since(before, record))
