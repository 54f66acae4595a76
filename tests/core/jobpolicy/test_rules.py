"""Each requirement and each condition of a rule, for a job that satisfies it and one that does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.jobpolicy.rules import (
    INSTANCE_TYPE,
    Allowed,
    AtMost,
    FileSystems,
    Given,
    MaxInstances,
    MaxRunTime,
    OnlyTagged,
    OnStart,
    Requirement,
    Rule,
    Switched,
    Tagged,
    TrainingJob,
    UniqueCheckpoints,
    Untagged,
    When,
    matches,
    tags_in,
    violations,
)

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
ROLE = "arn:aws:iam::123456789012:role/training-a"
ROLES = Allowed("RoleArn", ("arn:aws:iam::*:role/training-*", "arn:aws:iam::*:role/eval"))
TYPES = Allowed(INSTANCE_TYPE, ("ml.g5.*",))
SUBNETS = Allowed("VpcConfig.Subnets", ("subnet-1", "subnet-2"))
CHECKPOINTS = Given("CheckpointConfig")
HOUR = MaxRunTime(3600)
VOLUME = Allowed("ResourceConfig.VolumeKmsKeyId", ("alias/volumes", "arn:aws:kms:*:key/*"))
NO_DEBUGGER = Switched("RemoteDebugConfig.EnableRemoteDebug", on=False)
KEPT_FOR = AtMost("ResourceConfig.KeepAlivePeriodInSeconds", 600)
DATA = FileSystems(
    (
        {"FileSystemId": "fs-1", "DirectoryPath": "/data/*", "FileSystemAccessMode": "ro"},
        {"FileSystemType": "FSxLustre"},
    )
)
RUN_TIME, WAIT_TIME = "StoppingCondition.MaxRuntimeInSeconds", "StoppingCondition.MaxWaitTimeInSeconds"


OTHER_DATA = (
    "has FileSystemId 'fs-1', DirectoryPath '/data/a', FileSystemAccessMode 'rw', FileSystemType 'EFS'; "
    "use FileSystemId fs-1, DirectoryPath /data/*, FileSystemAccessMode ro, or FileSystemType FSxLustre"
)


def on(count: int, kind: str = G5) -> dict[str, Any]:
    return {"ResourceConfig": {"InstanceType": kind, "InstanceCount": count}}


def listed(name: str, *asked: tuple[str, int]) -> dict[str, Any]:
    return {"ResourceConfig": {name: [{"InstanceType": kind, "InstanceCount": count} for kind, count in asked]}}


def runs(run_time_s: int | None = None, wait_time_s: int | None = None, *, spot: bool = False) -> dict[str, Any]:
    given = {"MaxRuntimeInSeconds": run_time_s, "MaxWaitTimeInSeconds": wait_time_s}
    stopping = {name: value for name, value in given.items() if value is not None}
    return {"StoppingCondition": stopping, "EnableManagedSpotTraining": spot}


def mounts(*sources: tuple[str, str, str, str]) -> dict[str, Any]:
    members = ("FileSystemId", "DirectoryPath", "FileSystemAccessMode", "FileSystemType")
    channels = [{"DataSource": {"FileSystemDataSource": dict(zip(members, each, strict=True))}} for each in sources]
    return {"InputDataConfig": [{"DataSource": {"S3DataSource": {"S3Uri": "s3://b/c"}}}, *channels]}


def keeps(seconds: int) -> dict[str, Any]:
    return {"ResourceConfig": {"KeepAlivePeriodInSeconds": seconds}}


def broken(requirement: Requirement, description: Any, tags: dict[str, str] | None = None) -> list[tuple[str, str]]:
    job = TrainingJob(description=description, tags=tags or {})
    return list(requirement.findings(job))


KEPT: list[tuple[str, Requirement, dict[str, Any], dict[str, str]]] = [
    ("a required tag with any value", Tagged("project", ("*",)), {}, {"project": ""}),
    ("a required tag with one of its values", Tagged("env", ("dev", "prod")), {}, {"env": "prod"}),
    ("a required tag that matches a pattern", Tagged("cost", ("cc-??", "x")), {}, {"cost": "cc-42"}),
    ("other tags than those forbidden", Untagged(("legacy-*",)), {}, {"legacy": "x"}),
    ("an allowed instance type", TYPES, on(1), {}),
    ("groups of allowed instance types", TYPES, listed("InstanceGroups", (G5, 1), ("ml.g5.2xlarge", 1)), {}),
    ("as many instances as allowed", MaxInstances(2), on(2), {}),
    ("groups with as many instances together", MaxInstances(3), listed("InstanceGroups", (G5, 1), (P5, 2)), {}),
    ("preferences, of which one is taken", MaxInstances(2), listed("InstancePreferences", (G5, 1), (P5, 2)), {}),
    (
        "preferences that share a number of instances",
        MaxInstances(2),
        {"ResourceConfig": {"InstancePreferences": [{"InstanceType": G5}], "InstanceCount": 2}},
        {},
    ),
    ("no instances at all", MaxInstances(1), {}, {}),
    ("the longest run time", HOUR, runs(3600), {}),
    ("the longest wait for spot", HOUR, runs(1800, 3600, spot=True), {}),
    ("SageMaker's default run time where a day is allowed", MaxRunTime(86_400), {}, {}),
    ("a checkpoint configuration", CHECKPOINTS, {"CheckpointConfig": {"S3Uri": "s3://b/c"}}, {}),
    ("an allowed role", ROLES, {"RoleArn": ROLE}, {}),
    ("allowed subnets", SUBNETS, {"VpcConfig": {"Subnets": ["subnet-2", "subnet-1"]}}, {}),
    ("only tags that are allowed", OnlyTagged(("cost-*", "project")), {}, {"cost-center": "1", "project": "x"}),
    ("no tag where some are allowed", OnlyTagged(("project",)), {}, {}),
    ("an allowed key of the volumes", VOLUME, {"ResourceConfig": {"VolumeKmsKeyId": "alias/volumes"}}, {}),
    ("a debugger that is off", NO_DEBUGGER, {"RemoteDebugConfig": {"EnableRemoteDebug": False}}, {}),
    ("no word about a debugger, which is off then", NO_DEBUGGER, {}, {}),
    ("instances that are kept as long as allowed", KEPT_FOR, keeps(600), {}),
    ("instances that are not kept", AtMost(KEPT_FOR.path, 0), {}, {}),
    ("no file system where some are allowed", DATA, {}, {}),
    (
        "file systems that are allowed",
        DATA,
        mounts(("fs-1", "/data/a", "ro", "EFS"), ("fs-2", "/x/../y", "rw", "FSxLustre")),
        {},
    ),
    ("no file system where none is allowed", FileSystems(()), mounts(), {}),
    ("a switch that is on", Switched("EnableNetworkIsolation"), {"EnableNetworkIsolation": True}, {}),
]


@pytest.mark.parametrize(
    ("requirement", "description", "tags"), [row[1:] for row in KEPT], ids=[row[0] for row in KEPT]
)
def test_a_job_that_satisfies_a_requirement(
    requirement: Requirement, description: dict[str, Any], tags: dict[str, str]
) -> None:
    assert broken(requirement, description, tags) == []


BROKEN: list[tuple[str, Requirement, dict[str, Any], dict[str, str], list[tuple[str, str]]]] = [
    (
        "a missing tag of any value",
        Tagged("project", ("*",)),
        {},
        {"Project": "x"},
        [("Tags", "has no 'project': add it")],
    ),
    (
        "a missing tag of some values",
        Tagged("env", ("dev", "prod")),
        {},
        {},
        [("Tags", "has no 'env': add it with one of dev, prod")],
    ),
    (
        "a tag with another value",
        Tagged("cost", ("cc-??",)),
        {},
        {"cost": "CC-42"},
        [("Tags", "has 'cost' with 'CC-42'; use cc-??")],
    ),
    (
        "forbidden tags",
        Untagged(("legacy-*",)),
        {},
        {"legacy-b": "x", "legacy-a": "x"},
        [
            ("Tags", "has 'legacy-a', which is not allowed: remove it"),
            ("Tags", "has 'legacy-b', which is not allowed: remove it"),
        ],
    ),
    (
        "another instance type",
        TYPES,
        on(1, P5),
        {},
        [(INSTANCE_TYPE, "is 'ml.p5.48xlarge'; use ml.g5.*")],
    ),
    (
        "each group of another instance type",
        TYPES,
        listed("InstanceGroups", (P5, 1), (G5, 1), ("ml.c5.large", 1)),
        {},
        [
            ("ResourceConfig.InstanceGroups[0].InstanceType", "is 'ml.p5.48xlarge'; use ml.g5.*"),
            ("ResourceConfig.InstanceGroups[2].InstanceType", "is 'ml.c5.large'; use ml.g5.*"),
        ],
    ),
    (
        "no instance type, as SageMaker picks one",
        TYPES,
        {},
        {},
        [(INSTANCE_TYPE, "is missing: add it with ml.g5.*")],
    ),
    (
        "one instance too many",
        MaxInstances(2),
        on(3),
        {},
        [("ResourceConfig.InstanceCount", "asks for 3 instances; use at most 2")],
    ),
    (
        "groups with too many instances together",
        MaxInstances(2),
        listed("InstanceGroups", (G5, 1), (P5, 2)),
        {},
        [("ResourceConfig.InstanceGroups", "asks for 3 instances; use at most 2")],
    ),
    (
        "a preference with too many instances",
        MaxInstances(2),
        listed("InstancePreferences", (G5, 3), (P5, 1)),
        {},
        [("ResourceConfig.InstancePreferences", "asks for 3 instances; use at most 2")],
    ),
    (
        "too many instances for all preferences",
        MaxInstances(1),
        {"ResourceConfig": {"InstancePreferences": [{"InstanceType": G5}], "InstanceCount": 2}},
        {},
        [("ResourceConfig.InstancePreferences", "asks for 2 instances; use at most 1")],
    ),
    (
        "counts that add up to more digits than Python prints",
        MaxInstances(2),
        listed("InstanceGroups", *[(G5, 10**4300 - 1)] * 2),
        {},
        [("ResourceConfig.InstanceGroups", "asks for 2000000000000 instances; use at most 2")],
    ),
    ("a longer run time", HOUR, runs(3601), {}, [(RUN_TIME, "is 3601; set it to at most 3600")]),
    (
        "no run time, which means a day",
        HOUR,
        {},
        {},
        [(RUN_TIME, "is missing, which means 86400; set it to at most 3600")],
    ),
    (
        "a longer wait for spot",
        HOUR,
        runs(1800, 3601, spot=True),
        {},
        [(WAIT_TIME, "is 3601; set it to at most 3600")],
    ),
    ("no checkpoint configuration", CHECKPOINTS, {}, {}, [("CheckpointConfig", "is missing: add it")]),
    (
        "an empty checkpoint configuration",
        CHECKPOINTS,
        {"CheckpointConfig": {}},
        {},
        [("CheckpointConfig", "is missing: add it")],
    ),
    (
        "another role",
        ROLES,
        {"RoleArn": "arn:aws:iam::1:role/admin"},
        {},
        [
            (
                "RoleArn",
                "is 'arn:aws:iam::1:role/admin'; use one of arn:aws:iam::*:role/training-*, arn:aws:iam::*:role/eval",
            )
        ],
    ),
    (
        "one subnet of another kind",
        SUBNETS,
        {"VpcConfig": {"Subnets": ["subnet-1", "subnet-3"]}},
        {},
        [("VpcConfig.Subnets[1]", "is 'subnet-3'; use one of subnet-1, subnet-2")],
    ),
    (
        "no VPC where subnets are named",
        SUBNETS,
        {},
        {},
        [("VpcConfig.Subnets", "is missing: add it with one of subnet-1, subnet-2")],
    ),
    (
        "tags that are not among those allowed",
        OnlyTagged(("cost-*", "project")),
        {},
        {"b": "x", "Project": "x", "project": "x"},
        [
            ("Tags", "has 'Project', which is not allowed: remove it, or use one of cost-*, project"),
            ("Tags", "has 'b', which is not allowed: remove it, or use one of cost-*, project"),
        ],
    ),
    (
        "another key of the volumes",
        VOLUME,
        {"ResourceConfig": {"VolumeKmsKeyId": "alias/others"}},
        {},
        [(VOLUME.path, "is 'alias/others'; use one of alias/volumes, arn:aws:kms:*:key/*")],
    ),
    (
        "a key without a character where any is allowed",
        Allowed("OutputDataConfig.KmsKeyId", ("*",)),
        {"OutputDataConfig": {"KmsKeyId": ""}},
        {},
        [("OutputDataConfig.KmsKeyId", "is missing: add it")],
    ),
    (
        "a debugger that is on",
        NO_DEBUGGER,
        {"RemoteDebugConfig": {"EnableRemoteDebug": True}},
        {},
        [(NO_DEBUGGER.path, "is on: set it to false")],
    ),
    ("instances that are kept too long", KEPT_FOR, keeps(601), {}, [(KEPT_FOR.path, "is 601; set it to at most 600")]),
    (
        "instances that are kept where none may be",
        AtMost(KEPT_FOR.path, 0),
        keeps(1),
        {},
        [(KEPT_FOR.path, "is 1; remove it")],
    ),
    (
        "a file system of another id, directory, mode and type than those allowed together",
        DATA,
        mounts(("fs-1", "/data/a", "ro", "EFS"), ("fs-1", "/data/a", "rw", "EFS")),
        {},
        [("InputDataConfig[2].DataSource.FileSystemDataSource", OTHER_DATA)],
    ),
    (
        "a directory that leads out of the one allowed",
        FileSystems(({"DirectoryPath": "/data/*"},)),
        mounts(("fs-1", "/data/../etc", "ro", "EFS")),
        {},
        [
            (
                "InputDataConfig[1].DataSource.FileSystemDataSource",
                "has DirectoryPath '/data/../etc'; use DirectoryPath /data/*",
            )
        ],
    ),
    (
        "a file system where none is allowed",
        FileSystems(()),
        mounts(("fs-1", "/data", "ro", "EFS")),
        {},
        [
            (
                "InputDataConfig[1].DataSource.FileSystemDataSource",
                "mounts a file system, which is not allowed: remove it",
            )
        ],
    ),
    (
        "a switch that is off",
        Switched("EnableNetworkIsolation"),
        {"EnableNetworkIsolation": False},
        {},
        [("EnableNetworkIsolation", "is not on: set it to true")],
    ),
]


@pytest.mark.parametrize(
    ("requirement", "description", "tags", "told"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_a_job_that_breaks_a_requirement_gets_the_necessary_change(
    requirement: Requirement, description: dict[str, Any], tags: dict[str, str], told: list[tuple[str, str]]
) -> None:
    assert broken(requirement, description, tags) == told


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ((), []),
        (
            ("`a`", "`b`"),
            [
                (
                    "CheckpointConfig.S3Uri",
                    "is where checkpoints of `a`, `b` are: use another location, with none of theirs above or below it",
                )
            ],
        ),
    ],
)
def test_checkpoints_are_unique_if_no_other_job_was_found_there(
    others: tuple[str, ...], found: list[tuple[str, str]]
) -> None:
    job = TrainingJob(description={}, checkpoints_of=others)
    assert list(UniqueCheckpoints().findings(job)) == found


def test_a_violation_names_the_first_of_many_patterns() -> None:
    (told,) = broken(Allowed("RoleArn", tuple(f"arn:{i}" for i in range(12))), {"RoleArn": "x"})
    assert told[1].endswith("arn:8, arn:9 and 2 more")


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


@given(st.text(alphabet="ab", max_size=20), patterns)
def test_a_pattern_never_fails_and_a_text_matches_itself(text: str, some: tuple[str, ...]) -> None:
    matches(text, some)
    assert matches(text, (*some, text))


def test_a_pattern_with_many_wildcards_is_matched_quickly() -> None:
    assert not matches("a" * 5_000 + "b", ("*a" * 100 + "c",))
