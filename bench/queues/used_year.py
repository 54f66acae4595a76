"""A year of ended jobs, as their sums: written as items, without the jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from random import Random

from headway.accounting.histogram import bucket_of
from headway.days import Period, days
from headway_service.accounting.records import ATTEMPTS, BILLED, JOBS, LOST, PREEMPTIONS, RUN, USED, WAIT, sum_key
from headway_service.ports.table import Put
from headway_service.store.schema_version import stamp
from headway_service.testing.memory_table import MemoryTable

YEAR = (date(2025, 1, 1), date(2025, 12, 31))
POOLS, TEAMS, OWNERS = 5, 20, 200

_HOUR_MS = 3_600_000


def used_year(jobs: int, *, seed: int = 1) -> MemoryTable:
    """The sums of a year by pool, team and owner.

    Args:
        jobs: the jobs that ended in it, evenly spread over its days; each has a random owner, team and pool.
        seed: of the random choices.
    """
    table, random = MemoryTable(), Random(seed)
    months: dict[tuple[str, str, str], Counter[str]] = {}
    all_days = list(days(*YEAR))
    for number, day in enumerate(all_days):
        count = jobs * (number + 1) // len(all_days) - jobs * number // len(all_days)
        sums: dict[tuple[str, str], Counter[str]] = {}
        for _ in range(count):
            names, figures = _job(random)
            for kept in names:
                sums.setdefault(kept, Counter()).update(figures)
        for (dimension, name), figures in sums.items():
            _put(table, dimension, day, name, figures)
            months.setdefault((dimension, day.month, name), Counter()).update(figures)
    for (dimension, month, name), figures in months.items():
        _put(table, dimension, Period(month=month), name, figures)
    return table


def _job(random: Random) -> tuple[Iterator[tuple[str, str]], Mapping[str, int]]:
    owner = random.randrange(OWNERS)
    pool = f"ml.p{random.randrange(POOLS)}.48xlarge"
    names = {
        "owner": f"arn:aws:sts::123456789012:assumed-role/research/person-{owner:03d}",
        "team": f"team-{owner % TEAMS:02d}",
        "pool": pool,
    }
    # From minutes to days, as waits and run times are.
    wait_s, run_s = random.lognormvariate(6, 2), random.lognormvariate(8, 1.5)
    used = int(run_s * 1000)
    figures = {
        f"{JOBS}completed": 1,
        ATTEMPTS: 1,
        PREEMPTIONS: int(random.random() < 0.1),
        f"{USED}{pool}": used,
        f"{BILLED}{pool}": used,
        f"{LOST}{pool}": min(used, _HOUR_MS),
        f"{WAIT}{bucket_of(wait_s)}": 1,
        f"{RUN}{bucket_of(run_s)}": 1,
    }
    return iter(names.items()), figures


def _put(table: MemoryTable, dimension: str, period: Period, name: str, figures: Mapping[str, int]) -> None:
    key = sum_key(dimension, period, name)
    table.write([Put(item=stamp({"pk": key.pk, "sk": key.sk, "expiresAt": 1, **figures}))])
