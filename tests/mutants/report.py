"""Table of mutants, and its faults: survivors without a reason, reasons without a survivor. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What has become of a mutant. Those "by types" are refused by mypy, as before each commit."""

    KILLED = "killed"
    UNTYPED = "by types"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    UNTRIED = "not tried"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of the code.

    Attributes:
        module: the module, by its last name.
        function: the mutated function, with its class.
        status: what has become of it.
        diff: the change as a unified diff; only of survivors.
    """

    module: str
    function: str
    status: Status
    diff: str = ""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a mutant may survive.

    Attributes:
        module: as of the mutant.
        function: as of the mutant; ``*`` for the same change in any function of the module.
        diff: the changed lines as :func:`changed` gives them; lines around them may stand before and after, to tell
            two changes of one function apart.
        reason: one line.
    """

    module: str
    function: str
    diff: str
    reason: str


def changed(diff: str) -> str:
    """The lines that a unified diff takes out and puts in, without their places and their indentation."""
    return "\n".join(_changes(_body(diff)))


def table(mutants: Sequence[Mutant], reasons: Sequence[Reason]) -> str:
    """The table by module, and below it the survivors that have a reason."""
    lines = [f"{'module':<14}{'mutants':>9}" + "".join(f"{status:>11}" for status in Status) + f"{'no reason':>11}"]
    for name in [*dict.fromkeys(each.module for each in mutants), "all"]:
        mine = [each for each in mutants if name in {"all", each.module}]
        counts = Counter(each.status for each in mine)
        unexplained = sum(_reason_of(each, reasons) is None for each in mine if each.status is Status.SURVIVED)
        row = "".join(f"{counts[status]:>11}" for status in Status)
        lines.append(f"{name:<14}{len(mine):>9}{row}{unexplained:>11}")
    for each in mutants:
        if each.status is Status.SURVIVED and (reason := _reason_of(each, reasons)) is not None:
            lines += ["", f"{each.module} {each.function}: {reason.reason}", _indented(changed(each.diff))]
    return "\n".join(lines)


def problems(mutants: Sequence[Mutant], reasons: Sequence[Reason]) -> list[str]:
    """Survivors without a reason, reasons that fit none or several, and modules that are not finished, each in words.

    A reason is not stale while its module has mutants that were not tried.
    """
    survivors = [each for each in mutants if each.status is Status.SURVIVED]
    unfinished = sorted({each.module for each in mutants if each.status is Status.UNTRIED})
    fitting = {reason: sum(_fits(reason, each) for each in survivors) for reason in reasons}
    return [
        *(
            f"no reason: {each.module} {each.function}\n{_indented(changed(each.diff))}"
            for each in survivors
            if _reason_of(each, reasons) is None
        ),
        *(
            f"stale reason: {each.module} {each.function}: {each.reason}\n{_indented(each.diff)}"
            for each in reasons
            if not fitting[each] and each.module not in unfinished
        ),
        *(
            f"ambiguous reason: {each.module} {each.function}: {each.reason}: add the line before or after the change"
            for each in reasons
            if fitting[each] > 1 and each.function != "*"
        ),
        *(f"not finished: {name}" for name in unfinished),
    ]


def _reason_of(mutant: Mutant, reasons: Iterable[Reason]) -> Reason | None:
    return next((each for each in reasons if _fits(each, mutant)), None)


def _fits(reason: Reason, mutant: Mutant) -> bool:
    if reason.module != mutant.module or reason.function not in {"*", mutant.function}:
        return False
    body, wanted = _body(mutant.diff), _lines(reason.diff)
    places = range(len(body) - len(wanted) + 1)
    return _changes(body) == _changes(wanted) and any(body[i : i + len(wanted)] == wanted for i in places)


def _body(diff: str) -> list[str]:
    """The lines of a unified diff behind its heads, without their indentation."""
    lines = diff.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("@@")), -1)
    return [f"{line[0]} {line[1:].strip()}" if line[:1] in {"-", "+"} else line.strip() for line in lines[first + 1 :]]


def _changes(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line[:2] in {"- ", "+ "}]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in _lines(text))
