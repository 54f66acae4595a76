"""The queue's template, deployed to the sandbox by sam."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import boto3
import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from headway_client.http.api import HeadwayApi
from headway_sandbox.errors import InvalidName
from headway_sandbox.local import manager
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.local.sandbox_info import SandboxInfo
from tests.sandbox.fleets import request

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with Sandbox(speed=600) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def reader(sb) -> tuple[str, str]:
    """The keys of a user who may list jobs."""
    may = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "arn:aws:execute-api:*:*:*/v1/GET/jobs"}
    return sb.make_user("reader", {"Version": "2012-10-17", "Statement": [may]})


def call(
    sb: Sandbox,
    method: str,
    path: str,
    *,
    keys: tuple[str, ...] | None = None,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    region: str = "",
) -> tuple[int, dict[str, Any]]:
    """Send a signed request to the queue's API, by default as root."""
    data = None if body is None else json.dumps(body)
    asked = AWSRequest(method, sb.endpoint + path, data=data, headers=dict(headers or {}))
    credentials = Credentials(*(keys or (sb.info.access_key, sb.info.secret_key)))
    SigV4Auth(credentials, "execute-api", region or sb.info.region).add_auth(asked)
    ready = asked.prepare()
    answer = requests.request(method, ready.url, headers=dict(ready.headers), data=data, timeout=30)
    document: dict[str, Any] = answer.json()
    return answer.status_code, document


def test_a_user_of_the_queue_may_what_the_policy_says_and_reach_the_data(sb):
    def may(info: SandboxInfo) -> dict[str, int]:
        keys = (info.access_key, info.secret_key)
        return {
            "see": call(sb, "GET", "/capacity", keys=keys)[0],
            "submit": call(sb, "POST", "/jobs", keys=keys, body={})[0],
            "configure": call(sb, "PUT", "/config", keys=keys, body={})[0],
        }

    # 400: allowed, and then refused by the queue.
    ada = manager.user("ada", policy="UserPolicy", state_dir=sb.state_dir)
    assert may(ada) == {"see": 200, "submit": 400, "configure": 403}
    keys = {"access_key": ada.access_key, "secret_key": ada.secret_key}
    sb.client("s3", **keys).put_object(Bucket=sb.info.bucket, Key="ada/data", Body=b"1")
    assert sb.client("sts", **keys).get_caller_identity()["Arn"].endswith(":user/ada")
    assert may(manager.user("ada", policy="AdminPolicy", state_dir=sb.state_dir))["configure"] == 400
    on_call = manager.user("ada", policy="OnCallPolicy", state_dir=sb.state_dir)
    assert may(on_call) == {"see": 200, "submit": 403, "configure": 403}
    with pytest.raises(InvalidName, match="'a b' is no name of a user"):
        manager.user("a b", policy="UserPolicy", state_dir=sb.state_dir)


def test_the_queue_answers_a_signed_call(sb, reader):
    status, document = call(sb, "GET", "/jobs?state=pending&state=running", keys=reader)
    assert (status, document["jobs"]) == (200, [])


def test_the_callers_policy_applies_per_method_and_path(sb, reader):
    assert call(sb, "POST", "/jobs", keys=reader, body=request())[0] == 403
    assert call(sb, "GET", "/capacity", keys=reader)[0] == 403


def test_a_wrong_signature_and_none_are_refused(sb, reader):
    assert call(sb, "GET", "/jobs", keys=(reader[0], "wrong"))[0] == 403
    assert requests.get(f"{sb.endpoint}/jobs", timeout=30).status_code == 403


@pytest.mark.parametrize("endpoint", ["vpce-00000000000000000", "none"], ids=["another", "none"])
@pytest.mark.parametrize("who", ["a user", "root"])
def test_the_private_api_is_reached_through_its_vpc_endpoint_only(sb, reader, who, endpoint):
    keys = reader if who == "a user" else None
    status, document = call(sb, "GET", "/jobs", keys=keys, headers={"x-headway-vpc-endpoint": endpoint})
    assert status == 403
    told = document.get("message", document.get("Message", ""))
    assert "is not authorized to perform: execute-api:Invoke" in told
    assert "with an explicit deny" in told
    assert call(sb, "GET", "/jobs", keys=keys)[0] == 200, "through the sandbox's own endpoint"


def test_the_api_calls_its_function_only_with_a_permission(sb, reader):
    functions, formation = sb.client("lambda"), sb.client("cloudformation")
    named = {"StackName": sb.info.stack, "LogicalResourceId": "ApiFunction"}
    name = formation.describe_stack_resource(**named)["StackResourceDetail"]["PhysicalResourceId"]
    (given,) = json.loads(functions.get_policy(FunctionName=name)["Policy"])["Statement"]
    functions.remove_permission(FunctionName=name, StatementId=given["Sid"])
    assert call(sb, "GET", "/jobs", keys=reader) == (500, {"message": "Internal server error"})
    source = given["Condition"]["ArnLike"]["AWS:SourceArn"]
    again = {"FunctionName": name, "Action": "lambda:InvokeFunction", "Principal": "apigateway.amazonaws.com"}
    functions.add_permission(**again, StatementId="other", SourceArn=source.replace("/v1/", "/v2/"))
    assert call(sb, "GET", "/jobs", keys=reader)[0] == 500, "for another stage"
    functions.add_permission(**again, StatementId="again", SourceArn=source)
    assert call(sb, "GET", "/jobs", keys=reader)[0] == 200


def test_credentials_of_another_region_are_refused_by_the_api(sb, reader):
    status, document = call(sb, "GET", "/jobs", keys=reader, region="us-east-1")
    assert (status, document) == (403, {"message": "Credential should be scoped to a valid region. "})


@pytest.mark.parametrize(("accepted", "expected"), [(True, 201), (False, 403)])
def test_a_signed_body_is_accepted_and_an_unsigned_one_as_configured(sb, accepted, expected):
    sb.set_faults(unsigned_payload=accepted)
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    keys = sb.make_user(f"signer-{expected}", everything)
    unsigned = {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}
    asked = request(f"unsigned-{expected}", RoleArn=sb.info.role_arn)
    assert call(sb, "POST", "/jobs", keys=keys, body=asked, headers=unsigned)[0] == expected
    # As Headway's client signs it.
    api = HeadwayApi(sb.endpoint, region=sb.info.region, credentials=Credentials(*keys))
    assert api.submit(request(f"signed-{expected}", RoleArn=sb.info.role_arn)).created
    sb.clear_faults()


def guest(sb: Sandbox) -> tuple[str, str, str]:
    """The access key, secret and token of a session of a role that may call everything."""
    account = sb.info.role_arn.split(":")[4]
    trust = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{account}:root"}, "Action": "sts:AssumeRole"}
    may = {"Effect": "Allow", "Action": ["execute-api:Invoke", "sagemaker:*"], "Resource": "*"}
    iam = sb.client("iam")
    role = iam.create_role(RoleName="Guest", AssumeRolePolicyDocument=json.dumps({"Statement": [trust]}))["Role"]
    iam.put_role_policy(RoleName="Guest", PolicyName="all", PolicyDocument=json.dumps({"Statement": [may]}))
    given = sb.client("sts").assume_role(RoleArn=role["Arn"], RoleSessionName="guest")["Credentials"]
    return given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"]


def test_an_expired_session_is_refused_by_the_api_and_by_sagemaker(sb):
    keys = guest(sb)
    session = boto3.Session(*keys, region_name=sb.info.region)
    sagemaker: Any = session.client("sagemaker", endpoint_url=sb.info.aws_endpoint)
    assert call(sb, "GET", "/jobs", keys=keys)[0] == 200
    assert "TrainingJobSummaries" in sagemaker.list_training_jobs()
    assert sb.expire_credentials("guest") == ["guest"]
    status, document = call(sb, "GET", "/jobs", keys=keys)
    assert status == 403
    assert "token included in the request is expired" in document["message"]
    with pytest.raises(ClientError) as refused:
        sagemaker.list_training_jobs()
    assert refused.value.response["Error"]["Code"] == "ExpiredTokenException"


def test_a_scheduler_with_expired_credentials_starts_nothing_and_loses_nothing(sb):
    call(sb, "POST", "/jobs", body=request("before", RoleArn=sb.info.role_arn))
    assert starts(sb, "before")
    assert any("Schedule" in name for name in sb.expire_credentials("Schedule"))
    call(sb, "POST", "/jobs", body=request("patient", RoleArn=sb.info.role_arn))
    time.sleep(3)
    assert call(sb, "GET", "/jobs/patient")[1]["jobState"] == "pending"
    # A new process gets new credentials. The wake-ups of the old one are consumed: the reconciler wakes it.
    sb.kill_functions("Schedule")
    assert starts(sb, "patient", meanwhile=lambda: sb.invoke("Reconcile"))


def starts(sb: Sandbox, name: str, *, meanwhile: Callable[[], object] = lambda: None) -> bool:
    """Return whether SageMaker launches a job within a minute, exactly once."""
    deadline = time.monotonic() + 60
    launched = 0
    while not launched and time.monotonic() < deadline:
        meanwhile()
        time.sleep(1)
        launched = [entry["Tags"].get("headway:job") for entry in sb.jobs()].count(name)
    return launched == 1


def test_a_job_goes_through_the_queue_to_sagemaker_and_back(sb):
    status, job = call(sb, "POST", "/jobs", body=request("through", RoleArn=sb.info.role_arn))
    assert (status, job["jobName"]) == (201, "through")
    deadline = time.monotonic() + 60
    while job["jobState"] != "completed" and time.monotonic() < deadline:
        time.sleep(0.5)
        _, job = call(sb, "GET", "/jobs/through")
    assert job["jobState"] == "completed"
    (mine,) = [entry for entry in sb.jobs() if entry["Tags"].get("headway:job") == "through"]
    assert mine["TrainingJobStatus"] == "Completed"


def test_a_scheduler_that_crashes_right_after_a_start_does_not_start_the_job_twice(sb):
    sb.set_faults(kill_caller={"CreateTrainingJob": 1})
    before = {entry["pid"] for entry in sb.functions() if "Schedule" in entry["function"]}
    call(sb, "POST", "/jobs", body=request("crash", RoleArn=sb.info.role_arn))
    deadline = time.monotonic() + 60
    job: dict[str, Any] = {}
    while job.get("jobState") not in {"running", "completed"} and time.monotonic() < deadline:
        time.sleep(0.5)
        if not sb.faults()["kill_caller"]:
            sb.release_messages("wake")
        _, job = call(sb, "GET", "/jobs/crash")
    assert job["jobState"] in {"running", "completed"}
    assert [entry["Tags"].get("headway:job") for entry in sb.jobs()].count("crash") == 1
    assert not before & {entry["pid"] for entry in sb.functions()}


def test_the_scheduled_function_can_be_run_immediately(sb):
    assert isinstance(sb.invoke("Reconcile"), dict | None)


def test_starting_a_running_sandbox_changes_nothing(sb):
    steps: list[str] = []
    settings = manager.Settings(state_dir=sb.state_dir, port=0, speed=600, sources=Checkout.here(), report=steps.append)
    assert manager.start(settings) == sb.info
    assert steps == []
    assert manager.status(state_dir=sb.state_dir) == sb.info


def test_the_queue_is_still_deployed_after_a_restart(sb):
    endpoint, pid = sb.endpoint, sb.info.pid
    sb.restart()
    assert (sb.endpoint, sb.info.pid == pid) == (endpoint, False)
    assert call(sb, "GET", "/jobs/through")[1]["jobState"] == "completed"
