"""The table of rules on requests."""

from __future__ import annotations

from importlib import import_module
from inspect import isfunction, signature
from pkgutil import iter_modules
from typing import Any

import pytest

from headway_service.admission import checks, review
from headway_service.admission.checks import capacity, team_access
from headway_service.admission.checks.draft import Draft
from headway_service.config.document import DEFAULT_TEAM, validate
from headway_service.sagemaker_api.training_request import TrainingRequest
from tests.service.world import P5, request

CONFIGURATION = validate({"pools": {P5: {"size": 2}}})

OF_VALID_REQUESTS = {capacity.errors, team_access.access_errors}
"""What is checked of requests without other errors."""


def test_every_rule_is_in_the_table() -> None:
    rules = {
        member
        for each in iter_modules(checks.__path__)
        for module in [import_module(f"{checks.__name__}.{each.name}")]
        for name, member in vars(module).items()
        if isfunction(member) and member.__module__ == module.__name__ and not name.startswith("_")
        if list(signature(member).parameters) == ["draft"]
    }
    assert rules == {check for _, check in review.CHECKS} | OF_VALID_REQUESTS


@pytest.mark.parametrize("wrong", ["x", 1, [1], {"x": 1}])
def test_rules_read_no_member_that_has_not_the_shape_of_sagemakers_model(wrong: Any) -> None:
    for member in {member for members, _ in review.CHECKS for member in members}:
        draft = Draft(
            request=TrainingRequest.parse(request("a", **{member: wrong})),
            configuration=CONFIGURATION,
            caller=None,
            home=DEFAULT_TEAM,
        )
        assert review.review(draft).invalid, member


def test_an_invalid_request_is_not_checked_for_what_it_demands() -> None:
    def found(**changes: Any) -> review.Review:
        asked = request("a", ResourceConfig={"InstanceType": P5, "InstanceCount": 9, "VolumeSizeInGB": 1}, **changes)
        parsed = TrainingRequest.parse(asked)
        return review.review(Draft(request=parsed, configuration=CONFIGURATION, caller=None, home=DEFAULT_TEAM))

    assert found().impossible
    assert found(RoleArn="x").invalid
    assert not found(RoleArn="x").impossible
