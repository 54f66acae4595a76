"""Read documents of JSON or YAML from files or standard input: what begins with a brace or a bracket is JSON."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway_client import json_text
from headway_client.cli.arguments.yaml_documents import parse_json_like
from headway_client.errors import RequestFileError

STANDARD_INPUT = "-"

_SPACES = re.compile(r"[ \t\n\r]*")

MAX_FILE_BYTES = 10_000_000
"""API Gateway's maximum for a request is 10 MB; the queue itself checks its own, lower limit."""

MAX_YAML_BYTES = 1_000_000
"""YAML takes more time and memory than JSON: the place of each value is kept."""


def read_object(source: str) -> dict[str, Any]:
    """Read one object of JSON or YAML from a file, or from standard input for ``-``.

    Raises:
        RequestFileError: it can't be read, or is not an object; the message has line and column.
    """
    name = name_of(source)
    values = [value for value, _ in _values_at(read_text(source), name)]
    if len(values) != 1 or not isinstance(values[0], dict):
        kind = _kind(values[0]) if len(values) == 1 else f"{len(values)} values"
        raise RequestFileError(f"{name} has to contain one object of JSON or YAML, not {kind}.")
    return values[0]


def read_object_or_text(source: str) -> dict[str, Any]:
    """Read one object of JSON or YAML from a file, or of JSON from the argument itself if that begins with a brace.

    Raises:
        RequestFileError: as `read_object`.
    """
    if not source.lstrip().startswith("{"):
        return read_object(source)
    (value, *more) = [value for value, _ in _json_values_at(source, "the argument")]
    if more:
        raise RequestFileError(f"The argument has to contain one JSON object, {{...}}, not {1 + len(more)} values.")
    return dict(value)


@dataclass(frozen=True, kw_only=True)
class Located:
    """An object and where it begins.

    Attributes:
        value: the object.
        place: such as ``sweep.jsonl, line 3`` or, in a list, ``sweep.json, item 3``.
    """

    value: dict[str, Any]
    place: str


def read_objects(source: str) -> list[Located]:
    """Read objects from a file, or from standard input for ``-``: one, several one after the other, or a list of them.

    In JSON, that is usually one per line; in YAML, several documents.

    Raises:
        RequestFileError: it can't be read, or contains something else; the message says where.
    """
    name = name_of(source)
    objects: list[Located] = []
    for value, line in _values_at(read_text(source), name):
        if isinstance(value, list):
            items = [(item, f"{name}, item {number}") for number, item in enumerate(value, 1)]
        else:
            items = [(value, f"{name}, line {line}")]
        for item, place in items:
            if not isinstance(item, dict):
                raise RequestFileError(f"{name} has to contain objects of JSON or YAML, not {_kind(item)}.")
            objects.append(Located(value=item, place=place))
    if not objects:
        raise RequestFileError(f"{name} contains no object.")
    return objects


def name_of(source: str) -> str:
    """Return the name of a file in messages."""
    return "standard input" if source == STANDARD_INPUT else source


def _values_at(text: str, name: str) -> Iterator[tuple[Any, int]]:
    """Yield the consecutive values of JSON or YAML in a text, each with its line."""
    begin = _after_spaces(text, 0)
    if text[begin : begin + 1] in {"{", "["}:
        yield from _json_values_at(text, name)
        return
    if len(text.encode()) > MAX_YAML_BYTES:
        raise RequestFileError(f"{name} is larger than {MAX_YAML_BYTES:,} bytes, the limit for YAML; use JSON.")
    yield from ((document.value, document.place.line) for document in parse_json_like(text, name))


def _json_values_at(text: str, name: str) -> Iterator[tuple[Any, int]]:
    """Yield the consecutive JSON values in a text, each with its line."""
    decoder = json.JSONDecoder(object_pairs_hook=_refuse_repeated, parse_constant=_refuse_constant)
    position = _after_spaces(text, 0)
    line, counted = 1, 0
    try:
        while position < len(text):
            # Only on from the value before: a file may have a million.
            line, counted = line + text.count("\n", counted, position), position
            value, position = decoder.raw_decode(text, position)
            json_text.require_depth(value)
            yield value, line
            position = _after_spaces(text, position)
    except json.JSONDecodeError as error:
        raise RequestFileError(
            f"{name} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}."
        ) from error
    except (RecursionError, json_text.NotJson) as error:
        raise RequestFileError(f"{name} is nested more than {json_text.MAX_DEPTH} deep.") from error
    except ValueError as error:
        raise RequestFileError(f"{name} is not valid: {error}") from error


def _after_spaces(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return match.end() if match else position


def read_text(source: str, *, max_bytes: int | None = None, of: str = "a request") -> str:
    """Read a text from a file, or from standard input for ``-``.

    Args:
        source: the file.
        max_bytes: of the file; by default those of a request.
        of: what the file describes, for the message.

    Raises:
        RequestFileError: it can't be read, is too large, or is not in UTF-8.
    """
    name = name_of(source)
    limit = MAX_FILE_BYTES if max_bytes is None else max_bytes
    try:
        if source == STANDARD_INPUT:
            content = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(source).open("rb") as file:
                content = file.read(limit + 1)
    except OSError as error:
        raise RequestFileError(f"{name} can't be read: {error.strerror}.") from error
    if len(content) > limit:
        raise RequestFileError(f"{name} is larger than {limit:,} bytes, the limit for {of}.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RequestFileError(f"{name} is not in UTF-8: see line {line}.") from error


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        repeated = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f'the key "{repeated}" appears twice in one object; keep one.')
    return document


def _refuse_constant(value: str) -> Any:
    raise ValueError(f"{value} is not a number in JSON.")


def _kind(document: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(document), "null")
