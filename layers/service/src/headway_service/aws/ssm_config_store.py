"""The configuration document in SSM Parameter Store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from headway_service.aws.error_codes import code_of
from headway_service.aws.transient_errors import raise_retry_later
from headway_service.ports.config_store import ConfigurationText
from headway_service.response_check import check_answers, member

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_ssm.type_defs import ParameterTypeDef

# API reference, GetParameter. How IAM evaluates a name with a version is not documented.
_NOT_SHOWN = {"ParameterNotFound", "ParameterVersionNotFound", "AccessDeniedException"}
# PutParameter: more writes at once than the parameter takes (API reference).
_retry_later = partial(
    raise_retry_later, "the parameter store, which holds the queue's configuration,", {"TooManyUpdates"}
)


class ParameterStore:
    """:class:`headway_service.ports.config_store.ConfigurationStore` on a String parameter, read without a cache."""

    def __init__(self, client: SSMClient, name: str) -> None:
        check_answers(client)
        self._client = client
        self._name = name

    def read(self) -> ConfigurationText:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`."""
        with _retry_later():
            return _text_of(member(self._client.get_parameter(Name=self._name), "Parameter"))

    def read_version(self, version: int) -> ConfigurationText | None:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`."""
        try:
            with _retry_later():
                return _text_of(member(self._client.get_parameter(Name=f"{self._name}:{version}"), "Parameter"))
        except ClientError as error:
            if code_of(error) in _NOT_SHOWN:
                return None
            raise

    def write(self, text: str) -> int:
        """See :class:`headway_service.ports.config_store.ConfigurationStore`."""
        with _retry_later():
            # A standard parameter, until the document outgrows its 4096 characters.
            answer = self._client.put_parameter(
                Name=self._name, Value=text, Type="String", Overwrite=True, Tier="Intelligent-Tiering"
            )
            return int(member(answer, "Version"))


def _text_of(parameter: ParameterTypeDef) -> ConfigurationText:
    modified = parameter.get("LastModifiedDate")
    return ConfigurationText(
        text=member(parameter, "Value"),
        version=member(parameter, "Version"),
        modified_ms=int(modified.timestamp() * 1000) if modified else 0,
    )
