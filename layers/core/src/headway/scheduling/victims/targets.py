"""The choice of victims: a sufficient set of which none is needless, and that takes from who borrows most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headway.model import Allocation, Demand
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.victims.borrowing import Borrowing
from headway.vectors import minus, shortfall, total

MAX_SPARED = 20
"""Victims of a reclaim that are spared in turn to find a fairer set; of more the first ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Targets:
    """How victims are chosen for one waiting job.

    Attributes:
        lacking: instances per pool (and per limit of its team) beyond what is free, reserved or being freed for it.
        borrowing: what each team holds without the victims so far.
        charged: what an attempt takes of pools and limits.
        may_stop: whether an attempt may be stopped for the job beside the victims that :attr:`borrowing` knows of.
        comparisons: the evaluations of the decision so far.
    """

    lacking: Demand
    borrowing: Borrowing
    charged: Callable[[Allocation], Demand]
    may_stop: Callable[[Allocation], bool]
    comparisons: Comparisons

    def choose(self, in_victim_order: Iterable[Allocation]) -> tuple[Allocation, ...]:
        """The attempts to stop so that the job fits; empty if no set suffices.

        For a reclaim that is the fairest of several sets: a large attempt that is chosen last may make those before it
        needless, although their teams borrow more. So each victim is spared in turn, if the first set is unfair.

        Args:
            in_victim_order: those that hold something that is lacking and are not stopping.
        """
        if not self.borrowing.counts:
            return tuple(self._sufficient(in_victim_order))
        candidates = list(in_victim_order)
        fairest = self._sufficient(candidates)
        least = self._unfairness(fairest, candidates)
        for spared in fairest[:MAX_SPARED]:
            if not least:
                break
            others = self._sufficient(each for each in candidates if each is not spared)
            if others and (unfairness := self._unfairness(others, candidates)) < least:
                fairest, least = others, unfairness
        return tuple(fairest)

    def _sufficient(self, in_victim_order: Iterable[Allocation]) -> list[Allocation]:
        """Attempts in order until the job fits, without those that the later ones make needless.

        These are dropped, most expensive first (as Kueue's ``GetTargets`` fills back).
        """
        self.borrowing.begin()
        chosen: list[Allocation] = []
        missing = self.lacking
        for candidate in self.borrowing.largest_first(in_victim_order):
            self.comparisons.made += 1
            frees = self.charged(candidate)
            if any(pool in missing for pool in frees) and self.may_stop(candidate):
                chosen.append(candidate)
                self.borrowing.stop(candidate)
                missing = shortfall(missing, frees)
                if not missing:
                    return self._needed(chosen)
        return []

    def _needed(self, chosen: Sequence[Allocation]) -> list[Allocation]:
        needed, freed = list(chosen), total(map(self.charged, chosen))
        # The last one is needed. Of teams that borrow little first, as these are to lose least.
        for candidate in sorted(chosen[-2::-1], key=self.borrowing.share):
            without = minus(freed, self.charged(candidate))
            if not shortfall(self.lacking, without):
                needed.remove(candidate)
                self.borrowing.spare(candidate)
                freed = without
        return needed

    def _unfairness(self, victims: Sequence[Allocation], candidates: Iterable[Allocation]) -> float:
        """By how much a team that loses nothing, but could, borrows more than one that loses had with one victim less.

        The victims are those that :attr:`borrowing` knows of.
        """
        used = [each for each in victims if not each.is_unused]
        losers = {each.terms.team for each in used}
        spared = (each for each in candidates if not each.is_unused and each.terms.team not in losers)
        most = max((self.borrowing.share(each) for each in spared if self.may_stop(each)), default=0.0)
        with_one: dict[str, float] = {}
        for each in used:
            self.borrowing.spare(each)
            with_one[each.terms.team] = max(with_one.get(each.terms.team, 0.0), self.borrowing.share(each))
            self.borrowing.stop(each)
        return max(0.0, most - min(with_one.values(), default=most))
