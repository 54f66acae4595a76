"""The configuration document in SSM Parameter Store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError

from headway_service.errors import Busy
from headway_service.ports import ConfigurationText

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

# API reference, Common Errors, and PutParameter.
_PASSES = {"ThrottlingException", "TooManyUpdates", "InternalServerError", "ServiceUnavailable"}
_BUSY = "the queue's configuration cannot be read or written now; try again in a moment"


class ParameterStore:
    """:class:`headway_service.ports.ConfigurationStore` on a String parameter, read without a cache."""

    def __init__(self, client: SSMClient, name: str) -> None:
        self._client = client
        self._name = name

    def read(self) -> ConfigurationText:
        """See :class:`headway_service.ports.ConfigurationStore`."""
        with _answering():
            parameter = self._client.get_parameter(Name=self._name)["Parameter"]
        return ConfigurationText(text=parameter["Value"], version=parameter["Version"])

    def write(self, text: str) -> int:
        """See :class:`headway_service.ports.ConfigurationStore`."""
        with _answering():
            # A standard parameter, until the document outgrows its 4096 characters.
            return self._client.put_parameter(
                Name=self._name, Value=text, Type="String", Overwrite=True, Tier="Intelligent-Tiering"
            )["Version"]


@contextmanager
def _answering() -> Iterator[None]:
    """What passes by itself becomes :class:`headway_service.errors.Busy`; anything else is a fault, and stays."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] in _PASSES:
            raise Busy(_BUSY) from error
        raise
    except (BotoConnectionError, HTTPClientError) as error:
        raise Busy(_BUSY) from error
