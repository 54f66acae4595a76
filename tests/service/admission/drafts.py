"""Requests under review, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headway_service.admission.checks.draft import Draft
from headway_service.config.authorization import Caller
from headway_service.config.document import DEFAULT_TEAM, Configuration
from headway_service.errors import FieldError
from headway_service.sagemaker_api.training_request import TrainingRequest
from tests.service.world import request


def draft(
    configuration: Configuration,
    caller: Caller | None = None,
    home: str = DEFAULT_TEAM,
    *,
    left_spot: bool = False,
    priority: int | None = None,
    **changes: Any,
) -> Draft:
    """A request for one instance, with changes to it, under review."""
    return Draft(
        request=TrainingRequest.parse(request("a", **changes)),
        configuration=configuration,
        caller=caller,
        home=home,
        left_spot=left_spot,
        priority=priority,
    )


def told(errors: Iterable[FieldError]) -> list[tuple[str, str]]:
    """The field and the sentence of each error."""
    return [(each.field, each.message) for each in errors]


def tagged(*tags: tuple[str, str]) -> dict[str, Any]:
    """The change to a request that gives it these tags."""
    return {"Tags": [{"Key": key, "Value": value} for key, value in tags]}
