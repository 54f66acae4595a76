"""The article's scheduler works as the article describes, and both queues are measured alike."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.metering.table_scans import PAGE_BYTES, ScannedTable
from bench.peers.article_scheduler import ArticleScheduler
from bench.queues.full_queues import ArticleQueue, FullQueue, HeadwayQueue
from bench.queues.virtual_time import usual_request
from bench.scenarios import article
from bench.scenarios.article import (
    COMES,
    ENDS,
    JOB,
    MS,
    READS,
    WITH_ANSWERS_MS,
    WITH_STANDINS_MS,
    Goal,
    goals_of,
    watched,
)
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.ports.table import Key, Put
from headway_service.testing.memory_table import MemoryTable


class Story:
    """The article's example: two instances, and time in steps of a minute."""

    def __init__(self) -> None:
        self.now_s = START_S
        self.fleet = FakeSageMaker(rng=Random(1))
        self.table = MemoryTable()
        client = stub_client("sagemaker", lambda name, request: self.fleet.call(name, request, now=self.now_s))
        scanned = ScannedTable(self.table, lambda _kind, _number: None)
        self.scheduler = ArticleScheduler(scanned, client, 2, lambda: self.now_s)

    def submit(self, name: str, priority: int) -> None:
        request = usual_request(name, run_s=80_000) | {"Tags": [{"Key": "priority", "Value": str(priority)}]}
        self.scheduler.submit(request)
        self.scheduler.make_pass()
        self.wait()

    def finish(self, name: str) -> None:
        live = self.fleet.list_jobs(now=self.now_s, StatusEquals="InProgress")["TrainingJobSummaries"]
        [found] = [job["TrainingJobName"] for job in live if job["TrainingJobName"].startswith(f"{name}-qstamp-")]
        self.fleet.finish(found, now=self.now_s)
        self.wait()

    def wait(self) -> None:
        self.now_s += 600
        for detail in self.fleet.advance(self.now_s):
            if detail["TrainingJobStatus"] in {"Completed", "Failed", "Stopped"}:
                self.scheduler.ended(detail["TrainingJobName"], detail["TrainingJobStatus"])
                self.scheduler.make_pass()

    def states(self) -> dict[str, str]:
        return {item["pk"]: item["jobState"] for item in self.table.items()}


def test_the_articles_example_goes_as_in_the_article() -> None:
    story = Story()
    for name, priority in (("job1", 1), ("job2", 2), ("job3", 1)):
        story.submit(name, priority)
    assert story.states() == {"job1": "running", "job2": "running", "job3": "pending"}
    story.submit("job4", 3)
    assert story.states() == {"job1": "preempted", "job2": "running", "job3": "pending", "job4": "running"}
    story.finish("job2")
    assert story.states() == {"job1": "running", "job3": "pending", "job4": "running"}
    story.finish("job4")
    assert story.states() == {"job1": "running", "job3": "running"}


@pytest.mark.parametrize(("items", "calls"), [(0, 1), (1, 1), (3, 1), (5, 2)])
def test_a_scan_reads_all_by_pages_and_consumes_half(items: int, calls: int) -> None:
    counted: Counter[str] = Counter()
    table = MemoryTable()
    for number in range(items):
        table.write([Put(item={"pk": str(number), "sk": "", "t": "x" * (PAGE_BYTES // 4)})])
    scanned = ScannedTable(table, lambda kind, number: counted.update({kind: int(2 * number)}))
    assert len(scanned.scan_all()) == items
    assert counted["Scan"] == 2 * calls
    # Twice the consumption: a whole unit for each 4 KB and a little more, as names and keys count too.
    assert counted["read units"] == pytest.approx(max(1, items * PAGE_BYTES // 4 // 4096), abs=2)
    assert scanned.first_page == min(items, 3)


def test_a_get_that_may_be_late_consumes_half() -> None:
    counted: dict[str, float] = {}
    scanned = ScannedTable(MemoryTable(), counted.__setitem__)
    assert scanned.get_eventually(Key("a", "")) is None
    assert counted == {"calls": 1, "GetItem": 1, "read units": 0.5}


@pytest.mark.parametrize("queue", [HeadwayQueue, ArticleQueue])
def test_a_round_is_a_job_that_comes_and_one_that_ends(queue: type[Any]) -> None:
    watching: FullQueue = queue()
    watching.fill(10)
    scenes = watched({"": watching}, 2)[""]
    assert scenes[ENDS]["SageMaker CreateTrainingJob"] == scenes[JOB]["SageMaker CreateTrainingJob"] == 1
    assert "SageMaker CreateTrainingJob" not in scenes[COMES]
    assert scenes[JOB][READS] >= scenes[COMES][READS] + scenes[ENDS][READS] > 0
    for scene in (COMES, ENDS):
        assert 0 < scenes[scene]["ms from"] <= scenes[scene][MS] <= scenes[scene]["ms to"]
        assert scenes[scene][WITH_ANSWERS_MS] > scenes[scene][MS]
        assert scenes[scene][WITH_STANDINS_MS] > scenes[scene][MS]


class Told:
    """A queue that records its observations, and whose functions take a given time."""

    DECIDES = "pass"

    def __init__(self, name: str, told: list[str]) -> None:
        self.name, self.told = name, told
        self.used: dict[tuple[str, str], float] = {("pass", "DynamoDB calls"): 2.0}
        self.handler_ms = {"pass": 5.0, "note": 3.0}
        self.standins_ms = {"pass": 4.0, "note": 1.0}

    def fill(self, waiting: int) -> None: ...

    def submit_one(self) -> None:
        self.told.append(self.name)

    def end_one(self) -> None: ...

    def quiet_down(self) -> None: ...

    def reset(self) -> None: ...


def test_queues_are_watched_in_turn_so_that_a_machine_that_gets_slower_makes_none_seem_to() -> None:
    told: list[str] = []
    watched({name: Told(name, told) for name in ("short", "long")}, 3)
    assert told == ["short", "long"] * 3


def test_what_plays_aws_is_no_time_of_the_functions() -> None:
    scenes = watched({"": Told("", [])}, 1)[""]
    assert (scenes[COMES][MS], scenes[COMES][WITH_STANDINS_MS]) == (1, 5)
    assert (scenes[JOB][MS], scenes[JOB][WITH_STANDINS_MS]) == (3 * 3, 3 * 8)


@pytest.mark.parametrize("queue", [HeadwayQueue, ArticleQueue])
def test_the_table_and_the_fleet_play_aws_on_both_sides(queue: type[Any]) -> None:
    watching: FullQueue = queue()
    watching.fill(10)
    watching.reset()
    watching.submit_one()
    for name in ("api", "schedule") if queue is HeadwayQueue else ("note", "pass"):
        assert 0 < watching.standins_ms[name] < watching.handler_ms[name]
    watching.reset()
    assert not watching.standins_ms


def test_goals_are_told_with_what_was_found() -> None:
    def scenes(reads: float) -> article.Scenes:
        return {scene: {READS: reads, MS: 1.0, WITH_ANSWERS_MS: 1.0} for scene in (COMES, ENDS)}

    goals = goals_of({100: scenes(10), 1_000: scenes(13)}, {600: {"schedule": {"ListTrainingJobs": 7}}})
    assert [goal.kept for goal in goals] == [False, False, True, True, True, True, False, False]
    assert "1.30 times, 10 to 13 read units" in goals[0].found
    assert isinstance(goals[0], Goal)


def test_the_script_writes_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(article, "QUICK_SIZES", (10, 100))
    monkeypatch.setattr(article, "LONE_S", (600,))
    monkeypatch.setattr("sys.argv", ["article", "--quick", "--rounds", "1", "--json", str(tmp_path / "article.json")])
    assert article.main() == 0
    result = json.loads((tmp_path / "article.json").read_text())
    assert result["figures"].keys() == {"headway", "article"}
    assert result["figures"]["article"].keys() == {"10", "100"}
    assert result["runs"] == 1
    printed = capsys.readouterr().out
    assert all(goal["goal"] in printed for goal in result["goals"])
    assert str(tmp_path) not in json.dumps(result)
