"""Each condition of a rule, and what rules find."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.jobpolicy.requirements import (
    Allowed,
    AtMost,
    FileSystems,
    Given,
    MaxInstances,
    MaxRunTime,
    OnlyTagged,
    Switched,
    Tagged,
    Untagged,
)
from headway.jobpolicy.rules import OnStart, Rule, When, violations
from headway.jobpolicy.training_job import INSTANCE_TYPE, TrainingJob, tags_in
from tests.core.jobpolicy.test_requirements import CHECKPOINTS, G5, KEPT_FOR, NO_DEBUGGER, P5, ROLES, TYPES, listed, on

SPOT, ON_DEMAND = {"EnableManagedSpotTraining": True}, {"EnableManagedSpotTraining": False}
CONDITIONS: list[tuple[str, When, TrainingJob, bool]] = [
    ("no condition", When(), TrainingJob(description={}), True),
    ("its team", When(teams=("a", "b")), TrainingJob(description={}, team="b"), True),
    ("another team", When(teams=("a",)), TrainingJob(description={}, team="b"), False),
    ("no team", When(teams=("a",)), TrainingJob(description={}), False),
    ("a tag's value", When(tags={"env": ("prod*",)}), TrainingJob(description={}, tags={"env": "prod-eu"}), True),
    ("another value", When(tags={"env": ("prod*",)}), TrainingJob(description={}, tags={"env": "dev"}), False),
    ("no such tag", When(tags={"env": ("*",)}), TrainingJob(description={}, tags={"Env": "dev"}), False),
    (
        "one tag of two",
        When(tags={"a": ("*",), "b": ("*",)}),
        TrainingJob(description={}, tags={"a": "1", "c": "1"}),
        False,
    ),
    ("an instance type", When(instance_types=("ml.g5.*",)), TrainingJob(description=on(1)), True),
    ("another instance type", When(instance_types=("ml.g5.*",)), TrainingJob(description=on(1, P5)), False),
    (
        "one group of an instance type",
        When(instance_types=("ml.g5.*",)),
        TrainingJob(description=listed("InstanceGroups", (P5, 1), (G5, 1))),
        True,
    ),
    ("no instance type, as of serverless jobs", When(instance_types=("*",)), TrainingJob(description={}), False),
    ("spot", When(spot=True), TrainingJob(description=SPOT), True),
    ("on demand where spot is meant", When(spot=True), TrainingJob(description={}), False),
    ("on demand", When(spot=False), TrainingJob(description=ON_DEMAND), True),
    ("preemptible", When(preemptible=True), TrainingJob(description={}), True),
    ("not preemptible", When(preemptible=False), TrainingJob(description={}, preemptible=False), True),
    (
        "all but one part of a condition",
        When(teams=("a",), spot=True, preemptible=True),
        TrainingJob(description=SPOT, team="a", preemptible=False),
        False,
    ),
]


@pytest.mark.parametrize(("when", "job", "holds"), [row[1:] for row in CONDITIONS], ids=[row[0] for row in CONDITIONS])
def test_a_rule_applies_to_jobs_that_meet_its_whole_condition(when: When, job: TrainingJob, holds: bool) -> None:
    rule = Rule(name="r", when=when, requirements=(CHECKPOINTS,))
    assert bool(rule.violations(job)) is holds


def test_a_violation_names_its_rule_its_contact_and_its_action_on_started_jobs() -> None:
    rule = Rule(name="vpc", requirements=(Given("VpcConfig"),), on_start=OnStart.STOP, note="ask Ada")
    (violation,) = rule.violations(TrainingJob(description={}))
    assert (violation.rule, violation.field, violation.on_start) == ("vpc", "VpcConfig", "stop")
    assert violation.message == "is missing: add it (rule `vpc`: ask Ada)"


def test_every_violation_of_every_rule_is_reported_by_rule() -> None:
    rules = [Rule(name="b", requirements=(CHECKPOINTS, ROLES)), Rule(name="a", requirements=(TYPES,))]
    found = violations(rules, TrainingJob(description={}))
    assert [(each.rule, each.field) for each in found] == [
        ("b", "CheckpointConfig"),
        ("b", "RoleArn"),
        ("a", INSTANCE_TYPE),
    ]


def test_requests_and_descriptions_with_the_same_tags_have_the_same_violations() -> None:
    rule = Rule(name="r", when=When(tags={"env": ("prod",)}), requirements=(Tagged("owner", ("*",)), ROLES))
    listed_tags = [{"Key": "env", "Value": "prod"}]
    request = {"RoleArn": "x", "Tags": listed_tags}
    answer = {"RoleArn": "x", "TrainingJobStatus": "InProgress"}
    tags = tags_in(listed_tags)
    assert rule.violations(TrainingJob(description=request, tags=tags)) == rule.violations(
        TrainingJob(description=answer, tags=tags)
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "RoleArn", "Tags", "ResourceConfig", "InstanceType", "InstanceCount", "InstanceGroups", "InstancePreferences",
    "StoppingCondition", "MaxRuntimeInSeconds", "MaxWaitTimeInSeconds", "EnableManagedSpotTraining", "VpcConfig",
    "Subnets", "CheckpointConfig", "EnableNetworkIsolation", "Key", "Value", "InputDataConfig", "DataSource",
    "FileSystemDataSource", "DirectoryPath", "RemoteDebugConfig", "EnableRemoteDebug", "KeepAlivePeriodInSeconds",
)  # fmt: skip
# JSON that is like a request in parts, and arbitrary in others.
requests = st.dictionaries(
    st.sampled_from(NAMES),
    st.recursive(
        json_values,
        lambda inner: st.dictionaries(st.sampled_from(NAMES), inner, max_size=4) | st.lists(inner, max_size=3),
        max_leaves=10,
    ),
)
patterns = st.lists(st.text(alphabet="ab*?[]!-^\\&|~#", max_size=10), min_size=1, max_size=3).map(tuple)
requirements = st.one_of(
    st.builds(Tagged, st.sampled_from(["a", "b"]), patterns),
    st.builds(Untagged, patterns),
    st.builds(Allowed, st.sampled_from(["RoleArn", INSTANCE_TYPE, "VpcConfig.Subnets"]), patterns),
    st.builds(Given, st.sampled_from(["CheckpointConfig", "VpcConfig"])),
    st.builds(Switched, st.sampled_from(["EnableNetworkIsolation", NO_DEBUGGER.path]), st.booleans()),
    st.builds(OnlyTagged, patterns),
    st.builds(AtMost, st.just(KEPT_FOR.path), st.integers(0, 10)),
    st.builds(
        FileSystems,
        st.lists(
            st.dictionaries(st.sampled_from(["FileSystemId", "DirectoryPath"]), st.text("ab*/.", max_size=4)),
            max_size=2,
        ).map(tuple),
    ),
    st.builds(MaxInstances, st.integers(1, 10)),
    st.builds(MaxRunTime, st.integers(1, 100_000)),
)
conditions = st.builds(
    When,
    teams=st.lists(st.sampled_from(["x", "y"]), max_size=1).map(tuple),
    tags=st.dictionaries(st.sampled_from(["a", "b"]), patterns, max_size=1),
    instance_types=st.lists(st.just("ml.*"), max_size=1).map(tuple),
    spot=st.sampled_from([None, True, False]),
    preemptible=st.sampled_from([None, True, False]),
)
rules = st.builds(Rule, name=st.just("r"), requirements=st.lists(requirements, max_size=3).map(tuple), when=conditions)


@given(st.lists(rules, max_size=3), rules, requests, st.sampled_from(["", "x"]), st.booleans())
def test_rules_accept_any_document_and_more_rules_find_no_fewer_violations(
    some: list[Rule], one: Rule, request: dict[str, Any], team: str, preemptible: bool
) -> None:
    job = TrainingJob(description=request, tags=tags_in(request.get("Tags")), team=team, preemptible=preemptible)
    assert violations([*some, one], job) == violations(some, job) + violations([one], job)
