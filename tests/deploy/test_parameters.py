"""The parameters of a deployment are checked as CloudFormation checks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy import parameters

ROOT = Path(__file__).resolve().parents[2]
NEEDED = {
    "VpcEndpointIds": "vpce-0123456789abcdef0",
    "TrainingRoleArns": "arn:aws:iam::123456789012:role/HeadwayTrainingRole",
}


@pytest.fixture(scope="module")
def declared() -> parameters.Declared:
    return parameters.read_declared(ROOT / "template.yaml")


def invalid(declared: parameters.Declared, **given: str) -> list[str]:
    return list(parameters.find_invalid(given, parameters.values(given, {}, declared), declared))


@pytest.mark.parametrize(
    "text",
    [
        '["A=1", "B=x,y", "C="]',
        '"A=1 B=x,y C="',
        # What `sam deploy --guided` saves.
        r'"A=\"1\" B=\"x,y\" C=\"\""',
        '["ParameterKey=A,ParameterValue=1 ParameterKey=B,ParameterValue=x,y", "C="]',
    ],
)
def test_the_overrides_are_read_as_people_and_sam_write_them(tmp_path: Path, text: str):
    config = tmp_path / "samconfig.toml"
    config.write_text(f"[dev.deploy.parameters]\nparameter_overrides = {text}\n")
    assert parameters.read_overrides(config, "dev") == {"A": "1", "B": "x,y", "C": ""}
    assert parameters.read_overrides(config, "prod") == {}


@pytest.mark.parametrize("env", ["dev", "prod"])
def test_each_environment_lacks_only_what_is_the_accounts_own(declared: parameters.Declared, env: str):
    given = parameters.read_overrides(ROOT / "samconfig.toml", env)
    assert given
    assert invalid(declared, **given, **NEEDED) == []
    lacking = invalid(declared, **given)
    assert [sentence.partition(" ")[0] for sentence in lacking] == list(NEEDED)
    assert all("has no value; GUIDED=1 asks for it." in sentence for sentence in lacking)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TableNam", "a-table", "TableNam is no parameter of the template: remove it from parameter_overrides."),
        ("Alarms", "some", 'Alarms can\'t be "some". It must be one of all, vital.'),
        ("PoolSize", "0", 'PoolSize can\'t be "0". A number from 1 to 10000.'),
        ("PoolSize", "10001", 'PoolSize can\'t be "10001". A number from 1 to 10000.'),
        ("PoolSize", "two", 'PoolSize can\'t be "two". A number from 1 to 10000.'),
        ("LogRetentionDays", "8", 'LogRetentionDays can\'t be "8". It must be one of 1, 3, 5, '),
        ("StageName", "v 1", 'StageName can\'t be "v 1". Letters, digits and underscores, at most 128.'),
        ("TrainingRoleArns", "arn:aws:iam::123456789012:role/a,b", "TrainingRoleArns can't be "),
    ],
)
def test_a_value_that_cloudformation_refuses_is_named_with_what_is_possible(
    declared: parameters.Declared, name: str, value: str, said: str
):
    (sentence,) = invalid(declared, **{**NEEDED, name: value})
    assert sentence.startswith(said)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PoolSize", "10000"),
        ("Alarms", "all"),
        ("LogRetentionDays", "30"),
        ("TrainingRoleArns", "arn:aws:iam::123456789012:role/a,arn:aws:iam::123456789012:role/b"),
        ("FunctionSubnetIds", ""),
    ],
)
def test_a_possible_value_passes(declared: parameters.Declared, name: str, value: str):
    assert invalid(declared, **{**NEEDED, name: value}) == []


def test_an_update_keeps_the_values_that_it_does_not_give(declared: parameters.Declared):
    found = parameters.values({"PoolSize": "3"}, {"PoolSize": "2", "LogLevel": "WARN", "Gone": "1", **NEEDED}, declared)
    assert (found["PoolSize"], found["LogLevel"], found["Alarms"]) == ("3", "WARN", "vital")
    assert found.keys() == declared.keys()
