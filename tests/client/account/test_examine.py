"""Each thing that can be wrong with an account is told in one sentence, with what to change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway_client.account.examine import Given, Subject, examine, invoke_all
from headway_client.account.finding import Finding
from headway_client.account.functions import HOW_TO_ROLL_BACK
from headway_client.account.parameters import read_declared
from headway_client.errors import NotAllowedError
from tests.client.account.fake_account import (
    ACCOUNT,
    ALL,
    API_ENDPOINT,
    LONGEST,
    OTHER_VPC,
    PARAMETERS,
    REGION,
    ROLE,
    SCHEDULER,
    SUBNETS,
    TRAINING,
    VPC,
    FakeAccount,
    endpoint,
    trust,
)

DECLARED = read_declared(Path(__file__).resolve().parents[3] / "template.yaml")
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/boundary"
QUEUE_READ = "the configuration in force"
Change = Callable[[FakeAccount], Any]


def found(account: FakeAccount, **given: str) -> list[Finding]:
    """Return all findings on a stack as it is, or on a deployment with some parameters."""
    made = Given(overrides=given, declared=DECLARED) if given else None
    subject = Subject(stack="headway", given=made)
    return [*examine(account.client, subject), *([] if made else invoke_all(account.client, subject))]


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    """Return what is not ok, but for what is not known without an endpoint."""
    return [
        (each.result, each.sentence)
        for each in findings
        if each.result != "ok" and each.asked != QUEUE_READ and each.check != "api"
    ]


def test_of_an_account_that_is_ready_all_checks_are_ok():
    findings = found(FakeAccount())
    assert told(findings) == []
    assert [each.check for each in findings if each.result == "ok"] == [
        *("account", "stack", "table", "concurrency", "api logs", "endpoint", "subnets"),
        *["network"] * 7,
        "role",
        *["quota"] * 3,
        *["scheduler"] * 4,
        *["function"] * 7,
    ]


def _set(**values: Any) -> Change:
    def change(account: FakeAccount) -> None:
        for name, value in values.items():
            setattr(account, name, value)

    return change


def _parameter(**values: str) -> Change:
    return lambda account: account.parameters.update(values)


def _endpoint(name: str, **changes: Any) -> Change:
    return lambda account: account.endpoints[name].update(changes)


def _role(**changes: Any) -> Change:
    return lambda account: account.roles["HeadwayTrainingRole"].update(changes)


def _decision(action: str, **result: Any) -> Change:
    return lambda account: account.decisions.update({action: {"EvalDecision": "implicitDeny", **result}})


def _only_route(target: dict[str, str]) -> Change:
    def change(account: FakeAccount) -> None:
        del account.endpoints["vpce-sqs"]
        account.routes.append({"DestinationCidrBlock": "0.0.0.0/0", **target})

    return change


def _bounded(account: FakeAccount) -> None:
    account.roles["headway-ScheduleFunctionRole-1"]["PermissionsBoundary"] = {
        "PermissionsBoundaryType": "PermissionsBoundaryPolicy",
        "PermissionsBoundaryArn": BOUNDARY,
    }
    account.decisions["sagemaker:CreateTrainingJob"] = {
        "EvalDecision": "implicitDeny",
        "PermissionsBoundaryDecisionDetail": {"AllowedByPermissionsBoundary": False},
    }


HERE = f"ways of functions in {', '.join(SUBNETS)} to AWS"
SQS = f"an endpoint for com.amazonaws.{REGION}.sqs"
API = f"the VPC endpoint {API_ENDPOINT} (VpcEndpointIds)"
INCREASE = "(Service Quotas, Amazon SageMaker), or make it smaller in the configuration."
REFUSED = "so the others never start: SageMaker refuses their jobs."

FAULTS: dict[str, tuple[Change, str, str]] = {
    "no quota for the pool": (
        lambda account: account.quotas.pop(TRAINING),
        "problem",
        (
            f'the quota "{TRAINING}": 0, the default of AWS; the pool ml.p5.48xlarge has 2 instances, {REFUSED} '
            f"Ask for at least 2 {INCREASE}"
        ),
    ),
    "a quota below the pool": (
        lambda account: account.quotas.update({TRAINING: 1}),
        "problem",
        f'the quota "{TRAINING}": 1; the pool ml.p5.48xlarge has 2 instances, {REFUSED} Ask for at least 2 {INCREASE}',
    ),
    "a quota below all pools together": (
        lambda account: account.quotas.update({ALL: 1}),
        "problem",
        f'the quota "{ALL}": 1; the on-demand pools have 2 instances together, {REFUSED} Ask for at least 2 {INCREASE}',
    ),
    "no time to run": (
        lambda account: account.quotas.update({LONGEST: 0}),
        "problem",
        f'the quota "{LONGEST}": 0 s; no job can run. Ask for a higher quota (Service Quotas, Amazon SageMaker).',
    ),
    "a role that does not trust SageMaker": (
        _role(AssumeRolePolicyDocument=trust(Principal={"Service": "lambda.amazonaws.com"})),
        "problem",
        (
            f"the training role {ROLE}: its trust policy does not let SageMaker assume it. Allow sts:AssumeRole to the "
            'principal {"Service": "sagemaker.amazonaws.com"} in its trust policy.'
        ),
    ),
    "a role that trusts SageMaker under a condition": (
        _role(AssumeRolePolicyDocument=trust(Condition={"StringEquals": {"aws:SourceAccount": ACCOUNT}})),
        "note",
        (
            f"the training role {ROLE}: its trust policy lets SageMaker assume it under a condition "
            f"on aws:SourceAccount. "
            "A condition is not decided here; a training job with this role shows it."
        ),
    ),
    "a role that does not exist": (
        lambda account: account.roles.pop("HeadwayTrainingRole"),
        "problem",
        (
            f"the training role {ROLE}: it does not exist. Create the role HeadwayTrainingRole, or correct "
            "TrainingRoleArns."
        ),
    ),
    "a role under another path": (
        _role(Arn=f"arn:aws:iam::{ACCOUNT}:role/ml/HeadwayTrainingRole"),
        "problem",
        (
            f"the training role {ROLE}: the role HeadwayTrainingRole is "
            f"arn:aws:iam::{ACCOUNT}:role/ml/HeadwayTrainingRole, "
            f"and no job could be started with another ARN. Set TrainingRoleArns to "
            f"arn:aws:iam::{ACCOUNT}:role/ml/HeadwayTrainingRole."
        ),
    ),
    "no PassRole": (
        _decision("iam:PassRole"),
        "problem",
        (
            f"iam:PassRole on {ROLE} by {SCHEDULER}, simulated: implicitDeny. Deploy again: the "
            f"template allows it. If it "
            "stays so, look for a policy that was attached to the role, and for those of the organization."
        ),
    ),
    "a boundary that denies CreateTrainingJob": (
        _bounded,
        "problem",
        (
            f"sagemaker:CreateTrainingJob by {SCHEDULER}, simulated: implicitDeny, with the permissions boundary "
            f"{BOUNDARY}. Allow it in the boundary; the role itself has it from the template."
        ),
    ),
    "an organization that denies StopTrainingJob": (
        _decision(
            "sagemaker:StopTrainingJob",
            EvalDecision="explicitDeny",
            OrganizationsDecisionDetail={"AllowedByOrganizations": False},
        ),
        "problem",
        (
            f"sagemaker:StopTrainingJob by {SCHEDULER}, simulated: the organization's policies do "
            f"not allow it. Ask the "
            "administrators of the organization to allow it (service control policies)."
        ),
    ),
    "a policy that looks at what is not simulated": (
        _decision("sagemaker:AddTags", EvalDecision="allowed", MissingContextValues=["aws:SourceVpc"]),
        "note",
        (
            f"sagemaker:AddTags by {SCHEDULER}, simulated: allowed, without the values of "
            f"aws:SourceVpc, which policies "
            "look at. The first job shows it."
        ),
    ),
    "no scheduler's role": (
        lambda account: account.roles.pop("headway-ScheduleFunctionRole-1"),
        "problem",
        "the scheduler's role in headway: it does not exist. Deploy the stack again; nothing starts without it.",
    ),
    "an endpoint that does not exist": (
        lambda account: account.endpoints.pop(API_ENDPOINT),
        "problem",
        f"{API}: it does not exist in account {ACCOUNT}, {REGION}. Name one that does.",
    ),
    "an endpoint of another service": (
        _endpoint(API_ENDPOINT, ServiceName=f"com.amazonaws.{REGION}.sqs"),
        "problem",
        f"{API}: it is for com.amazonaws.{REGION}.sqs. Name one for execute-api.",
    ),
    "an endpoint that waits for acceptance": (
        _endpoint(API_ENDPOINT, State="pendingAcceptance"),
        "problem",
        f"{API}: it is pendingAcceptance. It must be available: wait, or accept it.",
    ),
    "private DNS off": (
        _endpoint(API_ENDPOINT, PrivateDnsEnabled=False),
        "note",
        (
            f"{API}: it has no private names. Let clients use the output ApiEndpointWithoutPrivateDns, or enable its "
            "private DNS."
        ),
    ),
    "an API endpoint in another VPC than the functions": (
        _endpoint(API_ENDPOINT, VpcId=OTHER_VPC),
        "note",
        (
            f"{API}: it is in {OTHER_VPC}, and the functions in {VPC}. This may be intended: "
            f"clients reach the API from "
            "the endpoint's VPC only."
        ),
    ),
    "an endpoint of a service in the wrong VPC": (
        _endpoint("vpce-sqs", VpcId=OTHER_VPC),
        "problem",
        (
            f"{SQS}: {VPC}, where the functions run, has none; vpce-sqs is in {OTHER_VPC}. Make one in {VPC}: "
            "deploy/network.yaml makes them (docs/how-to/network.md)."
        ),
    ),
    "an endpoint of a service in the wrong zone": (
        _endpoint("vpce-sqs", SubnetIds=[SUBNETS[0]]),
        "note",
        (
            f"{SQS}: vpce-sqs has no address in {REGION}b, where functions run. Add a subnet of {REGION}b to vpce-sqs: "
            "their calls cost more and need the other zone."
        ),
    ),
    "an endpoint of a service without private DNS": (
        _endpoint("vpce-sqs", PrivateDnsEnabled=False),
        "problem",
        (
            f"{SQS}: vpce-sqs has no private names. Enable the private DNS of vpce-sqs: functions call AWS by its own "
            "names."
        ),
    ),
    "an endpoint of a service that is being made": (
        _endpoint("vpce-sqs", State="pending"),
        "problem",
        f"{SQS}: vpce-sqs is pending. It must be available.",
    ),
    "a gateway that no route leads to": (
        _endpoint("vpce-dynamodb", RouteTableIds=["rtb-2"]),
        "problem",
        (
            f"an endpoint for com.amazonaws.{REGION}.dynamodb: the route tables of {', '.join(SUBNETS)} do not "
            f"lead to the "
            "gateway vpce-dynamodb. Add their route tables to vpce-dynamodb."
        ),
    ),
    "no endpoint, and an internet gateway, which is no way for functions": (
        _only_route({"GatewayId": "igw-1"}),
        "problem",
        (
            f"{SQS}: {VPC}, where the functions run, has none. Make one in {VPC}: deploy/network.yaml makes them "
            "(docs/how-to/network.md)."
        ),
    ),
    "no endpoint, and a transit gateway, which may be a way": (
        _only_route({"TransitGatewayId": "tgw-1"}),
        "note",
        (
            f"{SQS}: {VPC}, where the functions run, has none; whether the default route to tgw-1 "
            f"is a way there is not "
            f"known here. Make one in {VPC}: deploy/network.yaml makes them (docs/how-to/network.md)."
        ),
    ),
    "subnets in one zone": (
        lambda account: account.subnets.update({SUBNETS[1]: (VPC, f"{REGION}a")}),
        "note",
        (
            f"the subnets {', '.join(SUBNETS)} (FunctionSubnetIds): all are in the zone {REGION}a of {VPC}. "
            f"Add a subnet in "
            "another zone: the queue stops when this zone fails."
        ),
    ),
    "API Gateway's logging role missing": (
        lambda account: (_set(logs_role="")(account), _parameter(CreateApiLoggingRole="false")(account)),
        "problem",
        (
            "CreateApiLoggingRole=false: API Gateway has no role for logs in this account and "
            "region, and refuses an API "
            "that logs. Set CreateApiLoggingRole=true."
        ),
    ),
    "few executions at once": (
        _set(unreserved=10),
        "note",
        (
            "ScheduleConcurrency=0: Lambda runs at most 10 executions at once for all functions that reserve none, so "
            "bursts of calls and events are throttled. Ask for a higher quota (Service Quotas, AWS Lambda, Concurrent "
            "executions)."
        ),
    ),
    "a function that cannot be imported": (
        lambda account: account.answers.update(
            {
                "headway-TellFunction-1": (
                    "Unhandled",
                    {"errorType": "Runtime.ImportModuleError", "errorMessage": "Unable to import module 'app'"},
                )
            }
        ),
        "problem",
        (
            "an invocation of TellFunction (headway-TellFunction-1): Runtime.ImportModuleError: "
            "Unable to import module "
            f"'app'. {HOW_TO_ROLL_BACK}"
        ),
    ),
    "an API that answers with an error": (
        lambda account: account.answers.update({"headway-ApiFunction-1": (None, {"statusCode": 500})}),
        "problem",
        f"an invocation of ApiFunction (headway-ApiFunction-1): GET /version has status 500. {HOW_TO_ROLL_BACK}",
    ),
    "a function of a later version": (
        lambda account: account.resources.update({"NewFunction": ("AWS::Lambda::Function", "headway-new-1")}),
        "note",
        (
            "an invocation of NewFunction (headway-new-1): this client has no event for it. Use the "
            "client of the version "
            "that is deployed."
        ),
    ),
    "an update that could not be rolled back": (
        _set(status="UPDATE_ROLLBACK_FAILED"),
        "problem",
        (
            "the stack headway: UPDATE_ROLLBACK_FAILED: it can't be updated. Fix the cause that its "
            "events name, then run "
            "`aws cloudformation continue-update-rollback --stack-name headway`."
        ),
    ),
    "a stack that is being updated": (
        _set(status="UPDATE_IN_PROGRESS"),
        "problem",
        "the stack headway: UPDATE_IN_PROGRESS: it is being changed. Wait until that has ended.",
    ),
}


@pytest.mark.parametrize(("change", "result", "sentence"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_account_is_told_in_one_sentence(change: Change, result: str, sentence: str):
    account = FakeAccount()
    change(account)
    assert told(found(account)) == [(result, sentence)]


DEPLOYED: dict[str, tuple[dict[str, str], Change, str]] = {
    "another table": (
        {"TableName": "other-queue"},
        _set(),
        (
            "TableName=other-queue: the stack's table is sagemaker-queue; with TableName=other-queue it would "
            "begin with an "
            "empty queue. Set TableName=sagemaker-queue; for a second queue use another stack name."
        ),
    ),
    "a table that a failed deployment left": (
        PARAMETERS,
        _set(status=None, items=0),
        (
            "the table sagemaker-queue: it already exists and is empty, as a first deployment that failed "
            "leaves it. Delete "
            "it: `aws dynamodb update-table --table-name sagemaker-queue --no-deletion-protection-enabled`, then `aws "
            "dynamodb delete-table --table-name sagemaker-queue`. Or give another TableName."
        ),
    ),
    "a table of a deleted queue": (
        PARAMETERS,
        _set(status=None),
        (
            "the table sagemaker-queue: it already exists and has items, perhaps of a deleted queue. Give "
            "another TableName "
            'for a new queue, or adopt the table (docs/how-to/release.md, "Deploy again").'
        ),
    ),
    "a stack whose creation failed": (
        PARAMETERS,
        _set(status="ROLLBACK_COMPLETE", items=None),
        (
            "the stack headway: ROLLBACK_COMPLETE: it can only be deleted. Run `aws cloudformation "
            "delete-stack --stack-name "
            "headway`, then `aws cloudformation wait stack-delete-complete --stack-name headway`."
        ),
    ),
    "more concurrency than there is": (
        {"ScheduleConcurrency": "2"},
        _set(unreserved=101),
        (
            "ScheduleConcurrency=2: 101 concurrent executions are unreserved in this account and "
            "region, and Lambda keeps "
            "100 of them. Set ScheduleConcurrency=0, or ask for a higher quota."
        ),
    ),
    "a value that the template does not take": (
        {"PoolSize": "two"},
        _set(),
        'the parameter PoolSize: it can\'t be "two". A number from 1 to 10000.',
    ),
    "a role of another account": (
        {"TrainingRoleArns": "arn:aws:iam::210987654321:role/HeadwayTrainingRole"},
        lambda account: account.roles["HeadwayTrainingRole"].update(
            Arn="arn:aws:iam::210987654321:role/HeadwayTrainingRole"
        ),
        (
            "the parameter TrainingRoleArns: arn:aws:iam::210987654321:role/HeadwayTrainingRole is of account "
            "210987654321. Name roles of "
            f"account {ACCOUNT}."
        ),
    ),
    "a topic of another region": (
        {"AlarmTopicArn": f"arn:aws:sns:eu-central-1:{ACCOUNT}:alarms"},
        _set(),
        (
            f"the parameter AlarmTopicArn: arn:aws:sns:eu-central-1:{ACCOUNT}:alarms is in eu-central-1, and "
            f"the queue in {REGION}. Name "
            "one there."
        ),
    ),
    "subnets of two VPCs": (
        {"RetentionDays": "30"},
        lambda account: account.subnets.update({SUBNETS[1]: (OTHER_VPC, f"{REGION}b")}),
        (
            f"the subnets {', '.join(SUBNETS)} (FunctionSubnetIds): they are in {VPC}, {OTHER_VPC}. Name "
            f"subnets of one VPC."
        ),
    ),
    "a subnet that does not exist": (
        {"RetentionDays": "30"},
        lambda account: account.subnets.pop(SUBNETS[1]),
        f"the subnets {', '.join(SUBNETS)} (FunctionSubnetIds): there is no {SUBNETS[1]}. Name subnets that do.",
    ),
    "subnets without security groups": (
        {"FunctionSecurityGroupIds": ""},
        _set(),
        (
            "the parameter FunctionSubnetIds: FunctionSecurityGroupIds belongs to it, and one is missing. Give both or "
            "neither."
        ),
    ),
}


@pytest.mark.parametrize(("given", "change", "sentence"), DEPLOYED.values(), ids=DEPLOYED)
def test_a_deployment_that_would_fail_is_refused_with_one_sentence(
    given: dict[str, str], change: Change, sentence: str
):
    account = FakeAccount()
    change(account)
    assert [each.sentence for each in found(account, **given) if each.blocks_deployment] == [sentence]


@pytest.mark.parametrize(("change", "result", "sentence"), FAULTS.values(), ids=FAULTS)
def test_only_what_makes_a_deployment_fail_blocks_it(change: Change, result: str, sentence: str):
    account = FakeAccount()
    change(account)
    blocking = {each.check for each in found(account, RetentionDays="30") if each.blocks_deployment}
    assert blocking <= {"stack", "endpoint", "api logs"}


@pytest.mark.parametrize("status", [None, "REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE"])
def test_before_a_first_deployment_the_stacks_own_roles_are_not_asked_for(status: str | None):
    account = FakeAccount(status=status, items=None)
    checks = {each.check for each in found(account, **PARAMETERS)}
    assert "scheduler" not in checks
    assert {"quota", "role", "endpoint", "table"} <= checks


def test_a_stack_that_does_not_exist_is_told_with_the_option_for_one_that_is_to_be_made():
    problem = found(FakeAccount(status=None))[1]
    assert problem.result == "problem"
    assert problem.sentence == (
        "the stack headway: it does not exist in this account and region. Name the stack with --stack, or a deployment "
        "that is to be made with --samconfig and --env."
    )


PERMISSIONS = {
    "cloudformation:DescribeStacks": "the stack headway",
    "cloudformation:ListStackResources": "the scheduler's role in headway",
    "lambda:GetAccountSettings": "ScheduleConcurrency=0",
    "apigateway:GetAccount": "CreateApiLoggingRole=true",
    "ec2:DescribeVpcEndpoints": API,
    "ec2:DescribeSubnets": f"the subnets {', '.join(SUBNETS)} (FunctionSubnetIds)",
    "ec2:DescribeRouteTables": HERE,
    "iam:GetRole": f"the training role {ROLE}",
    "iam:SimulatePrincipalPolicy": f"iam:PassRole by {SCHEDULER}",
    "service-quotas:ListServiceQuotas": f'the quota "{TRAINING}"',
    "lambda:Invoke": "an invocation of TellFunction (headway-TellFunction-1)",
}
NAMED = {
    "apigateway:GetAccount": "apigateway:GET on /account",
    "service-quotas:ListServiceQuotas": "servicequotas:ListServiceQuotas",
    "lambda:Invoke": "lambda:InvokeFunction",
}


@pytest.mark.parametrize(("action", "asked"), PERMISSIONS.items())
def test_what_may_not_be_read_is_a_note_that_names_the_permission(action: str, asked: str):
    findings = found(FakeAccount(denied={action}))
    (note,) = {each for each in findings if each.asked == asked}
    assert note.result == "note"
    assert "could not be read (An error occurred (AccessDenied)" in note.said
    assert note.remedy is not None
    assert note.remedy.endswith(f"ask for {NAMED.get(action, action)}.")
    assert "problem" not in {each.result for each in findings}


def test_a_quota_without_a_value_of_the_account_is_not_ok_if_the_defaults_may_not_be_read():
    account = FakeAccount(denied={"service-quotas:ListAWSDefaultServiceQuotas"})
    del account.quotas[TRAINING]
    (note,) = told(found(account))
    assert note[0] == "note"
    assert "ask for servicequotas:ListAWSDefaultServiceQuotas." in note[1]


def test_a_quota_that_nobody_lists_is_a_note():
    account = FakeAccount()
    del account.quotas[TRAINING], account.defaults[TRAINING]
    (note,) = told(found(account))
    assert note[0] == "note"
    assert note[1].startswith(f'the quota "{TRAINING}": AWS lists no quota of that name. Compare the instance type')


def test_a_quota_with_an_error_is_not_ok_whatever_its_value_or_default():
    (note,) = told(found(FakeAccount(failing_quotas={TRAINING})))
    assert note[0] == "note"
    assert note[1].startswith(f'the quota "{TRAINING}": AWS has an error in place of its value.')


@pytest.mark.parametrize(("pages", "known"), [(100, True), (101, False)])
def test_no_more_than_a_hundred_pages_of_quotas_are_read(pages: int, known: bool):
    account = FakeAccount(pages=pages)
    notes = [sentence for _, sentence in told(found(account))]
    assert (notes == []) is known
    assert all("there are more than 100 pages" in sentence for sentence in notes)


def test_credentials_that_are_refused_end_the_checks():
    with pytest.raises(NotAllowedError, match="The account can't be checked: An error occurred"):
        found(FakeAccount(denied={"sts:GetCallerIdentity"}))


def test_functions_with_a_way_to_the_internet_need_no_endpoints():
    account = FakeAccount()
    account.routes.append({"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1"})
    account.endpoints = {API_ENDPOINT: endpoint("execute-api")}
    assert told(found(account)) == []


def test_functions_outside_any_vpc_need_no_endpoints():
    account = FakeAccount(endpoints={API_ENDPOINT: endpoint("execute-api")})
    account.parameters.update(FunctionSubnetIds="", FunctionSecurityGroupIds="")
    assert told(found(account)) == []


def test_functions_that_read_buckets_need_a_way_to_s3():
    account = FakeAccount()
    account.parameters["ReuseBucketArns"] = "arn:aws:s3:::jobs"
    (problem,) = told(found(account))
    assert problem[1].startswith(
        f"an endpoint for com.amazonaws.{REGION}.s3: {VPC}, where the functions run, has none."
    )


def test_an_account_is_only_read_unless_functions_are_to_be_invoked():
    account = FakeAccount()
    list(examine(account.client, Subject(stack="headway")))
    operations = {action.partition(":")[2] for action, _ in account.calls}
    assert {
        each for each in operations if not each.startswith(("Get", "List", "Describe", "Scan", "Simulate"))
    } == set()
