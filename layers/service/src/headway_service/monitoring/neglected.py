"""What waits for a person: states that nothing heals by itself, and that look well to every other alarm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from headway.model import Snapshot
from headway.scheduling.scheduler import schedule
from headway.vectors import total
from headway_service.monitoring.queue_depth import Backlog
from headway_service.observability import metrics
from headway_service.observability.metrics import MetricValue, Neglect
from headway_service.store.ledger import Ledger

FORGOTTEN_MS = 86_400_000
"""A pause that is older counts as forgotten."""

UNHEARD_FROM = 2
"""From so many attempts that train on, of none of which an event has told, none comes: a single one may get lost."""

FILLED_PERCENT = 50
"""Rogue training jobs that take at least this part of a pool for which jobs wait fill it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Neglected:
    """A state that waits for a person.

    Attributes:
        code: the kind.
        name: the pool, the job or the attempt that it is about.
    """

    code: Neglect
    name: str


def neglected(ledger: Ledger, queues: Iterable[Backlog], snapshot: Snapshot | None, now_ms: int) -> Iterator[Neglected]:
    """The states of a queue that wait for a person.

    Args:
        ledger: in training time.
        queues: the queues that are not empty.
        snapshot: what a decision is made from; None if none was made, as no instances are free.
        now_ms: the training time, ms.
    """
    wanted = {each.pool for each in queues if each.waiting}
    rogue = total(each.charged for each in ledger.rogues)
    for pause in ledger.pauses:
        if now_ms - pause.since_ms >= FORGOTTEN_MS:
            yield Neglected(code=Neglect.PAUSE, name=pause.pool)
    for each in ledger.plans:
        if each.is_over and each.pool in wanted:
            yield Neglected(code=Neglect.PLAN, name=each.pool)
    for pool in ledger.pools:
        taken = rogue.get(pool.pool, 0)
        if pool.pool in wanted and taken and 100 * taken >= FILLED_PERCENT * pool.size:
            yield Neglected(code=Neglect.ROGUES, name=pool.pool)
    training = [each for each in ledger.attempts if each.training_since_ms is not None]
    if len(training) >= UNHEARD_FROM and all(each.unheard for each in training):
        yield Neglected(code=Neglect.NO_EVENTS, name=max(training, key=lambda each: each.since_ms).attempt_name)
    # A job that demands more than it can ever get has no place among those that wait.
    for wait in schedule(snapshot).waits if snapshot is not None else ():
        if wait.ahead is None:
            yield Neglected(code=Neglect.NEVER_STARTS, name=wait.job)


def neglected_figures(found: Collection[Neglected]) -> Iterator[MetricValue]:
    """How many states wait for a person, in all and of each kind."""
    yield metrics.NEGLECTED.of(len(found))
    for code, count in sorted(Counter(each.code for each in found).items()):
        yield metrics.NEGLECTED_BY_CODE.of(count, code)
