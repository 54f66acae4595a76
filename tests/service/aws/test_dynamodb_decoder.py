"""Responses of DynamoDB are decoded as by botocore and boto3, only faster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError

from headway_sandbox.inprocess.stub_client import offline_session
from headway_service.aws import dynamodb_decoder
from headway_service.aws.dynamodb_decoder import decode_item, keep_json_values
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.errors import Conflict, UnreadableAnswer
from headway_service.ports.table import Check, Equals, Item, Key

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
ITEM: dict[str, Any] = {
    **KEY,
    "text": {"S": "ä\u001b"},
    "number": {"N": "-12345678901234"},
    "flags": {"L": [{"BOOL": True}, {"BOOL": False}, {"NULL": True}, {"L": []}]},
    "map": {"M": {"S": {"S": "a key that looks like a type"}, "empty": {"M": {}}}},
}
KEYS = {"TableName": "queue", "Key": KEY}
QUERY = {"TableName": "queue", "KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "p"}}}

ANSWERS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("an item", "get_item", KEYS, {"Item": ITEM}),
    ("no item", "get_item", KEYS, {}),
    ("a page", "query", QUERY, {"Items": [ITEM, KEY], "Count": 2, "ScannedCount": 3, "LastEvaluatedKey": KEY}),
    ("the last page, empty", "query", QUERY, {"Items": [], "Count": 0, "ScannedCount": 0}),
    ("a number of items", "query", {**QUERY, "Select": "COUNT"}, {"Count": 7, "ScannedCount": 7}),
    ("a write", "put_item", {"TableName": "queue", "Item": ITEM}, {}),
    ("a transaction", "transact_write_items", {"TransactItems": [{"Delete": KEYS}]}, {}),
]
WRITES = [Check(key=Key("p", "s"), requires=Equals("version", 1)), Check(key=Key("p", "t"), requires=Equals("a", 1))]


class Answering:
    """A client, and its responses."""

    def __init__(self) -> None:
        self.client = offline_session().client("dynamodb")
        self.status, self.body = 200, b"{}"
        self.client.meta.events.register("before-send.dynamodb", self._send)

    def _send(self, request: Any, **_: Any) -> AWSResponse:
        headers = HTTPHeaders.from_dict({"x-amzn-requestid": "one"})
        return AWSResponse(request.url, self.status, headers, SimpleNamespace(stream=self._stream))

    def _stream(self) -> Iterator[bytes]:
        yield self.body


def answered(operation: str, request: dict[str, Any], answer: dict[str, Any], *, as_it_is: bool) -> Any:
    answering = Answering()
    answering.body = json.dumps(answer).encode()
    if as_it_is:
        keep_json_values(answering.client)
    return getattr(answering.client, operation)(**request)


@pytest.mark.parametrize(
    ("operation", "request_", "answer"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS]
)
def test_an_answer_equals_botocores_result(operation: str, request_: dict[str, Any], answer: dict[str, Any]) -> None:
    told = answered(operation, request_, answer, as_it_is=True)
    assert told == answered(operation, request_, answer, as_it_is=False)
    assert told["ResponseMetadata"]["RequestId"] == "one"


def test_botocore_does_not_traverse_answers() -> None:
    # It would leave out what its model does not know.
    assert answered("get_item", KEYS, {"New": 1}, as_it_is=True)["New"] == 1


def test_several_tables_that_share_a_client_decode_answers() -> None:
    answering = Answering()
    answering.body = json.dumps({"Item": ITEM}).encode()
    for table in (DynamoDBTable(answering.client, "queue"), DynamoDBTable(answering.client, "queue")):
        assert table.get(Key("p", "s")) == decode_item(ITEM)


def test_a_truncated_answer_is_an_error_and_not_an_empty_answer() -> None:
    answering = Answering()
    keep_json_values(answering.client)
    answering.body = b'{"Items": [{"pk": {"S": "p'
    with pytest.raises(UnreadableAnswer):
        answering.client.query(**QUERY)


@pytest.mark.parametrize(
    ("code", "more"),
    [
        ("ConditionalCheckFailedException", {}),
        ("TransactionCanceledException", {"CancellationReasons": [{"Code": "None"}, {"Code": "Other"}]}),
    ],
)
def test_refusals_are_still_distinguished(code: str, more: dict[str, Any]) -> None:
    answering = Answering()
    keep_json_values(answering.client)
    answering.status, answering.body = 400, json.dumps({"__type": f"x#{code}", "message": "no", **more}).encode()
    with pytest.raises(ClientError) as raised:
        answering.client.transact_write_items(TransactItems=[{"Delete": KEYS}])
    assert raised.value.response["Error"] == {"Message": "no", "Code": code}
    assert {name: raised.value.response.get(name) for name in more} == more


def test_a_conflict_lists_the_failed_writes() -> None:
    answering = Answering()
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed"}]
    body = {"__type": "x#TransactionCanceledException", "message": "no", "CancellationReasons": reasons}
    answering.status, answering.body = 400, json.dumps(body).encode()
    with pytest.raises(Conflict) as raised:
        DynamoDBTable(answering.client, "queue").write(WRITES)
    assert raised.value.failed == (1,)


def test_an_answer_in_another_protocol_is_left_to_botocore() -> None:
    model = SimpleNamespace(service_model=SimpleNamespace(resolved_protocol="smithy-rpc-v2-cbor"))
    response, taken = {"status_code": 200, "body": b"\xa0"}, dict[str, Any]()
    dynamodb_decoder._keep_json_values(operation_model=model, response_dict=response, customized_response_dict=taken)
    assert (response["body"], taken) == (b"\xa0", {})


def test_an_item_equals_boto3s_with_integers() -> None:
    item: Item = decode_item(ITEM)
    deserializer = TypeDeserializer()
    assert item == {name: deserializer.deserialize(value) for name, value in ITEM.items()}
    assert type(item["number"]) is int


@pytest.mark.parametrize(
    ("value", "error"),
    [({"N": "1.5"}, ValueError), ({"SS": ["a"]}, KeyError), ({"B": "AA=="}, KeyError)],
    ids=["a fraction", "a set", "bytes"],
)
def test_types_that_items_never_have_are_an_error(value: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        decode_item({"value": value})
