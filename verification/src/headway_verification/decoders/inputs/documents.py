"""JSON documents: valid ones in which some places have other values, and texts that are no JSON any more."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from headway_verification.decoders.inputs.damage import damaged
from headway_verification.decoders.inputs.values import MAX_BYTES, Members, texts, values, written

_Place = tuple[Any, Any]
"""A list or an object, and an index or a name in it."""

_EDITS = ("replace", "replace", "replace", "replace", "remove", "add", "rename", "repeat", "swap")


@st.composite
def documents(draw: st.DrawFn, samples: Sequence[object], others: st.SearchStrategy[Any] | None = None) -> object:
    """A valid document in which up to three places are changed.

    Args:
        draw: Hypothesis's.
        samples: the valid documents, of JSON's types.
        others: further values for their places, such as those that the decoder knows.
    """
    document: Any = copy.deepcopy(draw(st.sampled_from(samples)))
    # What is drawn may be changed by the next edit.
    chosen = (values if others is None else st.one_of(others, values)).map(copy.deepcopy)
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 1, 2, 3]))):
        places = list(_places(document))
        if not places:
            return draw(chosen)
        container, key = places[draw(st.integers(0, len(places) - 1))]
        _edit(draw, container, key, chosen)
    return document


def json_texts(samples: Sequence[object], others: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[bytes]:
    """The JSON of such documents, sometimes damaged.

    Args:
        samples: the valid documents.
        others: see :func:`documents`.
    """
    text = st.one_of(documents(samples, others), documents(samples, others), documents(samples, others), values)
    content = text.map(lambda document: written(document).encode("utf-8", "surrogatepass")[:MAX_BYTES])
    return st.one_of(content, content, content, damaged(content))


@st.composite
def texts_in(draw: st.DrawFn, samples: Sequence[object]) -> bytes:
    """The JSON of a document of AWS's whose texts are other people's: they may be any text, numbers any number.

    Args:
        draw: Hypothesis's.
        samples: the documents.
    """
    document: Any = copy.deepcopy(draw(st.sampled_from(samples)))
    places = [(container, key) for container, key in _places(document) if isinstance(container[key], str | float)]
    for _ in range(draw(st.integers(0, 3))):
        container, key = draw(st.sampled_from(places))
        other = texts if isinstance(container[key], str) else st.floats(allow_nan=False, allow_infinity=False)
        container[key] = draw(other)
    return json.dumps(document).encode()


def _places(document: Any) -> Iterator[_Place]:
    members: Any = ()
    if isinstance(document, dict):
        members = document.items()
    elif isinstance(document, list):
        members = enumerate(document)
    for key, value in members:
        yield document, key
        yield from _places(value)


def _edit(draw: st.DrawFn, container: Any, key: Any, chosen: st.SearchStrategy[Any]) -> None:
    edit = draw(st.sampled_from(_EDITS))
    if isinstance(container, list):
        match edit:
            case "remove":
                del container[key]
            case "add":
                container.insert(key, draw(chosen))
            case "repeat":
                container[key:key] = [container[key]] * draw(st.sampled_from([1, 2, 50]))
            case _:
                container[key] = draw(chosen)
        return
    match edit:
        case "remove":
            del container[key]
        case "add":
            container[draw(texts)] = draw(chosen)
        case "rename":
            container[draw(texts)] = container.pop(key)
        case "repeat" if isinstance(container[key], dict):
            pairs = [(name, copy.deepcopy(each)) for name, each in container[key].items()]
            container[key] = Members(pairs + pairs)
        case "swap":
            other = draw(st.sampled_from(sorted(container)))
            container[key], container[other] = container[other], container[key]
        case _:
            container[key] = draw(chosen)
