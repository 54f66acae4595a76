"""The client's errors survive pickling, as between the processes of a pool."""

from __future__ import annotations

import inspect
import pickle

import pytest

from headway_client import errors
from headway_client.errors import BatchRefusedError, ClientError, FieldMessage, RefusedError
from headway_client.models import BatchResult

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, ClientError) and kind is not BatchRefusedError
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_is_the_same_after_pickling(kind: type[ClientError]) -> None:
    error = kind(
        "it is wrong", code="Wrong", fields=[FieldMessage(field="a.b", message="is wrong")], status=400, request_id="r"
    )
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (kind, str(error), vars(error))


def test_refusals_of_a_batch_are_the_same_after_pickling() -> None:
    refused = BatchResult(index=0, name="a", error=RefusedError("it is wrong", code="Wrong"))
    error = BatchRefusedError([refused])
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.results[0].name, str(copy.results[0].error)) == (str(error), "a", "it is wrong")
