"""Which items the write units of jobs are for, and what each of them pays for."""

from __future__ import annotations

from collections.abc import Mapping

from bench.metering.dynamodb_units import MeteredTable
from headway_service.ports.table import Key

KIND = "write units of "
"""How the kinds of use begin that :class:`ItemizedTable` counts; the item follows."""

LISTING = "listing"

PAYS_FOR: Mapping[tuple[str, str], str] = {
    ("api", "job"): "accepted: the job, its request and its place in the queue exist together, or none does",
    ("api", "request"): "the same; changes of the job need not write the request again",
    ("api", "line"): "the same; ticks read a queue in order, without the jobs",
    ("api", LISTING): "`headway queue` finds the waiting job",
    ("schedule", "job"): "started: no two schedulers start a job, or one instance twice, and a crash leaves an intent",
    ("schedule", "attempt"): "the same; and once more, by itself, that SageMaker has accepted the launch",
    ("schedule", "pool"): "the same: enough instances are free, and no pool was paused since",
    ("schedule", "line"): "the same: the job is in no queue any more",
    ("schedule", LISTING): "the job leaves the waiting ones; the running ones are listed by their attempts",
    ("schedule", "deployment"): "once for a deployment: the key of its marks",
    (
        "observe",
        "attempt",
    ): "training begins; the attempt is over",
    ("observe", "job"): "ended: the job, its instances and its attempt change together, once",
    ("observe", "pool"): "the same: the instances are free",
    ("observe", LISTING): "`headway history` finds the ended job",
    ("tell", "entry"): "the feed: the events themselves, each once; one append has those of a second",
    ("tell", "head"): "the feed: where its entries begin, once for a deployment and after a week without events",
    ("reconcile", "accounted"): "the mark of what of the job is in the sums: each attempt is in them once",
    ("reconcile", "request"): "by itself, before the mark: the table forgets the request with the job",
    ("reconcile", "usage"): "the sums of a day and a month by team, owner and pool, shared by the jobs of a minute",
    ("reconcile", "place"): "how far the feed is in the sums, shared likewise",
}
"""By function and item."""


class ItemizedTable(MeteredTable):
    """A table that counts the write units of each kind of item, too."""

    def _use_units(self, key: Key, units: int, of_index: int) -> None:
        super()._use_units(key, units, of_index)
        self._count(f"{KIND}{item_of(key)}", units)
        if of_index:
            self._count(f"{KIND}{LISTING}", of_index)


def item_of(key: Key) -> str:
    """The kind of an item."""
    head, rest = key.pk.partition("#")[0], key.sk.partition("#")[0]
    if head == "accounted":
        return "place"
    return rest if head in {"job", "ledger", "feed"} else head
