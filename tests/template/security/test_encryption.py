"""The keys of stored data. The sandbox encrypts nothing."""

import pytest

from tests.template.conditions import resolved

KEY = {"Ref": "KmsKeyArn"}
ROLES = [f"{name}FunctionRole" for name in ("Api", "Schedule", "Observe", "Reconcile", "Patrol", "Tell", "Watch")]


def test_a_given_key_is_used(template):
    assert template["Conditions"]["HasKey"] == {"Fn::Not": [{"Fn::Equals": [KEY, ""]}]}
    assert template["Parameters"]["KmsKeyArn"]["Default"] == ""


@pytest.mark.parametrize(("holds", "key"), [([], {}), (["HasKey"], {"KMSMasterKeyId": KEY})])
def test_the_table_is_encrypted(of_type, holds, key):
    (table,) = of_type("AWS::DynamoDB::Table").values()
    assert resolved(table["SSESpecification"], *holds) == {"SSEEnabled": True, "SSEType": "KMS", **key}


@pytest.mark.parametrize(("holds", "key"), [([], (True, None)), (["HasKey"], (None, KEY))])
def test_every_queue_is_encrypted(of_type, holds, key):
    for queue in resolved(of_type("AWS::SQS::Queue"), *holds).values():
        assert (queue.get("SqsManagedSseEnabled"), queue.get("KmsMasterKeyId")) == key


@pytest.mark.parametrize(("holds", "keys"), [([], ("alias/aws/sns", None)), (["HasKey"], (KEY, KEY))])
def test_messages_to_users_are_encrypted_and_those_of_alarms_if_alarms_may_use_the_key(of_type, holds, keys):
    topics = resolved(of_type("AWS::SNS::Topic"), *holds)
    assert tuple(topics[name].get("KmsMasterKeyId") for name in ("NotificationTopic", "WatchTopic")) == keys


def test_the_stack_creates_no_key_as_each_costs_a_dollar_a_month(resources):
    assert not [name for name, resource in resources.items() if resource["Type"] == "AWS::KMS::Key"]


@pytest.mark.parametrize("kind", ["AWS::Logs::LogGroup", "AWS::Lambda::Function"])
def test_every_log_group_and_environment_is_encrypted_with_the_key_if_one_is_given(of_type, kind):
    name = "KmsKeyId" if kind == "AWS::Logs::LogGroup" else "KmsKeyArn"
    for properties in of_type(kind).values():
        assert name not in resolved(properties)
        assert resolved(properties, "HasKey")[name] == KEY


@pytest.mark.parametrize("name", ROLES)
def test_a_function_may_use_the_key_only_if_set_and_only_through_services_that_store_data(of_type, name):
    def uses(*holds):
        (policy,) = of_type("AWS::IAM::Role")[name]["Policies"]
        statements = resolved(policy["PolicyDocument"]["Statement"], *holds)
        return [s for s in statements if s.get("Sid") == "UseTheKey"]

    assert uses() == []
    (statement,) = uses("HasKey")
    assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    assert statement["Resource"] == KEY
    (services,) = statement["Condition"]["StringEquals"].values()
    assert [s["Fn::Sub"].split(".")[0] for s in services] == ["dynamodb", "lambda", "sqs"]


def test_the_tell_function_needs_permission_on_a_key_only_if_it_is_customer_managed(of_type):
    def encrypts(*holds):
        (policy,) = of_type("AWS::IAM::Role")["TellFunctionRole"]["Policies"]
        statements = resolved(policy["PolicyDocument"]["Statement"], *holds)
        return [(s["Action"], s["Resource"]) for s in statements if s.get("Sid") == "EncryptMessages"]

    assert encrypts() == []
    assert encrypts("HasKey") == [(["kms:Decrypt", "kms:GenerateDataKey"], KEY)]


def test_resources_that_store_data_require_tls(of_type):
    (table,) = of_type("AWS::DynamoDB::Table").values()
    queues, topics = of_type("AWS::SQS::QueuePolicy").values(), of_type("AWS::SNS::TopicPolicy").values()
    assert sorted(q["Ref"] for p in queues for q in p["Queues"]) == sorted(of_type("AWS::SQS::Queue"))
    assert sorted(t["Ref"] for p in topics for t in p["Topics"]) == sorted(of_type("AWS::SNS::Topic"))
    for policy in (table["ResourcePolicy"], *queues, *topics):
        (deny,) = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
        assert (deny["Principal"], deny["Condition"]) == ("*", {"Bool": {"aws:SecureTransport": "false"}})
        assert deny["Action"] in {"dynamodb:*", "sqs:*", "sns:Publish"}
