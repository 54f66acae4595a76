"""The table and the configuration. The sandbox ignores encryption, recovery, expiry and retention."""

import json
import re
from typing import Any

import pytest

from headway_service.ports.table import LISTED


@pytest.fixture
def table(of_type) -> dict[str, Any]:
    (properties,) = of_type("AWS::DynamoDB::Table").values()
    return properties


def test_the_table_can_be_recovered_to_a_point_in_time(table):
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_ended_jobs_expire(table):
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expiresAt", "Enabled": True}


def test_the_table_is_paid_for_by_request(table):
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert "ProvisionedThroughput" not in table


def test_the_table_outlives_its_replacement_and_the_stack_by_default(resources, template):
    assert resources["JobsTable"]["DeletionPolicy"] == {"Fn::If": ["KeepsTable", "Retain", "Delete"]}
    assert resources["JobsTable"]["UpdateReplacePolicy"] == "Retain"
    assert template["Conditions"]["KeepsTable"] == {"Fn::Equals": [{"Ref": "KeepTable"}, "true"]}
    assert template["Parameters"]["KeepTable"]["Default"] == "true"


def test_the_template_needs_no_transform_but_sams(text):
    # AWS::LanguageExtensions affects the hashes in SAM's logical ids: removing it later would replace resources.
    assert re.findall(r"^Transform:.*", text, re.MULTILINE) == ["Transform: AWS::Serverless-2016-10-31"]
    assert not re.search(r"!(Length|ToJsonString)|Fn::(ForEach|Length|ToJsonString)", text)


def test_the_table_is_protected_by_default(table, template):
    assert table["DeletionProtectionEnabled"] == {"Ref": "TableDeletionProtection"}
    assert template["Parameters"]["TableDeletionProtection"]["Default"] == "true"


def test_the_table_has_the_name_that_is_given(table, template):
    assert table["TableName"] == {"Ref": "TableName"}
    assert template["Parameters"]["TableName"]["Default"] == "sagemaker-queue"


def test_the_tables_keys_equal_those_of_the_store(table):
    def keys(schema):
        return [(key["AttributeName"], key["KeyType"]) for key in schema]

    assert keys(table["KeySchema"]) == [("pk", "HASH"), ("sk", "RANGE")]
    (index,) = table["GlobalSecondaryIndexes"]
    assert index["IndexName"] == "listing"
    assert keys(index["KeySchema"]) == [("listing", "HASH"), ("listingKey", "RANGE")]
    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(LISTED)}
    types = {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]}
    assert types == {"pk": "S", "sk": "S", "listing": "S", "listingKey": "S"}


def test_the_first_configuration_is_one_pool_made_from_two_parameters(of_type, template):
    (parameter,) = of_type("AWS::SSM::Parameter").values()
    defaults = {name: p.get("Default") for name, p in template["Parameters"].items()}
    value = parameter["Value"]["Fn::Sub"]
    for name in ("PoolInstanceType", "PoolSize"):
        value = value.replace(f"${{{name}}}", str(defaults[name]))
    assert json.loads(value) == {"pools": {"ml.p5.48xlarge": {"size": 2}}}
    # Older versions of the queue begin with the parameter, this one with a variable.
    functions = of_type("AWS::Lambda::Function").values()
    variables = [each["Environment"]["Variables"]["HEADWAY_FIRST_CONFIGURATION"] for each in functions]
    assert variables == [parameter["Value"]] * len(functions)


def test_the_configuration_may_outgrow_a_standard_parameter(of_type):
    (parameter,) = of_type("AWS::SSM::Parameter").values()
    assert (parameter["Type"], parameter["Tier"]) == ("String", "Intelligent-Tiering")
