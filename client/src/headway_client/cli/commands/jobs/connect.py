"""The command connect: print the command that opens a shell in a running container."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from headway.sanitize import strip_control_characters
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import connection, show_document
from headway_client.cli.hosts import Host, require_host
from headway_client.cli.interruption import UNCHANGED
from headway_client.cli.job_names import job_name
from headway_client.errors import ConflictError
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.models import JobDetails


@click.command(
    "connect",
    cls=Command,
    interrupted=UNCHANGED,
    help="Print the command that opens a shell in the running container of a job.",
)
@job_name
@click.option("--host", type=Host(), default=1, metavar="algo-N", help="The host (default algo-1).")
@pass_common
def connect(common: CommonOptions, name: str, host: int) -> None:
    """Print the command of the AWS CLI that opens a session with a host of the live attempt.

    Source: SageMaker developer guide, "Access a training container through AWS Systems Manager (SSM) for remote
    debugging": the target is ``sagemaker-training-job:`` with the training job's name, an underscore and the host's.
    """
    from headway_client.http.api import HeadwayApi

    found = connection(common)
    details = HeadwayApi.connect(found).get_job(name)
    target = f"sagemaker-training-job:{_attempt_name(details, host)}_algo-{host}"
    words = ["aws", "ssm", "start-session", "--target", target, "--region", found.region]
    if found.aws_profile is not None:
        words += ["--profile", found.aws_profile]
    if common.is_document:
        show_document(common, {"target": target, "command": words})
    else:
        print(strip_control_characters(shlex.join(words)))


def _attempt_name(details: JobDetails, number: int) -> str:
    job = details.job
    if not (details.request.get("RemoteDebugConfig") or {}).get("EnableRemoteDebug"):
        raise ConflictError(
            f"{job.name} was submitted without remote debugging, so connecting to it is not possible. Submit it with "
            "--set RemoteDebugConfig.EnableRemoteDebug=true, and allow its role the ssmmessages actions "
            "CreateControlChannel, CreateDataChannel, OpenControlChannel and OpenDataChannel.",
            code="NoRemoteDebugging",
        )
    require_host(job, number)
    attempt = next((each for each in details.attempts if each.name == job.live_attempt), None)
    if attempt is None:
        raise ConflictError(
            f"{job.name} has no training job to connect to now; it is {job.state}: {job.reason.message}",
            code="NotRunning",
        )
    if attempt.secondary_status != "Training":
        to_stderr(
            f"Its container may not run yet: SageMaker reports {attempt.secondary_status or 'nothing'} "
            f"of {attempt.name}."
        )
    return attempt.name
