"""Whether a response conforms to the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from headway.api_documents.codec import ApiDocument
from headway_service.api import openapi


def check(method: str, path: str, status: int, body: str) -> None:
    """Fail unless the document has this call, this status of it, and this kind of answer."""
    operation = _operation(method, path)
    if operation is None:
        assert status == 404
        names = {"Refusal"}
    else:
        assert str(status) in operation["responses"], f"{method} {path} answered {status}, which is told nowhere"
        names = _names(operation["responses"][str(status)]["content"]["application/json"]["schema"])
    problems = [problem for name in sorted(names) if (problem := _problem(name, body))]
    assert len(problems) < max(1, len(names)), problems


def _operation(method: str, path: str) -> dict[str, Any] | None:
    for template, operations in openapi.document()["paths"].items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
            found: dict[str, Any] | None = operations.get(method.lower())
            return found
    return None


def _names(schema: dict[str, Any]) -> set[str]:
    return {each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", [schema]) if "$ref" in each}


def _problem(name: str, body: str) -> str:
    try:
        _adapter(name).validate_json(body, extra="forbid")
    except ValidationError as error:
        return str(error)
    return ""


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(next(kind for kind in _kinds(ApiDocument) if kind.__name__ == name))


def _kinds(kind: type[ApiDocument]) -> Iterator[type[ApiDocument]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)
