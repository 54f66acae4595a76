"""Texts of several lines: YAML, TOML, CSV, pairs of a name and a value."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from headway_verification.decoders.inputs.damage import damaged
from headway_verification.decoders.inputs.values import LONG, MAX_BYTES, nested, numbers, texts, wide

_UNITS = ("a", "- ", "[", "{", "? ", ": ", "&a ", "*a ", "!", "|", ">", "#", "'", '"', "\\", "\n", "\t", "%", ",", "0")


@st.composite
def changed_texts(draw: st.DrawFn, samples: Sequence[str], words: Sequence[str] = ()) -> bytes:
    """A valid text in which words are replaced, and lines repeated, moved or removed.

    Args:
        draw: Hypothesis's.
        samples: the valid texts.
        words: further words for their places.
    """
    lines = draw(st.sampled_from(samples)).split("\n")
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
        place = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["word", "word", "word", "remove", "repeat", "insert", "many"])):
            case "word":
                parts = lines[place].split(" ")
                parts[draw(st.integers(0, len(parts) - 1))] = draw(_words(words))
                lines[place] = " ".join(parts)
            case "remove" if len(lines) > 1:
                del lines[place]
            case "repeat":
                lines[place:place] = [lines[place]] * min(
                    draw(st.sampled_from([1, 2, 1000])), 1 + MAX_BYTES // (1 + len(lines[place]))
                )
            case "many":
                lines[place] += draw(st.sampled_from(_UNITS)) * draw(st.sampled_from([2, 100, LONG]))
            case _:
                lines.insert(place, draw(_words(words)))
        if sum(map(len, lines)) > MAX_BYTES:
            break
    return "\n".join(lines).encode("utf-8", "surrogatepass")[:MAX_BYTES]


def files(samples: Sequence[str], words: Sequence[str] = ()) -> st.SearchStrategy[bytes]:
    """Such texts, sometimes damaged.

    Args:
        samples: the valid texts.
        words: see :func:`changed_texts`.
    """
    changed = changed_texts(samples, words)
    return st.one_of(changed, changed, changed, damaged(changed))


def _words(words: Sequence[str]) -> st.SearchStrategy[str]:
    usual = st.one_of(texts, numbers.map(str), nested.map(str), wide.map(str))
    return st.one_of(st.sampled_from(words), usual) if words else usual
