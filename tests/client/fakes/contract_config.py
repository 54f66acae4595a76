"""The configurations of the fake API: effects, which a test sets, and the history of those that were set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.client.fakes.contract_foresight import Reply, problem

if TYPE_CHECKING:
    from tests.client.fakes.contract import Queue


def answer(queue: Queue, method: str, segments: list[str], query: dict[str, list[str]], document: Any) -> Reply | None:
    match (method, segments):
        case ("POST", ["config", "effects"]):
            return _effects(queue, document)
        case ("GET", ["config", "history"]):
            return _history(queue, query)
        case ("GET", ["config", "history", version]):
            return _version(queue, int(version), query)
        case _:
            return None


def record(queue: Queue, reason: str = "") -> None:
    """Record the settings in force."""
    queue.configs[queue.version] = {"settings": queue.settings, "reason": reason}


def _effects(queue: Queue, document: dict[str, Any]) -> Reply:
    if "pools" not in document:
        return problem(400, "InvalidConfiguration", "The document is not valid.", pools="is missing.")
    changes = _changes(queue.settings, document)
    effects = queue.effects if changes else []
    said = {"note": "Holds if no job comes.", "isWhole": queue.sees_all}
    return 200, {"version": queue.version, "changes": changes, "effects": effects, **said}


def _history(queue: Queue, query: dict[str, list[str]]) -> Reply:
    limit, after = int(query.get("limit", ["50"])[0]), query.get("after", [""])[0]
    versions = [each for each in sorted(queue.configs, reverse=True) if not after or each < int(after)]
    shown = versions[:limit]
    return 200, {
        "versions": [{**_entry(queue, each), "address": "10.0.0.7", "more": 0} for each in shown],
        "next": str(shown[-1]) if len(versions) > limit else None,
    }


def _version(queue: Queue, version: int, query: dict[str, list[str]]) -> Reply:
    since = int(query["since"][0]) if "since" in query else version - 1
    if version not in queue.configs or ("since" in query and since not in queue.configs):
        return problem(404, "VersionNotFound", "No such version of the configuration is known.")
    before = queue.configs[since]["settings"] if since in queue.configs else None
    settings = queue.configs[version]["settings"]
    return 200, {
        **_entry(queue, version),
        "document": settings,
        "since": since if before is not None else None,
        "changes": _changes(before, settings) if before is not None else [],
    }


def _entry(queue: Queue, version: int) -> dict[str, Any]:
    known = queue.configs[version]
    before = queue.configs.get(version - 1)
    return {
        "version": version,
        "time": "2026-01-02T03:04:05.678Z",
        "by": "user/ada" if known["reason"] else "",
        "reason": known["reason"],
        "changes": _changes(before["settings"], known["settings"]) if before is not None else [],
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, str]]:
    old, new = dict(_values("", before)), dict(_values("", after))
    return [
        {"field": field, "message": f"{old.get(field, 'not set')} → {new.get(field, 'not set')}"}
        for field in sorted(old.keys() | new.keys())
        if old.get(field) != new.get(field)
    ]


def _values(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """The values at the end of each path."""
    if not isinstance(value, dict):
        yield path, json.dumps(value)
        return
    for name, inner in value.items():
        yield from _values(f"{path}.{name}" if path else name, inner)
