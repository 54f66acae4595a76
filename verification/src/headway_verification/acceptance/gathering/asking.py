"""One call of AWS and its answer, and one part of the evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import ClientError as AwsClientError

from headway_service.aws.error_codes import code_of, message_of, status_of
from headway_verification.acceptance.errors import NotAsked
from headway_verification.acceptance.evidence import Answer, Missing
from headway_verification.acceptance.temporary import FAILURES

T = TypeVar("T")


def answer_to(call: Callable[[], object]) -> Answer:
    """Make a call, and return what AWS answers, also if it is an error."""
    try:
        call()
    except AwsClientError as error:
        return Answer(status=status_of(error), code=code_of(error), message=message_of(error))
    return Answer()


def present(part: T | Missing) -> T:
    """Return a part of the evidence that another question needs.

    Raises:
        NotAsked: it is missing.
    """
    if isinstance(part, Missing):
        raise NotAsked(part.why)
    return part


def gathered(ask: Callable[[], T]) -> T | Missing:
    """Return a part of the evidence, or why it could not be gathered."""
    try:
        return ask()
    except FAILURES as error:
        return Missing(why=str(error))
