"""The one structured logger: JSON lines with job and attempt names, and never a request's content."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, TypeAlias

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError

_Raised: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

# Their debug lines hold whole requests with signatures, and Lambda's own log level is not ours to set.
for _name in ("boto3", "botocore", "urllib3"):
    logging.getLogger(_name).setLevel(logging.WARNING)


_OF_THE_FUNCTION = frozenset({"function_name", "function_arn", "function_memory_size"})
"""What :meth:`Logger.inject_lambda_context` adds and the log group says anyway: each function has its own."""


class _Formatter(LambdaPowertoolsFormatter):
    """Formats an exception as its class and location. Its text may quote a value of a request."""

    def serialize(self, log: Mapping[str, Any]) -> str:
        """See :class:`LambdaPowertoolsFormatter`."""
        return super().serialize({name: value for name, value in log.items() if name not in _OF_THE_FUNCTION})

    def formatException(self, ei: _Raised) -> str:  # noqa: N802 - logging's name
        """See :class:`logging.Formatter`."""
        return "\n".join(f"{''.join(traceback.format_tb(each.__traceback__))}{_told(each)}" for each in _chain(ei[1]))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, its cause, the cause of that."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _told(error: BaseException) -> str:
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    match error:
        # AWS's text names permissions and resources, which an operator needs; one about a value quotes that.
        case ClientError():
            told, code = error.response.get("Error", {}), error.response.get("Error", {}).get("Code", "")
            return f"{name}: {code}" if "Validation" in code else f"{name}: {code}: {told.get('Message', '')}"
        case BotoConnectionError() | HTTPClientError():
            return f"{name}: {error}"
        case _:
            return name


logger = Logger(logger_formatter=_Formatter(serialize_stacktrace=False))
