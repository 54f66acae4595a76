"""The alternatives of a request: members that replace its own, so that the job can run on other instances as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MEMBERS = ("ResourceConfig", "EnableManagedSpotTraining", "StoppingCondition", "HyperParameters", "Environment")
"""What an alternative may replace: the instances, for how long, and what the program needs to know about them."""

MAX_ALTERNATIVES = 4
"""Most alternatives of one request, beside the request itself."""


def with_members(request: Mapping[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    """A request with some members replaced as a whole.

    Args:
        request: a CreateTrainingJob request.
        members: the new values; None removes a member.
    """
    return {name: value for name, value in {**request, **members}.items() if value is not None or name not in members}
