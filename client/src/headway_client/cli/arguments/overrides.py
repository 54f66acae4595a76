"""``--set key=value``: replace single fields of a request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway_client import json_text
from headway_client.errors import UsageError
from headway_client.request_tags import PRIORITY_TAGS, with_tag
from headway_client.sagemaker_sdk.submit_options import TEAM_TAGS

_TEXTS = ("HyperParameters", "Environment")
"""Maps in the request whose values are strings and whose keys may contain dots (source: CreateTrainingJob)."""

_TAGS = "Tags"


@dataclass(frozen=True, kw_only=True)
class Override:
    """A field of a request and its new value.

    Attributes:
        path: the names on the way to the field; digits are indexes of a list.
        value: any JSON value.
    """

    path: tuple[str, ...]
    value: Any


def parse(text: str) -> Override:
    """Parse ``key=value``.

    The key is a path with dots, such as ``ResourceConfig.InstanceCount`` or ``InputDataConfig.0.ChannelName``. The
    value is parsed as JSON if it is valid JSON, and is a string otherwise. After ``HyperParameters.``, ``Environment.``
    and ``Tags.`` the rest is one key, and the value is a string, as SageMaker requires.

    Raises:
        UsageError: the text does not have this form.
    """
    key, sign, value = text.partition("=")
    first, dot, rest = key.partition(".")
    texts = first in {*_TEXTS, _TAGS} and bool(dot)
    path = (first, rest) if texts else tuple(key.split("."))
    if not sign or not all(path):
        raise UsageError(
            f"{text!r} is not key=value, such as ResourceConfig.InstanceCount=2 or HyperParameters.lr=0.1."
        )
    return Override(path=path, value=value if texts else _json_or_text(value))


def apply(request: Mapping[str, Any], overrides: Sequence[Override]) -> dict[str, Any]:
    """Return a copy of a request with replaced fields.

    Args:
        overrides: the fields, which are replaced in order.

    Raises:
        UsageError: a path contains a field that does not exist.
    """
    changed = dict(request)
    for override in overrides:
        first, *rest = override.path
        if first == _TAGS and len(rest) == 1 and isinstance(override.value, str):
            replaced = next((keys for keys in (PRIORITY_TAGS, TEAM_TAGS) if rest[0] in keys), (rest[0],))
            changed = with_tag(changed, rest[0], override.value, replaced=replaced)
        else:
            changed = _with(changed, override.path, override)
    return changed


def _with(place: Any, path: Sequence[str], override: Override) -> Any:
    if not path:
        return override.value
    name, *rest = path
    if place is None:
        return {name: _with(None, rest, override)}
    if isinstance(place, Mapping):
        return {**place, name: _with(place.get(name), rest, override)}
    if isinstance(place, list):
        # The index after the last item appends.
        if not (name.isascii() and name.isdigit() and len(name) <= 9 and int(name) <= len(place)):
            raise UsageError(
                f"--set {'.'.join(override.path)}: {name!r} is not an index of that list; use 0 to {len(place)}."
            )
        index = int(name)
        item = _with(place[index] if index < len(place) else None, rest, override)
        return [*place[:index], item, *place[index + 1 :]]
    raise UsageError(f"--set {'.'.join(override.path)}: {name!r} is preceded by a value, which has no fields.")


def _json_or_text(value: str) -> Any:
    try:
        decoded = json.loads(value, parse_constant=_as_text)
        json_text.require_depth(decoded)
    except (ValueError, RecursionError):
        return value
    return decoded


def _as_text(value: str) -> str:
    # Python accepts NaN and Infinity, which are not JSON.
    raise ValueError(value)
