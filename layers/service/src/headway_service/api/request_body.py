"""Decodes a request's body: one JSON text that all parsers read in the same way (RFC 7493, I-JSON)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from headway_service.errors import FieldError, InvalidRequest, UnsupportedMediaType
from headway_service.sagemaker_api import characters

MAX_DEPTH = 32
"""Objects and lists inside each other. The deepest that SageMaker, the policy and a batch take has 10."""

MAX_NUMBER = 2**53 - 1
"""The largest whole number, and with a minus the least: what every JSON library reads exactly (RFC 7493, 2.2)."""

_JSON = "application/json"
_BODY = "(the body)"
_MAX_NAMED = 25


def document_in(content_type: str, text: str | None) -> Any:
    """Decode a body.

    Python's own decoder also accepts values that JSON does not have (``NaN``), values that other parsers read
    differently (duplicate members, numbers beyond a double's range), and text that UTF-8 cannot encode (half a
    surrogate pair).

    Args:
        content_type: the header; a request without it counts as JSON.
        text: the body.

    Returns:
        The document; None without a body.

    Raises:
        UnsupportedMediaType: its Content-Type is not JSON.
        InvalidRequest: it is not a valid JSON text.
    """
    if content_type and content_type.partition(";")[0].strip().lower() != _JSON:
        raise UnsupportedMediaType(f"a body is JSON: send it with the header Content-Type: {_JSON}")
    if not text:
        return None
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_int=_whole_number)
        _require_depth(document)
        # Escapes may encode half a surrogate pair, and a number infinity; both show only when it is encoded again.
        written = json.dumps(document, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        raise _illegible(f"is no JSON: {error.msg}, line {error.lineno}, column {error.colno}") from None
    except ValueError:
        raise _illegible("holds a number that is none, such as NaN, or one that is too large for JSON") from None
    try:
        written.encode()
    except UnicodeEncodeError:
        raise _without_encoding(document) from None
    return document


def _without_encoding(document: Any) -> InvalidRequest:
    found = [*islice(characters.errors(document), _MAX_NAMED)]
    where = f" in {found[0].field}" if found[0].field else ""
    named = [replace(each, field=each.field or _BODY) for each in found]
    return InvalidRequest(f"the body holds half a surrogate pair, which is no character{where}", named)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) < len(members):
        raise _illegible("holds an object with two members of one name: keep one")
    return document


def _whole_number(digits: str) -> int:
    # Many digits take long to read, so they are counted first.
    number = int(digits) if len(digits) <= len(str(-MAX_NUMBER)) else None
    if number is None or abs(number) > MAX_NUMBER:
        raise _illegible(f"holds a whole number beyond {MAX_NUMBER}")
    return number


def _require_depth(document: Any) -> None:
    level, depth = [document], 0
    while level := [inner for each in level for inner in _inside(each)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep()


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep() -> InvalidRequest:
    return _illegible(f"is nested more than {MAX_DEPTH} deep")


def _illegible(problem: str) -> InvalidRequest:
    return InvalidRequest(f"the body {problem}", [FieldError(field=_BODY, message=problem)])
