"""The clock of a sandbox over its restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway_sandbox.server.saved_clock import FILE, clock_of


def test_a_new_sandbox_begins_with_the_time_of_the_machine(tmp_path: Path) -> None:
    clock = clock_of(tmp_path, speed=60.0, now_s=1000.0)
    assert (clock.training_time(1000.0), clock.training_time(1001.0)) == (1000.0, 1060.0)


def test_training_time_is_the_same_after_a_restart(tmp_path: Path) -> None:
    first = clock_of(tmp_path, speed=60.0, now_s=1000.0)
    assert clock_of(tmp_path, speed=60.0, now_s=2000.0) == first
    assert clock_of(tmp_path, speed=None, now_s=3000.0) == first


def test_a_new_sandbox_without_a_speed_runs_in_real_time(tmp_path: Path) -> None:
    assert clock_of(tmp_path, speed=None, now_s=1000.0).speed == 1.0


@pytest.mark.parametrize("speed", [1.0, 600.0])
def test_another_speed_continues_from_the_training_time_so_far(tmp_path: Path, speed: float) -> None:
    clock_of(tmp_path, speed=60.0, now_s=1000.0)
    for now_s in (2000.0, 3000.0):
        clock = clock_of(tmp_path, speed=speed, now_s=now_s)
        assert clock.training_time(2000.0) == 61_000.0
        assert clock.training_time(2001.0) == 61_000.0 + speed


@pytest.mark.parametrize("text", [
    "", "{}x", "[]",
    '{"speed": 60, "unknown": 1}', '{"speed": 0}', '{"speed": NaN}', '{"speed": 1e999}', '{"training_s": "1"}',
    '{"machine_s": Infinity}', '{"training_s": NaN}', "[" * 100_000,
])  # fmt: skip
def test_a_clock_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(SystemExit, match=r"clock\.json is not a clock"):
        clock_of(tmp_path, speed=60.0, now_s=1000.0)
