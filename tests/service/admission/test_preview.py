"""The trial of a configuration document: its effect on a request, and its warnings."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.preview import lint, preview
from headway_service.errors import InvalidConfiguration
from tests.service.world import P5, on, request

POOLS = {"pools": {P5: {"size": 2}, "ml.g5.xlarge": {"size": 8}}}
SMALL = {"when": {"teams": ["a"]}, "require": {"maxInstances": 1}}
TRACED = {"require": {"tags": {"project": ["*"]}}}
DOCUMENT = {**POOLS, "teams": {"a": {}, "b": {}}, "rules": {"small": SMALL, "traced": TRACED}}


def tags(**named: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in named.items()]


def test_each_rule_has_its_applicability_and_its_findings() -> None:
    found = preview(DOCUMENT, request("x", ResourceConfig=on(2), Tags=tags(team="a", project="p")))
    assert (found.team, found.refused, found.problems) == ("a", True, [])
    assert [(each.rule, each.applies, [v.field for v in each.violations]) for each in found.verdicts] == [
        ("small", True, ["ResourceConfig.InstanceCount"]),
        ("traced", True, []),
    ]


def test_a_request_can_be_previewed_for_another_team() -> None:
    asked = request("x", ResourceConfig=on(2), Tags=[*tags(project="p"), {"Key": "headway:team", "Value": "a"}])
    found = preview(DOCUMENT, asked, "b")
    assert (found.team, found.refused) == ("b", False)
    assert [each.applies for each in found.verdicts] == [False, True]


@pytest.mark.parametrize(
    ("changes", "team", "field"),
    [
        ({"RoleArn": None}, "a", "RoleArn"),
        ({"ResourceConfig": on(3)}, "b", "ResourceConfig.InstanceCount"),
        ({}, "c", "Tags[1].Value"),
        ({"Tags": "none"}, "b", "Tags"),
    ],
    ids=["not valid", "more than the pool has", "an unknown team", "tags of the wrong shape"],
)
def test_other_errors_of_a_request_are_also_reported(changes: dict[str, Any], team: str, field: str) -> None:
    found = preview(DOCUMENT, request("x", **{"Tags": tags(project="p"), **changes}), team)
    assert found.refused
    assert field in [problem.field for problem in found.problems]


@pytest.mark.parametrize("document", [{}, {**POOLS, "rules": {"a": {"require": {}}}}], ids=["no pools", "a bad rule"])
def test_a_document_that_the_queue_refuses_is_not_previewed(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration):
        preview(document, request("x"))
    with pytest.raises(InvalidConfiguration):
        lint(document)


def test_a_document_that_is_too_long_is_refused() -> None:
    named = {f"rule-{i}": {"require": {"images": ["x" * 250]}} for i in range(50)}
    with pytest.raises(InvalidConfiguration, match="at most 8192"):
        lint({**POOLS, "rules": named})


WARNINGS: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("nothing", DOCUMENT, []),
    (
        "a rule for jobs that nobody may submit",
        {**POOLS, "rules": {"a": {"when": {"preemptible": False}, "require": {"vpc": True}}}},
        [("rules.a.when.preemptible", "is for no request")],
    ),
    (
        "the same where jobs may opt out",
        {
            **POOLS,
            "preemption": {"optOut": True},
            "rules": {"a": {"when": {"preemptible": False}, "require": {"vpc": True}}},
        },
        [],
    ),
    (
        "rules for tags that no request carries",
        {
            **POOLS,
            "rules": {
                "a": {"when": {"tags": {"headway:job": ["*"]}}, "require": {"vpc": True}},
                "b": {"when": {"tags": {"aws:createdBy": ["*"]}}, "require": {"vpc": True}},
            },
        },
        [("rules.a.when.tags.headway:job", "is for no request"), ("rules.b.when.tags.aws:createdBy", "no request")],
    ),
    (
        "instance types of which there is no pool",
        {**POOLS, "rules": {"a": {"require": {"instanceTypes": ["ml.g6.*", "ml.p4d.24xlarge"]}}}},
        [("rules.a.require.instanceTypes", "allows none of the pools")],
    ),
    (
        "rules that contradict each other",
        {
            **POOLS,
            "rules": {
                "a": {"require": {"instanceTypes": ["ml.g5.*"]}},
                "b": {"require": {"instanceTypes": [P5]}},
                "c": {"require": {"tags": {"x": ["*"]}, "forbiddenTags": ["x"]}},
            },
        },
        [
            ("rules.a.require", "contradicts the rule b about ResourceConfig.InstanceType, so that every job under bo"),
            ("rules.c.require", "contradicts itself about the tag 'x', so that every job under it is refused"),
        ],
    ),
    (
        "limits of priority that an open team does not have",
        {
            **POOLS,
            "teams": {
                "interns": {"maxPriority": 10},
                "guests": {"maxPriority": 20, "members": ["user/guest"]},
                "research": {},
                "some": {"maxPriority": 500},
            },
            "priority": {"maximum": 500},
        },
        [
            ("teams.guests.maxPriority", "may submit for the team research, which accepts every caller's jobs, with p"),
            ("teams.interns.maxPriority", "priorities up to 500; list the members of research, or set its maxPriority"),
        ],
    ),
    (
        "limits of priority where no open team has a higher one",
        {
            **POOLS,
            "teams": {
                "interns": {"maxPriority": 10},
                "guests": {"maxPriority": 20, "members": ["user/guest"]},
                "research": {"members": ["user/ada"]},
            },
        },
        [],
    ),
]


@pytest.mark.parametrize(("document", "expected"), [row[1:] for row in WARNINGS], ids=[row[0] for row in WARNINGS])
def test_a_valid_document_can_have_warnings(document: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    found = lint(document)
    assert [each.field for each in found] == [field for field, _ in expected]
    assert all(words in each.message for each, (_, words) in zip(found, expected, strict=True))
