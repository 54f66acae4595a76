"""Removes one safeguard after the other, and sees what notices: a soak that cannot fail proves nothing.

All trials and lives run with the same random sources each time. So without a condition they go as they do with it, up
to the first write that this condition alone makes fail. First each trial runs as it is and notes the ways in which that
happens; only these are tried again without the condition. The same holds for other safeguards and the ways that use
them. Lives follow where no trial notices.

Some conditions of one write never fail alone: what changes a running job changes its attempt, too. Such a condition is
removed together with those that failed with it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from typing import Any

from headway_verification.soak.conditions import Call, Place, recorded, without
from headway_verification.soak.crash_points import Way, crashes, meetings, undisturbed, violation_in
from headway_verification.soak.interleavings import DUELS
from headway_verification.soak.mutations import PATCHES, REASONS
from headway_verification.soak.random_run import live
from headway_verification.soak.scenarios import SITUATIONS

Safeguard = Place | frozenset[Place] | str
"""A condition, conditions that fail together, or the name of one of :data:`PATCHES`."""

Case = Way | int
"""A way of a trial, or the seed of a life."""

BATCH = 8
"""Cases that are tried at once before others have their turn."""

SPREAD = 6
"""Ways of one trial in which a safeguard that is no condition is removed: evenly spread, as most ways use it."""

MAX_LIVES = 40
"""Lives in which one safeguard is removed at most."""


@dataclass(frozen=True, kw_only=True)
class Trialled:
    """A trial to be looked at: a duel, or a situation with crashes."""

    name: str
    is_duel: bool

    def ways(self) -> Sequence[Way]:
        """All its ways."""
        situation = DUELS[self.name].situation if self.is_duel else SITUATIONS[self.name]
        trial = undisturbed(self.name, situation)
        return meetings(trial) if self.is_duel else crashes(trial)


TRIALS = (
    *(Trialled(name=name, is_duel=True) for name in DUELS),
    *(Trialled(name=name, is_duel=False) for name in SITUATIONS),
)
"""Duels first, as most conditions are about concurrent actors."""


@dataclass(kw_only=True)
class Survey:
    """What some cases do as the code is.

    Attributes:
        places: where conditions were set.
        calls: the calls that did it.
        cases: where a safeguard may make a difference.
        broken: promises that are broken though nothing is removed.
        cpu_s: the processor time, s.
    """

    places: set[Place] = field(default_factory=set)
    calls: set[Call] = field(default_factory=set)
    cases: dict[Safeguard, list[Case]] = field(default_factory=lambda: defaultdict(list))
    broken: list[str] = field(default_factory=list)
    cpu_s: float = 0.0


@dataclass(kw_only=True)
class Attempt:
    """The result of cases without a safeguard: the first that failed, if any did, and its message."""

    noticed_by: Case | None = None
    violation: str = ""
    cpu_s: float = 0.0


def survey_trial(trial: Trialled) -> Survey:
    """See what matters in a trial."""
    with redirect_stdout(StringIO()):
        ways = trial.ways()
    return survey(ways)


def survey(cases: Iterable[Case]) -> Survey:
    """See what matters in which case."""
    began_s = time.process_time()
    found = Survey()
    for case in cases:
        with recorded() as record, _watched() as used:
            violation = _violation(case)
        if violation:
            found.broken.append(f"{_told(case)}: {violation}")
        found.places |= record.places
        found.calls |= record.calls
        # In an order that is the same in each run.
        for places in sorted(record.decided, key=sorted):
            found.cases[next(iter(places)) if len(places) == 1 else places].append(case)
        for name in sorted(used):
            found.cases[name].append(case)
    found.cpu_s = time.process_time() - began_s
    return found


def attempt(safeguard: Safeguard, cases: Sequence[Case]) -> Attempt:
    """Try cases without a safeguard until one notices."""
    began_s = time.process_time()
    found = Attempt()
    for case in cases:
        with removed(safeguard):
            violation = _violation(case)
        if violation:
            found = Attempt(noticed_by=case, violation=violation)
            break
    found.cpu_s = time.process_time() - began_s
    return found


def removed(safeguard: Safeguard) -> AbstractContextManager[Any]:
    """The code without a safeguard."""
    if isinstance(safeguard, str):
        return PATCHES[safeguard].removed()
    return without([safeguard] if isinstance(safeguard, Place) else safeguard)


@contextmanager
def _watched() -> Iterator[set[str]]:
    """Notes which of :data:`PATCHES` are used."""
    used: set[str] = set()
    with ExitStack() as stack:
        for name, patch in PATCHES.items():
            stack.enter_context(patch.watched(partial(used.add, name)))
        yield used


def _violation(case: Case) -> str | None:
    with redirect_stdout(StringIO()):
        try:
            return violation_in(case) if isinstance(case, Way) else live(case).violation
        except Exception as error:  # noqa: BLE001 - what does not even come to an end is noticed, too
            return f"{type(error).__name__}: {error}"


def _told(case: Case) -> str:
    if isinstance(case, int):
        return f"life {case}"
    return f"{'duel' if case.accident is None else 'situation'} `{case.name}`, {case}"


@dataclass(kw_only=True, eq=False)
class Row:
    """One safeguard, and the results of its removal."""

    safeguard: Safeguard
    #: What there is left to try.
    waiting: list[Case] = field(default_factory=list)
    is_tried: bool = False
    tried: int = 0
    lives: int = 0
    noticed_by: Case | None = None
    violation: str = ""
    cpu_s: float = 0.0

    @property
    def title(self) -> str:
        """The removed safeguard."""
        if isinstance(self.safeguard, frozenset):
            return ", and ".join(each.title for each in sorted(self.safeguard))
        return self.safeguard if isinstance(self.safeguard, str) else self.safeguard.title

    @property
    def where(self) -> str:
        """The place in the code, of a condition."""
        return self.safeguard.where if isinstance(self.safeguard, Place) else ""

    @property
    def verdict(self) -> str:
        """The case that failed, and its message."""
        if self.noticed_by is None:
            return f"not noticed in {self.tried} cases where it matters"
        return f"{_told(self.noticed_by)}: {self.violation}"


class Removal:
    """Removes safeguards, on the processes of a pool.

    Args:
        pool: where.
        say: called with each line of the report as soon as it is known.
        only: safeguards with this text in their titles, and no others.
        reasons: why conditions need not be noticed, by function, item and condition.

    Attributes:
        rows: the removed safeguards.
        together: conditions that failed together, and in which cases.
        calls: the calls that set conditions.
        broken: promises that are broken though nothing is removed.
        survey_cpu_s: the processor time of the surveys, s.
    """

    def __init__(
        self,
        pool: Executor,
        say: Callable[[str], None],
        *,
        only: str = "",
        reasons: Mapping[tuple[str, str, str], str] = REASONS,
    ) -> None:
        self._pool = pool
        self._say = say
        self._only = only
        self._reasons = reasons
        self._began_s = time.perf_counter()
        self.rows: dict[Safeguard, Row] = {}
        self.together: dict[frozenset[Place], list[Case]] = defaultdict(list)
        self.calls: set[Call] = set()
        self.broken: list[str] = []
        self.survey_cpu_s = 0.0

    def run(self, trials: Sequence[Trialled], seeds: Sequence[int], processes: int) -> bool:
        """Remove all safeguards that trials, and then random runs, reach; report which cases fail.

        Returns:
            Whether each is noticed, or need not be.
        """
        for name in PATCHES:
            self._row(name)
        self._work([partial(survey_trial, trial) for trial in trials], processes)
        self._work([partial(survey, [seed]) for seed in seeds], processes, lives=True)
        self._open_together()
        self._work([], processes)
        return self._conclude()

    def reason(self, row: Row) -> str:
        """Why a row need not be noticed; empty if it has to be."""
        place = row.safeguard
        if not isinstance(place, Place):
            return ""
        return self._reasons.get((place.function, place.item, place.condition), "")

    def _open_together(self) -> None:
        """Conditions that never fail alone are removed together with those that fail with them."""
        lone = {row.safeguard for row in self._open() if not row.tried and not self.reason(row)}
        for places, cases in self.together.items():
            if not lone.isdisjoint(places):
                self.rows[places] = Row(safeguard=places, waiting=_spread(cases))

    def _is_noticed_with_others(self, row: Row) -> bool:
        """Whether a condition that never fails alone is noticed when those that fail with it are removed, too."""
        return not row.tried and any(
            isinstance(each.safeguard, frozenset) and row.safeguard in each.safeguard and each.noticed_by is not None
            for each in self.rows.values()
        )

    def _row(self, safeguard: Safeguard) -> Row | None:
        row = self.rows.get(safeguard) or Row(safeguard=safeguard)
        if self._only not in row.title:
            return None
        self.rows[safeguard] = row
        return row

    def _open(self) -> list[Row]:
        return [row for row in self.rows.values() if row.noticed_by is None]

    def _work(self, surveys: Sequence[Callable[[], Survey]], processes: int, *, lives: bool = False) -> None:
        """Run the surveys, and try their findings in between."""
        left = list(reversed(surveys))
        under_way: dict[Future[Any], Row | None] = {}
        while True:
            while len(under_way) <= processes:
                rows = [row for row in self._open() if row.waiting and not row.is_tried]
                if rows:
                    row = min(rows, key=lambda row: row.tried)
                    batch, row.waiting = row.waiting[:BATCH], row.waiting[BATCH:]
                    row.is_tried = True
                    row.tried += len(batch)
                    under_way[self._pool.submit(attempt, row.safeguard, batch)] = row
                elif left and (not lives or self._lives_wanted()):
                    under_way[self._pool.submit(left.pop())] = None
                else:
                    break
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                tried = under_way.pop(future)
                if tried is None:
                    self._surveyed(future.result(), lives=lives)
                else:
                    self._tried(tried, future.result())

    def _lives_wanted(self) -> bool:
        return any(row.lives < MAX_LIVES and not self.reason(row) for row in self._open())

    def _surveyed(self, survey: Survey, *, lives: bool) -> None:
        self.calls |= survey.calls
        self.broken += survey.broken
        self.survey_cpu_s += survey.cpu_s
        for place in survey.places:
            self._row(place)
        for safeguard, cases in survey.cases.items():
            if isinstance(safeguard, frozenset):
                self.together[safeguard] += cases
                continue
            row = self._row(safeguard)
            if row is None or (lives and (row.lives >= MAX_LIVES or self.reason(row))):
                continue
            row.lives += lives
            exact = isinstance(safeguard, Place) or PATCHES[safeguard].raises
            row.waiting += cases if exact else _spread(cases)

    def _tried(self, row: Row, found: Attempt) -> None:
        row.is_tried = False
        row.cpu_s += found.cpu_s
        if found.noticed_by is not None:
            row.noticed_by, row.violation = found.noticed_by, found.violation
            self._tell("noticed", row, row.verdict)

    def _conclude(self) -> bool:
        alone = [row for row in self._open() if not isinstance(row.safeguard, frozenset)]
        missed = [row for row in alone if not (self.reason(row) or self._is_noticed_with_others(row))]
        stale = [row for row in self.rows.values() if self.reason(row) and row.noticed_by is not None]
        for row in alone:
            if self.reason(row):
                self._tell("reason", row, self.reason(row))
        for row in missed:
            self._tell("MISSED", row, row.verdict)
        for row in stale:
            self._tell("STALE", row, "has a reason not to be noticed, and is")
        for each in self.broken:
            self._say(f"BROKEN as it is: {each}")
        return not (missed or stale or self.broken)

    def _tell(self, what: str, row: Row, text: str) -> None:
        took_s = time.perf_counter() - self._began_s
        where = f" ({row.where})" if row.where else ""
        self._say(f"{took_s:6.0f} s  {row.cpu_s:5.1f} s CPU  {what:<8}{row.title}{where}\n{'':30}{text}")


def _spread(cases: Collection[Case]) -> list[Case]:
    """A few of them, from the first to the last."""
    cases = list(cases)
    if len(cases) <= SPREAD:
        return cases
    return [cases[i * (len(cases) - 1) // (SPREAD - 1)] for i in range(SPREAD)]


def stale_reasons(safeguards: Iterable[Safeguard]) -> list[str]:
    """Reasons for conditions that are not there."""
    known = {(each.function, each.item, each.condition) for each in safeguards if isinstance(each, Place)}
    return [": ".join((key[0], " ".join(key[1:]))) for key in REASONS if key not in known]
