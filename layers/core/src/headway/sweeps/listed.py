"""A list: the hyperparameters of each member, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headway.sweeps.limits import MAX_MEMBERS
from headway.sweeps.parameters import Value, checked_names, checked_value, kind_of, text_of
from headway.sweeps.problems import Problem

LIST = "list"


@dataclass(frozen=True, slots=True)
class Listed:
    """Members as they are listed, each with a value for each of the same names."""

    names: tuple[str, ...]
    members: tuple[tuple[Value, ...], ...]

    @property
    def count(self) -> int:
        """The number of members."""
        return len(self.members)

    def values(self, index: int) -> dict[str, str]:
        """The hyperparameters of one member."""
        return {name: text_of(value) for name, value in zip(self.names, self.members[index], strict=True)}

    def document(self) -> dict[str, Any]:
        """The document that it is parsed from."""
        return {LIST: [dict(zip(self.names, values, strict=True)) for values in self.members]}


def parse_list(member: object, problems: list[Problem]) -> Listed:
    """Return what a document has as its list; it can be used if no problem is found.

    Args:
        member: the member ``list``.
        problems: gets what is wrong with it.
    """
    if not isinstance(member, list | tuple):
        problems.append(Problem(LIST, f"is {kind_of(member)}; write a list with an object for each member"))
    elif not member:
        problems.append(Problem(LIST, "is empty; add an object with the hyperparameters of a member"))
    elif len(member) > MAX_MEMBERS:
        problems.append(Problem(LIST, f"has {len(member):,} members; use up to {MAX_MEMBERS:,}"))
    else:
        return _members(member, problems)
    return Listed((), ())


def _members(listed: list[Any] | tuple[Any, ...], problems: list[Problem]) -> Listed:
    names = tuple(checked_names(listed[0], f"{LIST}[0]", []))
    seen: dict[tuple[str, ...], int] = {}
    members = []
    for position, each in enumerate(listed):
        path = f"{LIST}[{position}]"
        named = checked_names(each, path, problems)
        found = {name: checked_value(value, f"{path}.{name}", problems) for name, value in named.items()}
        if named:
            problems += _differences(path, names, tuple(named))
        values = [found[name] for name in names if name in found]
        usable = tuple(value for value in values if value is not None)
        if len(usable) < len(names) or not names:
            continue
        first = seen.setdefault(tuple(map(text_of, usable)), position)
        if first != position:
            message = f"is the same as {LIST}[{first}]; remove one, or add a hyperparameter that tells them apart"
            problems.append(Problem(path, message))
        members.append(usable)
    return Listed(names, tuple(members))


def _differences(path: str, names: tuple[str, ...], found: tuple[str, ...]) -> list[Problem]:
    if not names:
        return []
    missing = [
        Problem(path, f"has no {name!r:.80}, which {LIST}[0] has; add it") for name in names if name not in found
    ]
    extra = [
        Problem(f"{path}.{name}", f"is not in {LIST}[0]; give each member the same hyperparameters")
        for name in found
        if name not in names
    ]
    return missing + extra
