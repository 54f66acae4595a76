"""Temporary roles of the account, and what AWS answers to them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError as AwsClientError
from botocore.httpsession import URLLib3Session

from headway_service.sagemaker_api.tags import ATTEMPT_TAG
from headway_verification.acceptance.checks import callers as asked
from headway_verification.acceptance.errors import NotAsked
from headway_verification.acceptance.evidence import ACCEPTED, Answer, Callers, Permissions
from headway_verification.acceptance.gathering.asking import answer_to
from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import Temporary
from headway_verification.acceptance.waiting import until

IN_FORCE_S = 90.0
"""How long a new role or policy is waited for: IAM is eventually consistent and states no time (IAM user guide,
"Troubleshoot IAM: changes that I make are not always immediately visible")."""

_EVERY_S = 3.0
_SESSION_S = 900
_TIMEOUT_S = 30


class TemporaryRole:
    """A role of this run, with its credentials.

    Args:
        target: the queue.
        temporary: names it.
        what: it is for, in a word.
        policy: the statements of its own policy; none: it may do nothing.
    """

    def __init__(
        self, target: Target, temporary: Temporary, what: str, policy: list[Mapping[str, Any]] | None = None
    ) -> None:
        self._target = target
        self.name = temporary.name(what)
        self._iam = target.client("iam")
        account = f"arn:{target.partition}:iam::{target.identity['Account']}:root"
        trust = {"Effect": "Allow", "Principal": {"AWS": account}, "Action": "sts:AssumeRole"}
        made = self._iam.create_role(
            RoleName=self.name,
            AssumeRolePolicyDocument=_document([trust]),
            Description="Of a run of Headway's acceptance; may be deleted",
            MaxSessionDuration=3600,
            Tags=temporary.tags,
        )
        if policy:
            self._iam.put_role_policy(RoleName=self.name, PolicyName="accept", PolicyDocument=_document(policy))
        self._arn = made["Role"]["Arn"]
        self._credentials = self._assumed()

    def attach(self, policy_arn: str) -> None:
        """Attach a managed policy."""
        self._iam.attach_role_policy(RoleName=self.name, PolicyArn=policy_arn)

    def client(self, service: str) -> Any:
        """Return a boto3 client with the credentials of the role.

        Args:
            service: as boto3 names it.
        """
        found = self._credentials
        session: Any = boto3.Session(
            aws_access_key_id=found.access_key,
            aws_secret_access_key=found.secret_key,
            aws_session_token=found.token,
            region_name=self._target.region,
        )
        return session.client(service, endpoint_url=self._target.connection.aws_endpoint)

    def call_api(self) -> Answer:
        """Call GET /version of the queue, without the client's reading of the answer."""
        connection = self._target.connection
        request = AWSRequest(method="GET", url=f"{connection.endpoint}/version")
        if connection.api_id:
            request.headers["x-apigw-api-id"] = connection.api_id
        SigV4Auth(self._credentials, "execute-api", connection.region).add_auth(request)
        response = URLLib3Session(timeout=_TIMEOUT_S).send(request.prepare())
        if response.status_code == ACCEPTED:
            return Answer()
        return Answer(
            status=response.status_code,
            code=response.headers.get("x-amzn-errortype", ""),
            message=response.text[:300],
        )

    def _assumed(self) -> Credentials:
        def assume() -> Mapping[str, str] | None:
            try:
                answer = self._target.client("sts").assume_role(
                    RoleArn=self._arn, RoleSessionName="headway-accept", DurationSeconds=_SESSION_S
                )
            except AwsClientError as error:
                refusals.append(str(error))
                return None
            return dict(answer["Credentials"])

        refusals: list[str] = []
        found = until(assume, timeout_s=IN_FORCE_S, every_s=_EVERY_S)
        if found is None:
            raise NotAsked(f"The temporary role cannot be assumed. Allow sts:AssumeRole on it: {refusals[-1]}")
        return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])


def _document(statements: list[Mapping[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def callers(target: Target, stranger: TemporaryRole) -> Callers:
    """Return what the API answers to a role before and after it has UserPolicy.

    Args:
        stranger: a role without any policy; it has one afterwards.
    """
    refused = stranger.call_api()
    began = time.monotonic()
    stranger.attach(target.outputs["UserPolicyArn"])
    answers = [refused]

    def is_let_in() -> bool:
        answers.append(stranger.call_api())
        return answers[-1].status == ACCEPTED

    until(is_let_in, timeout_s=IN_FORCE_S, every_s=_EVERY_S)
    return Callers(
        stranger=refused,
        user=answers[-1],
        waited_s=time.monotonic() - began,
        caller_arns=target.parameters.get("CallerArns", "*"),
    )


def answer_once_in_force(call: Callable[[], object], *, told: str) -> Answer:
    """Repeat a call until its answer has a text, as a new policy takes time; return the last answer.

    Args:
        call: of AWS.
        told: in the message once the policy is in force.
    """
    answers: list[Answer] = []

    def is_in_force() -> bool:
        answers.append(answer_to(call))
        return answers[-1].is_accepted or told in answers[-1].message

    until(is_in_force, timeout_s=IN_FORCE_S, every_s=_EVERY_S)
    return answers[-1]


_REQUEST, _RESOURCE, _TAGGING, _KEEP_ALIVE = (
    f"aws:RequestTag/{ATTEMPT_TAG}",
    f"aws:ResourceTag/{ATTEMPT_TAG}",
    "sagemaker:TaggingAction",
    "sagemaker:KeepAlivePeriod",
)
QUESTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    asked.CREATE_MARKED: ("sagemaker:CreateTrainingJob", (_REQUEST,)),
    asked.CREATE_UNMARKED: ("sagemaker:CreateTrainingJob", ()),
    asked.TAG_AT_CREATION: ("sagemaker:AddTags", (_REQUEST, _TAGGING)),
    asked.TAG_LATER: ("sagemaker:AddTags", (_REQUEST,)),
    asked.STOP_MARKED: ("sagemaker:StopTrainingJob", (_RESOURCE,)),
    asked.STOP_UNMARKED: ("sagemaker:StopTrainingJob", ()),
    asked.RELEASE_MARKED: ("sagemaker:UpdateTrainingJob", (_RESOURCE, _KEEP_ALIVE)),
    asked.CHANGE_MARKED: ("sagemaker:UpdateTrainingJob", (_RESOURCE,)),
}
"""What is simulated: the action, and the condition keys that the request has."""


def permissions(target: Target) -> Permissions:
    """Return IAM's decisions on the scheduler's role."""
    resource = target.client("cloudformation").describe_stack_resource(
        StackName=target.stack, LogicalResourceId="ScheduleFunctionRole"
    )
    name = resource["StackResourceDetail"]["PhysicalResourceId"]
    iam = target.client("iam")
    arn = iam.get_role(RoleName=name)["Role"]["Arn"]
    mark = f"{target.outputs['TableName']}/accept"
    values = {
        _REQUEST: ("string", mark),
        _RESOURCE: ("string", mark),
        _TAGGING: ("string", "CreateTrainingJob"),
        _KEEP_ALIVE: ("numeric", "0"),
    }

    def decision(action: str, keys: tuple[str, ...]) -> str:
        answer = iam.simulate_principal_policy(
            PolicySourceArn=arn,
            ActionNames=[action],
            ResourceArns=[target.training_job_arn("accept")],
            ContextEntries=[
                {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": kind}
                for key in keys
                for kind, value in [values[key]]
            ],
        )
        return str(answer["EvaluationResults"][0]["EvalDecision"])

    return Permissions(decisions={question: decision(*each) for question, each in QUESTIONS.items()})
