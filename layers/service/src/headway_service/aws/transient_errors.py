"""Answers of AWS that are missing after botocore's own retries: they become an error that callers may retry after."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from headway_service.aws.error_codes import FAILED_CALLS, Verdict, classify, code_of
from headway_service.errors import RetryLater
from headway_service.observability.logging import logger


@contextmanager
def raise_retry_later(what: str, passes: Collection[str] = ()) -> Iterator[None]:
    """Raise RetryLater for transient and for unclear errors. A refusal or a missing permission is raised as it is.

    A write that ends as RetryLater may have been carried out.

    Args:
        what: the called service, for the message.
        passes: AWS's error codes of refusals that pass by themselves.
    """
    try:
        yield
    except FAILED_CALLS as error:
        if classify(error) in {Verdict.REFUSED, Verdict.DENIED} and code_of(error) not in passes:
            raise
        logger.warning("no clear answer from AWS", extra={"asked": what, "code": code_of(error)})
        raise RetryLater(f"{what} cannot answer now; try again in a moment") from error
