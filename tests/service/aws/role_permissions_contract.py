"""What every RolePermissions answers: the double in memory, and IAM, for which the sandbox stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from headway_service.errors import PermissionsUnknown
from headway_service.ports.role_permissions import Permission, RolePermissions

BUCKET = "arn:aws:s3:::research"
LIST = "s3:ListBucket"
READ = "s3:GetObject"
PREFIX = "s3:prefix"


class Subject(NamedTuple):
    """Permissions, and the function that makes a role with a policy and returns its ARN."""

    permissions: RolePermissions
    make_role: Callable[[str, Sequence[Mapping[str, Any]]], str]


def allow(action: str, *resources: str, **condition: Any) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": action, "Resource": list(resources)}
    return {**statement, "Condition": condition} if condition else statement


def deny(action: str, *resources: str, **condition: Any) -> dict[str, Any]:
    return {**allow(action, *resources, **condition), "Effect": "Deny"}


class RolePermissionsContract:
    """A subclass has a fixture ``subject``."""

    def ask(
        self,
        subject: Subject,
        statements: Sequence[Mapping[str, Any]],
        action: str,
        *resources: str,
        context: Mapping[str, str] | None = None,
    ) -> Permission:
        role = subject.make_role(f"r{abs(hash(repr((statements, action, resources))))}", statements)
        return subject.permissions.ask(role, action, resources, context or {})

    def test_what_a_policy_allows_is_allowed(self, subject: Subject) -> None:
        found = self.ask(subject, [allow(LIST, BUCKET)], LIST, BUCKET)
        assert found == Permission(is_allowed=True)

    @pytest.mark.parametrize(
        "statements",
        [
            [allow(READ, f"{BUCKET}/*")],
            [allow(LIST, f"{BUCKET}2")],
            [allow("s3:*", "*"), deny(LIST, BUCKET)],
        ],
        ids=["another action", "another bucket", "denied"],
    )
    def test_what_no_policy_allows_or_one_denies_is_not(
        self, subject: Subject, statements: list[dict[str, Any]]
    ) -> None:
        assert self.ask(subject, statements, LIST, BUCKET) == Permission(is_allowed=False)

    def test_of_several_resources_each_has_to_be_allowed(self, subject: Subject) -> None:
        statements = [allow(READ, f"{BUCKET}/a/*", f"{BUCKET}/b")]
        keys = [f"{BUCKET}/a/1", f"{BUCKET}/b", f"{BUCKET}/a/ä 2"]
        assert self.ask(subject, statements, READ, *keys).is_allowed
        for position in range(4):
            others = [*keys[:position], f"{BUCKET}/c", *keys[position:]]
            assert not self.ask(subject, statements, READ, *others).is_allowed

    def test_a_condition_on_the_prefix_is_missing_until_it_is_known(self, subject: Subject) -> None:
        statements = [allow(LIST, BUCKET, StringLike={PREFIX: ["mine/*", "mine"]})]
        assert self.ask(subject, statements, LIST, BUCKET) == Permission(is_allowed=False, missing=frozenset({PREFIX}))
        for prefix, allowed in (("mine/", True), ("mine/x", True), ("mine", True), ("min", False), ("", False)):
            found = self.ask(subject, statements, LIST, BUCKET, context={PREFIX: prefix})
            assert found == Permission(is_allowed=allowed), prefix

    def test_a_denial_that_depends_on_the_prefix_is_missing_it_too(self, subject: Subject) -> None:
        statements = [allow(LIST, BUCKET), deny(LIST, BUCKET, StringLike={PREFIX: "secret/*"})]
        assert self.ask(subject, statements, LIST, BUCKET).missing == {PREFIX}
        assert not self.ask(subject, statements, LIST, BUCKET, context={PREFIX: "secret/x"}).is_allowed
        assert self.ask(subject, statements, LIST, BUCKET, context={PREFIX: "x"}) == Permission(is_allowed=True)

    def test_a_condition_that_nothing_is_known_about_is_missing(self, subject: Subject) -> None:
        tagged = {"s3:ExistingObjectTag/class": "secret"}
        statements = [allow(READ, f"{BUCKET}/*"), deny(READ, f"{BUCKET}/*", StringEquals=tagged)]
        found = self.ask(subject, statements, READ, f"{BUCKET}/a", f"{BUCKET}/b")
        assert found.missing == {"s3:existingobjecttag/class"}

    def test_a_condition_of_a_statement_about_others_is_not(self, subject: Subject) -> None:
        statements = [allow(LIST, BUCKET), deny(READ, f"{BUCKET}/*", StringEquals={"s3:ExistingObjectTag/a": "b"})]
        assert self.ask(subject, statements, LIST, BUCKET) == Permission(is_allowed=True)

    def test_every_request_is_encrypted(self, subject: Subject) -> None:
        statements = [allow(LIST, BUCKET), deny(LIST, BUCKET, Bool={"aws:SecureTransport": "false"})]
        assert self.ask(subject, statements, LIST, BUCKET) == Permission(is_allowed=True)

    def test_of_a_role_that_does_not_exist_nothing_is_known(self, subject: Subject) -> None:
        with pytest.raises(PermissionsUnknown):
            subject.permissions.ask("arn:aws:iam::000000000000:role/nobody", LIST, [BUCKET], {})
