"""Pairs of rules that no job can satisfy, as far as that is decidable."""

from __future__ import annotations

import pytest

from headway.jobpolicy.requirements import Allowed, MaxInstances, OnlyTagged, Tagged, Untagged
from headway.jobpolicy.rule_conflicts import disjoint, find_conflicts
from headway.jobpolicy.rules import Rule, When
from headway.jobpolicy.training_job import INSTANCE_TYPE

G5, P5 = Allowed(INSTANCE_TYPE, ("ml.g5.*",)), Allowed(INSTANCE_TYPE, ("ml.p5.48xlarge",))
DEV, PROD = Tagged("env", ("dev",)), Tagged("env", ("prod", "prod-eu"))


@pytest.mark.parametrize(
    ("some", "others", "expected"),
    [
        (["a", "b"], ["b"], False),
        (["a", "b"], ["c"], True),
        (["ml.p5.48xlarge"], ["ml.g5.*", "ml.p4?.*"], True),
        (["ml.g5.*"], ["ml.g5.xlarge"], False),
        (["ml.g5.*"], ["ml.p5.*"], False),
    ],
    ids=["one in both", "none in both", "none matches", "one matches", "two patterns, which is not told"],
)
def test_lists_of_allowed_values_without_a_common_value_are_found(
    some: list[str], others: list[str], expected: bool
) -> None:
    assert disjoint(some, others) is expected
    assert disjoint(others, some) is expected


CONTRADICTIONS: list[tuple[str, list[Rule], list[tuple[tuple[str, str], str]]]] = [
    (
        "two lists of instance types",
        [Rule(name="a", requirements=(G5,)), Rule(name="b", requirements=(P5,))],
        [(("a", "b"), INSTANCE_TYPE)],
    ),
    (
        "lists of different things",
        [Rule(name="a", requirements=(G5,)), Rule(name="b", requirements=(Allowed("RoleArn", ("x",)),))],
        [],
    ),
    (
        "two values of one tag",
        [Rule(name="a", requirements=(DEV,)), Rule(name="b", requirements=(PROD,))],
        [(("a", "b"), "the tag 'env'")],
    ),
    (
        "a tag that is required here and forbidden there",
        [Rule(name="a", requirements=(Untagged(("e*",)),)), Rule(name="b", requirements=(DEV,))],
        [(("a", "b"), "the tag 'env'")],
    ),
    (
        "a tag that is required here and not among those allowed there",
        [Rule(name="a", requirements=(OnlyTagged(("project", "team")),)), Rule(name="b", requirements=(DEV,))],
        [(("a", "b"), "the tag 'env'")],
    ),
    (
        "a tag that is required here and allowed there",
        [Rule(name="a", requirements=(OnlyTagged(("e*",)),)), Rule(name="b", requirements=(DEV,))],
        [],
    ),
    (
        "different instance types in the conditions",
        [
            Rule(name="a", when=When(instance_types=("ml.m5.*",)), requirements=(DEV,)),
            Rule(name="b", when=When(instance_types=("ml.p5.48xlarge",)), requirements=(PROD,)),
        ],
        [],
    ),
    (
        "an instance type in both conditions",
        [
            Rule(name="a", when=When(instance_types=("ml.p5.*",)), requirements=(DEV,)),
            Rule(name="b", when=When(instance_types=("ml.p5.48xlarge",)), requirements=(PROD,)),
        ],
        [(("a", "b"), "the tag 'env'")],
    ),
    (
        "a rule that contradicts itself, told once",
        [Rule(name="a", requirements=(MaxInstances(1), Untagged(("env",)), DEV))],
        [(("a", "a"), "the tag 'env'")],
    ),
    (
        "different teams",
        [
            Rule(name="a", when=When(teams=("x", "y")), requirements=(G5,)),
            Rule(name="b", when=When(teams=("z",)), requirements=(P5,)),
        ],
        [],
    ),
    (
        "a team in both",
        [
            Rule(name="a", when=When(teams=("x", "y")), requirements=(G5,)),
            Rule(name="b", when=When(teams=("y",)), requirements=(P5,)),
        ],
        [(("a", "b"), INSTANCE_TYPE)],
    ),
    (
        "spot and on demand",
        [
            Rule(name="a", when=When(spot=True), requirements=(G5,)),
            Rule(name="b", when=When(spot=False), requirements=(P5,)),
        ],
        [],
    ),
    (
        "preemptible and not",
        [
            Rule(name="a", when=When(preemptible=True), requirements=(G5,)),
            Rule(name="b", when=When(preemptible=False), requirements=(P5,)),
        ],
        [],
    ),
    (
        "different values of a tag in the conditions",
        [
            Rule(name="a", when=When(tags={"env": ("dev",)}), requirements=(G5,)),
            Rule(name="b", when=When(tags={"env": ("prod*",)}), requirements=(P5,)),
        ],
        [],
    ),
]


@pytest.mark.parametrize(
    ("rules", "expected"), [row[1:] for row in CONTRADICTIONS], ids=[row[0] for row in CONTRADICTIONS]
)
def test_rules_contradict_each_other_unless_their_conditions_exclude_each_other(
    rules: list[Rule], expected: list[tuple[tuple[str, str], str]]
) -> None:
    assert [(found.rules, found.subject) for found in find_conflicts(rules)] == expected
