"""A few hundred lives of a queue in which everything goes wrong; `make soak` lives thousands."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random

import pytest

from headway_sandbox.soak import __main__ as soak
from headway_sandbox.soak.life import live
from headway_sandbox.soak.processes import Process, Processes
from headway_sandbox.soak.safeguards import switched_off
from headway_sandbox.soak.situations import DUELS, SITUATIONS
from headway_sandbox.soak.trials import crash, duel
from headway_service.log import logger

SEEDS = 100

NOTICED = (
    "a new job needs its name to be unused",
    "the intent is written before SageMaker is called",
    "a launch is settled by the holder of its lease only",
)
"""Safeguards whose removal a trial notices. `make safeguards` tries all of them, with lives too."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = logger.log_level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


def test_whatever_happens_no_promise_is_broken() -> None:
    states: set[str] = set()
    accidents: Counter[str] = Counter()
    for seed in range(SEEDS):
        outcome = live(seed)
        assert outcome.violation is None, f"seed {seed}: {outcome.violation}"
        states |= outcome.states
        accidents.update(str(kind) for _, kind in outcome.accidents.elements())
    assert states == {"pending", "running", "stopping", "preempted", "completed", "failed", "stopped"}
    assert min(accidents[kind] for kind in ("crash before", "crash after", "refused", "answer lost", "sent twice")) > 20


def test_a_seed_gives_the_same_life_again() -> None:
    assert live(7).log == live(7).log
    assert live(7).log != live(8).log


@pytest.mark.parametrize("name", NOTICED)
def test_without_a_safeguard_a_trial_breaks_a_promise(name: str) -> None:
    _, _, _, trial, how = soak.first_noticed(name, [])
    assert trial in DUELS
    assert how


def test_without_the_ledger_the_first_life_breaks_a_promise() -> None:
    _, seed, how, _, _ = soak.first_noticed("instances are taken from the ledger", [0])
    assert (seed, how) == (0, "the ledger of ml.g5.xlarge is not the sum of its holds")


def test_of_a_life_that_breaks_a_promise_the_least_is_found_and_can_be_lived_again() -> None:
    with switched_off("instances are taken from the ledger"):
        broken = soak.lived(0)
        assert broken.happenings > 40
        shortest, kept = soak.shrunk(broken)
        assert shortest.violation
        assert 0 < len(kept) < 5
        assert soak.lived(0, kept).log == shortest.log
        assert not soak.lived(0, kept[1:]).violation


@pytest.mark.parametrize("name", SITUATIONS)
def test_after_a_crash_beside_any_call_all_ends_well(name: str) -> None:
    trial = crash(name)
    assert trial.calls > 2
    assert trial.ways == 2 * trial.calls
    assert trial.violations == {}


@pytest.mark.parametrize("name", [name for name, each in DUELS.items() if each.rival is None])
def test_whoever_acts_between_two_calls_all_ends_well(name: str) -> None:
    trial = duel(name)
    assert trial.ways == trial.calls + 1
    assert trial.violations == {}


def test_one_of_several_goes_on_until_it_pauses_and_a_killed_one_never_does() -> None:
    done: list[str] = []

    def work(name: str) -> None:
        done.append(f"{name} begins")
        them[name].pause()
        done.append(f"{name} ends")

    them = {name: Process(name, "api", 0, partial(work, name)) for name in "ab"}
    processes = Processes(Random(0))
    for process in them.values():
        processes.start(process)
    them["a"].step()
    processes.kill(them["a"])
    assert done == ["a begins"]
    while processes.live:
        processes.step(0.0)
    assert done == ["a begins", "b begins", "b ends"]


def test_the_command_tells_what_it_did_and_shows_the_log_of_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["--seeds", "4"]) == 0
    assert "4 lives (seeds 0 to 3)" in capsys.readouterr().out
    assert soak.main(["--seed", "3"]) == 0
    assert "seed 3: all promises kept" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        soak.main(["--seeds", "0"])
