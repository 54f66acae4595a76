"""What setting a configuration document would change, and which pools with jobs it would affect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway_client.text import shorten

if TYPE_CHECKING:
    from headway_client.models import PoolUse

MAX_VALUE_CHARS = 100
"""Maximum length of a value in the description of a change."""

_VERSION = "version"

_NAMED = {"pools", "teams"}
"""Members whose own members are named by the user."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A member of the document that differs.

    Attributes:
        field: its path, such as ``pools.ml.p5.48xlarge.size``.
        before: its value as JSON, or ``not set``.
        after: its value in the new document, as JSON, ``default`` or ``removed``.
    """

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.field}: {self.before} → {self.after}"


def settings_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration in a document, which may be the response that ``config show -o json`` prints."""
    inner = document.get("document")
    if "pools" in document or not isinstance(inner, Mapping):
        return dict(document)
    version = {_VERSION: document[_VERSION]} if _VERSION in document else {}
    return {**version, **inner}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return the differences between two documents, without their versions.

    Args:
        before: the configuration in effect, with all its defaults.
        after: the new document; a missing member has its default.
    """
    return list(_compare("", _without_version(before), _without_version(after)))


def risks(before: Mapping[str, Any], after: Mapping[str, Any], use: Sequence[PoolUse]) -> list[str]:
    """Return a sentence for each pool with jobs that is removed, and for each that becomes smaller than its use.

    Args:
        before: the configuration in effect.
        after: the new document.
        use: the use of the pools.
    """
    sizes_before, sizes_after = _sizes(before), _sizes(after)
    found: list[str] = []
    for pool in use:
        held = pool.allocated + pool.reserved
        size = sizes_after.get(pool.pool)
        if pool.pool in sizes_before and size is None and (held or pool.waiting):
            found.append(
                f"{pool.pool} would be removed; {held} instances are in use or reserved; waiting jobs: {pool.waiting}."
            )
        elif size is not None and size < held and size < pool.size:
            found.append(
                f"{pool.pool} would have {size} instances; {held} are in use or reserved, so that nothing starts there "
                "until they fit."
            )
    return found


def affects_sizes(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether a pool is removed or becomes smaller."""
    sizes = _sizes(after)
    return any(name not in sizes or sizes[name] < size for name, size in _sizes(before).items())


def _sizes(document: Mapping[str, Any]) -> dict[str, int]:
    pools = document.get("pools")
    if not isinstance(pools, Mapping):
        return {}
    sizes = {name: pool.get("size") if isinstance(pool, Mapping) else None for name, pool in pools.items()}
    # The server refuses other values.
    return {name: size for name, size in sizes.items() if isinstance(size, int)}


def _without_version(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != _VERSION}


def _compare(path: str, before: Any, after: Any) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted(before.keys() | after.keys()):
            inner = f"{path}.{name}" if path else name
            if name not in after:
                # An empty collection is the default everywhere.
                if before[name] not in ({}, []):
                    # A missing pool or team has no default: it is removed.
                    after_text = "removed" if path in _NAMED else "default"
                    yield Change(field=inner, before=_as_text(before[name]), after=after_text)
            elif name not in before:
                yield Change(field=inner, before="not set", after=_as_text(after[name]))
            else:
                yield from _compare(inner, before[name], after[name])
    elif before != after:
        yield Change(field=path, before=_as_text(before), after=_as_text(after))


def _as_text(value: Any) -> str:
    return shorten(json.dumps(value, sort_keys=True, ensure_ascii=False), MAX_VALUE_CHARS)
