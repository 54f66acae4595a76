"""The calls of the HTTP API, by noun."""

from __future__ import annotations

from headway_service.api.routes import capacity, config, dead_letters, events, forecast, jobs, pools, usage, version

NOUNS = tuple(noun.router for noun in (jobs, events, forecast, capacity, usage, pools, config, dead_letters, version))
"""In the order of the OpenAPI document."""
