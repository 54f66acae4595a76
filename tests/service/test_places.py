"""Whether a training role may read a place is asked of IAM, seldom, and what is not clear is no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headway_service import places
from headway_service.places import REMEMBERED_MS, UNKNOWN_MS, Places
from headway_service.ports.objects import Location
from headway_service.testing.memory_role_permissions import EVERYTHING, MemoryRolePermissions

ROLE = "arn:aws:iam::123456789012:role/service-role/training"
BUCKET = "arn:aws:s3:::research"


class Asking:
    """Places, with a role that has these statements."""

    def __init__(self, *statements: Mapping[str, Any], role: str = ROLE) -> None:
        self.role = role
        self.now_ms = 0
        self.permissions = MemoryRolePermissions({role: list(statements) or [EVERYTHING]})
        self.places = Places(lambda: self.permissions, lambda: self.now_ms)

    def may_list(self, key: str = "mine/x") -> bool:
        return self.places.may_list(self.role, Location(bucket="research", key=key))

    def may_read(self, *keys: str) -> bool:
        return self.places.may_read(self.role, "research", keys)


def statement(action: str, resource: str, effect: str = "Allow", **condition: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, "Condition": condition}


def test_one_answer_is_for_all_prefixes_of_a_bucket_if_the_policies_do_not_tell_them_apart() -> None:
    asking = Asking()
    assert [asking.may_list(f"{i}") for i in range(100)] == [True] * 100
    assert asking.permissions.calls == [(ROLE, "s3:ListBucket", (BUCKET,), {})]


def test_each_prefix_is_asked_for_if_they_do() -> None:
    asking = Asking(statement("s3:ListBucket", BUCKET, StringLike={"s3:prefix": "mine/*"}))
    assert [asking.may_list(key) for key in ("mine/x", "mine/y", "mine/x", "min", "", "other")] == [
        *[True] * 3,
        *[False] * 3,
    ]
    assert [context for *_, context in asking.permissions.calls] == [
        {},
        *({"s3:prefix": key} for key in ("mine/x", "mine/y", "min", "", "other")),
    ]


def test_a_denial_of_some_prefixes_counts() -> None:
    asking = Asking(EVERYTHING, statement("s3:*", "*", "Deny", StringLike={"s3:prefix": "secret/*"}))
    assert (asking.may_list("mine/x"), asking.may_list("secret/x")) == (True, False)


@pytest.mark.parametrize("effect", ["Allow", "Deny"])
def test_what_depends_on_something_that_nobody_knows_is_not_read(effect: str) -> None:
    condition = {"StringEquals": {"s3:ExistingObjectTag/class": "secret"}}
    asking = Asking(EVERYTHING, statement("s3:*", "*", effect, **condition))
    assert (asking.may_list(), asking.may_read("a")) == (False, False)


def test_all_files_are_asked_for_with_one_call_and_each_has_to_be_allowed() -> None:
    asking = Asking(statement("s3:GetObject", f"{BUCKET}/mine/*"))
    assert asking.may_read("mine/a", "mine/b")
    assert not asking.may_read("mine/a", "other", "mine/b")
    assert len(asking.permissions.calls) == 2
    assert asking.may_read()
    assert len(asking.permissions.calls) == 2


@pytest.mark.parametrize("key", ["mine/*", "mine/?", "mine/${aws:username}"])
def test_a_name_that_iam_would_take_for_a_pattern_is_not_asked_for(key: str) -> None:
    asking = Asking()
    assert not asking.may_read("mine/a", key)
    assert asking.permissions.calls == []


def test_an_answer_is_used_for_a_minute_and_the_lack_of_one_for_seconds() -> None:
    asking = Asking()
    asking.permissions.unknown = True
    assert not asking.may_list()
    asking.permissions.unknown = False
    asking.now_ms = UNKNOWN_MS - 1
    assert not asking.may_list()
    asking.now_ms = UNKNOWN_MS
    assert asking.may_list()
    asking.permissions.statements[ROLE] = []
    asking.now_ms += REMEMBERED_MS - 1
    assert asking.may_list()
    asking.now_ms += 1
    assert not asking.may_list()
    assert len(asking.permissions.calls) == 3


def test_another_role_is_another_question() -> None:
    asking = Asking()
    assert asking.may_list()
    asking.role = "arn:aws:iam::123456789012:role/other"
    asking.permissions.statements[asking.role] = []
    assert not asking.may_list()


def test_the_answers_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MAX_REMEMBERED", 2)
    asking = Asking()
    for name in ("a", "b", "c"):
        assert asking.may_read(name)
    assert len(asking.places._remembered) == 1
    assert asking.may_read("c")
    assert len(asking.permissions.calls) == 3


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov"])
def test_resources_are_of_the_roles_partition(partition: str) -> None:
    asking = Asking(role=f"arn:{partition}:iam::123456789012:role/training")
    assert asking.may_list()
    assert asking.permissions.calls[0][2] == (f"arn:{partition}:s3:::research",)
