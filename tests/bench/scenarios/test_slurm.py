"""Measurements beside Slurm: the same for both sides, and reported as measured. Times are not tested."""

from __future__ import annotations

import gc
import json
import os
import subprocess
from collections import Counter
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from bench.metering.cpu_time import _of_process_ms
from bench.peers.headway import HIGH, configuration, job_request, shared
from bench.peers.side import Figures, Sizes, advantage, behind, measure, until
from bench.peers.slurm import SETUP, mean_cycle_ms
from bench.queues.own_time import OwnTime
from bench.queues.warm import Took
from bench.scenarios import slurm
from headway_sandbox.sagemaker.request_builder import P5
from headway_service.config.document import parse

TINY = Sizes(nodes=2, jobs=3, members=200, drained=4, lengths=(5, 120), drains=2, runs=2, listings=3, churn_s=1)

SDIAG = """\
Main schedule statistics (microseconds):
\tLast cycle:   41899
\tMean cycle:   39561
\tMean depth cycle:  9992
Backfilling stats
\tMean cycle: 102252759
"""


class Recorder:
    """A side that only records its calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def clear(self) -> None:
        self.asked.append("clear")

    def fill(self) -> None:
        self.asked.append("fill")

    def submit(self, jobs: int, clients: int) -> float:
        self.asked.append(f"submit {jobs} {clients}")
        return 0.5

    def submit_together(self, jobs: int) -> float:
        self.asked.append(f"together {jobs}")
        return 0.5

    def submit_array(self, members: int) -> float:
        self.asked.append(f"array {members}")
        return 0.5

    def lengthen(self, waiting: int) -> None:
        self.asked.append(f"lengthen {waiting}")

    def list_jobs(self, first: int | None) -> float:
        self.asked.append(f"list {first}")
        return 0.5

    def preempt(self) -> float:
        self.asked.append("preempt")
        return 0.5

    def drain(self, jobs: int) -> float:
        self.asked.append(f"drain {jobs}")
        return 0.5

    def cycle_ms(self, churn_s: int) -> float:
        self.asked.append(f"cycle {churn_s}")
        return 0.5


def figures_of(side: Recorder, sizes: Sizes = TINY) -> Figures:
    return measure(side, sizes, lambda _line: None)


def test_each_figure_is_measured_as_often_as_it_is_said():
    counts = {name: len(values) for name, values in figures_of(Recorder()).items()}
    first = {name for name in counts if "the first" in name}
    assert len(first) == len(TINY.lengths)
    assert {counts[name] for name in first} == {TINY.listings}
    assert {counts[name] for name in counts.keys() - first} == {TINY.runs}


def test_each_measurement_but_those_of_a_growing_line_begins_anew():
    side = Recorder()
    figures_of(side)
    for before, asked in zip(side.asked, side.asked[1:], strict=False):
        if asked.startswith(("submit", "together", "array", "preempt")):
            assert before == "fill"
        if asked.startswith("drain"):
            assert before == "clear"
    assert [asked for asked in side.asked if asked.startswith("lengthen")] == ["lengthen 5", "lengthen 120"]


@pytest.mark.parametrize(
    ("figure", "ours", "theirs", "times"),
    [
        ("drain, jobs/s", 20, 10, 2.0),
        ("drain, jobs/s", 5, 10, 0.5),
        ("start, s", 5, 10, 2.0),
        ("start, ms", 20, 10, 0.5),
    ],
)
def test_more_of_a_rate_and_less_of_a_time_is_ahead(figure: str, ours: float, theirs: float, times: float):
    assert advantage(figure, ours, theirs) == times
    assert behind({figure: ours}, {figure: theirs}) == ([] if times > 1 else [figure])


def test_a_wait_for_what_never_comes_ends():
    with pytest.raises(TimeoutError, match="the impossible"):
        until(lambda: False, "the impossible", timeout_s=0)


def test_the_cycle_is_the_main_schedulers():
    assert mean_cycle_ms(SDIAG) == 39.561
    with pytest.raises(ValueError, match="no cycle"):
        mean_cycle_ms("Main schedule statistics\nBackfilling stats\n\tMean cycle: 1")


def test_clients_share_the_jobs_and_each_is_submitted_once():
    done: Counter[int] = Counter()
    shared([lambda number: done.update([number])] * 4, list(range(100)))
    assert done == Counter(range(100))


def test_jobs_take_their_grace_and_their_line_is_as_long_as_it_may_be():
    request = job_request("a", priority=HIGH, run_s=0, grace_s=2)
    assert request["Environment"]["SANDBOX_STOP_SECONDS"] == "2"
    assert request["Tags"] == [{"Key": "headway:priority", "Value": str(HIGH)}]
    limits = parse(json.dumps(configuration(4))).limits
    assert min(limits.waiting_per_team, limits.waiting_per_owner) >= max(slurm.FULL.lengths)


def test_headways_handlers_alone_have_some_of_the_figures_of_the_sides(monkeypatch):
    own = SimpleNamespace(
        submission=lambda: Took(ms=2.0, boto3_ms=1.0), reaction=lambda: None, empty=lambda: None,
        together_ms=lambda _jobs: 8.0, array_ms=lambda _members: 10.0,
        drain_ms=lambda: 8.0, listing_ms=lambda _first: 3.0, cycle_ms=lambda: 4.0,
    )  # fmt: skip
    monkeypatch.setattr(slurm, "OwnTime", lambda _waiting: own)
    figures = slurm.own_figures(TINY)
    assert figures.keys() - {slurm.HANDLER, slurm.BOTO3} < figures_of(Recorder()).keys()
    assert figures[slurm.HANDLER] == [2.0] * TINY.jobs
    assert figures[slurm.BOTO3] == [1.0] * TINY.jobs
    assert figures["submissions, 1 client, jobs/s"] == [500.0]
    assert figures["submissions together, jobs/s"] == [500.0] * TINY.runs
    assert figures["an array of 200, jobs/s"] == [20_000.0] * TINY.runs
    assert figures["drain of 4 jobs, jobs/s"] == [250.0] * TINY.runs
    assert figures["cycle with 120 waiting, ms"] == [4.0] * TINY.listings


def test_a_cycle_starts_the_next_job_and_a_drain_ends_all():
    queue = OwnTime(3)
    held = queue.fleet.in_use()
    assert queue.listing_ms(None) > 0
    queue.cycle_ms()
    assert queue.fleet.in_use() == held
    assert len(queue.fleet.jobs(now=queue.now_s)) == held[P5] + 1
    queue.empty()
    queue.together_ms(3)
    assert Counter(job["jobState"] for job in queue.jobs()) == {"completed": held[P5] + 2, "pending": 3}
    queue.drain_ms()
    assert Counter(job["jobState"] for job in queue.jobs()) == {"completed": held[P5] + 5}
    gc.unfreeze()


def test_what_is_missed_is_told_in_words():
    ours, theirs = figures_of(Recorder()), figures_of(Recorder())
    ours["start by preemption, s"] = [2.0, 2.0]
    ours["submissions together, jobs/s"] = [100.0, 200.0]
    own = {slurm.HANDLER: [7.0], slurm.BOTO3: [3.0], "submissions, 1 client, jobs/s": [150.0], slurm.LISTING: [400.0]}
    found = slurm.compared(ours, theirs, own)
    assert found["figures"]["submissions together, jobs/s"]["timesAsGood"] > 1
    assert "submissions together, jobs/s: behind Slurm on the sandbox" not in found["missed"]
    assert "start by preemption, s: behind Slurm on the sandbox" in found["missed"]
    assert "handler of a warm submission, ms: 7.0; the goal is under 5" in found["missed"]
    assert "listing of 10,000: all, ms, the handler alone: 400; the goal is under 400" in found["missed"]
    own = {**own, slurm.LISTING: [399.0]}
    assert not any("the handler alone" in sentence for sentence in slurm.compared(ours, theirs, own)["missed"])
    result = {
        **found, "machine": "m", "versions": {"Slurm": "s 1"}, "settings": asdict(TINY),
        "submission on the sandbox, ms": {"a submission": 1.0},
    }  # fmt: skip
    table = slurm.table_of(result)
    assert all(name in table for name in ours)
    assert all(f"Missed: {sentence}" in table for sentence in found["missed"])


def test_the_set_up_says_how_it_is_used(tmp_path):
    environment = {**os.environ, "SLURM_BENCH_DIR": str(tmp_path)}
    asked = subprocess.run([SETUP], env=environment, capture_output=True, text=True, check=False)
    assert asked.returncode == 2
    assert "setup.sh start NODES | stop" in asked.stderr


def test_the_processor_time_of_a_process_is_read():
    before = _of_process_ms(os.getpid())
    sum(range(2_000_000))
    assert _of_process_ms(os.getpid()) >= before >= 0
