"""The figures of a host, its limits, and the utilization of GPUs that a script makes up."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox.training.container.limits import Limits
from headway_sandbox.training.container.usage import Usage
from headway_sandbox.training.platform import simulated_gpu, utilization
from headway_sandbox.training.platform.hosts import Host
from headway_sandbox.training.platform.meter import Meter

MB = 2**20


def used(*, after_s: float = 0.0, cpu_s: float = 0.0, memory_bytes: int = 0) -> Usage:
    return Usage(at_s=after_s, cpu_s=cpu_s, memory_bytes=memory_bytes)


# ------------------------------------------------------------------------------------------------------- the figures


@given(st.floats(min_value=0, max_value=4e9))
def test_a_value_is_due_in_the_middle_of_each_minute(now_s: float):
    moment = utilization.next_moment(now_s)
    assert now_s < moment <= now_s + 60
    assert moment % 60 == 30
    assert utilization.next_moment(moment) == moment + 60


@pytest.mark.parametrize(
    ("cpu_s", "percent"),
    [(5.0, 0.0), (35.0, 50.0), (65.0, 100.0), (185.0, 300.0), (1.0, 0.0)],
    ids=["idle", "half a core", "a core", "three cores", "a process was lost"],
)
def test_processors_are_in_percent_of_one_core(cpu_s: float, percent: float):
    found = utilization.percentages(
        used(after_s=10, cpu_s=5), used(after_s=70, cpu_s=cpu_s), memory_bytes=1, disk_used=0, disk_bytes=1, gpu=None
    )
    assert found["CPUUtilization"] == percent


def test_memory_and_disk_are_in_percent_of_the_host():
    def found(memory_bytes: int, disk_used: int) -> Mapping[str, float]:
        now = used(after_s=60, memory_bytes=memory_bytes)
        return utilization.percentages(used(), now, memory_bytes=200, disk_used=disk_used, disk_bytes=1000, gpu=None)

    assert found(50, 100) == {"CPUUtilization": 0.0, "MemoryUtilization": 25.0, "DiskUtilization": 10.0}
    assert found(500, 5000) == {"CPUUtilization": 0.0, "MemoryUtilization": 100.0, "DiskUtilization": 100.0}


@pytest.mark.parametrize(
    ("text", "percent"),
    [("0", 0.0), ("87.5\n", 87.5), ("400", 400.0)]
    + [(text, None) for text in ("-1", "401", "nan", "inf", "full", "90 %")],
)
def test_a_simulated_gpu_is_a_number_up_to_100_for_each(text: str, percent: float | None):
    assert simulated_gpu.parse(text, 400.0) == percent


# -------------------------------------------------------------------------------------------------------- the meter


class World:
    """Two hosts, one of them with a GPU, and their logs."""

    def __init__(self, folder: Path, **limits: int) -> None:
        self.hosts = [
            Host(number=number, instance_type=kind, group="g", folder=folder / f"algo-{number}")
            for number, kind in enumerate(("ml.g5.xlarge", "ml.m5.xlarge"), start=1)
        ]
        for host in self.hosts:
            (host.folder / "tmp").mkdir(parents=True)
        self.logged: list[str] = []
        self.meter = Meter(
            self.hosts, Limits(**{"disk_bytes": 10 * MB, **limits}), log=lambda host, text: self.logged.append(text)
        )

    def gpu(self, text: str) -> None:
        for host in self.hosts:
            (host.folder / "tmp/headway-gpu").write_text(text)

    def figures(self, **usages: Usage) -> dict[str, Mapping[str, float]]:
        found = self.meter.figures({int(name[-1]): usage for name, usage in usages.items()})
        return {host.name: percent for host, percent in found}


def later(s: float = 10.0) -> Usage:
    return used(after_s=time.monotonic() + s)


def test_a_host_that_was_not_measured_again_has_no_figures(tmp_path: Path):
    world, usage = World(tmp_path), later()
    assert set(world.figures(algo1=usage, algo2=usage)) == {"algo-1", "algo-2"}
    assert set(world.figures(algo1=usage, algo2=later(20))) == {"algo-2"}
    assert world.figures() == {}


def test_the_disk_of_a_host_is_measured(tmp_path: Path):
    world = World(tmp_path)
    (world.hosts[1].folder / "tmp/file").write_bytes(b"x" * 5 * MB)
    assert world.meter.exceeded({}) is None
    figures = world.figures(algo1=later(), algo2=later())
    assert (figures["algo-1"]["DiskUtilization"], figures["algo-2"]["DiskUtilization"]) == (0.0, 50.0)


def test_without_a_limit_memory_is_in_percent_of_the_machine(tmp_path: Path):
    usage = used(after_s=time.monotonic() + 1, memory_bytes=64 * MB)
    assert World(tmp_path / "a", memory_bytes=128 * MB).figures(algo1=usage)["algo-1"]["MemoryUtilization"] == 50.0
    assert 0 < World(tmp_path / "b").figures(algo1=usage)["algo-1"]["MemoryUtilization"] < 50.0


@pytest.mark.parametrize(
    ("disk", "memory", "reason"),
    [
        (MB, 128 * MB, None),
        (0, 128 * MB + 1, "algo-2 used more than the 134217728 bytes of memory"),
        (11 * MB, 0, "algo-2 used more than the 10485760 bytes of disk space"),
    ],
)
def test_a_host_above_a_limit_is_the_reason_of_the_failure(tmp_path: Path, disk: int, memory: int, reason: str | None):
    world = World(tmp_path, memory_bytes=128 * MB)
    (world.hosts[1].folder / "tmp/file").write_bytes(b"x" * disk)
    found = world.meter.exceeded({1: used(), 2: used(memory_bytes=memory)})
    assert (found is None) if reason is None else (found is not None and reason in found)
    assert found is None or (found.startswith("AlgorithmError: ") and found.endswith(", exit code: 137"))


def test_memory_without_a_limit_is_no_reason(tmp_path: Path):
    assert World(tmp_path).meter.exceeded({1: used(memory_bytes=2**50)}) is None


def test_only_a_host_with_gpus_has_the_simulated_figure_and_its_log_says_so_once(tmp_path: Path):
    world = World(tmp_path)
    world.gpu("75")
    assert world.figures(algo1=later(), algo2=later())["algo-1"]["GPUUtilization"] == 75.0
    assert "GPUUtilization" not in world.figures(algo1=later(20), algo2=later(20))["algo-2"]
    assert [text for text in world.logged if "simulated" in text] == world.logged
    assert len(world.logged) == 1


@pytest.mark.parametrize(("text", "logged"), [("", 0), ("full", 1)])
def test_without_a_figure_there_is_none_and_a_wrong_one_is_logged(tmp_path: Path, text: str, logged: int):
    world = World(tmp_path)
    assert "GPUUtilization" not in world.figures(algo1=later())["algo-1"]
    world.gpu(text)
    assert "GPUUtilization" not in world.figures(algo1=later(20))["algo-1"]
    assert sum("is not a number from 0 to 100" in each for each in world.logged) == logged


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path):
    world = World(tmp_path)
    (tmp_path / "secret").write_text("42")
    (world.hosts[0].folder / "tmp/headway-gpu").symlink_to(tmp_path / "secret")
    assert "GPUUtilization" not in world.figures(algo1=later())["algo-1"]
