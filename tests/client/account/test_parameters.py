"""The parameters of a deployment are checked as CloudFormation checks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway_client.account import parameters
from headway_client.account.samconfig import read_overrides
from headway_client.account.seen import Identity
from headway_client.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]
NEEDED = {
    "VpcEndpointIds": "vpce-0123456789abcdef0",
    "TrainingRoleArns": "arn:aws:iam::123456789012:role/HeadwayTrainingRole",
}


@pytest.fixture(scope="module")
def declared() -> parameters.Declared:
    return parameters.read_declared(ROOT / "template.yaml")


def invalid(declared: parameters.Declared, **given: str) -> list[str]:
    found = parameters.check_values(given, parameters.values(given, {}, declared), declared)
    return [each.sentence for each in found]


@pytest.mark.parametrize("env", ["dev", "prod"])
def test_each_environment_lacks_only_what_is_the_accounts_own(declared: parameters.Declared, env: str):
    given = read_overrides(ROOT / "samconfig.toml", env)
    assert given
    assert invalid(declared, **given, **NEEDED) == []
    lacking = invalid(declared, **given)
    assert [sentence.partition(":")[0] for sentence in lacking] == [f"the parameter {name}" for name in NEEDED]
    assert all("it has no value. GUIDED=1 asks for it." in sentence for sentence in lacking)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "TableNam",
            "a-table",
            "the parameter TableNam: the template has none of that name. Remove it from parameter_overrides.",
        ),
        ("Alarms", "some", 'the parameter Alarms: it can\'t be "some". It must be one of all, vital.'),
        ("PoolSize", "0", 'the parameter PoolSize: it can\'t be "0". A number from 1 to 10000.'),
        ("PoolSize", "10001", 'the parameter PoolSize: it can\'t be "10001". A number from 1 to 10000.'),
        ("PoolSize", "two", 'the parameter PoolSize: it can\'t be "two". A number from 1 to 10000.'),
        ("LogRetentionDays", "8", 'the parameter LogRetentionDays: it can\'t be "8". It must be one of 1, 3, 5, '),
        (
            "StageName",
            "v 1",
            'the parameter StageName: it can\'t be "v 1". Letters, digits and underscores, at most 32.',
        ),
        ("TrainingRoleArns", "arn:aws:iam::123456789012:role/a,b", "the parameter TrainingRoleArns: it can't be "),
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "can't be read (No such file or directory). Name the template that is deployed."),
        ("Resources: {}", "is no template with parameters"),
        ("{", "is no template with parameters"),
        ("[]", "is no template with parameters"),
    ],
)
def test_a_file_that_is_no_template_is_told(tmp_path: Path, text: str | None, said: str):
    template = tmp_path / "template.yaml"
    if text is not None:
        template.write_text(text)
    with pytest.raises(UsageError) as refused:
        parameters.read_declared(template)
    assert f"{template} {said}" in str(refused.value)


HERE, OTHER, THIRD = "123456789012", "210987654321", "333333333333"
IDENTITY = Identity(account=HERE, region="eu-west-1", arn=f"arn:aws:iam::{HERE}:user/ada")


def role(account: str, name: str = "research") -> str:
    return f"arn:aws:iam::{account}:role/{name}"


@pytest.mark.parametrize(
    ("callers", "trusted", "strangers"),
    [
        ("*", "", []),
        ("*", OTHER, []),
        (role(HERE), "", []),
        (f"{role(HERE)},{role(OTHER)}", OTHER, []),
        (f"{role(OTHER)},{role(THIRD)}", f"{OTHER},{THIRD}", []),
        (f"{role(HERE)},{role(OTHER)}", "", [OTHER]),
        (f"{role(OTHER)},{role(OTHER, 'products')}", THIRD, [OTHER]),
        (f"*,{role(OTHER)}", "", [OTHER]),
        (f"arn:aws-cn:iam::{THIRD}:root,{role(OTHER)}", "", [THIRD, OTHER]),
    ],
)
def test_each_account_of_callers_that_is_not_let_in_is_named_once_and_the_remedy_helps(
    callers: str, trusted: str, strangers: list[str]
):
    found = list(parameters.check_arns({"CallerArns": callers, "TrustedAccounts": trusted}, IDENTITY))
    to_add = [str(each.remedy).split()[1] for each in found]
    assert to_add == strangers
    trusting = {"CallerArns": callers, "TrustedAccounts": ",".join([trusted, *to_add])}
    assert list(parameters.check_arns(trusting, IDENTITY)) == []
