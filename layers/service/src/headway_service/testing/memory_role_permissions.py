"""Permissions of roles without AWS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway_service.errors import PermissionsUnknown
from headway_service.ports.role_permissions import Permission

EVERYTHING: Mapping[str, Any] = {"Effect": "Allow", "Action": "*", "Resource": "*"}
"""A statement that allows everything."""

_ROLES = "arn:aws:iam::123456789012:role/"
_GIVEN = {"aws:securetransport": "true"}


@dataclass
class MemoryRolePermissions:
    """A :class:`headway_service.ports.role_permissions.RolePermissions` in memory.

    Of conditions it knows ``Bool``, ``StringEquals``, ``StringLike`` and ``StringNotLike``.

    Attributes:
        statements: those of the policies of a role, by its ARN; a role of the account of tests may do everything
            without, and no other role exists.
        calls: the calls, as role, action, resources and context.
        unknown: whether every call fails.
    """

    statements: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    calls: list[tuple[str, str, tuple[str, ...], dict[str, str]]] = field(default_factory=list)
    unknown: bool = False

    def ask(self, role: str, action: str, resources: Sequence[str], context: Mapping[str, str]) -> Permission:
        """See :class:`headway_service.ports.role_permissions.RolePermissions`."""
        self.calls.append((role, action, tuple(resources), dict(context)))
        if self.unknown:
            raise PermissionsUnknown("Throttling (HTTP 400)")
        if role not in self.statements and not role.startswith(_ROLES):
            raise PermissionsUnknown("NoSuchEntity (HTTP 404)")
        statements = self.statements.get(role, [EVERYTHING])
        known = {**_GIVEN, **{name.lower(): value for name, value in context.items()}}
        missing = {
            key
            for resource in resources
            for each in statements
            if _is_about(each, action, resource)
            for _, key, _ in _conditions(each)
            if key not in known
        }
        allowed = all(_is_allowed(statements, action, resource, known) for resource in resources)
        return Permission(is_allowed=allowed, missing=frozenset(missing))


def _is_allowed(
    statements: Sequence[Mapping[str, Any]], action: str, resource: str, context: Mapping[str, str]
) -> bool:
    effects = {each["Effect"] for each in statements if _is_about(each, action, resource) and _holds(each, context)}
    return effects == {"Allow"}


def _is_about(statement: Mapping[str, Any], action: str, resource: str) -> bool:
    actions, resources = _listed(statement["Action"]), _listed(statement["Resource"])
    return any(_like(action.lower(), each.lower()) for each in actions) and any(
        _like(resource, each) for each in resources
    )


def _holds(statement: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    return all(_condition_holds(operator, context.get(key), values) for operator, key, values in _conditions(statement))


def _condition_holds(operator: str, value: str | None, values: Sequence[str]) -> bool:
    if operator == "StringNotLike":
        return value is None or not any(_like(value, each) for each in values)
    return value is not None and any(
        value == each if operator in {"Bool", "StringEquals"} else _like(value, each) for each in values
    )


def _conditions(statement: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    for operator, keys in statement.get("Condition", {}).items():
        for key, values in keys.items():
            yield operator, key.lower(), _listed(values)


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _like(text: str, pattern: str) -> bool:
    known = {"*": ".*", "?": "."}
    return bool(re.fullmatch("".join(known.get(each) or re.escape(each) for each in pattern), text, re.DOTALL))
