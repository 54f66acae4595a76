"""All calls of the HTTP API."""

from __future__ import annotations

from headway_service.routes import about, capacity, config, dead_letters, foresight, jobs, pools

ROUTERS = tuple(noun.router for noun in (jobs, foresight, capacity, pools, config, dead_letters, about))
"""By noun, in the order in which the OpenAPI document tells of them."""
