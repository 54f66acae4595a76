"""Measurements at scale: bounds by partition, and all parts measured, reported and judged."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest

from bench.metering.partitions import READ, WRITTEN, PartitionMeter, bounds, place_of, units_of_steps
from bench.queues.full_queues import TEAMS
from bench.runs import burst, large_queue, long_sandbox_queues
from bench.runs.long_queues import CALLS, OPERATIONS, READS
from bench.scenarios import scale
from headway_service.ports.table import Absent, Check, Delete, Equals, Key, Put, Update
from headway_service.testing.memory_table import MemoryTable


@pytest.fixture(scope="module")
def steps() -> dict[str, dict[str, float]]:
    return units_of_steps(len(TEAMS), 1)


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (Key("ledger", "pool#p"), "ledger pool"),
        (Key("ledger", ""), "ledger"),
        (Key("job#a", "request"), "job request"),
        (Key("line#p#t", "5#a"), "line"),
        (Key("config", "config"), "config"),
    ],
)
def test_a_place_is_a_partition_or_one_kind_of_the_ledgers_items(key: Key, place: str) -> None:
    assert place_of(key) == place


def test_units_by_place_are_all_units_there_are() -> None:
    counts: Counter[str] = Counter()
    table = PartitionMeter(MemoryTable(), lambda kind, number: counts.update({kind: int(number)}))
    key = Key("job#a", "job")
    job = {"pk": key.pk, "sk": key.sk, "listing": "waiting", "listingKey": "1", "jobName": "a"}
    table.write([Put(item=job), Put(item={"pk": "ledger", "sk": "pool#p", "t": "x" * 2000})])
    table.write([Update(key=key, sets={"listing": "holding"}), Check(key=Key("ledger", "pause#p"), requires=Absent())])
    table.write([Delete(key=key)])
    table.get(key)
    table.query("ledger", limit=5)
    table.listing("waiting", where=[Equals("jobName", "a")], after=None, limit=5)
    for kind, prefix in (("write units", WRITTEN), ("read units", READ)):
        assert counts[kind] == sum(number for name, number in counts.items() if name.startswith(prefix)) > 0
    assert counts[f"{WRITTEN}listing waiting"] == counts[f"{WRITTEN}listing holding"] == 2
    assert counts[f"{WRITTEN}ledger pause"] == 2


def test_the_tightest_place_is_told_first_and_a_jobs_own_items_never() -> None:
    units = {f"{WRITTEN}ledger pool": 2.0, f"{WRITTEN}ledger pause": 4.0, f"{READ}line": 30.0, f"{WRITTEN}job job": 9.0}
    told = bounds(units)
    assert [(bound.place, bound.a_second) for bound in told] == [
        ("line", 100.0),
        ("ledger", 166.7),
        ("ledger pause", 250.0),
        ("ledger pool", 500.0),
    ]


def test_starts_and_ends_meet_in_the_ledger_and_submissions_do_not_write_there(
    steps: dict[str, dict[str, float]],
) -> None:
    def written(step: str) -> float:
        return sum(number for name, number in steps[step].items() if name.startswith(f"{WRITTEN}ledger"))

    assert written("a submission") == written("a pass that starts nothing") == 0
    assert written("a pass that starts a job") > 0
    assert written("the news of a job") > 0


def test_all_parts_are_measured_told_and_judged(
    monkeypatch: pytest.MonkeyPatch, steps: dict[str, dict[str, float]]
) -> None:
    def use(waiting: int) -> dict[str, Any]:
        numbers = {operation: {"ms": float(waiting), READS: 1.0, CALLS: 0.0} for operation in OPERATIONS}
        return {"waiting": waiting, "fillS": 1.0, "peakMemoryMB": 50, **numbers}

    lost: list[str] = []
    submitted = {"lost": lost, "kept though refused": []}
    monkeypatch.setattr(scale, "measured_apart", lambda waiting, pools: use(waiting))
    monkeypatch.setattr(long_sandbox_queues, "measure", lambda lengths, rounds: [*map(use, lengths)])
    monkeypatch.setattr(burst, "measure", lambda _jobs, _clients: submitted)
    large = {"running": 5, "waiting": 9, "boards": 2, "minutes": 1, "units a second": {"ledger": [1.0, 2.0]}}
    large |= {
        "of the limit": {"ledger": 0.001},
        "calls a minute": {},
        "dollars a month": {},
        "dollars a month in all": 7,
    }
    monkeypatch.setattr(large_queue, "measured_apart", lambda *_: large)
    monkeypatch.setattr(scale, "units_of_steps", lambda _waiting, _rounds: steps)
    told: list[str] = []
    result = scale.measured(scale.QUICK, sandbox=True, tell=told.append)
    text = "\n".join(told)
    assert all(text.count(operation) >= 2 for operation in OPERATIONS)
    assert "5,000 waiting in memory beside 100" in text
    assert "in all 7 dollars a month" in text
    assert result["in memory"][0]["ratios"]["pass"]["ms"] == 50.0
    assert scale.lost(result) == []
    lost.append("a")
    assert scale.lost(result) == ["a was submitted and is not there"]
    json.dumps({"settings": asdict(scale.QUICK), **result})
