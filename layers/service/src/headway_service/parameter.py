"""The configuration document in SSM Parameter Store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway_service.ports import ConfigurationText

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


class ParameterStore:
    """:class:`headway_service.ports.ConfigurationStore` on a String parameter, read without a cache."""

    def __init__(self, client: SSMClient, name: str) -> None:
        self._client = client
        self._name = name

    def read(self) -> ConfigurationText:
        """See :class:`headway_service.ports.ConfigurationStore`."""
        parameter = self._client.get_parameter(Name=self._name)["Parameter"]
        return ConfigurationText(text=parameter["Value"], version=parameter["Version"])

    def write(self, text: str) -> int:
        """See :class:`headway_service.ports.ConfigurationStore`."""
        return self._client.put_parameter(Name=self._name, Value=text, Type="String", Overwrite=True)["Version"]
