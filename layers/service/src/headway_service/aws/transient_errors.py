"""Answers of AWS that are missing after botocore's own retries: they become an error that callers may retry after."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from headway.errors import HeadwayError
from headway_service.aws.error_codes import FAILED_CALLS, Verdict, classify, code_of, describe
from headway_service.errors import RetryLater
from headway_service.observability.logging import logger


@contextmanager
def raise_retry_later(
    what: str, passes: Collection[str] = (), *, refused: type[HeadwayError] | None = None
) -> Iterator[None]:
    """Raise RetryLater for transient and for unclear errors. A missing permission is raised as it is.

    A write that ends as RetryLater may have been carried out.

    Args:
        what: the called service, for the message.
        passes: AWS's error codes of refusals that pass by themselves.
        refused: the error that other refusals are raised as; None raises them as they are.
    """
    try:
        yield
    except FAILED_CALLS as error:
        verdict = classify(error)
        if verdict in {Verdict.REFUSED, Verdict.DENIED} and code_of(error) not in passes:
            if refused is not None and verdict is Verdict.REFUSED:
                raise refused(f"{what} refuses it: {describe(error)}") from error
            raise
        logger.warning("no clear answer from AWS", extra={"asked": what, "code": code_of(error)})
        raise RetryLater(f"{what} cannot answer now; try again in a moment") from error
