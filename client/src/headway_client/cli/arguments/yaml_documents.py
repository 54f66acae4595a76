"""Read YAML documents with the line of each of their values.

Values are those of YAML 1.2, of which JSON is a part: ``1e-4`` is a number, and ``no`` and ``2026-01-01`` are text,
unlike in PyYAML's own reading of YAML 1.1. Only the events of its parser are used, so that no tag creates an object, no
alias repeats a part, and no nesting exhausts the stack.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from headway_client.errors import RequestFileError

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 20

_MAX_DIGITS = 3_000
"""Python reads no whole numbers of more than 4,300 digits."""

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?=[0-9.]*[.eE])(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NO_NUMBER = re.compile(r"[-+]?(\.inf|\.Inf|\.INF|Infinity)|\.nan|\.NaN|\.NAN|NaN")
_PART_END = re.compile(r"[.[]")
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
"""A character that JSON writes as two (RFC 8259, section 7), after backslashes that do not belong to it."""

_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
}


_MAX_PARTS = 64
"""Ends of a part of a path that are tried: a name with more points is hardly one."""


@dataclass(kw_only=True, slots=True)
class Place:
    """A value's line, and those of the values in it by ``name`` or ``[index]``.

    A path of each value as a text would take memory without end: a long name, and a list of many values under it.
    """

    line: int
    inner: dict[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class YamlDocument:
    """A document and where its values are.

    Attributes:
        value: the document, as its JSON would be read.
        place: where it is.
    """

    value: Any
    place: Place

    def line(self, path: str) -> int:
        """Return the line of the value at a path, or else of the nearest value around it.

        Args:
            path: such as ``grid.lr[2]``; the document's own path is empty.
        """
        place, rest = self.place, path
        while rest:
            # Names may contain points, so that the first one need not be the end of one.
            end = next((end for end in islice(_ends(rest), _MAX_PARTS) if rest[:end] in place.inner), None)
            if end is None:
                break
            place, rest = place.inner[rest[:end]], rest[end:].removeprefix(".")
        return place.line


def parse_yaml(text: str, name: str) -> YamlDocument:
    """Read one YAML document.

    Args:
        text: the document.
        name: of the file, for messages.

    Raises:
        RequestFileError: it is not one YAML document of mappings, lists and values; the message has the line and the
            column.
    """
    (document,) = _parse(text, _Reading(name, one=True, as_json=False))
    return document


def parse_json_like(text: str, name: str) -> list[YamlDocument]:
    """Read YAML documents of what JSON has, too: without infinity and what is not a number.

    Args:
        text: the documents.
        name: of the file, for messages.

    Raises:
        RequestFileError: as `parse_yaml`.
    """
    return _parse(text, _Reading(name, one=False, as_json=True))


def _parse(text: str, reading: _Reading) -> list[YamlDocument]:
    import yaml

    if _is_json(text):
        # YAML is not indented with tabs, and JSON has none in its texts. YAML does not write a character as two.
        text = _SURROGATES.sub(lambda found: found[1] + json.loads(f'"{found[2]}"'), text.replace("\t", " "))
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            reading.add(event)
    except yaml.MarkedYAMLError as error:
        raise RequestFileError(f"{reading.name} is not YAML: {_syntax(error, text)}.") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        raise RequestFileError(
            f"{reading.name} is not YAML: line {line}, column {column} has a control character; remove it."
        ) from error
    if not reading.found:
        raise RequestFileError(f"{reading.name} is empty.")
    return reading.found


def _ends(path: str) -> Iterator[int]:
    """Where the first part of a path may end."""
    yield from (found.start() for found in _PART_END.finditer(path, 1))
    yield len(path)


@dataclass
class _Open:
    """A mapping or a list whose end was not read yet."""

    value: dict[str, Any] | list[Any]
    place: Place
    #: Of a mapping: the key whose value comes next.
    key: str | None = None
    key_lines: dict[str, int] = field(default_factory=dict)

    def next_place(self, line: int) -> Place:
        """The place of the value that comes next."""
        part = f"[{len(self.value)}]" if isinstance(self.value, list) else str(self.key)
        place = self.place.inner[part] = Place(line=line)
        return place

    def add(self, value: object) -> None:
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is not None:
            self.value[self.key] = value
            self.key = None


class _Reading:
    """Builds the documents from the parser's events.

    Args:
        name: of the file, for messages.
        one: whether a second document is refused.
        as_json: whether numbers are refused that JSON does not have.

    Attributes:
        found: the documents.
    """

    def __init__(self, name: str, *, one: bool, as_json: bool) -> None:
        self.name = name
        self._one = one
        self._as_json = as_json
        self._open: list[_Open] = []
        self._place = Place(line=1)
        self.found: list[YamlDocument] = []

    def add(self, event: yaml.Event) -> None:
        import yaml

        match event:
            case yaml.DocumentStartEvent() if self.found and self._one:
                raise self._wrong(event, "begins a second document; keep one")
            case yaml.AliasEvent():
                raise self._wrong(event, f"has the alias *{event.anchor}; write the value itself")
            case yaml.ScalarEvent():
                self._refuse_tag(event)
                self._add_scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._refuse_tag(event)
                self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._add(self._open.pop().value)
            case _:
                pass

    def _add_scalar(self, event: yaml.ScalarEvent) -> None:
        line = _line(event)
        inner = self._open[-1] if self._open else None
        text = event.value
        if inner is None or isinstance(inner.value, list) or inner.key is not None:
            self._next_place(line)
            # Only plain scalars are anything but text; the two parsers give their style as "" and as None.
            value = text if event.style else plain_value(text)
            if self._as_json and isinstance(value, float) and not math.isfinite(value):
                raise self._wrong(event, f"has {text}, which is not a number in JSON")
            self._add(value)
            return
        if text in inner.value:
            first = inner.key_lines[text]
            raise self._wrong(event, f'has the key "{text}" again, as line {first} has; keep one')
        inner.key = text
        inner.key_lines[text] = line

    def _begin(self, value: dict[str, Any] | list[Any], event: yaml.Event) -> None:
        inner = self._open[-1] if self._open else None
        if inner is not None and isinstance(inner.value, dict) and inner.key is None:
            raise self._wrong(event, "has a list or a mapping as a key; use text")
        if len(self._open) >= MAX_DEPTH:
            raise self._wrong(event, f"is nested too deeply; use up to {MAX_DEPTH} levels")
        self._open.append(_Open(value, self._next_place(_line(event))))

    def _add(self, value: object) -> None:
        if self._open:
            self._open[-1].add(value)
        else:
            self.found.append(YamlDocument(value=value, place=self._place))

    def _next_place(self, line: int) -> Place:
        if self._open:
            return self._open[-1].next_place(line)
        self._place = Place(line=line)
        return self._place

    def _refuse_tag(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise self._wrong(event, f"has the tag {tag}; remove it")

    def _wrong(self, event: yaml.Event, what: str) -> RequestFileError:
        column = event.start_mark.column + 1 if event.start_mark else 1
        return RequestFileError(f"{self.name}, line {_line(event)}, column {column} {what}.")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def plain_value(text: str) -> str | int | float | bool | None:
    """Return what a text without quotes is: a word or a number of YAML 1.2, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _MAX_DIGITS and _INTEGER.fullmatch(text):
        return int(text)
    if _NO_NUMBER.fullmatch(text):
        return float(text.replace(".", ""))
    return float(text) if _FLOAT.fullmatch(text) else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _syntax(error: yaml.MarkedYAMLError, text: str) -> str:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return str(error.problem)
    line = "".join(text.split("\n")[mark.line : mark.line + 1])
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent or line[mark.column : mark.column + 1] == "\t":
        column = len(line) - len(line.lstrip(" ")) + 1
        return f"line {mark.line + 1}, column {column} has a tab; use spaces"
    return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
