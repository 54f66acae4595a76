"""When AWS cannot answer now, after botocore's own retries: callers hear that they may try again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError

from headway_service.errors import Busy


@contextmanager
def answering(what: str, passes: Collection[str]) -> Iterator[None]:
    """Turns what passes by itself into Busy; any other error is a fault, and stays.

    Args:
        what: what is asked, for the message.
        passes: AWS's error codes for what passes by itself.
    """
    busy = Busy(f"{what} cannot answer now; try again in a moment")
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] in passes:
            raise busy from error
        raise
    except (BotoConnectionError, HTTPClientError) as error:
        raise busy from error
