"""How instances that are kept for some jobs are written in the configuration document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from headway.bookings import booking as core
from headway.bookings.booking import WEEK_MS
from headway.days import moment_ms
from headway.job_terms import owner_hash
from headway_service.config.base import ConfigModel, Name
from headway_service.config.budgets import Arn, Tag
from headway_service.config.pool import MAX_POOL_SIZE, Pool, PoolName
from headway_service.errors import FieldError

MAX_BOOKINGS = 20

MAX_KEPT_OF_POOL = 4
"""Bookings of one pool, and guarantees of it that are not lent: each set of these is a limit in each decision."""

MAX_BOOKED_S = 90 * 86_400
"""The longest window of a booking, s."""

Moment = Annotated[str, StringConstraints(max_length=40)]
"""A time with its zone, such as ``2026-12-01T18:00Z``."""


class Booking(ConfigModel):
    """Instances that are kept for some jobs, e.g. ``{"pool": "ml.p5.48xlarge", "instances": 2, "team": "nlp", …}``."""

    pool: PoolName
    instances: int = Field(ge=1, le=MAX_POOL_SIZE)
    team: Name | None = None
    #: The ARN of the caller whose jobs they are.
    owner: Arn | None = None
    tag: Tag | None = None
    from_: Moment = Field(alias="from")
    to: Moment
    #: Whether they are kept again each week.
    every: Literal["week"] | None = None
    #: So long after each begin those are given back that no such job holds or waits for; null for never.
    give_back_after_seconds: int | None = Field(default=None, ge=0, le=MAX_BOOKED_S)

    @model_validator(mode="after")
    def _is_for_somebody_for_some_time(self) -> Booking:
        if self.team is None and self.owner is None and self.tag is None:
            raise ValueError("is for nobody: name a team, an owner, a tag, or several of these")
        from_ms, to_ms = moment_ms(self.from_), moment_ms(self.to)
        if from_ms is None or to_ms is None:
            raise ValueError("needs `from` and `to` as times with their zone, such as 2026-12-01T18:00Z")
        if not from_ms < to_ms <= from_ms + MAX_BOOKED_S * 1000:
            raise ValueError(f"has to end after it begins, within {MAX_BOOKED_S // 86_400} days")
        if self.every is not None and to_ms - from_ms > WEEK_MS:
            raise ValueError("lasts longer than the week after which it begins again: end it earlier")
        return self

    def booking(self, name: str) -> core.Booking:
        """It as decisions see it."""
        after_s = self.give_back_after_seconds
        return core.Booking(
            name=name,
            about=f"booking `{name}`",
            pool=self.pool,
            count=self.instances,
            team=self.team,
            owner=None if self.owner is None else owner_hash(self.owner),
            tag=None if self.tag is None else f"{self.tag.key}={self.tag.value}",
            from_ms=moment_ms(self.from_),
            to_ms=moment_ms(self.to),
            weekly=self.every is not None,
            lapse_ms=None if after_s is None else after_s * 1000,
        )


def kept(team: str, guaranteed: Mapping[str, int], lend: Mapping[str, int]) -> Iterator[core.Booking]:
    """What is kept of a team's guarantee as the team does not lend it.

    Args:
        guaranteed: its guarantee, per pool.
        lend: how much of that it lends; of a pool that is not named all of it.
    """
    for pool, count in lend.items():
        if guaranteed.get(pool, 0) > count:
            yield core.Booking(
                name=f"guarantee of {team}",
                about=f"the guarantee of team `{team}`",
                pool=pool,
                count=guaranteed[pool] - count,
                team=team,
            )


def problems(
    bookings: Mapping[str, Booking], all_kept: Mapping[str, int], pools: Mapping[str, Pool], teams: Mapping[str, object]
) -> Iterator[FieldError]:
    """What is wrong with bookings beside the rest of a document.

    Args:
        all_kept: how many guarantees of each pool are not lent.
        pools: those of the document.
        teams: those of the document.
    """
    of_pool = Counter(all_kept)
    for name, each in bookings.items():
        if each.team is not None and each.team not in teams:
            yield FieldError(field=f"bookings.{name}.team", message=f"there is no team {each.team}")
        if each.pool not in pools:
            yield FieldError(field=f"bookings.{name}.pool", message=f"there is no pool {each.pool}")
            continue
        most = pools[each.pool].sizes.largest
        if each.instances > most:
            message = f"{each.instances} is more than the {most} instances of the pool {each.pool}"
            yield FieldError(field=f"bookings.{name}.instances", message=message)
        of_pool[each.pool] += 1
    for pool, count in of_pool.items():
        if count > MAX_KEPT_OF_POOL:
            message = (
                f"{count} bookings and guarantees that are not lent (teams.NAME.lend) are of the pool {pool}; at most "
                f"{MAX_KEPT_OF_POOL} are possible: remove bookings that are over, or put several into one"
            )
            yield FieldError(field="bookings", message=message)
