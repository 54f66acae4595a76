"""Which modules have the calls on a path? The first call on a noun loads its module."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from headway_service.api.router import DocumentedRouter

NOUNS: Mapping[str, frozenset[str]] = {
    "jobs": frozenset({"jobs", "add-job", "job-batches"}),
    "events": frozenset({"events"}),
    "summary": frozenset({"summary"}),
    "forecast": frozenset({"explanation", "forecast", "what-if"}),
    "capacity": frozenset({"capacity", "rogue-jobs"}),
    "usage": frozenset({"history", "usage"}),
    "forget": frozenset({"forget"}),
    "pools": frozenset({"pools", "pause", "resume"}),
    "config": frozenset({"config"}),
    "dead_letters": frozenset({"dead-letters"}),
    "actions": frozenset({"actions"}),
    "version": frozenset({"version"}),
    "openapi": frozenset({"openapi.json"}),
}
"""The modules of calls, in the order of the OpenAPI document, and the parts of paths by which their calls are known."""


def nouns_of(path: str) -> frozenset[str]:
    """The modules that have the calls on a path, and perhaps others: a job may have the name of a noun."""
    parts = path.split("/")
    return frozenset(noun for noun, known_by in NOUNS.items() if not known_by.isdisjoint(parts))


def router_of(noun: str) -> DocumentedRouter:
    """Load a module of calls, and return its router."""
    router: DocumentedRouter = importlib.import_module(f"{__package__}.routes.{noun}").router
    return router
