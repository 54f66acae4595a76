"""The parameters of a deployment: prompts, constraints and descriptions."""

import re

import pytest

BAD = {
    "VpcEndpointIds": ["", "vpc-0123456789abcdef0", "vpce-0123456789abcdef0, vpce-0fedcba9876543210", "*"],
    "StageName": ["", "v1/x", "v 1", "s" * 33],
    "TrainingRoleArns": ["", "*", "training", "arn:aws:iam::123456789012:role/*", "arn:aws:iam::*:role/x"],
    "PoolInstanceType": ["", "p5.48xlarge", "ml.p5", 'ml.p5.48xlarge": {'],
    "TableName": ["", "ab", "a/b/c"],
    "CallerArns": ["", "ada", "*,*", "arn:aws:iam::123456789012:role/a, arn:aws:iam::123456789012:role/b"],
    "TrustedAccounts": ["1234", "123456789012, 210987654321", "*", ",".join(["123456789012"] * 51)],
    "KmsKeyArn": ["alias/headway", "arn:aws:kms:eu-central-1:123456789012:alias/headway"],
    "FunctionSubnetIds": ["vpc-0123456789abcdef0", "*"],
    "FunctionSecurityGroupIds": ["default", "subnet-0123456789abcdef0"],
    "RolePath": ["", "teams", "/teams", "//", "/a b/", f"/{'a' * 127}/"],
    "PermissionsBoundaryArn": ["boundary", "arn:aws:iam::123456789012:role/boundary", "arn:aws:iam::*:policy/b"],
    "ReuseBucketArns": ["research", "arn:aws:s3:::*", "arn:aws:s3:::research/*", "arn:aws:s3:::a,arn:aws:s3:::b"],
    "CheckpointBucketArns": ["research", "arn:aws:s3:::*", "arn:aws:s3:::research/*"],
    "AlarmTopicArn": ["topic", "arn:aws:sqs:eu-central-1:123456789012:queue"],
    "WarningTopicArn": ["topic", "arn:aws:sqs:eu-central-1:123456789012:queue"],
}
GOOD = {
    "VpcEndpointIds": ["vpce-0123456789abcdef0", "vpce-01234567", "vpce-0123456789abcdef0,vpce-0fedcba9876543210"],
    "StageName": ["v1", "prod_2", "s" * 32],
    "TrainingRoleArns": ["arn:aws:iam::123456789012:role/training", "arn:aws-cn:iam::123456789012:role/a/b@c"],
    "PoolInstanceType": ["ml.p5.48xlarge", "ml.trn1n.32xlarge", "ml.p6-b200.48xlarge", "ml.m5.large"],
    "TableName": ["sagemaker-queue", "a.b_c"],
    "CallerArns": [
        "*",
        "arn:aws:iam::123456789012:root",
        "arn:aws:iam::123456789012:role/research,arn:aws-cn:iam::123456789012:user/ops/*",
        "arn:aws:iam::123456789012:role/aws-reserved/sso.amazonaws.com/*/AWSReservedSSO_Research_*",
    ],
    "TrustedAccounts": ["", "123456789012", ",".join(["123456789012"] * 50)],
    "KmsKeyArn": ["", "arn:aws:kms:eu-central-1:123456789012:key/mrk-0123456789abcdef0123456789abcdef"],
    "FunctionSubnetIds": ["", "subnet-0123456789abcdef0"],
    "FunctionSecurityGroupIds": ["", "sg-0123456789abcdef0"],
    "RolePath": ["/", "/teams/ml/", f"/{'a' * 126}/"],
    "PermissionsBoundaryArn": [
        "",
        "arn:aws:iam::123456789012:policy/a/b",
        "arn:aws-cn:iam::aws:policy/PowerUserAccess",
    ],
    "ReuseBucketArns": ["", "arn:aws:s3:::research", "arn:aws-us-gov:s3:::my.bucket-1"],
    "CheckpointBucketArns": ["", "arn:aws:s3:::research", "arn:aws-us-gov:s3:::my.bucket-1"],
    "AlarmTopicArn": ["", "arn:aws:sns:eu-central-1:123456789012:alarms"],
    "WarningTopicArn": ["", "arn:aws:sns:eu-central-1:123456789012:warnings"],
}


def test_every_parameter_is_described_and_constrained(template):
    for name, parameter in template["Parameters"].items():
        assert parameter["Description"].endswith("."), name
        assert "AllowedValues" in parameter or "ConstraintDescription" in parameter, name
        if parameter["Type"] == "Number" and "AllowedValues" not in parameter:
            assert parameter["MinValue"] <= parameter["Default"] <= parameter["MaxValue"], name


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_value_is_refused(template, name, value):
    assert not re.fullmatch(template["Parameters"][name]["AllowedPattern"], value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_a_good_value_is_accepted(template, name, value):
    assert re.fullmatch(template["Parameters"][name]["AllowedPattern"], value)


def test_every_pattern_is_tested_and_every_default_matches_its_pattern(template):
    patterns = {name: p["AllowedPattern"] for name, p in template["Parameters"].items() if "AllowedPattern" in p}
    assert set(patterns) == set(BAD) == set(GOOD)
    for name, pattern in patterns.items():
        default = template["Parameters"][name].get("Default")
        assert default is None or re.fullmatch(pattern, default), name


def test_only_parameters_of_the_account_have_no_default(template):
    without = {name for name, parameter in template["Parameters"].items() if "Default" not in parameter}
    assert without == {"VpcEndpointIds", "TrainingRoleArns"}


def test_every_parameter_has_a_label_and_a_group(template):
    interface = template["Metadata"]["AWS::CloudFormation::Interface"]
    grouped = [name for group in interface["ParameterGroups"] for name in group["Parameters"]]
    assert sorted(grouped) == sorted(template["Parameters"])
    assert set(interface["ParameterLabels"]) == set(template["Parameters"])


def test_every_parameter_is_used(template, text):
    body = text.split("\nConditions:\n", 1)[1]
    unused = [n for n in template["Parameters"] if f"Ref {n}" not in body and f"${{{n}}}" not in body]
    assert unused == []


def test_the_outputs_are_those_that_clients_and_operators_need_and_described(template):
    assert set(template["Outputs"]) >= {
        "ApiEndpoint",
        "ApiId",
        "TableName",
        "WakeQueueUrl",
        "ApiFunctionName",
        "ScheduleFunctionName",
        "ObserveFunctionName",
        "ReconcileFunctionName",
        "PatrolFunctionName",
    }
    assert all(output["Description"].endswith(".") for output in template["Outputs"].values())


def test_both_environments_give_parameters_that_exist(root, template):
    overrides = re.findall(r'^ +"(\w+)=(.*)",$', (root / "samconfig.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for name, _ in overrides} >= {"TableName", "RetentionDays", "LogLevel"}
    for name, value in overrides:
        parameter = template["Parameters"][name]
        allowed = [str(v) for v in parameter.get("AllowedValues", [value])]
        assert value in allowed, name
        assert re.fullmatch(parameter.get("AllowedPattern", ".*"), value), name
