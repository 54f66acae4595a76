"""Refusals."""

from __future__ import annotations

import json
from functools import cache

from pydantic import TypeAdapter

from headway.api_documents.refusals import Error, Refusal, WrongField
from headway_service.errors import RequestError


@cache
def _refusals() -> TypeAdapter[Refusal]:
    # Built at the first refusal, not in each cold start.
    return TypeAdapter(Refusal)


def refusal_body(error: RequestError, request_id: str) -> str:
    """A refusal, as JSON.

    Args:
        error: why.
        request_id: of the invocation.
    """
    refusal = Refusal(error=error_document(error), request_id=request_id)
    return json.dumps(_refusals().dump_python(refusal, mode="json", by_alias=True))


def error_document(error: RequestError) -> Error:
    """An error of a call."""
    fields = tuple(WrongField(field=each.field, message=each.message) for each in error.fields)
    return Error(code=error.code, message=str(error), fields=fields)
