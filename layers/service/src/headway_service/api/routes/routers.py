"""The calls of the HTTP API, by noun."""

from __future__ import annotations

from headway_service.api.routes import (
    capacity,
    config,
    dead_letters,
    events,
    forecast,
    jobs,
    pools,
    summary,
    usage,
    version,
)

_ALL = (jobs, events, summary, forecast, capacity, usage, pools, config, dead_letters, version)
NOUNS = tuple(noun.router for noun in _ALL)
"""In the order of the OpenAPI document."""
