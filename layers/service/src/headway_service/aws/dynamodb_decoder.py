"""Items as DynamoDB answers them, read quicker than botocore and boto3 read any service and any value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headway_service.ports.table import Item
from headway_service.response_check import document_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def keep_json_values(client: DynamoDBClient) -> None:
    """Make a client return its responses as their JSON has them.

    botocore converts each value of a response by its model of the service, as JSON encodes bytes and times differently.
    Responses about items contain no times, and Headway's items no bytes (:data:`headway_service.ports.table.Item`), so
    nothing changes. The conversion took half of the time of a listing. A botocore without this event would convert
    again.
    """
    client.meta.events.register("before-parse.dynamodb", _keep_json_values, unique_id="headway")


def _keep_json_values(
    *, operation_model: Any, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    # botocore parses errors, and all responses if it uses another protocol one day.
    if response_dict["status_code"] != 200 or operation_model.service_model.resolved_protocol != "json":
        return
    customized_response_dict.update(document_in(response_dict["body"]))
    response_dict["body"] = b"{}"


def decode_item(attributes: Mapping[str, Any]) -> Item:
    """An item from attributes in DynamoDB's notation (API reference, AttributeValue).

    boto3's TypeDeserializer takes twice as long, and returns whole numbers as decimals.

    Raises:
        KeyError: a value has a type that is not in :data:`headway_service.ports.table.Item`.
        ValueError: there is a number that is not whole.
    """
    # Most are texts and numbers, and a call for each of them would take as long again.
    return {
        attribute: told["S"] if "S" in told else int(told["N"]) if "N" in told else _value(told)
        for attribute, told in attributes.items()
    }


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
