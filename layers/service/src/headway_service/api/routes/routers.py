"""The calls of the HTTP API, by noun."""

from __future__ import annotations

from headway_service.api.routes import capacity, config, dead_letters, forecast, jobs, pools, summary, version

NOUNS = tuple(noun.router for noun in (jobs, summary, forecast, capacity, pools, config, dead_letters, version))
"""In the order of the OpenAPI document."""
