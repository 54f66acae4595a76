"""The client's errors: what they say once, and that they survive pickling, as between the processes of a pool."""

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


ONE = FieldMessage(field="ResourceConfig.InstanceCount", message="the pool has 2 instances, not 9")
TWICE = [FieldMessage(field=f"InputDataConfig[{i}].DataSource", message="is empty") for i in range(2)]


@pytest.mark.parametrize(
    ("message", "fields", "unlisted"),
    [
        ("the pool has 2 instances, not 9", [ONE], []),
        ("ResourceConfig.InstanceCount: the pool has 2 instances, not 9", [ONE], []),
        ("the request is not valid", [ONE], [ONE]),
        ("InputDataConfig[0].DataSource is empty (and 1 more)", TWICE, TWICE[1:]),
        ("is empty", TWICE, TWICE),
    ],
    ids=["the sentence alone", "with its field", "neither", "the same of another field", "the same of two fields"],
)
def test_an_error_says_once_what_is_wrong_with_a_field(
    message: str, fields: list[FieldMessage], unlisted: list[FieldMessage]
) -> None:
    assert list(RefusedError(message, fields=fields).unlisted_fields()) == unlisted
