"""Whether the pools, or the limit of the team, could ever satisfy the demand of a request."""

from __future__ import annotations

from collections.abc import Iterator

from headway.pool_names import SERVERLESS
from headway.vectors import describe
from headway_service.admission.checks.draft import Draft
from headway_service.errors import FieldError


def errors(draft: Draft) -> Iterator[FieldError]:
    """What of a request without other errors they could never give."""
    problems: dict[str, tuple[str, str]] = {}
    configuration, team = draft.configuration, draft.team
    for pool, count in draft.demand.items():
        known, most = configuration.pools.get(pool), configuration.most(pool, team)
        if known is None:
            why = ", so this queue runs no serverless jobs" if pool == SERVERLESS else ""
            problems[pool] = ("InstanceType", f"there is no pool {pool}{why}")
        elif count > known.sizes.largest:
            problems[pool] = ("InstanceCount", f"the pool {pool} has {known.sizes.largest} instances, not {count}")
        elif count > most:
            whose = f"the team {team}" if team else "a job without a team"
            message = f"{whose} may use {most} instances of the pool {pool}, not {count}"
            problems[pool] = ("InstanceCount", message)
    types = [pool for pool, known in configuration.pools.items() if pool != SERVERLESS and known.plan is None]
    sizes = {pool: most for pool in types if (most := configuration.most(pool, team))}
    all_of = describe(sizes).replace(" and ", " or ")
    possible = f"a job may have up to {all_of}" if sizes else "all pools are empty now"
    for each in draft.request.groups:
        pool = draft.request.pool_of(each, configuration.pools, spot=draft.spot)
        if pool in problems:
            member, problem = problems.pop(pool)
            # A serverless job has neither of these members.
            field = each.part if pool == SERVERLESS else f"{each.part}.{member}"
            yield FieldError(field=field, message=f"{problem}; {possible}")
