"""The table of rules on requests."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from inspect import isfunction, signature
from pkgutil import iter_modules
from typing import Any

import pytest

from headway_service.admission import checks, review
from headway_service.admission.checks import capacity, team_access
from headway_service.admission.checks.draft import Draft
from headway_service.config.authorization import Caller
from headway_service.config.document import validate
from headway_service.errors import (
    FieldError,
    ImpossibleDemand,
    InvalidRequest,
    NotAllowed,
    RequestError,
    RuleViolation,
)
from tests.service.admission.drafts import draft, tagged, told
from tests.service.world import ACCOUNT, ADA, P5, on

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
        assert review.review(draft(CONFIGURATION, **{member: wrong})).invalid, member


def test_an_invalid_request_is_not_checked_for_what_it_demands() -> None:
    def found(**changes: Any) -> review.Review:
        return review.review(draft(CONFIGURATION, ResourceConfig=on(9), **changes))

    assert found().impossible
    assert found(RoleArn="x").invalid
    assert not found(RoleArn="x").impossible


A, B, C, D = (FieldError(field=name, message=f"is {name}") for name in "ABCD")
OF_ALTERNATIVE = FieldError(field="alternatives[0].X", message="is X")


@pytest.mark.parametrize(
    ("found", "error", "message"),
    [
        ({"invalid": [A, B], "forbidden": [C], "violations": [D]}, InvalidRequest, "A is A (and 3 more)"),
        ({"forbidden": [B], "violations": [C], "impossible": [D]}, NotAllowed, "B is B (and 2 more)"),
        ({"violations": [C], "impossible": [D]}, RuleViolation, "C is C (and 1 more)"),
        ({"impossible": [D, OF_ALTERNATIVE]}, ImpossibleDemand, "is D (and 1 more)"),
        ({"impossible": [OF_ALTERNATIVE]}, ImpossibleDemand, "alternatives[0].X: is X"),
        ({"invalid": [A]}, InvalidRequest, "A is A"),
    ],
    ids=["invalid", "forbidden", "a violation", "impossible", "an impossible alternative", "one error"],
)
def test_a_refusal_is_by_the_first_kind_of_error_and_names_all(
    found: dict[str, list[FieldError]], error: type[RequestError], message: str
) -> None:
    none: dict[str, list[FieldError]] = {"invalid": [], "forbidden": [], "violations": [], "impossible": []}
    with pytest.raises(error) as raised:
        review.Review(**{**none, **found}).require_nothing()
    assert type(raised.value) is error
    assert str(raised.value) == message
    assert [*raised.value.fields] == [each for kind in found.values() for each in kind]


def test_nothing_is_refused_if_nothing_is_wrong() -> None:
    review.Review(invalid=[], forbidden=[], violations=[], impossible=[]).require_nothing()


G5, G6 = "ml.g5.xlarge", "ml.g6.xlarge"
ROLE = {"roles": ["arn:aws:iam::*:role/Other"], "callers": ["user/ada"]}
STRICT = validate(
    {
        "pools": {P5: {"size": 2}, G5: {"size": 8}, G6: {"size": 8}},
        "rules": {"small": {"require": {"maxInstances": 4}}},
        "access": {"trainingRoles": [ROLE]},
    }
)
"""A configuration under which ADA may use no role that a request here has."""


def drafts(*resources: dict[str, Any], caller: Caller | None = None) -> list[Draft]:
    return [draft(STRICT, caller, ResourceConfig=each) for each in resources]


def reviewed(*resources: dict[str, Any], caller: Caller | None = None) -> review.Review:
    return review.review_all(drafts(*resources, caller=caller), beside=[], after=[])


def fields(errors: Iterable[FieldError]) -> list[str]:
    return [each.field for each in errors]


COUNT = "ResourceConfig.InstanceCount"


def test_the_errors_of_alternatives_are_named_by_their_place_and_those_of_the_request_once() -> None:
    found = reviewed(on(0), on(0, G5), {**on(1, G6), "Count": 1}, on(0))
    assert told(found.invalid) == [
        (COUNT, "is 0; a job needs at least 1 instance"),
        (
            "alternatives[1].ResourceConfig.Count",
            "is not a parameter of CreateTrainingJob: remove it, or check its spelling",
        ),
    ]
    assert (found.forbidden, found.violations, found.impossible) == ([], [], [])


def test_an_alternative_may_be_invalid_beside_a_valid_request() -> None:
    assert told(reviewed(on(1), on(0, G5)).invalid) == [
        (f"alternatives[0].{COUNT}", "is 0; a job needs at least 1 instance")
    ]


def test_violations_and_impossible_demands_of_alternatives_are_named_with_those_of_the_request() -> None:
    found = reviewed(on(5), on(9, G5), on(4, G6), on(9, G6))
    broken = "instances; use at most 4 (rule `small`)"
    assert told(found.violations) == [
        (COUNT, f"asks for 5 {broken}"),
        (f"alternatives[0].{COUNT}", f"asks for 9 {broken}"),
        (f"alternatives[2].{COUNT}", f"asks for 9 {broken}"),
    ]
    possible = f"a job may have up to 8 {G5} or 8 {G6} or 2 {P5}"
    assert told(found.impossible) == [
        (COUNT, f"the pool {P5} has 2 instances, not 5; {possible}"),
        (f"alternatives[0].{COUNT}", f"the pool {G5} has 8 instances, not 9; {possible}"),
        (f"alternatives[2].{COUNT}", f"the pool {G6} has 8 instances, not 9; {possible}"),
    ]


def test_what_the_caller_may_not_do_is_named_once_for_all_alternatives() -> None:
    found = reviewed(on(1), on(1, G5), caller=ADA)
    assert fields(found.forbidden) == ["RoleArn"]
    others = [
        draft(STRICT, ADA),
        draft(STRICT, ADA, RoleArn=f"arn:aws:iam::{ACCOUNT}:role/Third", ResourceConfig=on(1, G5)),
    ]
    found = review.review_all(others, beside=[], after=[])
    assert fields(found.forbidden) == ["RoleArn", "alternatives[0].RoleArn"]


def test_what_comes_with_a_request_is_named_before_its_errors_and_its_list_of_alternatives_after_them() -> None:
    found = review.review_all(drafts(on(0), on(0, G5)), beside=[A], after=[B])
    assert fields(found.invalid) == ["A", COUNT, "B"]
    beside = [FieldError(field=COUNT, message="is 0; a job needs at least 1 instance")]
    found = review.review_all(drafts(on(1), on(0, G5)), beside=beside, after=[])
    assert fields(found.invalid) == [COUNT]


def test_each_alternative_needs_pools_of_its_own() -> None:
    group = {"InstanceGroupName": "g", "InstanceCount": 1}
    mixed = {"InstanceGroups": [{**group, "InstanceType": kind} for kind in (G6, G5, P5)], "VolumeSizeInGB": 30}
    own = "each alternative needs pools of its own"
    assert told(reviewed(on(1), on(1, G5), mixed).invalid) == [
        ("alternatives[1]", f"needs the pool {P5}, as the request itself does: {own}"),
        ("alternatives[1]", f"needs the pool {G5}, as alternatives[0] does: {own}"),
    ]
    assert told(reviewed(mixed, mixed).invalid) == [
        ("alternatives[0]", f"needs the pool {pool}, as the request itself does: {own}") for pool in (G5, G6, P5)
    ]
    assert reviewed(on(1), on(1, G5), on(1, G6)).invalid == []


def test_pools_are_compared_only_if_nothing_else_is_wrong() -> None:
    assert fields(reviewed(on(0), on(1)).invalid) == [COUNT]


def test_of_each_alternative_the_first_invalid_fields_are_named() -> None:
    wrong = {f"k{number:02}": number for number in range(review.MAX_REPORTED_FIELDS + 1)}
    other = draft(STRICT, ResourceConfig=on(1, G5), HyperParameters=wrong)
    found = review.review_all([draft(STRICT), other], beside=[], after=[])
    assert fields(found.invalid) == [f"alternatives[0].HyperParameters.{key}" for key in [*wrong][:-1]]


def test_a_member_of_a_wrong_shape_keeps_only_the_rules_on_it_from_being_checked() -> None:
    tags = [{"Key": "priority", "Value": "high"}]
    wrong: dict[str, Any] = {"ResourceConfig": "x", "Tags": tags, "InputDataConfig": [{"ChannelName": "c"}]}
    assert fields(review.review(draft(STRICT, **wrong)).invalid) == [
        "ResourceConfig",
        "InputDataConfig[0].DataSource",
        "Tags[0].Value",
    ]


def test_rules_are_evaluated_of_the_team_that_is_charged() -> None:
    configuration = validate(
        {
            "pools": {P5: {"size": 2}},
            "teams": {"red": {}, "blue": {}},
            "rules": {"small": {"when": {"teams": ["red"]}, "require": {"maxInstances": 1}}},
        }
    )
    for home, tags, expected in (
        ("red", {}, [COUNT]),
        ("blue", {}, []),
        ("blue", tagged(("team", "red")), [COUNT]),
    ):
        found = review.review(draft(configuration, home=home, ResourceConfig=on(2), **tags))
        assert fields(found.violations) == expected, home


def test_an_invalid_request_is_not_checked_for_what_the_caller_may_do() -> None:
    assert fields(review.review(draft(STRICT, ADA)).forbidden) == ["RoleArn"]
    assert review.review(draft(STRICT, ADA, ResourceConfig=on(0))).forbidden == []
