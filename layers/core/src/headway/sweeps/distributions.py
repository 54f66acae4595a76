"""The distributions that random values are from.

A value depends on its draw only, which is a fraction of 0 to 1, and is computed in decimal arithmetic, whose results
are exactly defined: the logarithms of floating-point libraries differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Protocol

from headway.sweeps.grid import checked_choices
from headway.sweeps.parameters import Value, is_number, kind_of, shown
from headway.sweeps.problems import Problem

# An own context, as that of the thread may be anything. Twice the digits of a float, so that only the last step rounds.
_EXACT = Context(prec=34)

_MAX_INTEGER = 2**63
"""Whole numbers are below, as far as most programs can read them."""


class Distribution(Protocol):
    """What the values of one hyperparameter are drawn from."""

    def value(self, draw: Fraction) -> Value:
        """The value for a draw of at least 0 and below 1."""

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Numbers between two others, each equally likely."""

    low: float
    high: float

    def value(self, draw: Fraction) -> float:
        """The number for a draw."""
        return _within(_between(Decimal(self.low), Decimal(self.high), draw), self.low, self.high)

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from."""
        return {"uniform": [self.low, self.high]}


@dataclass(frozen=True, slots=True)
class LogUniform:
    """Numbers between two others, whose logarithms are equally likely."""

    low: float
    high: float

    def value(self, draw: Fraction) -> float:
        """The number for a draw."""
        logarithm = _between(_EXACT.ln(Decimal(self.low)), _EXACT.ln(Decimal(self.high)), draw)
        return _within(_EXACT.exp(logarithm), self.low, self.high)

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from."""
        return {"logUniform": [self.low, self.high]}


@dataclass(frozen=True, slots=True)
class Integer:
    """Whole numbers between two others, which are included."""

    low: int
    high: int

    def value(self, draw: Fraction) -> int:
        """The number for a draw."""
        return self.low + int(draw * (self.high - self.low + 1))

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from."""
        return {"integer": [self.low, self.high]}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values."""

    options: tuple[Value, ...]

    def value(self, draw: Fraction) -> Value:
        """The value for a draw."""
        return self.options[int(draw * len(self.options))]

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from."""
        return {"choice": list(self.options)}


def parse_distribution(member: object, path: str, problems: list[Problem]) -> Distribution | None:
    """Return what the values of a hyperparameter are drawn from; None if that is wrong.

    Args:
        member: what the document has.
        path: where it is.
        problems: gets what is wrong with it.
    """
    known = ", ".join(_KINDS)
    if not isinstance(member, Mapping):
        problems.append(Problem(path, f"is {kind_of(member)}; write an object with one of {known}"))
        return None
    unknown = [name for name in member if name not in _KINDS]
    problems += [Problem(path, f"has {shown(name)}; use one of {known}") for name in unknown]
    if unknown:
        return None
    if len(member) != 1:
        problems.append(Problem(path, f"has {' and '.join(member) or 'nothing'}; use one of {known}"))
        return None
    ((kind, argument),) = member.items()
    return _KINDS[kind](argument, f"{path}.{kind}", problems)


def _uniform(argument: object, path: str, problems: list[Problem]) -> Uniform | None:
    found = _range(argument, path, problems)
    return None if found is None else Uniform(*found)


def _log_uniform(argument: object, path: str, problems: list[Problem]) -> LogUniform | None:
    found = _range(argument, path, problems)
    if found is not None and found[0] <= 0:
        problems.append(Problem(f"{path}[0]", f"is {found[0]}; a logarithm needs numbers above 0"))
        return None
    return None if found is None else LogUniform(*found)


def _integer(argument: object, path: str, problems: list[Problem]) -> Integer | None:
    found = _range(argument, path, problems)
    if found is None:
        return None
    wrong = [place for place in (0, 1) if type(found[place]) is not int or abs(found[place]) >= _MAX_INTEGER]
    problems += [
        Problem(f"{path}[{place}]", f"is {shown(found[place])}; use a whole number below 2^63") for place in wrong
    ]
    return None if wrong else Integer(int(found[0]), int(found[1]))


def _choice(argument: object, path: str, problems: list[Problem]) -> Choice | None:
    if not isinstance(argument, list | tuple):
        problems.append(Problem(path, f"is {kind_of(argument)}; write a list of values"))
        return None
    return Choice(checked_choices(argument, path, problems))


_KINDS: Mapping[str, Callable[[object, str, list[Problem]], Distribution | None]] = {
    "uniform": _uniform,
    "logUniform": _log_uniform,
    "integer": _integer,
    "choice": _choice,
}


def _range(argument: object, path: str, problems: list[Problem]) -> tuple[Any, Any] | None:
    if not isinstance(argument, list | tuple) or len(argument) != 2:
        problems.append(Problem(path, "has to be a list of two numbers, the lowest and the highest"))
        return None
    wrong = [place for place in (0, 1) if not is_number(argument[place])]
    problems += [Problem(f"{path}[{place}]", f"is {shown(argument[place])}; use a finite number") for place in wrong]
    if wrong:
        return None
    low, high = argument
    if low >= high:
        problems.append(Problem(path, f"is from {shown(low)} to {shown(high)}; write the lower number first"))
        return None
    return low, high


def _between(low: Decimal, high: Decimal, draw: Fraction) -> Decimal:
    share = _EXACT.divide(Decimal(draw.numerator), Decimal(draw.denominator))
    return _EXACT.add(low, _EXACT.multiply(share, _EXACT.subtract(high, low)))


def _within(value: Decimal, low: float, high: float) -> float:
    # It may round to just beyond.
    return min(max(float(value), float(low)), float(high))
