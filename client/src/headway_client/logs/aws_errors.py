"""Errors of CloudWatch Logs as the client's own, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from headway_client.errors import BusyError, NotAllowedError, NotReachableError, ServerFaultError
from headway_client.logs.streams import LOG_GROUP


@contextmanager
def as_own_errors() -> Iterator[None]:
    """Raise errors of `headway_client.errors` in place of botocore's."""
    try:
        yield
    except NoCredentialsError as error:
        raise NotAllowedError(
            "There are no AWS credentials for reading logs. Set AWS_PROFILE, or run `aws configure sso`.",
            code="NoCredentials",
        ) from error
    except BotoCoreError as error:
        raise NotReachableError(
            f"CloudWatch Logs does not respond: {error} Check the region and the network to its endpoint."
        ) from error
    except ClientError as error:
        problem = error.response["Error"]
        cause = f"{problem.get('Code')}: {problem.get('Message')}"
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if "AccessDenied" in cause:
            raise NotAllowedError(
                f"Reading the logs is not allowed ({cause}). Allow logs:DescribeLogStreams and logs:GetLogEvents on "
                f"the log group {LOG_GROUP}.",
                status=status,
            ) from error
        if "Throttling" in cause or "LimitExceeded" in cause:
            raise BusyError(f"CloudWatch Logs is busy ({cause}). Try again later.", status=status) from error
        raise ServerFaultError(f"CloudWatch Logs refuses the request ({cause}).", status=status) from error
