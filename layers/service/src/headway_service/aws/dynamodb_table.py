"""The table on DynamoDB."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from boto3.dynamodb.types import TypeSerializer
from botocore.exceptions import ClientError

from headway_service.aws.dynamodb_decoder import decode_item, keep_json_values
from headway_service.aws.error_codes import Verdict, classify, code_of
from headway_service.aws.transient_errors import raise_retry_later
from headway_service.errors import Conflict, RetryLater
from headway_service.ports.table import (
    LISTED,
    Absent,
    AllEqual,
    AllOf,
    AtLeast,
    Check,
    Condition,
    Contains,
    Delete,
    Equals,
    Item,
    Key,
    ListingPage,
    OneOf,
    Put,
    ScanPage,
    Tally,
    Update,
    Write,
    position_of,
)
from headway_service.response_check import check_answers, member

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

LISTING_INDEX = "listing"

_BEFORE = "pk = :pk AND sk < :sk"
_EVENTUALLY = {"ConsistentRead": False}

MAX_CONTENTION_RETRIES = 5
"""How often a write that met another transaction on the same item is tried again before RetryLater is raised."""

MAX_BATCH_RETRIES = 5
"""How often what DynamoDB has left out of an answer is requested again before RetryLater is raised."""

_BATCH_KEYS = 100
"""Keys of one request (API reference, BatchGetItem)."""

_FIRST_RETRY_S = 0.02
_PASSING_CANCELLATIONS = {None, "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
"""Reasons of a cancelled transaction that pass by themselves (API reference, TransactionCanceledException)."""

_retry_later = partial(raise_retry_later, "the queue's table")

_serialize = TypeSerializer().serialize


class DynamoDBTable:
    """A :class:`headway_service.ports.table.Table` on DynamoDB."""

    def __init__(self, client: DynamoDBClient, name: str) -> None:
        keep_json_values(client)
        check_answers(client)
        self._client = client
        self._name = name

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        with _retry_later():
            answer = self._client.get_item(TableName=self._name, Key=_key(key), ConsistentRead=True)
        return decode_item(answer["Item"]) if "Item" in answer else None

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._query(pk, prefix, after, limit, {})

    def last_before(self, pk: str, sk: str) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        values = {":pk": _serialize(pk), ":sk": _serialize(sk)}
        page = next(self._pages(_BEFORE, values, 1, {"ScanIndexForward": False}))
        return decode_item(page["Items"][0]) if page["Items"] else None

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._query(pk, prefix, "", limit, _EVENTUALLY)

    def _query(self, pk: str, prefix: str, after: str, limit: int, options: Mapping[str, Any]) -> tuple[Item, ...]:
        condition, values = "pk = :pk", {":pk": _serialize(pk)}
        # A key condition takes one clause on the sort key, so with both a prefix and a start the prefix is the
        # clause and the start is handed over as if it were the end of an earlier page.
        start = dict(options)
        if prefix:
            condition, values = f"{condition} AND begins_with(sk, :sk)", {**values, ":sk": _serialize(prefix)}
            if after:
                start["ExclusiveStartKey"] = _key(Key(pk, after))
        elif after:
            condition, values = f"{condition} AND sk > :sk", {**values, ":sk": _serialize(after)}
        found: list[Item] = []
        for page in self._pages(condition, values, limit, start):
            found += [decode_item(item) for item in page["Items"]]
            if len(found) >= limit:
                break
        return tuple(found[:limit])

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.table.Table`."""
        counted = 0
        for page in self._before(pk, sk, limit, {"Select": "COUNT"}):
            counted += page["Count"]
            if counted >= limit:
                break
        return min(limit, counted)

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        found: list[str] = []
        for page in self._before(pk, sk, limit, {"ProjectionExpression": "sk"}):
            found += [item["sk"]["S"] for item in page["Items"]]
            if len(found) >= limit:
                break
        return tuple(found[:limit])

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """See :class:`headway_service.ports.table.Table`."""
        options = {
            "ProjectionExpression": "sk, #text",
            "ExpressionAttributeNames": {"#text": attribute},
            "ScanIndexForward": False,
            **_EVENTUALLY,
        }
        found: list[tuple[str, str]] = []
        for page in self._pages("pk = :pk", {":pk": _serialize(pk)}, limit, options):
            found += [(item["sk"]["S"], item[attribute]["S"] if attribute in item else "") for item in page["Items"]]
            if len(found) >= limit:
                break
        return tuple(reversed(found[:limit]))

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """See :class:`headway_service.ports.table.Table`."""
        aliases = _Aliases()
        # The filter works on what has been read, so that one query counts both.
        options = {
            "FilterExpression": _condition(where, aliases),
            "ExpressionAttributeNames": aliases.names,
            "Select": "COUNT",
            **_EVENTUALLY,
        }
        condition, values = "pk = :pk", {**aliases.values, ":pk": _serialize(pk)}
        if before:
            condition, values = _BEFORE, {**values, ":sk": _serialize(before)}
        items = matching = 0
        for page in self._pages(condition, values, limit, options):
            items, matching = items + page["ScannedCount"], matching + page["Count"]
            if items >= limit:
                break
        return Tally(items=items, matching=matching)

    def listing(
        self,
        name: str,
        *,
        where: Sequence[Condition],
        after: Mapping[str, str] | None,
        limit: int,
        descending: bool = False,
    ) -> ListingPage:
        """See :class:`headway_service.ports.table.Table`."""
        options: dict[str, Any] = {}
        if after is not None:
            position = {"listing": name, "sk": "job", **after}
            options["ExclusiveStartKey"] = {attribute: _serialize(value) for attribute, value in position.items()}
        aliases = _Aliases()
        filters = " AND ".join(_condition(each, aliases) for each in where)
        aliases.values[":listing"] = _serialize(name)
        with _retry_later():
            page = self._client.query(
                TableName=self._name,
                IndexName=LISTING_INDEX,
                KeyConditionExpression="listing = :listing",
                FilterExpression=filters,
                ExpressionAttributeNames=aliases.names,
                ExpressionAttributeValues=aliases.values,
                ScanIndexForward=not descending,
                Limit=limit,
                **options,
            )
            member(page, "Items")
        last = page.get("LastEvaluatedKey")
        tail = position_of(decode_item(last)) if last else None
        return ListingPage(items=tuple(decode_item(item) for item in page["Items"]), after=tail)

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        return self._in_batches(keys, {"ConsistentRead": True})

    def get_listed(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        aliases = _Aliases()
        projection = ", ".join(aliases.name(each) for each in ("pk", "sk", *LISTED))
        return self._in_batches(
            keys, {"ProjectionExpression": projection, "ExpressionAttributeNames": aliases.names, **_EVENTUALLY}
        )

    def _in_batches(self, keys: Sequence[Key], options: Mapping[str, Any]) -> tuple[Item, ...]:
        found: dict[Key, Item] = {}
        for begin in range(0, len(keys), _BATCH_KEYS):
            for item in self._batch(keys[begin : begin + _BATCH_KEYS], options):
                found[Key(item["pk"], item["sk"])] = item
        return tuple(found[key] for key in keys if key in found)

    def _batch(self, keys: Sequence[Key], options: Mapping[str, Any]) -> Iterator[Item]:
        left: Any = {self._name: {"Keys": [_key(key) for key in keys], **options}}
        for attempt in range(MAX_BATCH_RETRIES + 1):
            if attempt:
                time.sleep(random.uniform(0, _FIRST_RETRY_S * 2**attempt))
            with _retry_later():
                answer = self._client.batch_get_item(RequestItems=left)
                items = member(answer, "Responses").get(self._name, [])
            yield from (decode_item(item) for item in items)
            left = answer.get("UnprocessedKeys")
            if not left:
                return
        raise RetryLater("the queue's table is busy with other reads; try again in a moment")

    def scan(self, sort_keys: Sequence[str], *, after: Key | None, limit: int) -> ScanPage:
        """See :class:`headway_service.ports.table.Table`."""
        aliases = _Aliases()
        options: dict[str, Any] = {} if after is None else {"ExclusiveStartKey": _key(after)}
        with _retry_later():
            page = self._client.scan(
                TableName=self._name,
                FilterExpression=_condition(OneOf("sk", tuple(sort_keys)), aliases),
                ExpressionAttributeNames=aliases.names,
                ExpressionAttributeValues=aliases.values,
                ConsistentRead=True,
                Limit=limit,
                **options,
            )
            member(page, "Items")
        last = page.get("LastEvaluatedKey")
        key = decode_item(last) if last else None
        return ScanPage(
            items=tuple(decode_item(item) for item in page["Items"]),
            after=None if key is None else Key(key["pk"], key["sk"]),
        )

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`."""
        for attempt in range(MAX_CONTENTION_RETRIES + 1):
            if attempt:
                # Full jitter, as AWS's architecture blog recommends against synchronised retries.
                time.sleep(random.uniform(0, _FIRST_RETRY_S * 2**attempt))
            try:
                with _retry_later():
                    self._write_once(writes)
            except ClientError as error:
                if not _contended(error):
                    raise
            else:
                return
        raise RetryLater("the queue is busy with other changes of the same jobs; try again in a moment")

    def _write_once(self, writes: Sequence[Write]) -> None:
        try:
            if len(writes) == 1:
                # A single write needs no transaction, which would cost twice.
                self._single(writes[0])
            else:
                self._client.transact_write_items(TransactItems=[self._transactional(write) for write in writes])
        except ClientError as error:
            failed = _failed_conditions(error)
            if failed:
                raise Conflict(failed) from None
            raise

    def _single(self, write: Write) -> None:
        match write:
            case Put():
                self._client.put_item(**self._expressions(write), Item=_attributes(write.item))
            case Update():
                self._client.update_item(**self._expressions(write), Key=_key(write.key))
            case Delete():
                self._client.delete_item(**self._expressions(write), Key=_key(write.key))
            case Check():
                self._client.transact_write_items(TransactItems=[self._transactional(write)])

    def _transactional(self, write: Write) -> TransactWriteItemTypeDef:
        expressions = self._expressions(write)
        entry: dict[str, Any]
        match write:
            case Put():
                entry = {"Put": {**expressions, "Item": _attributes(write.item)}}
            case Update():
                entry = {"Update": {**expressions, "Key": _key(write.key)}}
            case Delete():
                entry = {"Delete": {**expressions, "Key": _key(write.key)}}
            case Check():
                entry = {"ConditionCheck": {**expressions, "Key": _key(write.key)}}
        return cast("TransactWriteItemTypeDef", entry)

    def _expressions(self, write: Write) -> dict[str, Any]:
        """Table name, condition and update of a write."""
        expressions: dict[str, Any] = {"TableName": self._name}
        aliases = _Aliases()
        name, value = aliases.name, aliases.value
        if isinstance(write, Update):
            clauses = []
            if write.sets:
                clauses.append("SET " + ", ".join(f"{name(a)} = {value(v)}" for a, v in write.sets.items()))
            if write.adds:
                clauses.append("ADD " + ", ".join(f"{name(a)} {value(v)}" for a, v in write.adds.items()))
            expressions["UpdateExpression"] = " ".join(clauses)
        if write.requires is not None:
            expressions["ConditionExpression"] = _condition(write.requires, aliases)
        if aliases.names:
            expressions["ExpressionAttributeNames"] = aliases.names
        if aliases.values:
            expressions["ExpressionAttributeValues"] = aliases.values
        return expressions

    def _before(self, pk: str, sk: str, limit: int, options: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        values = {":pk": _serialize(pk), ":sk": _serialize(sk)}
        return self._pages(_BEFORE, values, limit, {**options, **_EVENTUALLY})

    def _pages(
        self, condition: str, values: Mapping[str, Any], limit: int, options: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        # A page ends at 1 MB whatever the limit (API reference, Query).
        start = {"ConsistentRead": True, **options}
        while True:
            with _retry_later():
                page = self._client.query(
                    TableName=self._name,
                    KeyConditionExpression=condition,
                    ExpressionAttributeValues=values,
                    Limit=limit,
                    **start,
                )
                member(page, "ScannedCount" if "Select" in start else "Items")
            yield page
            if "LastEvaluatedKey" not in page:
                return
            start["ExclusiveStartKey"] = page["LastEvaluatedKey"]


class _Aliases:
    """The placeholders of an expression. All names have one, as many are reserved words."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, attribute: str) -> str:
        alias = f"#n{len(self.names)}"
        self.names[alias] = attribute
        return alias

    def value(self, content: Any) -> str:
        alias = f":v{len(self.values)}"
        self.values[alias] = _serialize(content)
        return alias


def _condition(condition: Condition, aliases: _Aliases) -> str:
    name, value = aliases.name, aliases.value
    match condition:
        case Absent():
            return f"attribute_not_exists({name('pk')})"
        case Equals():
            return f"{name(condition.attribute)} = {value(condition.value)}"
        case AllEqual():
            return " AND ".join(f"{name(attribute)} = {value(wanted)}" for attribute, wanted in condition.values)
        case AtLeast():
            return f"{name(condition.attribute)} >= {value(condition.value)}"
        case AllOf():
            return " AND ".join(_condition(each, aliases) for each in condition.conditions)
        case OneOf():
            return f"{name(condition.attribute)} IN ({', '.join(value(each) for each in condition.values)})"
        case Contains():
            return f"contains({name(condition.attribute)}, {value(condition.text)})"


def _failed_conditions(error: ClientError) -> list[int]:
    """Indexes of the writes whose condition failed; empty for any other error."""
    if classify(error) is not Verdict.REFUSED:
        return []
    if code_of(error) == "ConditionalCheckFailedException":
        return [0]
    return [i for i, reason in enumerate(_reasons(error)) if reason.get("Code") == "ConditionalCheckFailed"]


def _contended(error: ClientError) -> bool:
    """Whether nothing was written as another transaction or a throttle was in the way, so that it may succeed later."""
    if code_of(error) == "TransactionCanceledException":
        return all(reason.get("Code") in _PASSING_CANCELLATIONS for reason in _reasons(error))
    return code_of(error) == "TransactionConflictException"


def _reasons(error: ClientError) -> Sequence[Mapping[str, Any]]:
    """Why a transaction was cancelled, write by write."""
    reasons: Sequence[Mapping[str, Any]] = error.response.get("CancellationReasons", [])
    return reasons


def _key(key: Key) -> dict[str, Any]:
    return {"pk": _serialize(key.pk), "sk": _serialize(key.sk)}


def _attributes(item: Item) -> dict[str, Any]:
    return {attribute: _serialize(value) for attribute, value in item.items()}
