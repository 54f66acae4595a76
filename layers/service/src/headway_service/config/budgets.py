"""How budgets are written in the configuration document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator, model_validator
from pydantic.types import Strict

from headway.budgets import budget as core
from headway.budgets.budget import WhenSpent
from headway.budgets.periods import MAX_DAYS, Every, Rolling
from headway.days import DAY_MS, begin_ms
from headway.job_terms import owner_hash
from headway_service.config.base import ConfigModel, Name
from headway_service.config.pool import PoolName
from headway_service.errors import FieldError
from headway_service.validation_messages import explained

MAX_BUDGETS = 20
"""Budgets. What was used of each is in the ledger, which each decision reads."""

MAX_GRANTS = 20
"""Grants of a budget, past ones included."""

MAX_AMOUNT = 1_000_000_000
"""What a budget or a grant may have at most."""

Arn = Annotated[
    str,
    StringConstraints(
        pattern=explained(
            r"^arn:[a-z-]+:(iam|sts)::\d{12}:.{1,1024}$", "the ARN of a caller, as `headway queue` shows it"
        )
    ),
]


class Grant(ConfigModel):
    """More for a time, e.g. ``{"amount": 100, "until": "2026-12-05"}``."""

    amount: float = Field(gt=0, le=MAX_AMOUNT)
    #: The last day on which it counts, UTC.
    until: str

    @field_validator("until")
    @classmethod
    def _is_a_day(cls, value: str) -> str:
        try:
            date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r:.40} is no day: write it as 2026-12-05") from None
        return value

    def grant(self) -> core.Grant:
        """It as it is computed with."""
        until = date.fromisoformat(self.until)
        return core.Grant(amount=self.amount, until_ms=begin_ms(until) + DAY_MS)


class Tag(ConfigModel):
    """A tag of requests, e.g. ``{"key": "project", "value": "thesis"}``."""

    key: str = Field(min_length=1, max_length=128)
    value: str = Field(max_length=256)


class Budget(ConfigModel):
    """What jobs of a team, an owner or a tag may use, e.g. ``{"team": "speech", "every": "month", "amount": 600}``."""

    team: Name | None = None
    #: The ARN of the caller whose jobs they are.
    owner: Arn | None = None
    tag: Tag | None = None
    every: Annotated[Every, Strict(strict=False)] | None = None
    #: The last so many days, in place of a calendar period.
    days: int | None = Field(default=None, ge=1, le=MAX_DAYS)
    amount: float = Field(gt=0, le=MAX_AMOUNT)
    #: What an instance hour of each pool takes, such as its price; pools that are not named take nothing. Empty: 1 of
    #: all pools, so that the amount is in instance hours.
    charges: dict[PoolName, Annotated[float, Field(ge=0, le=MAX_AMOUNT)]] = Field(default_factory=dict)
    when_spent: Annotated[WhenSpent, Strict(strict=False)] = WhenSpent.HOLD
    grants: list[Grant] = Field(default_factory=list, max_length=MAX_GRANTS)

    @model_validator(mode="after")
    def _is_of_somebody_for_some_time(self) -> Budget:
        if self.team is None and self.owner is None and self.tag is None:
            raise ValueError("is for nobody: name a team, an owner, a tag, or several of these")
        if (self.every is None) == (self.days is None):
            raise ValueError("needs either `every` (week or month) or `days`")
        return self

    def budget(self, name: str, pools: Iterable[str]) -> core.Budget:
        """It as it is computed with.

        Args:
            pools: those of the configuration.
        """
        return core.Budget(
            name=name,
            amount=self.amount,
            period=self.every or Rolling(self.days or 1),
            charges=self.charges or dict.fromkeys(pools, 1.0),
            when_spent=self.when_spent,
            team=self.team,
            owner=None if self.owner is None else owner_hash(self.owner),
            tag=None if self.tag is None else f"{self.tag.key}={self.tag.value}",
            grants=tuple(each.grant() for each in self.grants),
        )


def problems(budgets: Mapping[str, Budget], pools: Iterable[str], teams: Iterable[str]) -> Iterator[FieldError]:
    """What is wrong with budgets beside the rest of a document.

    Args:
        pools: those of the document.
        teams: those of the document.
    """
    known, named = set(pools), set(teams)
    for name, each in budgets.items():
        if each.team is not None and each.team not in named:
            yield FieldError(field=f"budgets.{name}.team", message=f"there is no team {each.team}")
        for pool in each.charges.keys() - known:
            yield FieldError(field=f"budgets.{name}.charges.{pool}", message=f"there is no pool {pool}")
        if each.charges and not any(each.charges.values()):
            message = "takes nothing for any pool, so it is never spent: name one above 0, or leave charges out"
            yield FieldError(field=f"budgets.{name}.charges", message=message)
