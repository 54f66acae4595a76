"""The conditions of writes by place in the code: which were set, which failed, and how to remove them.

The places are found by running the code: each write with a condition records the functions that it comes from. So a new
condition is known as soon as any code reaches it, and :func:`unreached` finds those that were not reached.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import headway_service
from headway_service.errors import Conflict
from headway_service.ports.table import (
    Absent,
    AllEqual,
    AllOf,
    AtLeast,
    Check,
    Condition,
    Delete,
    Equals,
    Key,
    Put,
    Update,
    Write,
)
from headway_service.store import transitions
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.feed import FEED
from headway_service.store.transitions import shared
from headway_service.testing.memory_table import MemoryTable, holds

_PACKAGE = headway_service.__name__
_SOURCES = Path(headway_service.__file__).parent
_TRANSITIONS = f"{transitions.__name__.partition('.')[2]}."
_SHARED = shared.__name__.partition(".")[2]
_SHAPES = ("store.records", "ports.")
"""Modules that turn records into writes."""

_ITEMS = {
    "line": "the queue entry",
    "pause": "the pause of the pool",
    "pause of all": "the pause of everything",
    "rogue": "the rogue job",
    "warm": "the warm pool",
}
"""Names of items in titles; all others are named by kind."""


@dataclass(frozen=True, order=True)
class Place:
    """A place in the code where a condition of a write is set.

    Attributes:
        module: such as ``store.transitions.job``.
        line: the line at which the function sets the condition.
        function: the function. The helpers of transitions (private functions, and all of ``shared``) count as parts of
            the functions that call them.
        item: the kind of the item that the condition applies to.
        condition: the condition in words.
    """

    module: str
    line: int
    function: str
    item: str
    condition: str

    @property
    def title(self) -> str:
        """Function and condition; equal for places in one function that set the same condition."""
        return f"{self.function}: {_ITEMS.get(self.item, f'the {self.item}')} {self.condition}"

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.module.replace('.', '/')}.py:{self.line}"


Call = tuple[str, int, int]
"""A call in the code: module, and line and column where it ends."""

_CONDITIONS = (Absent, Equals, AtLeast, AllEqual, AllOf)


@dataclass
class Record:
    """The recorded conditions.

    Attributes:
        places: where conditions were set.
        calls: the calls involved.
        decided: the sets of places whose conditions failed together: without all of them the write would have
            succeeded.
    """

    places: set[Place] = field(default_factory=set)
    calls: set[Call] = field(default_factory=set)
    decided: set[frozenset[Place]] = field(default_factory=set)


@contextmanager
def recorded() -> Iterator[Record]:
    """Record the conditions of all writes to in-memory tables until the context ends."""
    record = Record()
    made: dict[int, tuple[Write, list[tuple[Place, Condition]]]] = {}
    whole = MemoryTable.write

    def note(write: Write, requires: Condition) -> None:
        frames = _frames()
        if _module(frames[-1]).startswith(_SHAPES):
            # A trial has made the write by hand: no function of the service sets the condition.
            return
        parts = [(_place(frames[-1], write.key, each), each) for each in _parts(requires)]
        record.calls.update(map(_call, frames))
        record.places.update(place for place, _ in parts)
        # The write is kept, so that its id is not reused.
        made[id(write)] = (write, parts)

    def write(self: MemoryTable, writes: Sequence[Write]) -> None:
        try:
            whole(self, writes)
        except Conflict as conflict:
            record.decided.add(
                frozenset(
                    place
                    for each in (writes[i] for i in conflict.failed)
                    for place, part in made[id(each)][1]
                    if not holds(part, self.get(each.key))
                )
            )
            raise

    with ExitStack() as stack:
        stack.enter_context(_on_each(note))
        stack.enter_context(mock.patch.object(MemoryTable, "write", write))
        for kind in _CONDITIONS:
            recording = _then(kind.__init__, lambda: record.calls.update(map(_call, _frames()[:1])))
            stack.enter_context(mock.patch.object(kind, "__init__", recording))
        yield record


@contextmanager
def without(places: Collection[Place]) -> Iterator[None]:
    """Remove the conditions of these places."""

    def drop(write: Write, requires: Condition) -> None:
        setter = _frames()[-1]
        left = [each for each in _parts(requires) if _place(setter, write.key, each) not in places]
        object.__setattr__(write, "requires", _joined(left))

    with _on_each(drop):
        yield


@contextmanager
def _on_each(hook: Callable[[Write, Condition], None]) -> Iterator[None]:
    """Call the hook for each write with a condition."""
    with ExitStack() as stack:
        for kind in (Put, Update, Delete, Check):
            stack.enter_context(mock.patch.object(kind, "__init__", _hooked(kind.__init__, hook)))
        yield


def _hooked(whole: Callable[..., None], hook: Callable[[Write, Condition], None]) -> Callable[..., None]:
    def init(self: Write, *, requires: Condition | None = None, **rest: Any) -> None:
        whole(self, requires=requires, **rest)
        if requires is not None:
            hook(self, requires)

    return init


def _parts(condition: Condition) -> list[Condition]:
    """Split a condition on several attributes."""
    if isinstance(condition, AllEqual):
        return [AllEqual((each,)) for each in condition.values]
    if isinstance(condition, AllOf):
        return list(condition.conditions)
    return [condition]


def _joined(parts: Sequence[Condition]) -> Condition | None:
    values = [value for each in parts if isinstance(each, AllEqual) for value in each.values]
    if values:
        return AllEqual(tuple(values))
    if len(parts) > 1:
        return AllOf(tuple(each for each in parts if isinstance(each, Equals | AtLeast)))
    return parts[0] if parts else None


def _then(whole: Callable[..., None], after: Callable[[], None]) -> Callable[..., None]:
    def init(self: Condition, *args: Any, **kwargs: Any) -> None:
        whole(self, *args, **kwargs)
        after()

    return init


def _frames() -> list[FrameType]:
    """Return the service's calls that lead here, innermost first, up to the first function that is not a helper."""
    found = []
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals["__name__"].partition(".")[0] == _PACKAGE:
            found.append(frame)
            if not _is_helper(frame):
                break
        frame = frame.f_back
    return found


def _is_helper(frame: FrameType) -> bool:
    module, function = _module(frame), frame.f_code.co_qualname
    return module.startswith(_SHAPES) or _helps_transitions(module, function) or "<" in function


def _helps_transitions(module: str, function: str) -> bool:
    return module == _SHARED or (module.startswith(_TRANSITIONS) and function.startswith("_"))


def _module(frame: FrameType) -> str:
    name: str = frame.f_globals["__name__"]
    return name.partition(".")[2]


def _call(frame: FrameType) -> Call:
    """Return the call that a function is making."""
    # An instruction is two bytes long.
    _, line, _, column = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return _module(frame), line or 0, column or 0


def _place(setter: FrameType, key: Key, condition: Condition) -> Place:
    kind = _kind(key)
    return Place(
        module=_module(setter),
        line=setter.f_lineno,
        function=setter.f_code.co_qualname,
        item=kind,
        condition=_words(kind, condition),
    )


def _kind(key: Key) -> str:
    if key == PauseRecord.key(PauseRecord.EVERYTHING):
        return "pause of all"
    if key.pk == FEED:
        return f"{FEED} {key.sk.partition('#')[0]}"
    if key.pk == LEDGER:
        return key.sk.partition("#")[0]
    return key.sk if key.pk == "config" else key.pk.partition("#")[0]


def _words(kind: str, condition: Condition) -> str:
    match condition:
        case Absent():
            return "does not exist"
        case Equals(attribute=attribute) if attribute == kind:
            # An attribute that repeats the key.
            return "exists"
        case Equals():
            return f"has the {condition.attribute} that was read"
        case AtLeast():
            return f"has enough {condition.attribute}"
        case AllEqual():
            return " and ".join(
                f"has {name} 0" if value == 0 else f"has the {name} that was read" for name, value in condition.values
            )
        case _:
            raise ValueError(f"{condition} is not a condition of a write")


def unreached(calls: Collection[Call]) -> list[str]:
    """Return the file and line of each call in the service that sets a condition and is not in ``calls``."""
    return [
        f"{module.replace('.', '/')}.py:{line}"
        for (module, *end), line in _calls().items()
        if (module, *end) not in calls
    ]


@cache
def _calls() -> dict[Call, int]:
    """Return the calls that set conditions, with their first lines."""
    found = {}
    trees = {
        ".".join(path.relative_to(_SOURCES).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(_SOURCES.rglob("*.py"))
    }
    helpers = _helpers({module: tree for module, tree in trees.items() if module.startswith(_TRANSITIONS)})
    for module, tree in trees.items():
        calls = list(_setting(tree, helpers if module.startswith(_TRANSITIONS) else ()))
        if calls:
            names = {kind.__name__ for kind in _CONDITIONS}
            calls += [each for each in ast.walk(tree) if isinstance(each, ast.Call) and _name(each) in names]
        found.update({(module, each.end_lineno or 0, each.end_col_offset or 0): each.lineno for each in calls})
    return found


def _helpers(trees: Mapping[str, ast.AST]) -> frozenset[str]:
    """Return the transition helpers that set conditions, directly or through each other."""
    functions = [
        each
        for module, tree in trees.items()
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and _helps_transitions(module, each.name)
    ]
    known: frozenset[str] = frozenset()
    while True:
        more = frozenset(each.name for each in functions if any(True for _ in _setting(each, known)))
        if more == known:
            return known
        known = more


def _setting(tree: ast.AST, helpers: Collection[str]) -> Iterator[ast.Call]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _sets_condition(call, helpers):
            yield call


def _sets_condition(call: ast.Call, helpers: Collection[str]) -> bool:
    """Return whether a call makes a write with a condition: by keyword, by a record's method, or through a helper."""
    given = [each.value for each in call.keywords if each.arg in {"requires", "was"}]
    if any(not (isinstance(value, ast.Constant) and value.value is None) for value in given):
        return True
    if isinstance(call.func, ast.Attribute):
        return call.func.attr == "delete" and not call.args and not call.keywords
    return _name(call) == Check.__name__ or _name(call) in helpers


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""
