"""A small part of `make snapshots`."""

from __future__ import annotations

import sys
from random import Random

import pytest

from headway.scheduling import queue_order
from tests.core import random_snapshots


def test_random_snapshots_come_to_rest_and_every_job_is_served() -> None:
    faults, _ = random_snapshots.play(1, range(150))
    assert not faults


def test_the_same_seed_and_number_give_the_same_snapshot() -> None:
    first, again = (random_snapshots.random_snapshot(Random("1/7")) for _ in range(2))
    assert first == again


def test_a_violation_is_found_printed_and_changes_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(queue_order._TeamQueue, "_is_covered", lambda *_: False)
    monkeypatch.setattr(sys, "argv", ["random_snapshots", "--count", "120", "--seed", "3", "--processes", "1"])
    assert random_snapshots.main() == 1
    told = capsys.readouterr().out
    assert told.startswith("seed 3, 120 snapshots, 1 processes")
    assert "does not come to rest" in told
    assert "Snapshot(now_ms=" in told
