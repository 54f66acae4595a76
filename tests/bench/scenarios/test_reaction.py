"""The reaction benchmark measures what it documents, without others' time."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from bench.metering import build_sizes, offline_boto3
from bench.metering.offline_boto3 import Wire, WiredTable
from bench.queues import warm
from bench.runs import cold_start
from bench.scenarios import reaction
from deploy.contents import OWN_LAYERS
from headway.lifecycle import JobState
from headway_service.errors import Conflict
from headway_service.ports.table import Absent, Delete, Equals, Key, Put, Tally, Update
from headway_service.testing.memory_table import MemoryTable

ITEM = {"pk": "p", "sk": "b", "name": "x", "numbers": [1, {"two": 2}], "none": None, "yes": True}
FAST: dict[str, Any] = {"p50Ms": {"all": 1.0}, "p99Ms": {"all": 149.0, "runs": [1.0, 149.0]}, "boto3P50Ms": 0.5}
SLOW: dict[str, Any] = {"p50Ms": {"all": 5.0}, "p99Ms": {"all": 150.0, "runs": [1.0, 150.0]}, "boto3P50Ms": 0.5}


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(200, 0, -1)]
    assert [warm.percentile(values, percent) for percent in (1, 50, 99, 100)] == [2, 100, 198, 200]
    assert warm.percentile([7.0], 50) == warm.percentile([7.0], 99) == 7


def test_the_clock_stands_still_while_somebody_else_works(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((10, 20, 50, 60))
    monkeypatch.setattr(offline_boto3, "process_time_ns", lambda: next(times))
    clock = Wire()
    began_ns = clock.now_ns()
    with clock.elsewhere():
        pass
    assert clock.now_ns() - began_ns == 60 - 10 - (50 - 20)


def test_a_client_does_all_but_send() -> None:
    client = Wire().client("sqs", lambda operation, request: {"MessageId": f"{operation} {request['MessageBody']}"})
    answer = client.send_message(QueueUrl="https://sqs.invalid/q", MessageBody="hello")
    assert answer["MessageId"] == "SendMessage hello"


def test_a_wired_table_answers_as_the_table_behind_it() -> None:
    memory = MemoryTable()
    table = WiredTable(memory, Wire())
    first, second = Key("p", "a"), Key("p", "b")
    table.write([Put(item={"pk": "p", "sk": "a", "name": "x"}, requires=Absent()), Put(item=ITEM)])
    with pytest.raises(Conflict):
        table.write([Put(item=ITEM, requires=Absent())])
    assert table.get(second) == memory.get(second) == ITEM
    assert table.get(Key("p", "c")) is None
    assert table.query("p", limit=9) == memory.query("p", limit=9)
    assert table.count_before("p", "b", limit=9) == 1
    assert table.keys_before("p", "b", limit=9) == ("a",)
    assert table.tally("p", Equals("name", "x"), limit=9) == Tally(items=2, matching=2)
    assert table.tally("p", Equals("name", "x"), before="b", limit=9) == Tally(items=1, matching=1)
    assert table.tail("p", "name", limit=9) == memory.tail("p", "name", limit=9) == (("a", "x"), ("b", "x"))
    assert table.last_before("p", "b") == memory.get(first)
    assert table.get_listed([second, first]) == memory.get_listed([second, first])
    assert table.get_all([second, first]) == memory.get_all([second, first])
    table.write([Update(key=first, sets={"name": "y"}), Delete(key=second)])
    assert memory.query("p", limit=9) == ({"pk": "p", "sk": "a", "name": "y"},)


def test_a_reaction_starts_the_next_job_and_a_submission_fills_its_place() -> None:
    waiting = 4
    world = warm.WarmQueue(waiting)
    for _ in range(2):
        submission = world.submission()
        assert submission.ms > submission.boto3_ms > 0
        assert _states(world) == {JobState.RUNNING: warm.INSTANCES, JobState.PENDING: waiting}
        next_one = world.reaction()
        assert next_one.ms > next_one.boto3_ms > 0
        assert _states(world) == {JobState.RUNNING: warm.INSTANCES, JobState.PENDING: waiting - 1}


def test_a_whole_measurement_counts_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "WARM_UP", 1)
    found = warm.measure(1, runs=2, times=1)
    assert (found["waiting"], found["times"]) == (1, 2)
    for name in ("submission", "reaction"):
        least, greatest = found[name]["p99Ms"]["runs"]
        assert 0 < found[name]["boto3P50Ms"] < found[name]["p50Ms"]["all"]
        assert found[name]["p50Ms"]["all"] <= found[name]["p99Ms"]["all"] == greatest >= least


def test_sizes_are_those_of_the_archives_and_of_what_they_hold(tmp_path: Path) -> None:
    assert build_sizes.measure(tmp_path) == {}
    (tmp_path / "Layer" / "python").mkdir(parents=True)
    (tmp_path / "Layer" / "python" / "a.py").write_text("12345")
    (tmp_path / "Layer.zip").write_text("1234567")
    found = build_sizes.measure(tmp_path)
    assert found == {"parts": {"Layer": {"packedBytes": 7, "unpackedBytes": 5}}, "ofTheseSources": False}


def test_bytecode_does_not_make_a_build_one_of_other_sources(tmp_path: Path) -> None:
    for layer, source in OWN_LAYERS.items():
        cached = shutil.ignore_patterns("__pycache__")
        shutil.copytree(build_sizes.ROOT / source, tmp_path / layer / "python", ignore=cached)
        (tmp_path / f"{layer}.zip").touch()
    (tmp_path / "CoreLayer/python/headway/__pycache__").mkdir()
    (tmp_path / "CoreLayer/python/headway/__pycache__/line.cpython-313.pyc").touch()
    assert build_sizes.measure(tmp_path)["ofTheseSources"]
    (tmp_path / "CoreLayer/python/headway/scheduling/queue_order.py").write_text("another")
    assert not build_sizes.measure(tmp_path)["ofTheseSources"]


def test_a_missed_goal_is_told() -> None:
    lengths = {1: (FAST, FAST), 2: (FAST, SLOW), 3: (SLOW, FAST)}
    warmly = [{"waiting": n, "submission": each[0], "reaction": each[1]} for n, each in lengths.items()]
    cold = {kind: _cold(ready_ms) for kind, ready_ms in {"bytecode": 499.0, "sources": 1000.0}.items()}
    figures = {"warm": warmly, "cold": cold, "sizes": {}}
    missed = reaction.problems(figures)
    for told, part in zip(missed, ("2 waiting the slowest", "3 waiting a submission", "(sources)"), strict=True):
        assert part in told
    result = {"machine": "m", "runs": {}, "figures": figures}
    printed = "\n".join(reaction.lines_of(result))
    assert all(function in printed for function in cold_start.FUNCTIONS)


def _cold(ready_ms: float) -> dict[str, Any]:
    found = {"ready": {name: {"median": ready_ms} for name in ("ms", "cpuMs", "mb")}}
    modules = {"function": "api", "imported": 1, "packagesMs": {"boto3": 1.0}}
    return {"functions": dict.fromkeys(cold_start.FUNCTIONS, found), "modules": modules}


def _states(world: warm.WarmQueue) -> dict[str, int]:
    states = [job["jobState"] for job in world.jobs()]
    return {state: states.count(state) for state in (JobState.RUNNING, JobState.PENDING)}
