"""Removes one safeguard at a time and reports what detects it: a soak test that cannot fail proves nothing.

All trials and runs use the same random sources each time, so without a condition they proceed as with it, up to the
first write that this condition alone rejects. Each trial first runs unmodified and records the ways in which that
happens; only these are repeated without the condition. The same applies to other safeguards and the ways that use them.
Runs follow if no trial detects the removal.

Some conditions of a write never fail alone: a change of a running job also changes its attempt. Such a condition is
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

from headway_verification.soak.random_run import make_run
from headway_verification.soak.safeguards.conditions import Call, Place, recorded, without
from headway_verification.soak.safeguards.mutations import PATCHES, REASONS
from headway_verification.soak.trials.crash_points import Way, crashes, meetings, undisturbed, violation_in
from headway_verification.soak.trials.interleavings import INTERLEAVINGS
from headway_verification.soak.trials.scenarios import SITUATIONS, Scenario

Safeguard = Place | frozenset[Place] | str
"""A condition, conditions that fail together, or a name in :data:`PATCHES`."""

Case = Way | int
"""A way of a trial, or the seed of a run."""

BATCH = 8
"""Cases of a safeguard that are tried before the next safeguard's turn."""

SPREAD = 6
"""Ways per trial in which a safeguard that is not a condition is removed: evenly spaced, as most ways use it."""

MAX_RUNS = 40
"""The maximum number of runs in which a safeguard is removed."""


@dataclass(frozen=True, kw_only=True)
class SurveyedTrial:
    """A trial to survey: an interleaving, or a situation with crashes."""

    name: str
    is_interleaving: bool

    @property
    def situation(self) -> Scenario:
        """What precedes the faults or the other actors."""
        return INTERLEAVINGS[self.name].situation if self.is_interleaving else SITUATIONS[self.name]

    def ways(self) -> Sequence[Way]:
        """Return all ways of the trial."""
        trial = undisturbed(self.name, self.situation)
        return meetings(trial) if self.is_interleaving else crashes(trial)


TRIALS = (
    *(SurveyedTrial(name=name, is_interleaving=True) for name in INTERLEAVINGS),
    *(SurveyedTrial(name=name, is_interleaving=False) for name in SITUATIONS),
)
"""Interleavings first, as most conditions concern concurrent changes."""


@dataclass(kw_only=True)
class Survey:
    """What some cases do with the unmodified code.

    Attributes:
        places: where conditions were set.
        calls: the calls that set them.
        cases: the cases in which a safeguard may matter.
        broken: invariants that are violated although nothing is removed.
        cpu_s: the CPU time used, s.
    """

    places: set[Place] = field(default_factory=set)
    calls: set[Call] = field(default_factory=set)
    cases: dict[Safeguard, list[Case]] = field(default_factory=lambda: defaultdict(list))
    broken: list[str] = field(default_factory=list)
    cpu_s: float = 0.0


@dataclass(kw_only=True)
class Attempt:
    """The result of some cases without a safeguard: the first case that detected it, if any, and its violation."""

    detected_by: Case | None = None
    violation: str = ""
    cpu_s: float = 0.0


def survey_trial(trial: SurveyedTrial) -> Survey:
    """Determine which safeguards matter in the ways of a trial."""
    with redirect_stdout(StringIO()):
        ways = trial.ways()
    return survey(ways)


def survey(cases: Iterable[Case]) -> Survey:
    """Determine which safeguards matter in which case."""
    began_s = time.process_time()
    found = Survey()
    for case in cases:
        with recorded() as record, _watched() as used:
            violation = _violation(case)
        if violation:
            found.broken.append(f"{_case_title(case)}: {violation}")
        found.places |= record.places
        found.calls |= record.calls
        # Sorted, so that all runs use the same order.
        for places in sorted(record.decided, key=sorted):
            found.cases[next(iter(places)) if len(places) == 1 else places].append(case)
        for name in sorted(used):
            found.cases[name].append(case)
    found.cpu_s = time.process_time() - began_s
    return found


def attempt(safeguard: Safeguard, cases: Sequence[Case]) -> Attempt:
    """Try cases without a safeguard until one detects the removal.

    Args:
        safeguard: the safeguard to remove.
        cases: the cases, in order.

    Raises:
        TypeError: the replacement of a safeguard does not fit the code any more; also others of this kind.
    """
    began_s = time.process_time()
    found = Attempt()
    for case in cases:
        with removed(safeguard):
            violation = _violation(case)
        if violation:
            found = Attempt(detected_by=case, violation=violation)
            break
    found.cpu_s = time.process_time() - began_s
    return found


def removed(safeguard: Safeguard) -> AbstractContextManager[Any]:
    """Return a context in which a safeguard is removed."""
    if isinstance(safeguard, str):
        return PATCHES[safeguard].removed()
    return without([safeguard] if isinstance(safeguard, Place) else safeguard)


@contextmanager
def _watched() -> Iterator[set[str]]:
    """Record which of :data:`PATCHES` are used."""
    used: set[str] = set()
    with ExitStack() as stack:
        for name, patch in PATCHES.items():
            stack.enter_context(patch.watched(partial(used.add, name)))
        yield used


def _violation(case: Case) -> str | None:
    with redirect_stdout(StringIO()):
        try:
            return violation_in(case) if isinstance(case, Way) else make_run(case).violation
        except Exception as error:  # noqa: BLE001 - a case that fails in any way counts as detected
            return f"{type(error).__name__}: {error}"


def _case_title(case: Case) -> str:
    if isinstance(case, int):
        return f"run {case}"
    return f"{'interleaving' if case.fault is None else 'situation'} `{case.name}`, {case}"


@dataclass(kw_only=True, eq=False)
class Row:
    """A safeguard, and the results of its removal."""

    safeguard: Safeguard
    #: The cases that have not been tried.
    waiting: list[Case] = field(default_factory=list)
    is_tried: bool = False
    tried: int = 0
    runs: int = 0
    detected_by: Case | None = None
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
        """The place of a condition in the code."""
        return self.safeguard.where if isinstance(self.safeguard, Place) else ""

    @property
    def verdict(self) -> str:
        """The case that detected the removal, and its violation."""
        if self.detected_by is None:
            return f"not detected in {self.tried} cases where it matters"
        return f"{_case_title(self.detected_by)}: {self.violation}"


class Removal:
    """Removes safeguards, using a process pool.

    Args:
        pool: the process pool.
        say: called with each line of the report as soon as it is known.
        only: restricts the safeguards to those with this text in their titles.
        reasons: why conditions need not be detected, by function, item and condition.

    Attributes:
        rows: the safeguards removed.
        together: conditions that failed together, and in which cases.
        calls: the calls that set conditions.
        broken: invariants that are violated although nothing is removed.
        survey_cpu_s: the CPU time of the surveys, s.
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
        self._print = say
        self._only = only
        self._reasons = reasons
        self._began_s = time.perf_counter()
        self.rows: dict[Safeguard, Row] = {}
        self.together: dict[frozenset[Place], list[Case]] = defaultdict(list)
        self.calls: set[Call] = set()
        self.broken: list[str] = []
        self.survey_cpu_s = 0.0

    def run(self, trials: Sequence[SurveyedTrial], seeds: Sequence[int], processes: int) -> bool:
        """Remove every safeguard that trials, and then runs, reach, and report what detects it.

        Args:
            seeds: the seeds of the runs.
            processes: the number of processes in the pool.

        Returns:
            Whether each removal is detected or has a reason not to be.
        """
        for name in PATCHES:
            self._row(name)
        self._work([partial(survey_trial, trial) for trial in trials], processes)
        self._work([partial(survey, [seed]) for seed in seeds], processes, runs=True)
        self._open_together()
        self._work([], processes)
        return self._conclude()

    def reason(self, row: Row) -> str:
        """Return why the removal of a safeguard need not be detected; empty if it has to be."""
        place = row.safeguard
        if not isinstance(place, Place):
            return ""
        return self._reasons.get((place.function, place.item, place.condition), "")

    def _open_together(self) -> None:
        """Add conditions that never fail alone, together with those that fail with them."""
        lone = {row.safeguard for row in self._open() if not row.tried and not self.reason(row)}
        for places, cases in self.together.items():
            if not lone.isdisjoint(places):
                self.rows[places] = Row(safeguard=places, waiting=_spread(cases))

    def _is_detected_with_others(self, row: Row) -> bool:
        """Return whether a condition that never fails alone is detected in a removal together with others."""
        return not row.tried and any(
            isinstance(each.safeguard, frozenset) and row.safeguard in each.safeguard and each.detected_by is not None
            for each in self.rows.values()
        )

    def _row(self, safeguard: Safeguard) -> Row | None:
        row = self.rows.get(safeguard) or Row(safeguard=safeguard)
        if self._only not in row.title:
            return None
        self.rows[safeguard] = row
        return row

    def _open(self) -> list[Row]:
        return [row for row in self.rows.values() if row.detected_by is None]

    def _work(self, surveys: Sequence[Callable[[], Survey]], processes: int, *, runs: bool = False) -> None:
        """Run the surveys, and interleave them with trials of the safeguards found so far."""
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
                elif left and (not runs or self._lives_wanted()):
                    under_way[self._pool.submit(left.pop())] = None
                else:
                    break
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                tried = under_way.pop(future)
                if tried is None:
                    self._surveyed(future.result(), runs=runs)
                else:
                    self._tried(tried, future.result())

    def _lives_wanted(self) -> bool:
        return any(row.runs < MAX_RUNS and not self.reason(row) for row in self._open())

    def _surveyed(self, survey: Survey, *, runs: bool) -> None:
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
            if row is None or (runs and (row.runs >= MAX_RUNS or self.reason(row))):
                continue
            row.runs += runs
            exact = isinstance(safeguard, Place) or PATCHES[safeguard].raises
            row.waiting += cases if exact else _spread(cases)

    def _tried(self, row: Row, found: Attempt) -> None:
        row.is_tried = False
        row.cpu_s += found.cpu_s
        if found.detected_by is not None:
            row.detected_by, row.violation = found.detected_by, found.violation
            self._report("detected", row, row.verdict)

    def _conclude(self) -> bool:
        alone = [row for row in self._open() if not isinstance(row.safeguard, frozenset)]
        missed = [row for row in alone if not (self.reason(row) or self._is_detected_with_others(row))]
        stale = [row for row in self.rows.values() if self.reason(row) and row.detected_by is not None]
        for row in alone:
            if self.reason(row):
                self._report("reason", row, self.reason(row))
        for row in missed:
            self._report("MISSED", row, row.verdict)
        for row in stale:
            self._report("STALE", row, "has a reason not to be detected, but is detected")
        for each in self.broken:
            self._print(f"BROKEN without a removal: {each}")
        return not (missed or stale or self.broken)

    def _report(self, what: str, row: Row, text: str) -> None:
        took_s = time.perf_counter() - self._began_s
        where = f" ({row.where})" if row.where else ""
        self._print(f"{took_s:6.0f} s  {row.cpu_s:5.1f} s CPU  {what:<9}{row.title}{where}\n{'':31}{text}")


def _spread(cases: Collection[Case]) -> list[Case]:
    """Return a few cases, evenly spaced from the first to the last."""
    cases = list(cases)
    if len(cases) <= SPREAD:
        return cases
    return [cases[i * (len(cases) - 1) // (SPREAD - 1)] for i in range(SPREAD)]


def stale_reasons(safeguards: Iterable[Safeguard]) -> list[str]:
    """Return the reasons whose conditions do not exist."""
    known = {(each.function, each.item, each.condition) for each in safeguards if isinstance(each, Place)}
    return [": ".join((key[0], " ".join(key[1:]))) for key in REASONS if key not in known]
