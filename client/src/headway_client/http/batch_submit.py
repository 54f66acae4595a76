"""Submit many requests: split them into chunks, send these, and retry requests for which the server had no time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from headway.api_documents.batches import BatchResults, Refused, Taken
from headway_client.alternatives import name_in
from headway_client.errors import BusyError, ClientError, RefusedError, ServerFaultError
from headway_client.http import error_mapping
from headway_client.http.decode import decode
from headway_client.models import BatchResult, Submission

MAX_BATCH_REQUESTS = 100
"""Maximum number of requests in one call of the server."""

MAX_BATCH_BYTES = 4_000_000
"""Maximum number of bytes of requests in one call; a Lambda function accepts 6 MB, which contain the body as a JSON
string (source: Lambda's quotas, invocation payload)."""

QUEUE_FULL = "QueueFull"
"""The code of a refusal because too many jobs wait already."""

MAX_FRUITLESS_SENDS = 4
"""Maximum number of consecutive tries of a chunk in which the server has no time for any of its requests."""


class Batch:
    """Requests with their results so far.

    Args:
        requests: as for `HeadwayApi.submit`, one mapping per job.
        endpoint: the API's URL, for error messages.
        on_result: called with each result as soon as it is available.
        stop_when_full: send no further chunk after one with a request for which the queue was full.
    """

    def __init__(
        self,
        requests: Sequence[Mapping[str, Any]],
        *,
        endpoint: str,
        on_result: Callable[[BatchResult], None] | None = None,
        stop_when_full: bool = False,
    ) -> None:
        self._stop_when_full = stop_when_full
        self._requests = requests
        self._endpoint = endpoint
        self._on_result = on_result
        self._results: dict[int, BatchResult] = {}

    def submit(
        self, send: Callable[[Sequence[Mapping[str, Any]]], object], pause: Callable[[int], None]
    ) -> list[BatchResult]:
        """Send all requests.

        Args:
            send: sends requests and returns the document of the response.
            pause: waits before a retry; its argument is the number of tries so far.

        Returns:
            The results in the order of the requests.

        Raises:
            ClientError: sending the first chunk failed.
        """
        for chunk in self._chunks():
            try:
                self._submit_chunk(chunk, send, pause)
            except ClientError as error:
                if not self._results:
                    raise
                self._fail_the_rest(error)
                break
            full = next((self._results[index].error for index in chunk if self._is_full(index)), None)
            if self._stop_when_full and full is not None:
                self._fail_the_rest(full)
                break
        return [self._results[index] for index in range(len(self._requests))]

    def _chunks(self) -> Iterator[list[int]]:
        chunk: list[int] = []
        size = 0
        for index, request in enumerate(self._requests):
            length = len(json.dumps(request, separators=(",", ":")))
            if length > MAX_BATCH_BYTES:
                self._settle(index, error=_too_large(length))
                continue
            if chunk and (len(chunk) == MAX_BATCH_REQUESTS or size + length > MAX_BATCH_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(index)
            size += length
        if chunk:
            yield chunk

    def _submit_chunk(
        self,
        chunk: list[int],
        send: Callable[[Sequence[Mapping[str, Any]]], object],
        pause: Callable[[int], None],
    ) -> None:
        fruitless = 0
        while chunk:
            answers = _answers(send([self._requests[index] for index in chunk]), len(chunk))
            outcomes = {index: self._outcome(answer) for index, answer in zip(chunk, answers, strict=True)}
            busy = [index for index, one in outcomes.items() if isinstance(one, BusyError)]
            fruitless = fruitless + 1 if len(busy) == len(chunk) else 0
            last = fruitless == MAX_FRUITLESS_SENDS
            for index, one in outcomes.items():
                if isinstance(one, Submission):
                    self._settle(index, submission=one)
                elif last or index not in busy:
                    self._settle(index, error=one)
            chunk = [] if last else busy
            if chunk:
                pause(fruitless + 1)

    def _outcome(self, answer: Taken | Refused) -> Submission | ClientError:
        if isinstance(answer, Taken):
            return Submission(job=answer.job, created=answer.status == 201)
        return error_mapping.error_from_document(self._endpoint, answer.status, answer.document)

    def _is_full(self, index: int) -> bool:
        error = self._results[index].error
        return error is not None and error.code == QUEUE_FULL

    def _fail_the_rest(self, error: ClientError) -> None:
        for index in range(len(self._requests)):
            if index not in self._results:
                self._settle(index, error=error)

    def _settle(self, index: int, *, submission: Submission | None = None, error: ClientError | None = None) -> None:
        name = name_in(self._requests[index])
        result = BatchResult(index=index, name=name, submission=submission, error=error)
        self._results[index] = result
        if self._on_result is not None:
            self._on_result(result)


def _answers(document: object, count: int) -> tuple[Taken | Refused, ...]:
    results = decode(BatchResults, document).results
    if len(results) != count:
        raise ServerFaultError(
            f"The queue returned results for {len(results)} of {count} requests. Please report this."
        )
    return results


def _too_large(length: int) -> RefusedError:
    return RefusedError(
        f"The request has {length:,} bytes; a batch may have {MAX_BATCH_BYTES:,}.", code="RequestTooLarge"
    )
