"""The check of requests recognizes a request that is missing, is forgotten too early or is never forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.ports.table import Put
from headway_service.store.records.job import request_item
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.invariants.requests import check_requests
from headway_verification.soak.violations import Violated

ENDED = {"jobState": "completed", "expiresAt": 9}
WAITS = {"jobState": "pending"}


def table(job: dict[str, Any], request: dict[str, Any] | None) -> MemoryTable:
    made = MemoryTable()
    made.write([Put(item={"pk": "job#a", "sk": "job", "jobName": "a", **job})])
    if request is not None:
        made.write([Put(item={**request_item("a", "{}"), **request})])
    return made


@pytest.mark.parametrize(
    ("job", "request_attributes"),
    [
        (WAITS, {}),
        (ENDED, {"expiresAt": 9}),
        ({**ENDED, "summary": {"memberOf": "b"}}, None),
        ({**ENDED, "summary": {"memberOf": "b"}, "hasOwnRequest": True}, {"expiresAt": 9}),
    ],
    ids=["it waits", "it has ended", "a member", "a member with a request of its own"],
)
def test_a_request_is_kept_as_long_as_its_job(job: dict[str, Any], request_attributes: dict[str, Any] | None) -> None:
    check_requests(table(job, request_attributes))


@pytest.mark.parametrize(
    ("job", "request_attributes"),
    [
        (WAITS, None),
        (WAITS, {"expiresAt": 9}),
        (ENDED, {}),
        (ENDED, {"expiresAt": 8}),
        ({**ENDED, "summary": {"memberOf": "b"}, "hasOwnRequest": True}, None),
    ],
    ids=["missing", "may be forgotten", "stays", "is forgotten earlier", "of a member, missing"],
)
def test_a_request_that_is_kept_otherwise_is_a_violation(
    job: dict[str, Any], request_attributes: dict[str, Any] | None
) -> None:
    with pytest.raises(Violated, match="request"):
        check_requests(table(job, request_attributes))
