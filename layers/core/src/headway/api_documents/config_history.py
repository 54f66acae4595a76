"""The documents that were in force before, and who has put them in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.refusals import WrongField
from headway.api_documents.values import Time


@dataclass(frozen=True, kw_only=True)
class ConfigurationChange(ApiDocument):
    """A configuration that came into force."""

    version: int
    time: Annotated[Time, Member("When it came into force.")]
    by: Annotated[str, Member("Who has set it, such as user/ada; empty if it is not known.")]
    address: Annotated[str, Member("The IP address of that call; empty if it is not known.")]
    reason: Annotated[str, Member("The reason given; empty for none.")]
    changes: Annotated[tuple[WrongField, ...], Member("How it differs from the one before; at most 20 paths.")]
    more: Annotated[int, Member("How many more paths differ.")]


@dataclass(frozen=True, kw_only=True)
class ConfigurationHistory(ApiDocument):
    """The configurations that were in force, the newest one first."""

    versions: tuple[ConfigurationChange, ...]
    next: Annotated[str | None, Member("For `after`, if there are older ones.")]


@dataclass(frozen=True, kw_only=True)
class ConfigurationVersion(ApiDocument):
    """A configuration that was in force."""

    version: int
    time: Annotated[Time, Member("When it came into force.")]
    by: Annotated[str, Member("As in the history.")]
    reason: Annotated[str, Member("As in the history.")]
    settings: Annotated[Mapping[str, Any], Member("The configuration document.", name="document")]
    since: Annotated[int | None, Member("The version that it is compared with; null for none.")]
    changes: Annotated[tuple[WrongField, ...], Member("How it differs from that: each path.")]
