"""JSON documents as frozen dataclasses: how members are named, described and decoded.

A member's JSON name is its attribute's name in camelCase, unless :class:`Member` gives another one. The service encodes
them with pydantic, which reads the names from here.

No library does all that the two sides need: msgspec renames members of its own classes only, and pydantic takes too
long to import for each command of the client. Neither keeps members that this version does not know.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, reduce
from operator import or_
from typing import Any, ClassVar, NamedTuple, Self

from headway.errors import HeadwayError

_Decode = Callable[[Any], Any]


class WrongDocument(HeadwayError):
    """A JSON value is not the document that it should be.

    Attributes:
        path: where, such as ``jobs[3].priority``; empty for the document itself.
        problem: what is wrong there.
    """

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(f"`{path}` {problem}" if path else f"the document {problem}")
        self.path = path
        self.problem = problem

    def under(self, part: str) -> WrongDocument:
        """The same problem, seen from the value that has this one as its part."""
        inner = self.path if not self.path or self.path.startswith("[") else f".{self.path}"
        return WrongDocument(self.problem, f"{part}{inner}")


@dataclass(frozen=True)
class Member:
    """What there is to say of a member beside its type, in ``Annotated``.

    Attributes:
        description: for the OpenAPI document.
        name: in JSON, where it is not the attribute's name in camelCase.
        format: of a text (OpenAPI specification, data type format).
    """

    description: str = ""
    name: str = ""
    format: str = ""

    # pydantic, which makes the OpenAPI document of these classes, asks the annotations of a type for this method.
    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]) -> Any:
        own = {"description": self.description, "format": self.format}
        return {**handler(core_schema), **{key: text for key, text in own.items() if text}}


class ApiDocument:
    """A JSON object of the API. Subclasses are frozen dataclasses."""

    # How pydantic names members; and all of them are required, since none is left out of an answer.
    __pydantic_config__: ClassVar[Mapping[str, Any]]

    def __init_subclass__(cls) -> None:
        cls.__pydantic_config__ = {
            "alias_generator": lambda name: json_names(cls)[name],
            "json_schema_serialization_defaults_required": True,
        }

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Decode a JSON value. Members that this version does not know are ignored, and kept in :attr:`document`.

        A member that is missing, as an older queue may not send it, gets its default: the class's, None where it may
        be None, or False.

        Raises:
            WrongDocument: it is not such a document.
        """
        value: Self = _object_decoder(cls)(document)
        return value

    @property
    def document(self) -> Mapping[str, Any]:
        """The JSON object that this was decoded from, with the members that this version does not know."""
        raw: Mapping[str, Any] = vars(self)["_document"]
        return raw

    def with_document(self, document: Mapping[str, Any]) -> Self:
        """The same value, with this JSON object as the one that it was decoded from."""
        copy = dataclasses.replace(self)  # type: ignore[type-var]
        vars(copy)["_document"] = document
        return copy


def camel_case(name: str) -> str:
    """The JSON name of an attribute, e.g. ``nextToken`` of ``next_token``."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def json_names(kind: Any) -> Mapping[str, str]:
    """The JSON name of each attribute of a document's class."""
    return _json_names(kind)


@cache
def _json_names(kind: Any) -> Mapping[str, str]:
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = [field.name for field in dataclasses.fields(kind)]
    members = {name: [part for part in _metadata(hints[name]) if isinstance(part, Member)] for name in fields}
    return {name: next((each.name for each in found if each.name), camel_case(name)) for name, found in members.items()}


def _metadata(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__metadata__", ())


class _Part(NamedTuple):
    attribute: str
    json_name: str
    decode: _Decode
    missing: Callable[[], Any] | None


@cache
def _parts(kind: Any) -> tuple[_Part, ...]:
    hints = typing.get_type_hints(kind)
    names = _json_names(kind)
    fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(kind)
    return tuple(
        _Part(
            attribute=field.name,
            json_name=names[field.name],
            decode=_decoder(hints[field.name]),
            missing=_default(field, hints[field.name]),
        )
        for field in fields
    )


def _default(field: dataclasses.Field[Any], hint: Any) -> Callable[[], Any] | None:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    if field.default is not dataclasses.MISSING:
        return lambda: field.default
    if hint is bool:
        return bool
    return (lambda: None) if type(None) in _options(hint) else None


def _options(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in {types.UnionType, typing.Union} else (hint,)


def _object_decoder(kind: Any) -> _Decode:
    return _cached_decoder(kind)


@cache
def _cached_decoder(kind: Any) -> _Decode:
    parts = _parts(kind)

    def decode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise WrongDocument(f"is no object, but {_kind_of(value)}")
        # The constructor of a frozen dataclass sets one attribute after the other, which takes half of the time.
        decoded = object.__new__(kind)
        attributes = vars(decoded)
        for part in parts:
            if part.json_name in value:
                try:
                    attributes[part.attribute] = part.decode(value[part.json_name])
                except WrongDocument as error:
                    raise error.under(part.json_name) from None
            elif part.missing is not None:
                attributes[part.attribute] = part.missing()
            else:
                raise WrongDocument("is missing", part.json_name)
        attributes["_document"] = value
        return decoded

    return decode


def _decoder(hint: Any) -> _Decode:
    options = _options(hint)
    if type(None) in options:
        inner = _decoder(reduce(or_, (each for each in options if each is not type(None))))
        return lambda value: None if value is None else inner(value)
    if len(options) > 1:
        return _either(options)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return _list_decoder(_decoder(arguments[0]))
    if origin is not None:
        return _mapping_decoder(_decoder(arguments[1]))
    if hint is Any:
        return lambda value: value
    if issubclass(hint, ApiDocument):
        return _object_decoder(hint)
    return _enum_decoder(hint) if issubclass(hint, StrEnum) else _plain_decoder(hint)


def _either(options: tuple[Any, ...]) -> _Decode:
    """The first kind of object whose members are all there."""

    def decode(value: Any) -> Any:
        for kind in options:
            names = {part.json_name for part in _parts(kind) if part.missing is None}
            if isinstance(value, dict) and names <= value.keys():
                return _object_decoder(kind)(value)
        raise WrongDocument(f"is none of {', '.join(kind.__name__ for kind in options)}")

    return decode


def _list_decoder(decode_item: _Decode) -> _Decode:
    def decode(value: Any) -> Any:
        if not isinstance(value, list):
            raise WrongDocument(f"is no list, but {_kind_of(value)}")
        found = []
        for number, item in enumerate(value):
            try:
                found.append(decode_item(item))
            except WrongDocument as error:
                raise error.under(f"[{number}]") from None
        return tuple(found)

    return decode


def _mapping_decoder(decode_item: _Decode) -> _Decode:
    def decode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise WrongDocument(f"is no object, but {_kind_of(value)}")
        found = {}
        for name, item in value.items():
            try:
                found[name] = decode_item(item)
            except WrongDocument as error:
                raise error.under(name) from None
        return found

    return decode


def _enum_decoder(kind: type[StrEnum]) -> _Decode:
    known = {str(each): each for each in kind}
    decode_text = _plain_decoder(str)

    def decode(value: Any) -> Any:
        # A newer queue may know more than these; its word is kept as it is.
        return known.get(decode_text(value), value)

    return decode


def _plain_decoder(kind: type[Any]) -> _Decode:
    what = {str: "text", int: "whole number", float: "number", bool: "boolean"}[kind]
    # JSON has one kind of number. Types are compared, as bool is a subclass of int.
    kinds = {float, int} if kind is float else {kind}

    def decode(value: Any) -> Any:
        if type(value) not in kinds:
            raise WrongDocument(f"is no {what}, but {_kind_of(value)}")
        return value

    return decode


def _kind_of(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
