"""boto3 without a network: its clients do all of their work, and their requests are answered here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import process_time_ns
from typing import Any

from boto3.dynamodb.types import TypeSerializer
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from headway_sandbox.inprocess.stub_client import offline_session
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.bootstrap.clients import CALL_LIMITS, OWN_REQUESTS
from headway_service.ports.table import Condition, Equals, Item, Key, ListingPage, ScanPage, Table, Tally, Write

Answer = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Takes an operation and its request, and gives the answer: documents, as AWS's JSON protocols have them."""

_serialize = TypeSerializer().serialize
_OWN_REQUESTS = {"dynamodb", "sqs"}


class Wire:
    """Makes clients that check, serialise, sign and parse as ever, and send nothing.

    The fake AWS works in this process too. :meth:`now_ns` excludes its time, so that the rest is the
    caller's own. It is processor time, as the only waits here are for other processes of the machine.
    """

    def __init__(self) -> None:
        self._elsewhere_ns = 0
        self._boto3_ns = 0
        self._called_ns: int | None = None

    def now_ns(self) -> int:
        """A clock that stops while the fake AWS works, ns."""
        return process_time_ns() - self._elsewhere_ns

    def boto3_ns(self) -> int:
        """How much of that boto3 has worked, a call that is not over yet included, ns."""
        return self._boto3_ns + (0 if self._called_ns is None else self.now_ns() - self._called_ns)

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Work as the fake AWS. Not to be nested."""
        began_ns = process_time_ns()
        try:
            yield
        finally:
            self._elsewhere_ns += process_time_ns() - began_ns

    def client(self, service: str, answer: Answer) -> Any:
        """A client of a service that speaks JSON.

        Args:
            service: as boto3 names it.
            answer: what the service does.
        """
        # As in wiring.
        config = OWN_REQUESTS if service in _OWN_REQUESTS else CALL_LIMITS
        client = offline_session().client(service, config=config)

        def send(request: Any, event_name: str, **_: Any) -> AWSResponse:
            with self.elsewhere():
                operation = event_name.rpartition(".")[2]
                body = json.dumps(answer(operation, json.loads(request.body)))
                return AWSResponse(request.url, 200, HTTPHeaders(), _Body(body.encode()))

        def begin(**_: Any) -> None:
            self._called_ns = self.now_ns()

        def end(**_: Any) -> None:
            self._boto3_ns, self._called_ns = self.boto3_ns(), None

        events, name = client.meta.events, client.meta.service_model.service_id.hyphenize()
        # The first and the last event of a call that succeeds (botocore.client, BaseClient._make_api_call).
        events.register_first(f"provide-client-params.{name}", begin)
        events.register_last(f"after-call.{name}", end)
        # botocore sends nothing if a handler of this event has the answer (botocore.endpoint, Endpoint._get_response).
        events.register(f"before-send.{name}", send)
        return client


class WiredTable:
    """A table behind the adapter to DynamoDB and boto3's client: their work is the caller's, the table's own is not.

    Args:
        table: the fake DynamoDB. Its refusals of writes are raised directly.
        wire: how it is reached.
    """

    def __init__(self, table: Table, wire: Wire) -> None:
        self._table = table
        self._wire = wire
        self._answer: Mapping[str, Any] = {}
        self._adapter = DynamoDBTable(wire.client("dynamodb", lambda *_: self._answer), "queue")

    def get(self, key: Key) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            item = self._table.get(key)
            self._answer = {"Item": _attributes(item)} if item else {}
        return self._adapter.get(key)

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`. The answer is one batch."""
        self._answer_batch(lambda: self._table.get_all(keys))
        return self._adapter.get_all(keys)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            self._answer = _page(self._table.query(pk, prefix=prefix, after=after, limit=limit))
        return self._adapter.query(pk, prefix=prefix, after=after, limit=limit)

    def last_before(self, pk: str, sk: str) -> Item | None:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            item = self._table.last_before(pk, sk)
            self._answer = _page([item] if item else [])
        return self._adapter.last_before(pk, sk)

    def query_for_display(self, pk: str, *, prefix: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            self._answer = _page(self._table.query_for_display(pk, prefix=prefix, limit=limit))
        return self._adapter.query_for_display(pk, prefix=prefix, limit=limit)

    def count_before(self, pk: str, sk: str, *, limit: int) -> int:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            count = self._table.count_before(pk, sk, limit=limit)
            self._answer = {"Count": count, "ScannedCount": count}
        return self._adapter.count_before(pk, sk, limit=limit)

    def keys_before(self, pk: str, sk: str, *, limit: int) -> tuple[str, ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            keys = self._table.keys_before(pk, sk, limit=limit)
            self._answer = {
                "Items": [{"sk": {"S": key}} for key in keys],
                "Count": len(keys),
                "ScannedCount": len(keys),
            }
        return self._adapter.keys_before(pk, sk, limit=limit)

    def tail(self, pk: str, attribute: str, *, limit: int) -> tuple[tuple[str, str], ...]:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            found = self._table.tail(pk, attribute, limit=limit)
            self._answer = _page([{"sk": sk, attribute: text} for sk, text in reversed(found)])
        return self._adapter.tail(pk, attribute, limit=limit)

    def tally(self, pk: str, where: Equals, *, before: str = "", limit: int) -> Tally:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            tally = self._table.tally(pk, where, before=before, limit=limit)
            self._answer = {"Count": tally.matching, "ScannedCount": tally.items}
        return self._adapter.tally(pk, where, before=before, limit=limit)

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
        with self._wire.elsewhere():
            page = self._table.listing(name, where=where, after=after, limit=limit, descending=descending)
            last = {"LastEvaluatedKey": _attributes(page.after)} if page.after else {}
            self._answer = {**_page(page.items), **last}
        return self._adapter.listing(name, where=where, after=after, limit=limit, descending=descending)

    def get_listed(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`headway_service.ports.table.Table`. The answer is one batch."""
        self._answer_batch(lambda: self._table.get_listed(keys))
        return self._adapter.get_listed(keys)

    def _answer_batch(self, read: Callable[[], tuple[Item, ...]]) -> None:
        with self._wire.elsewhere():
            items = [_attributes(item) for item in read()]
            self._answer = {"Responses": {"queue": items}, "UnprocessedKeys": {}}

    def scan(self, sort_keys: Sequence[str], *, after: Key | None, limit: int) -> ScanPage:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            page = self._table.scan(sort_keys, after=after, limit=limit)
            last = {"LastEvaluatedKey": _attributes({"pk": page.after.pk, "sk": page.after.sk})} if page.after else {}
            self._answer = {**_page(page.items), **last}
        return self._adapter.scan(sort_keys, after=after, limit=limit)

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`headway_service.ports.table.Table`."""
        with self._wire.elsewhere():
            self._table.write(writes)
            self._answer = {}
        self._adapter.write(writes)


class _Body:
    """The body of an answer, as urllib3 hands it over."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


def _page(items: Sequence[Item]) -> dict[str, Any]:
    return {"Items": [_attributes(item) for item in items], "Count": len(items), "ScannedCount": len(items)}


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _serialize(value) for name, value in item.items()}
