from __future__ import annotations

import json

import pytest

from headway_client.errors import BusyError, ConflictError, NotReachableError, RefusedError, ServerFaultError
from headway_client.http import batch_submit
from headway_client.http.api import HeadwayApi
from headway_client.models import BatchResult
from tests.client.fakes.contract import request
from tests.client.fakes.server import ContractServer, Fault


def names(count: int) -> list[str]:
    return [f"job{number:03}" for number in range(count)]


def test_many_requests_are_sent_in_chunks_of_a_hundred(api: HeadwayApi, server: ContractServer):
    results = api.submit_many(request(name) for name in names(250))

    assert [len(json.loads(received.body)["requests"]) for received in server.received] == [100, 100, 50]
    assert [(result.index, result.name) for result in results] == list(enumerate(names(250)))
    assert all(result.submission is not None and result.submission.created for result in results)
    assert list(server.queue.jobs) == names(250)


def test_no_requests_are_no_call(api: HeadwayApi, server: ContractServer):
    assert api.submit_many([]) == []
    assert server.received == []


def test_each_request_is_accepted_or_refused_independently(api: HeadwayApi, server: ContractServer):
    api.submit(request("known"))
    api.submit(request("taken"))

    results = api.submit_many(
        [request("new"), request("known"), request("taken", RoleArn="arn:other"), request("x" * 70), {}]
    )

    assert [result.submission.created if result.submission else None for result in results] == [
        True, False, None, None, None,
    ]  # fmt: skip
    assert isinstance(results[2].error, ConflictError)
    assert results[2].error.code == "NameInUse"
    assert isinstance(results[3].error, RefusedError)
    assert [field.field for field in results[3].error.fields] == ["TrainingJobName"]
    assert results[4].name == ""


def test_each_result_is_reported_once_as_soon_as_it_is_known(api: HeadwayApi, server: ContractServer):
    server.queue.batch_size = 2
    told: list[BatchResult] = []

    results = api.submit_many([request(name) for name in names(5)], on_result=told.append)

    assert told == results
    assert [len(json.loads(received.body)["requests"]) for received in server.received] == [5, 3, 1]


def test_a_submission_that_was_retried_counts_as_created(api: HeadwayApi, server: ContractServer):
    server.fail(Fault(drop=True, after=True))

    results = api.submit_many([request(name) for name in names(3)])

    assert [result.submission.created for result in results if result.submission] == [True] * 3
    assert len({received.headers["idempotency-key"] for received in server.received}) == 1


def test_a_server_without_progress_is_not_retried_endlessly(api: HeadwayApi, server: ContractServer):
    server.queue.batch_size = 0

    (result,) = api.submit_many([request()])

    assert isinstance(result.error, BusyError)
    assert len(server.received) == batch_submit.MAX_FRUITLESS_SENDS


def test_too_large_requests_are_refused_by_the_client_and_chunks_are_bounded_by_size(
    api: HeadwayApi, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    length = len(json.dumps(request("job0"), separators=(",", ":")))
    monkeypatch.setattr(batch_submit, "MAX_BATCH_BYTES", 2 * length)
    large = request("large", Environment={"A": "x" * 2 * length})

    results = api.submit_many([request("job0"), large, request("job1"), request("job2")])

    assert [len(json.loads(received.body)["requests"]) for received in server.received] == [2, 1]
    assert isinstance(results[1].error, RefusedError)
    assert list(server.queue.jobs) == ["job0", "job1", "job2"]


def test_a_batch_fails_if_its_first_chunk_fails(api: HeadwayApi, server: ContractServer):
    server.fail(*[Fault(drop=True)] * 4)

    with pytest.raises(NotReachableError):
        api.submit_many([request(name) for name in names(150)])


def test_a_lost_queue_is_the_error_of_the_remaining_requests(api: HeadwayApi, server: ContractServer):
    told: list[int] = []

    def go_away_after_the_first_chunk(result: BatchResult) -> None:
        told.append(result.index)
        if len(told) == 100:
            server.fail(*[Fault(drop=True)] * 4)

    results = api.submit_many([request(name) for name in names(250)], on_result=go_away_after_the_first_chunk)

    assert [result.error is None for result in results] == [True] * 100 + [False] * 150
    assert isinstance(results[100].error, NotReachableError)
    assert told == list(range(250))
    assert len(server.received) == 1 + 4


@pytest.mark.parametrize("body", [b'{"results": []}', b"[]", b'{"results": [{"status": 201, "job": {}}]}'])
def test_an_answer_other_than_a_batch_is_the_servers_fault(api: HeadwayApi, server: ContractServer, body: bytes):
    server.fail(Fault(status=200, body=body))

    with pytest.raises(ServerFaultError):
        api.submit_many([request()])
