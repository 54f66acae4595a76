"""The queue that is examined, and its account."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError
from botocore.exceptions import ClientError as AwsClientError

from headway.instances.specs import spec_of
from headway_client.config.profile import Connection, StaticKeys, resolve_connection
from headway_client.errors import UsageError
from headway_client.http.api import HeadwayApi
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.training_job import Durations
from headway_verification.acceptance.errors import CannotAccept

INSTANCE_TYPE = "ml.m5.large"

SPEED = 20.0
DURATIONS = Durations(provisioning_s=120, download_s=20, upload_s=20, release_s=60)
"""Of the sandbox's training jobs: long enough to be seen by calls a third of a second apart."""

NO_QUOTA = "ml.c5.xlarge"
"""A type that the sandbox's account may not use."""

_USER = "headway-accept"
_ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the command line; None for those that are not given."""

    endpoint: str | None = None
    region: str | None = None
    profile: str | None = None
    aws_profile: str | None = None
    stack: str | None = None
    role: str | None = None
    bucket: str | None = None
    image: str | None = None
    instance_type: str = INSTANCE_TYPE
    sandbox: bool = False


@dataclass(frozen=True, kw_only=True)
class Target:
    """A deployed queue.

    Attributes:
        connection: how it is called, with the caller's credentials.
        stack: the stack's name.
        outputs: of the stack, by name.
        parameters: of the stack, by name.
        role: ARN of the role of the training jobs.
        bucket: for their outputs.
        image: that they run; it needs /bin/sh.
        speed: of a sandbox's training time; 1 on AWS.
    """

    connection: Connection
    stack: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    role: str
    bucket: str
    image: str
    instance_type: str
    speed: float = 1.0

    @property
    def is_sandbox(self) -> bool:
        """Whether AWS is emulated."""
        return self.connection.aws_endpoint is not None

    @property
    def region(self) -> str:
        """The region of the queue."""
        return self.connection.region

    @cached_property
    def api(self) -> HeadwayApi:
        """The queue's API with the caller's credentials."""
        return HeadwayApi.connect(self.connection)

    @cached_property
    def identity(self) -> Mapping[str, str]:
        """GetCallerIdentity's Account and Arn."""
        found = self.client("sts").get_caller_identity()
        return {name: str(found[name]) for name in ("Account", "Arn")}

    @property
    def partition(self) -> str:
        """The partition of the account, such as ``aws``."""
        return self.role.split(":")[1]

    @property
    def prefix(self) -> str:
        """What the names of all that a run creates begin with: another queue's run has another prefix."""
        digest = sha256(f"{self.identity['Account']} {self.region} {self.stack}".encode()).hexdigest()
        return f"headway-accept-{digest[:6]}-"

    @property
    def vcpus(self) -> int:
        """The cores of an instance; 0 if the type is not known here."""
        spec = spec_of(self.instance_type)
        return spec.vcpus if spec is not None else 0

    def client(self, service: str) -> Any:
        """Return a boto3 client with the caller's credentials.

        Args:
            service: as boto3 names it.
        """
        return self.connection.aws_client(service)

    def function(self, name: str) -> str:
        """Return the name of a function in the account.

        Args:
            name: such as ``Watch``.
        """
        return self.outputs[f"{name}FunctionName"]

    def training_job_arn(self, name: str) -> str:
        """Return the ARN of a training job of this account and region."""
        return f"arn:{self.partition}:sagemaker:{self.region}:{self.identity['Account']}:training-job/{name}"


FUNCTIONS = ("Api", "Schedule", "Observe", "Reconcile", "Patrol", "Tell", "Watch")
"""The functions, as the outputs of the template name them."""


@contextmanager
def find(options: Options, tell: Callable[[str], None]) -> Iterator[Target]:
    """Yield the queue that the options, the environment or the profile file name; without any, one in a new sandbox.

    Raises:
        CannotAccept: an option is missing or wrong; the message says which.
        headway_client.errors.ClientError: the profile is not usable.
    """
    connection = None if options.sandbox else _configured(options)
    if connection is None:
        tell("No queue is configured: the run uses a sandbox of its own.")
        with _own_sandbox(options) as target:
            yield target
    else:
        if connection.note:
            tell(connection.note)
        yield _target(connection, options)


def _configured(options: Options) -> Connection | None:
    try:
        return resolve_connection(
            endpoint=options.endpoint,
            profile=options.profile,
            region=options.region,
            aws_profile=options.aws_profile,
        )
    except UsageError as error:
        if error.code != "NoEndpoint":
            raise
        return None


@contextmanager
def _own_sandbox(options: Options) -> Iterator[Target]:
    parameters = {"PoolInstanceType": options.instance_type, "PoolSize": "1"}
    with Sandbox(speed=SPEED, durations=DURATIONS, parameters=parameters) as sandbox:
        sandbox.set_faults(quotas={options.instance_type: 1, NO_QUOTA: 0}, warm_pool_quotas={options.instance_type: 1})
        # As on AWS, root cannot assume a role.
        key, secret = sandbox.make_user(_USER, _ALL)
        connection = Connection(
            endpoint=sandbox.endpoint,
            region=sandbox.info.region,
            keys=StaticKeys(access_key_id=key, secret_access_key=secret),
            aws_endpoint=sandbox.info.aws_endpoint,
            source="a sandbox of this run",
        )
        yield _target(connection, options, stack=sandbox.info.stack, bucket=sandbox.info.bucket, speed=SPEED)


def _target(
    connection: Connection, options: Options, *, stack: str | None = None, bucket: str | None = None, speed: float = 1.0
) -> Target:
    try:
        found = _stack(connection, options.stack or stack)
    except (AwsClientError, BotoCoreError) as error:
        raise CannotAccept(
            f"CloudFormation does not show the queue's stack: {error} The run needs to read it."
        ) from error
    parameters = {each["ParameterKey"]: each["ParameterValue"] for each in found.get("Parameters", ())}
    emulated = connection.aws_endpoint is not None
    bucket = options.bucket or bucket or ("headway-accept" if emulated else None)
    image = options.image or ("123456789012.dkr.ecr.eu-west-1.amazonaws.com/accept:1" if emulated else None)
    if bucket is None:
        raise CannotAccept("Give --bucket (BUCKET=): a bucket that the training role may write to.")
    if image is None:
        raise CannotAccept(
            "Give --image (IMAGE=): the URI of an image in ECR in this region that has /bin/sh and that the training "
            "role may pull, such as AWS's for scikit-learn: sagemaker.image_uris.retrieve('sklearn', REGION, '1.2-1')."
        )
    return Target(
        connection=connection,
        stack=found["StackName"],
        outputs={each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())},
        parameters=parameters,
        role=options.role or parameters["TrainingRoleArns"].split(",")[0],
        bucket=bucket,
        image=image,
        instance_type=options.instance_type,
        speed=speed,
    )


def _stack(connection: Connection, name: str | None) -> Mapping[str, Any]:
    """Return the stack with a name; without one, that whose API has the endpoint."""
    formation = connection.aws_client("cloudformation")
    if name is not None:
        (found,) = formation.describe_stacks(StackName=name)["Stacks"]
        return dict(found)
    for page in formation.get_paginator("describe_stacks").paginate():
        for each in page["Stacks"]:
            ids = [out["OutputValue"] for out in each.get("Outputs", ()) if out["OutputKey"] == "ApiId"]
            if ids and (ids[0] in connection.endpoint or ids[0] == connection.api_id):
                return dict(each)
    raise CannotAccept(f"No stack in {connection.region} has the API of {connection.endpoint}. Give --stack (STACK=).")


def report_folder() -> Path:
    """Return where reports are written."""
    return Path("build") / "accept"
