"""A template is resolved as CloudFormation does it, and what is unknown is no guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy.resolve import NotResolved, Place, Resolver, read_template

PLACE = Place(stack="headway", partition="aws-us-gov", region="us-gov-west-1", account="123456789012")
TEMPLATE: dict[str, Any] = {
    "Parameters": {"Name": {"Type": "String"}, "Roles": {"Type": "CommaDelimitedList"}},
    "Conditions": {
        "HasName": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Name"}, ""]}]},
        "HasRoles": {"Fn::Not": [{"Fn::Equals": [{"Fn::Join": ["", {"Ref": "Roles"}]}, ""]}]},
        "HasBoth": {"Fn::And": [{"Condition": "HasName"}, {"Condition": "HasRoles"}]},
        "HasOne": {"Fn::Or": [{"Condition": "HasName"}, {"Condition": "HasRoles"}]},
    },
    "Resources": {
        "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Ref": "Name"}}},
        "Function": {"Type": "AWS::Lambda::Function", "Properties": {}},
        "Api": {"Type": "AWS::ApiGateway::RestApi"},
        "Other": {"Type": "AWS::S3::Bucket"},
    },
}


def resolver(**given: str) -> Resolver:
    return Resolver(TEMPLATE, {"Name": "jobs", "Roles": "", **given}, PLACE)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"Ref": "Name"}, "jobs"),
        ({"Ref": "Roles"}, ["a", "b"]),
        ({"Ref": "Table"}, "jobs"),
        ({"Ref": "Api"}, "abcdefghij"),
        ({"Fn::GetAtt": ["Table", "Arn"]}, "arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/jobs"),
        ({"Fn::Sub": "${AWS::StackName}-${Table}"}, "headway-jobs"),
        ({"Fn::Sub": "${Table.Arn}/index/x"}, "arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/jobs/index/x"),
        ({"Fn::Sub": ["${X}/*", {"X": {"Fn::Join": ["/*,", {"Ref": "Roles"}]}}]}, "a/*,b/*"),
        ({"Fn::Split": [",", "a,b"]}, ["a", "b"]),
        ({"Fn::Select": [1, {"Ref": "Roles"}]}, "b"),
        ([{"Fn::If": ["HasName", 1, 2]}, {"Fn::If": ["HasName", {"Ref": "AWS::NoValue"}, 2]}], [1]),
        ({"kept": 1, "left out": {"Ref": "AWS::NoValue"}}, {"kept": 1}),
    ],
)
def test_a_function_has_its_value(part: Any, expected: Any):
    assert resolver(Roles="a,b").resolve(part) == expected


@pytest.mark.parametrize(
    ("given", "holding"),
    [
        ({}, {"HasName", "HasOne"}),
        ({"Roles": "a"}, {"HasName", "HasRoles", "HasBoth", "HasOne"}),
        ({"Name": ""}, set()),
    ],
)
def test_conditions_hold_by_the_parameters(given: dict[str, str], holding: set[str]):
    assert resolver(**given).holding == holding


@pytest.mark.parametrize(
    "part",
    [
        {"Ref": "Nothing"},
        {"Ref": "Other"},
        {"Fn::GetAtt": ["Other", "Arn"]},
        {"Fn::GetAtt": ["Table", "Name"]},
        {"Fn::Cidr": ["10.0.0.0/16", 2, 6]},
    ],
)
def test_what_is_unknown_is_an_error(part: Any):
    with pytest.raises(NotResolved):
        resolver().resolve(part)


def test_a_name_that_cloudformation_makes_is_as_long_as_on_aws():
    long = Resolver(TEMPLATE, {}, Place(stack="s" * 60, partition="aws", region="r", account="a"))
    assert len(long.resolve({"Fn::GetAtt": ["Function", "Arn"]}).rpartition(":")[2]) == 64
    short = resolver().resolve({"Fn::GetAtt": ["Function", "Arn"]})
    assert short.rpartition(":")[2] == "headway-Function-ABCDEFGHIJKL"


def test_the_parameters_in_a_part_are_those_with_a_value():
    part = [{"Ref": "Name"}, {"Fn::Sub": "${Roles}-${AWS::Region}"}, {"Fn::Sub": ["${X}", {"X": {"Ref": "Name"}}]}]
    assert resolver().parameters_in(part) == ("Name",)
    assert resolver(Roles="a").parameters_in(part) == ("Name", "Roles")


def test_a_template_is_read_in_short_and_in_long_form(tmp_path: Path):
    path = tmp_path / "template.yaml"
    path.write_text(
        'A: !Ref X\nB: !GetAtt X.Arn\nC: !If [Y, !Sub "${X}", {Ref: Z}]\nD: !Condition Y\n', encoding="utf-8"
    )
    assert read_template(path) == {
        "A": {"Ref": "X"},
        "B": {"Fn::GetAtt": ["X", "Arn"]},
        "C": {"Fn::If": ["Y", {"Fn::Sub": "${X}"}, {"Ref": "Z"}]},
        "D": {"Condition": "Y"},
    }
