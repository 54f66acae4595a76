"""What a configuration would do, as a document."""

from __future__ import annotations

from headway.api_documents.effects import ConfigurationEffect, ConfigurationEffects
from headway.api_documents.refusals import WrongField
from headway_service.effects.effect import Effects


def effects_document(found: Effects) -> ConfigurationEffects:
    """The effects of a configuration."""
    return ConfigurationEffects(
        version=found.version,
        changes=tuple(WrongField(field=each.field, message=each.message) for each in found.changes),
        effects=tuple(
            ConfigurationEffect(code=each.code, count=each.count, message=each.message, names=tuple(each.names))
            for each in found.effects
        ),
        note=found.note,
        is_whole=found.is_whole,
    )
