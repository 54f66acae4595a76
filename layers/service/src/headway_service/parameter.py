"""The configuration document in SSM Parameter Store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headway_service.answering import answering
from headway_service.ports import ConfigurationText

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

# API reference, Common Errors, and PutParameter.
_PASSES = {"ThrottlingException", "TooManyUpdates", "InternalServerError", "ServiceUnavailable"}
_answering = partial(answering, "the parameter store, which holds the queue's configuration,", _PASSES)


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
