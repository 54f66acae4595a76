"""Reads what DynamoDB answers, quicker than botocore and boto3 do for any service and any value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headway_service.ports.table import Item
from headway_service.response_check import document_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def take_answers_as_they_are(client: DynamoDBClient) -> None:
    """Let the answers of a client be what their JSON says.

    botocore goes through each value of an answer, by its model of the service, for bytes and times are written as
    something else. Answers on items tell no times, and items of ours hold no bytes
    (:data:`headway_service.ports.table.Item`), so all comes
    out as it went in. It took half of the time of a listing. A botocore without that event would go through them again.
    """
    client.meta.events.register("before-parse.dynamodb", _take_as_it_is, unique_id="headway")


def _take_as_it_is(
    *, operation_model: Any, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    # Refusals are left to botocore, which tells them apart, and so is any other protocol that it may choose one day.
    if response_dict["status_code"] != 200 or operation_model.service_model.resolved_protocol != "json":
        return
    customized_response_dict.update(document_in(response_dict["body"]))
    response_dict["body"] = b"{}"


def decode_item(attributes: Mapping[str, Any]) -> Item:
    """An item by its attributes as DynamoDB tells them (API reference, AttributeValue).

    boto3's TypeDeserializer takes twice as long, and makes decimals of whole numbers.

    Raises:
        KeyError: there is a value of a type that is none of :data:`headway_service.ports.table.Item`.
        ValueError: there is a number that is not whole.
    """
    return {attribute: _value(told) for attribute, told in attributes.items()}


def _value(told: Mapping[str, Any]) -> Any:
    [(kind, content)] = told.items()
    return _READERS[kind](content)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "S": str,
    "N": int,
    "BOOL": bool,
    "NULL": lambda _: None,
    "L": lambda values: [_value(each) for each in values],
    "M": decode_item,
}
