"""Pools of instance types that are not known, which are most likely typing errors."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from headway.api_documents.effects import EffectCode
from headway.instances import known_types
from headway.pool_names import SERVERLESS, on_demand_pool
from headway_service.config.document import Configuration
from headway_service.effects.effect import Effect


def unknown_types(before: Configuration, after: Configuration) -> Iterator[Effect]:
    """The new pools whose instance type this version does not know; AWS may have it all the same."""
    known = known_types()
    for pool in sorted(after.pools.keys() - before.pools.keys() - {SERVERLESS}):
        kind = on_demand_pool(pool)
        if kind not in known:
            near = get_close_matches(kind, sorted(known), n=1)
            hint = f"; is {near[0]} meant?" if near else ""
            message = f"{kind} is no instance type that this version of the queue knows{hint}"
            yield Effect(code=EffectCode.UNKNOWN_TYPE, count=1, names=[pool], message=message)
