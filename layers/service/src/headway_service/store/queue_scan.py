"""Reads one queue in rank order, only as far as it is scanned."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator

from headway.model import WaitingJob
from headway.policy import Policy
from headway.scheduling.ordering import (
    MAX_PRIORITY,
    capped_priority,
    effective_priority,
    priority_in,
    priority_prefix,
)
from headway_service.errors import UnreadableRecord
from headway_service.ports.table import Item, Table
from headway_service.store.records.queue_entry import QueueEntry

MAX_QUEUE_READS = 1000
"""Most entries of one queue that a decision reads from its front. If they do not tell which jobs start,
:mod:`headway_service.scheduling.unread_jobs` searches behind them."""


PAGE = 8
"""Fewest entries that one query of a queue reads."""


WIDE_PAGE = 100
"""Entries that one query reads while the scan searches for jobs that their team's guarantee covers."""


AGED_PAGE = 10
"""Most entries that one query reads while ageing is on. Each priority then costs at least one query."""


class QueueScan:
    """One queue in the order of effective priority, read only as far as it is scanned.

    A queue is stored in the order of the given priorities. Ageing, or a maximum priority that the team was given since,
    changes the order between jobs of different priorities but not among jobs of one priority. So the scan merges the
    priorities. It reads the next lower priority only when a job of that priority could be the next.

    Args:
        pool: the pool of the queue.
        team: its team; empty for jobs without a team.
        now_ms: the time of the decision.
        policy: the rules to decide by.
        passed_over: jobs that are not considered.
        note_unreadable: called with the error of each entry that cannot be read. Such an entry is passed over.

    Attributes:
        is_cut: whether the scan has come to its limit, so that jobs behind it were not read.
        last: the sort key of the last job that was read, if they are read in the order of sort keys; otherwise empty.
    """

    def __init__(
        self,
        table: Table,
        pool: str,
        team: str,
        now_ms: int,
        policy: Policy,
        passed_over: Collection[str] = (),
        note_unreadable: Callable[[UnreadableRecord], None] = lambda _: None,
    ) -> None:
        self.pool = pool
        self.team = team
        self.policy = policy
        self._passed_over = passed_over
        self._note_unreadable = note_unreadable
        self._table = table
        self._partition = QueueEntry.partition(pool, team)
        self.now_ms = now_ms
        self._cap = policy.ageing.cap if policy.ageing is not None else 0
        self._page = PAGE
        self._left = MAX_QUEUE_READS
        self.is_cut = False
        self.last = ""
        #: Entries that were read and not yet scanned, by priority, and the first job of each priority by rank.
        self._read: dict[int, deque[WaitingJob]] = {}
        self._first: list[tuple[int, int, str, int]] = []
        #: The last key that was read of each priority that may have more jobs.
        self._cut: dict[int, str] = {}
        #: The key after which the next lower priority begins, and the highest that it can be; None if there is none.
        self._after = ""
        self._lower: int | None = MAX_PRIORITY

    def set_page_size(self, entries: int) -> None:
        """Set how many entries each further query reads."""
        self._page = min(entries, AGED_PAGE) if self._cap and entries != WIDE_PAGE else entries

    def jobs(self) -> Iterator[WaitingJob]:
        """The jobs in rank order."""
        if not self._cap and self.policy.team(self.team).max_priority is None:
            yield from self._as_stored()
            return
        while True:
            # Again if none of what was read is readable: lower priorities come after all of these.
            while unread := [each for each in self._cut if not self._read[each]]:
                self._read_more(unread[0])
            while self._lower is not None and self._could_be_next(self._lower):
                self._read_lower_priority()
            if not self._first:
                return
            *_, priority = heapq.heappop(self._first)
            job = self._read[priority].popleft()
            self._push_first(priority)
            yield job

    def _as_stored(self) -> Iterator[WaitingJob]:
        """The jobs as they are stored, which is the rank order if every job has the priority that was given."""
        ended = False
        while not ended:
            entries, self.last, ended = self._query(after=self.last)
            for entry in entries:
                yield entry.waiting()

    def _could_be_next(self, priority: int) -> bool:
        """Whether a job of this given priority, or of a lower one, could rank before all jobs that were read."""
        highest = capped_priority(priority, self.team, self.policy) + self._cap
        return not self._first or -self._first[0][0] <= highest

    def _read_lower_priority(self) -> None:
        """Read the jobs after those of the priorities known so far."""
        entries, last, ended = self._query(after=self._after)
        for entry in entries:
            self._add(entry)
        if ended:
            self._lower = None
            return
        # The page may end within this priority; the rest is read when it is needed.
        priority = priority_in(last)
        self._read.setdefault(priority, deque())
        self._cut[priority] = last
        self._after = end_of_priority(priority)
        self._lower = priority - 1 if priority else None

    def _read_more(self, priority: int) -> None:
        """Read more jobs of one priority."""
        entries, last, ended = self._query(prefix=priority_prefix(priority), after=self._cut[priority])
        for entry in entries:
            self._add(entry)
        if ended:
            del self._cut[priority]
        else:
            self._cut[priority] = last

    def _add(self, entry: QueueEntry) -> None:
        jobs = self._read.setdefault(entry.priority, deque())
        jobs.append(entry.waiting())
        if len(jobs) == 1:
            self._push_first(entry.priority)

    def _push_first(self, priority: int) -> None:
        if jobs := self._read[priority]:
            job = jobs[0]
            effective = effective_priority(job, self.now_ms, self.policy)
            heapq.heappush(self._first, (-effective, job.terms.turn_ms, job.name, priority))

    def _query(self, *, prefix: str = "", after: str) -> tuple[list[QueueEntry], str, bool]:
        """The next entries, the last key that was read, and whether there are no more, or no more may be read."""
        limit = min(self._page, self._left)
        if not limit:
            self.is_cut = True
            return [], after, True
        items = self._table.query(self._partition, prefix=prefix, after=after, limit=limit)
        self._left -= len(items)
        return list(self.entries(items)), items[-1]["sk"] if items else after, len(items) < limit

    def entries(self, items: Iterable[Item]) -> Iterator[QueueEntry]:
        """The entries in items of the queue, without those that cannot be read or are passed over."""
        for item in items:
            try:
                entry = QueueEntry.parse(item)
            except UnreadableRecord as error:
                self._note_unreadable(error)
                continue
            if entry.job_name not in self._passed_over:
                yield entry


def end_of_priority(priority: int) -> str:
    """A sort key after the keys of all jobs of one given priority, and before those of the next lower priority."""
    return f"{priority_prefix(priority)}~"
