"""Many requests handed in at once: cut into chunks, sent, and sent again where the server had no time for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from headway.api_documents.batches import BatchResults, Refused, Taken
from headway_client.errors import BusyError, ClientError, RefusedError, ServerFaultError
from headway_client.http import error_mapping
from headway_client.models import BatchResult, Submission
from headway_client.models.decode import decode

MAX_BATCH_REQUESTS = 100
"""The most requests that the server takes at a time."""

MAX_BATCH_BYTES = 4_000_000
"""The most bytes of requests sent at a time; a Lambda function takes 6 MB, in which the body stands quoted
(source: Lambda's quotas, invocation payload)."""

MAX_FRUITLESS_SENDS = 4
"""How often a chunk is sent, in a row, without the server having time for any of its requests."""


class Batch:
    """Requests, and what came of each so far."""

    def __init__(
        self,
        requests: Sequence[Mapping[str, Any]],
        *,
        endpoint: str,
        on_result: Callable[[BatchResult], None] | None = None,
    ) -> None:
        self._requests = requests
        self._endpoint = endpoint
        self._on_result = on_result
        self._results: dict[int, BatchResult] = {}

    def submit(
        self, send: Callable[[Sequence[Mapping[str, Any]]], object], pause: Callable[[int], None]
    ) -> list[BatchResult]:
        """Send all requests and return what came of each, in their order.

        Args:
            send: sends requests and returns the answer's document.
            pause: waits before requests are sent again that were sent so many times.

        Raises:
            ClientError: already the first chunk could not be sent.
        """
        for chunk in self._chunks():
            try:
                self._submit_chunk(chunk, send, pause)
            except ClientError as error:
                if not self._results:
                    raise
                self._fail_the_rest(error)
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
            told = {index: self._outcome(answer) for index, answer in zip(chunk, answers, strict=True)}
            busy = [index for index, one in told.items() if isinstance(one, BusyError)]
            fruitless = fruitless + 1 if len(busy) == len(chunk) else 0
            last = fruitless == MAX_FRUITLESS_SENDS
            for index, one in told.items():
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

    def _fail_the_rest(self, error: ClientError) -> None:
        for index in range(len(self._requests)):
            if index not in self._results:
                self._settle(index, error=error)

    def _settle(self, index: int, *, submission: Submission | None = None, error: ClientError | None = None) -> None:
        name = str(self._requests[index].get("TrainingJobName") or "")
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
