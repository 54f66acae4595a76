"""The services over HTTP, with real SDK clients: SageMaker beside the emulator, without the queue."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headway_sandbox.errors import SandboxError
from headway_sandbox.local import manager
from headway_sandbox.local.sandbox import Sandbox
from tests.sandbox.fleets import request
from tests.sandbox.functions import make_function
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e

P5 = "ml.p5.48xlarge"
TRIES = 3
"""The number of tries of the sandbox's clients (`headway_sandbox.local.aws_account`)."""

OBSERVER = """
import json, os, time
import boto3

def handler(event, context):
    if "detail" not in event:
        time.sleep(event.get("sleep", 0))
        return {"pid": os.getpid()}
    detail = event["detail"]
    if detail["TrainingJobName"] == "killed":
        # Long enough to be observed while it is busy.
        time.sleep(1)
    boto3.client("sqs").send_message(
        QueueUrl=os.environ["SEEN"], MessageBody=json.dumps([detail["TrainingJobName"], detail["SecondaryStatus"]])
    )
"""


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with Sandbox(speed=600, deploy=False) as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def calm(sb) -> Iterator[None]:
    yield
    sb.clear_faults()


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(ClientError) as caught:
        call()
    code: str = caught.value.response["Error"]["Code"]
    return code


def allow(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **entry} for entry in statements]}


# ------------------------------------------------------------------------------------------------------ SageMaker


def test_the_sdk_sees_the_lifecycle_of_a_job(sb):
    sagemaker = sb.client("sagemaker")
    arn = sagemaker.create_training_job(**request("life"))["TrainingJobArn"]
    assert sagemaker.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "vision"}]
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName="life", WaiterConfig={"Delay": 1, "MaxAttempts": 20}
    )
    answer = sagemaker.describe_training_job(TrainingJobName="life")
    assert answer["TrainingJobStatus"] == "Completed"
    assert (answer["TrainingEndTime"] - answer["CreationTime"]).total_seconds() == pytest.approx(830, abs=1.0)
    assert answer["BillableTimeInSeconds"] == 650
    assert code_of(lambda: sagemaker.create_training_job(**request("life"))) == "ResourceInUse"
    assert code_of(lambda: sagemaker.stop_training_job(TrainingJobName="life")) == "ValidationException"


def test_errors_reach_the_sdk_as_aws_names_them(sb):
    sagemaker = sb.client("sagemaker")
    assert code_of(lambda: sagemaker.describe_training_job(TrainingJobName="nobody")) == "ValidationException"
    sb.set_faults(quotas={"ml.p5.48xlarge": 0})
    with pytest.raises(sagemaker.exceptions.ResourceLimitExceeded, match="account-level service limit"):
        sagemaker.create_training_job(**request("too-much"))
    sb.set_faults(throttle={"DescribeTrainingJob": 99})
    assert code_of(lambda: sagemaker.describe_training_job(TrainingJobName="nobody")) == "ThrottlingException"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("body", ["empty", "html", "truncated"])
@pytest.mark.parametrize("status", [403, 407, 413, 429, 500, 502, 503, 504])
def test_an_intermediary_answers_before_or_after_the_effect(sb, status, body, after):
    sagemaker, name = sb.client("sagemaker"), f"raw-{status}-{body}-{after}"
    sb.set_faults(raw_answers={"CreateTrainingJob": {"status": status, "body": body, "after": after, "count": TRIES}})
    assert code_of(lambda: sagemaker.create_training_job(**request(name))) == str(status)
    # Not by ListTrainingJobs, whose rate this many tests in a row exceed.
    assert (name in {job["TrainingJobName"] for job in sb.jobs()}) is after


def test_an_intermediary_also_answers_for_the_table(sb):
    table = sb.client("dynamodb")
    table.create_table(
        TableName="raw",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for after in (False, True):
        sb.set_faults(raw_answers={"PutItem": {"status": 502, "body": "html", "after": after, "count": TRIES}})
        assert code_of(lambda: table.put_item(TableName="raw", Item={"k": {"S": "a"}})) == "502"
        assert ("Item" in table.get_item(TableName="raw", Key={"k": {"S": "a"}})) is after
    assert sb.faults()["raw_answers"] == {}


def test_a_role_that_sagemaker_may_not_assume_is_refused(sb):
    trust = json.dumps(allow({"Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}))
    other = sb.client("iam").create_role(RoleName="ForLambda", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    for role in (other, "arn:aws:iam::123456789012:role/Nobody"):
        with pytest.raises(ClientError, match="Could not assume role"):
            sb.client("sagemaker").create_training_job(**request("role", RoleArn=role))


def test_credentials_of_another_region_are_refused(sb):
    import boto3

    elsewhere: Any = boto3.Session(sb.info.access_key, sb.info.secret_key, region_name="us-east-1")
    client = elsewhere.client("sagemaker", endpoint_url=sb.info.aws_endpoint)
    with pytest.raises(ClientError, match="Credential should be scoped to a valid region") as refused:
        client.list_training_jobs()
    assert refused.value.response["Error"]["Code"] == "InvalidSignatureException"


@pytest.mark.parametrize(("accepted", "code"), [(True, "ValidationException"), (False, "InvalidSignatureException")])
def test_sagemaker_accepts_or_refuses_a_signature_without_the_body(sb, accepted, code):
    sb.set_faults(unsigned_payload=accepted)
    client = sb.client("sagemaker")

    def leave_out(request, **_kwargs):
        request.headers["X-Amz-Content-SHA256"] = "UNSIGNED-PAYLOAD"

    client.meta.events.register("before-sign.sagemaker", leave_out)
    assert code_of(lambda: client.describe_training_job(TrainingJobName="nobody")) == code
    # botocore itself signs the body, which is accepted either way.
    assert code_of(lambda: sb.client("sagemaker").describe_training_job(TrainingJobName="no")) == "ValidationException"


@pytest.mark.parametrize("bucket_call", ["put_object", "upload_fileobj"])
def test_s3_accepts_uploads(sb, bucket_call):
    s3 = sb.client("s3")
    if bucket_call == "put_object":
        s3.put_object(Bucket=sb.info.bucket, Key="k", Body=b"data")
    else:
        s3.upload_fileobj(io.BytesIO(b"data"), sb.info.bucket, "k")
    assert s3.get_object(Bucket=sb.info.bucket, Key="k")["Body"].read() == b"data"


# ------------------------------------------------------------------------------------------------------ permissions


def test_a_plan_and_a_key_need_separate_permissions(sb):
    account = sb.info.role_arn.split(":")[4]
    key, plan = f"arn:aws:kms:eu-west-1:{account}:key/volumes", f"arn:aws:sagemaker:eu-west-1:{account}:training-plan/p"
    jobs = {"Action": "sagemaker:*", "Resource": "arn:aws:sagemaker:*:*:training-job/*"}
    use = {"Action": "sagemaker:CreateTrainingJob", "Resource": plan}
    capacity = {"Action": "sagemaker:CreateTrainingJob", "Resource": "arn:aws:sagemaker:*:*:reserved-capacity/*"}
    give = {"Action": "iam:PassRole", "Resource": sb.info.role_arn}
    grant = {"Action": "kms:CreateGrant", "Resource": key}

    def lacking(name: str, member: str, value: str, *statements: dict[str, Any]) -> str:
        """Return the permission that a user with these statements lacks for CreateTrainingJob; empty if none."""
        access_key, secret = sb.make_user(name, allow(jobs, give, *statements))
        client = sb.client("sagemaker", access_key=access_key, secret_key=secret)
        config = {**request()["ResourceConfig"], member: value}
        try:
            client.create_training_job(**request(name, RoleArn=sb.info.role_arn, ResourceConfig=config))
        except ClientError as error:
            told: str = error.response["Error"]["Message"]
            return told.partition("on resource: ")[2].partition(" ")[0]
        return ""

    assert lacking("no-plan", "TrainingPlanArn", plan, capacity) == plan
    assert lacking("no-capacity", "TrainingPlanArn", plan, use).endswith(":reserved-capacity/p")
    assert lacking("planned", "TrainingPlanArn", plan, use, capacity) == ""
    assert lacking("no-key", "VolumeKmsKeyId", key) == key
    assert lacking("keyed", "VolumeKmsKeyId", key, grant) == ""
    # The job's own role may have it instead.
    role = sb.info.role_arn.rpartition("/")[2]
    sb.client("iam").put_role_policy(RoleName=role, PolicyName="key", PolicyDocument=json.dumps(allow(grant)))
    assert lacking("role-keyed", "VolumeKmsKeyId", key) == ""
    sb.client("iam").delete_role_policy(RoleName=role, PolicyName="key")


def test_every_permission_is_checked(sb):
    mine = {"Action": ["sagemaker:CreateTrainingJob", "sagemaker:DescribeTrainingJob"], "Resource": "*"}
    tag = {"Action": "sagemaker:AddTags", "Resource": "*"}
    give = {
        "Action": "iam:PassRole",
        "Resource": sb.info.role_arn,
        "Condition": {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
    }
    lambdas = {**give, "Condition": {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}}
    cases: list[tuple[str, list[dict[str, Any]], str | None]] = [
        ("nothing", [{"Action": "s3:*", "Resource": "*"}], "sagemaker:CreateTrainingJob"),
        ("untagged", [mine, give], "sagemaker:AddTags"),
        ("no-role", [mine, tag], "iam:PassRole"),
        ("other-service", [mine, tag, lambdas], "iam:PassRole"),
        ("all", [mine, tag, give], None),
    ]
    for name, statements, lacking in cases:
        key, secret = sb.make_user(name, allow(*statements))
        client = sb.client("sagemaker", access_key=key, secret_key=secret)
        if lacking is None:
            client.create_training_job(**request(name))
            assert code_of(partial(client.stop_training_job, TrainingJobName="all")) == "AccessDeniedException"
        else:
            with pytest.raises(ClientError, match=f"not authorized to perform: {lacking} on resource"):
                client.create_training_job(**request(name))


def test_tags_of_request_and_resource_are_conditions(sb):
    marked = {"StringLike": {"aws:RequestTag/headway:attempt": "queue/*"}}
    start = {"Action": "sagemaker:CreateTrainingJob", "Resource": "*", "Condition": marked}
    creating = {"StringEquals": {"sagemaker:TaggingAction": "CreateTrainingJob"}}
    mark = {"Action": "sagemaker:AddTags", "Resource": "*", "Condition": {**marked, **creating}}
    stop = {
        "Action": "sagemaker:StopTrainingJob",
        "Resource": "*",
        "Condition": {"StringLike": {"aws:ResourceTag/headway:attempt": "queue/*"}},
    }
    key, secret = sb.make_user("marker", allow(start, mark, stop, {"Action": "iam:PassRole", "Resource": "*"}))
    client = sb.client("sagemaker", access_key=key, secret_key=secret)
    others = [{"Key": "headway:attempt", "Value": "other-queue/1"}]
    for name, carries in (("rogue", []), ("others", others)):
        sb.client("sagemaker").create_training_job(**request(name, Tags=carries))
        again = request(f"{name}-again", Tags=carries)
        assert code_of(partial(client.create_training_job, **again)) == "AccessDeniedException"
        assert code_of(partial(client.stop_training_job, TrainingJobName=name)) == "AccessDeniedException"
    tags = [{"Key": "headway:attempt", "Value": "queue/1"}]
    arn = client.create_training_job(**request("marked", Tags=tags))["TrainingJobArn"]
    for name in (arn, arn.replace("marked", "rogue")):
        assert code_of(partial(client.add_tags, ResourceArn=name, Tags=tags)) == "AccessDeniedException"
    client.stop_training_job(TrainingJobName="marked")


def test_the_partition_of_an_item_is_a_condition(sb):
    root = sb.client("dynamodb")
    root.create_table(
        TableName="parts", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )  # fmt: skip
    limit = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["config"]}}
    key, secret = sb.make_user("reader", allow({"Action": "dynamodb:*", "Resource": "*", "Condition": limit}))
    client = sb.client("dynamodb", access_key=key, secret_key=secret)
    client.get_item(TableName="parts", Key={"pk": {"S": "config"}})
    client.put_item(TableName="parts", Item={"pk": {"S": "config"}})
    for call in (
        partial(client.get_item, Key={"pk": {"S": "job"}}),
        partial(client.put_item, Item={"pk": {"S": "job"}}),
    ):
        assert code_of(partial(call, TableName="parts")) == "AccessDeniedException"


@pytest.mark.parametrize(
    ("key", "code"), [("known", "InvalidSignatureException"), ("AKIAUNKNOWN", "UnrecognizedClientException")]
)
def test_a_wrong_secret_and_an_unknown_key_are_refused(sb, key, code):
    if key == "known":
        key, _secret = sb.make_user("signer", allow({"Action": "*", "Resource": "*"}))
    client = sb.client("sagemaker", access_key=key, secret_key="wrong")
    assert code_of(client.list_training_jobs) == code


# ---------------------------------------------------------------------------------------------- events, functions


@pytest.fixture(scope="module")
def seen(sb) -> str:
    """A queue that a function fills with what events it gets; the queue's URL."""
    queue: str = sb.client("sqs").create_queue(QueueName="seen")["QueueUrl"]
    arn = make_function(sb, "observer", OBSERVER, actions=["sqs:SendMessage", "sagemaker:StopTrainingJob"], SEEN=queue)
    pattern = json.dumps({"source": ["aws.sagemaker"], "detail-type": ["SageMaker Training Job State Change"]})
    events = sb.client("events")
    events.put_rule(Name="changes", EventPattern=pattern)
    events.put_targets(Rule="changes", Targets=[{"Id": "f", "Arn": arn}])
    return queue


def received(sb: Sandbox, queue: str, name: str, found: list[str]) -> list[str]:
    answer = sb.client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    for message in answer.get("Messages", []):
        sb.client("sqs").delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        job, status = json.loads(message["Body"])
        if job == name:
            found.append(status)
    return found


def test_state_changes_reach_a_rules_function_which_runs_as_its_role(sb, seen):
    sb.client("sagemaker").create_training_job(**request("observed"))
    found: list[str] = []
    until(lambda: len(received(sb, seen, "observed", found)) >= 6)
    assert sorted(found) == ["Completed", "Downloading", "Pending", "Starting", "Training", "Uploading"]


def test_an_event_is_handled_again_after_its_function_was_killed(sb, seen):
    sb.client("sagemaker").create_training_job(**request("killed"))
    killed = until(lambda: sb.kill_functions("observer", busy_only=True))
    assert {entry["function"] for entry in killed} == {"observer"}
    found: list[str] = []
    until(lambda: set(received(sb, seen, "killed", found)) >= {"Starting", "Completed"})


# Starts once only, and is at its first invocation until it is let go.
ONCE = """
import os, time
os.mkdir(os.environ["MARK"])

def handler(event, context):
    while os.path.exists(os.environ["MARK"]):
        time.sleep(0.1)
    return "done"
"""


def test_an_environment_that_cannot_start_fails_only_its_own_invocation(sb, tmp_path):
    mark = tmp_path / "mark"
    make_function(sb, "once", ONCE, actions=[], MARK=str(mark))

    def invoke() -> dict[str, Any]:
        answer = sb.client("lambda").invoke(FunctionName="once")
        return {"body": json.loads(answer["Payload"].read()), "error": answer.get("FunctionError")}

    with ThreadPoolExecutor(1) as executor:
        first = executor.submit(invoke)
        until(mark.is_dir)
        try:
            second = invoke()
        finally:
            mark.rmdir()
        assert first.result() == {"body": "done", "error": None}
    assert second["error"] is not None
    assert "File exists" in second["body"]["errorMessage"]


# Takes long to start, and no time to answer.
SLOW_START = """
import time
time.sleep(1)

def handler(event, context):
    return "done"
"""


def test_a_burst_is_answered_by_the_environments_that_start_first(sb):
    make_function(sb, "slow-start", SLOW_START, actions=[])
    cores = os.cpu_count() or 1
    burst = 5 * cores

    def invoke(_: int) -> Any:
        return json.loads(sb.client("lambda").invoke(FunctionName="slow-start")["Payload"].read())

    with ThreadPoolExecutor(burst) as executor:
        assert list(executor.map(invoke, range(burst))) == ["done"] * burst
    # Others may have begun to start before the first had answered.
    assert len([each for each in sb.functions() if each["function"] == "slow-start"]) <= 3 * cores


# Reports its start and readiness, and answers when all may.
TELLING_START = """
import os, time
marks = os.environ["MARKS"]
open(f"{marks}/{os.getpid()}.starts", "w").close()
time.sleep(0.2)
open(f"{marks}/{os.getpid()}.ready", "w").close()

def handler(event, context):
    while not os.path.exists(f"{marks}/{event}"):
        time.sleep(0.05)
    return os.getpid()
"""


def test_environments_killed_when_idle_also_restart_a_few_at_a_time(sb, tmp_path):
    make_function(sb, "telling", TELLING_START, actions=[], MARKS=str(tmp_path))
    cores = os.cpu_count() or 1
    burst = 3 * cores

    def started_by(mark: str) -> set[int]:
        """What answers when as many are invoked at once."""

        def invoke(_: int) -> int:
            answer = sb.client("lambda").invoke(FunctionName="telling", Payload=json.dumps(mark))
            return int(answer["Payload"].read())

        there = len(list(tmp_path.glob("*.ready")))
        with ThreadPoolExecutor(burst) as executor:
            answers = executor.map(invoke, range(burst))
            try:
                until(lambda: len(list(tmp_path.glob("*.ready"))) == there + burst)
            finally:
                (tmp_path / mark).touch()
            return set(answers)

    before = started_by("first")
    assert len(sb.kill_functions("telling")) == burst
    after = started_by("second")
    assert not after & before

    def told(each: int, what: str) -> int:
        return (tmp_path / f"{each}.{what}").stat().st_mtime_ns

    at_once = [
        sum(told(other, "starts") <= told(each, "starts") < told(other, "ready") for other in after) for each in after
    ]
    assert max(at_once) <= cores, at_once


PRINTS = """
import sys, time
print("ready")
def handler(event, context):
    for number in range(event["lines"]):
        print(event["name"], number)
        # A log that pauses is not at its end.
        time.sleep(0.02)
    sys.stderr.write("half a line")
    if event["name"] == "breaks":
        raise ValueError("broken")
"""


def test_the_log_of_an_invocation_has_exactly_its_output(sb):
    make_function(sb, "prints", PRINTS, actions=[])
    calls, found = [("first", 3), ("second", 0), ("breaks", 2), ("last", 1)], []
    for name, lines in calls:
        payload = json.dumps({"name": name, "lines": lines}).encode()
        answer = sb.client("lambda").invoke(FunctionName="prints", Payload=payload, LogType="Tail")
        log = base64.b64decode(answer["LogResult"]).decode().splitlines()
        found.append([line for line in log if not line.startswith(("START", "END", "REPORT"))])
    first, second, breaks, last = found
    assert first == ["ready", "first 0", "first 1", "first 2", "half a line"]
    assert second == ["half a line"]
    assert breaks[:3] == ["breaks 0", "breaks 1", "half a line"]
    # Ministack starts another environment after an error.
    assert last == ["ready", "last 0", "half a line"]


def test_an_api_keeps_its_address_when_an_update_of_its_stack_changes_its_paths(sb):
    formation, gateway = sb.client("cloudformation"), sb.client("apigateway")

    def template(*paths: str) -> str:
        answer = {"get": {"x-amazon-apigateway-integration": {"type": "mock"}}}
        body = {"openapi": "3.0.1", "info": {"title": "doors", "version": "1"}, "paths": dict.fromkeys(paths, answer)}
        return json.dumps({"Resources": {"Doors": {"Type": "AWS::ApiGateway::RestApi", "Properties": {"Body": body}}}})

    def api() -> str:
        resource = formation.describe_stack_resource(StackName="doors", LogicalResourceId="Doors")
        return str(resource["StackResourceDetail"]["PhysicalResourceId"])

    formation.create_stack(StackName="doors", TemplateBody=template("/front"))
    formation.get_waiter("stack_create_complete").wait(StackName="doors", WaiterConfig={"Delay": 1})
    before = api()
    formation.update_stack(StackName="doors", TemplateBody=template("/front", "/back"))
    formation.get_waiter("stack_update_complete").wait(StackName="doors", WaiterConfig={"Delay": 1})
    assert api() == before
    paths = {item["path"] for item in gateway.get_resources(restApiId=before)["items"]}
    assert paths == {"/", "/front", "/back"}
    assert [item["id"] for item in gateway.get_rest_apis()["items"] if item["name"] == "doors"] == [before]


def test_aws_events_from_outside_are_refused_as_on_aws(sb):
    entry = {"Source": "aws.sagemaker", "DetailType": "SageMaker Training Job State Change", "Detail": "{}"}
    (result,) = sb.client("events").put_events(Entries=[entry])["Entries"]
    assert result["ErrorCode"] == "NotAuthorizedForSourceException"


def test_a_job_is_finished_failed_and_interrupted_on_request(sb):
    sagemaker = sb.client("sagemaker")
    for name in ("fin", "fails", "ondemand"):
        sagemaker.create_training_job(**request(name, Environment={"SANDBOX_RUN_SECONDS": "3000"}))
    sb.finish("fin")
    sb.fail("fails", "AlgorithmError: told to")
    with pytest.raises(SandboxError, match="is not a spot job"):
        sb.interrupt("ondemand")
    shown = {entry["TrainingJobName"]: entry for entry in sb.jobs()}
    assert shown["fin"]["TrainingJobStatus"] == "Completed"
    assert shown["fails"]["FailureReason"] == "AlgorithmError: told to"
    assert sb.in_use()["ml.p5.48xlarge"] >= 1
    with pytest.raises(SandboxError, match="No such switch: quota"):
        sb.set_faults(quota={})


def test_a_warm_pool_is_shown_taken_and_released_through_the_sdk(sb):
    sagemaker = sb.client("sagemaker")
    sb.set_faults(warm_pool_quotas={P5: 1}, warm_pool_release_s=1)
    config = {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 30, "KeepAlivePeriodInSeconds": 3600}
    for name in ("warm-1", "warm-2"):
        sagemaker.create_training_job(**request(name, ResourceConfig=config))
        sb.finish(name)
    first, second = (sagemaker.describe_training_job(TrainingJobName=f"warm-{number}") for number in (1, 2))
    assert (first["WarmPoolStatus"]["Status"], first["WarmPoolStatus"]["ReusedByJob"]) == ("Reused", "warm-2")
    assert second["WarmPoolStatus"]["Status"] == "Available"
    changed = {"TrainingJobName": "warm-2", "ResourceConfig": {"KeepAlivePeriodInSeconds": 0}}
    assert sagemaker.update_training_job(**changed)["TrainingJobArn"] == second["TrainingJobArn"]

    def listed() -> list[str]:
        answer = sagemaker.list_training_jobs(WarmPoolStatusEquals="Terminated", NameContains="warm-2")
        return [each["TrainingJobName"] for each in answer["TrainingJobSummaries"]]

    until(lambda: listed() == ["warm-2"])


def test_a_training_plan_that_a_test_sets_is_shown_through_the_sdk_and_runs_a_job(sb):
    sagemaker = sb.client("sagemaker")
    plan = sb.put_plan("spring", [(0, 86_400), (172_800, 259_200)], instance_type=P5, instance_count=2, unhealthy=1)
    config = {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 30, "TrainingPlanArn": plan}
    long = {"StoppingCondition": {"MaxRuntimeInSeconds": 40_000}, "Environment": {"SANDBOX_RUN_SECONDS": "30000"}}
    sagemaker.create_training_job(**request("planned", ResourceConfig=config, **long))
    until(lambda: sagemaker.describe_training_plan(TrainingPlanName="spring")["InUseInstanceCount"] == 1)
    (entry,) = sagemaker.list_training_plans(Filters=[{"Name": "Status", "Value": "Active"}])["TrainingPlanSummaries"]
    assert (entry["TrainingPlanArn"], entry["AvailableInstanceCount"]) == (plan, 0)
    found = sagemaker.list_training_jobs(TrainingPlanArnEquals=plan, NameContains="planned")["TrainingJobSummaries"]
    assert [each["TrainingJobName"] for each in found] == ["planned"]
    with pytest.raises(SandboxError, match=r"No training plan has ml\.t3\.large"):
        sb.put_plan("spring", [(0, 86_400)], instance_type="ml.t3.large", instance_count=2)
    with pytest.raises(SandboxError, match="There is no PUT"):
        sb._call("PUT", "/plans")


# ------------------------------------------------------------------------------------------------- start and stop


def test_it_listens_on_loopback_only(sb):
    sockets = {str(entry.readlink()) for entry in Path(f"/proc/{sb.info.pid}/fd").iterdir()}
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    listening = [words[1] for words in lines if words[3] == "0A" and f"socket:[{words[9]}]" in sockets]
    assert listening == [f"0100007F:{sb.info.port:04X}"]  # 127.0.0.1, as the kernel writes it


def test_a_clean_stop_keeps_the_state_and_leaves_nothing_else(seen, sb):
    sagemaker = sb.client("sagemaker")
    long = {"Environment": {"SANDBOX_RUN_SECONDS": "86400"}, "StoppingCondition": {"MaxRuntimeInSeconds": 86_400}}
    sagemaker.create_training_job(**request("kept", **long))
    sb.client("s3").put_object(Bucket=sb.info.bucket, Key="kept", Body=b"data")
    pid = sb.info.pid
    assert manager.stop(sb.state_dir)
    assert not (sb.state_dir / "tmp").exists()
    assert functions_of(sb) == []
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    sb.restart()
    assert sagemaker.describe_training_job(TrainingJobName="kept")["TrainingJobStatus"] == "InProgress"
    assert sb.client("s3").get_object(Bucket=sb.info.bucket, Key="kept")["Body"].read() == b"data"
    sagemaker.stop_training_job(TrainingJobName="kept")
    found: list[str] = []
    until(lambda: "Stopped" in received(sb, seen, "kept", found))


def test_no_function_outlives_a_killed_server(seen, sb):
    client = sb.client("lambda")
    client.invoke(FunctionName="observer", Payload=b"{}")["Payload"].read()
    client.invoke(FunctionName="observer", InvocationType="Event", Payload=b'{"sleep": 15}')["Payload"].read()
    until(lambda: [entry for entry in sb.functions() if entry["busy"]])
    assert functions_of(sb) != []
    os.kill(sb.info.pid, signal.SIGKILL)
    until(lambda: functions_of(sb) == [], timeout_s=5.0)
    assert manager.status(state_dir=sb.state_dir) is None
    sb.restart()
    assert sb.client("sts").get_caller_identity()["Account"] == sb.info.account


def functions_of(sb: Sandbox) -> list[str]:
    """Processes that run from the sandbox's folder, the server apart."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if f"{sb.state_dir.resolve()}/tmp/" in line:
                found.append(line)
    return found
