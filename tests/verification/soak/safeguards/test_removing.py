"""Removed safeguards are detected; `make safeguards` fails if one is not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest

from headway_service.errors import Conflict
from headway_service.observability.logging import logger
from headway_service.ports.table import Absent, Check, Delete, Equals, Key, Put
from headway_service.store import transitions
from headway_service.store.records.capacity.ledger import PauseRecord, PoolRecord
from headway_service.store.transitions import shared
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak import __main__ as soak
from headway_verification.soak.safeguards.conditions import Place, recorded, unreached, without
from headway_verification.soak.safeguards.mutations import PATCHES
from headway_verification.soak.safeguards.removing import (
    TRIALS,
    Removal,
    Survey,
    SurveyedTrial,
    removed,
    stale_reasons,
    survey,
)
from headway_verification.soak.trials.crash_points import undisturbed
from headway_verification.soak.trials.interleavings import INTERLEAVINGS
from headway_verification.soak.trials.scenarios import SITUATIONS

SUBMISSIONS = SurveyedTrial(name="two submissions of one name", is_interleaving=True)
LISTED = SurveyedTrial(name="jobs are listed", is_interleaving=False)


class InlineExecutor(Executor):
    """Executes submitted calls immediately."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    before = logger.log_level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.fixture
def no_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove only conditions of writes."""
    monkeypatch.setattr("headway_verification.soak.safeguards.removing.PATCHES", {})


def removal(lines: list[str], **more: Any) -> Removal:
    return Removal(InlineExecutor(), lines.append, **more)


def test_a_condition_that_a_trial_detects_is_reported_immediately(no_patches: None) -> None:
    lines: list[str] = []
    assert removal(lines, only="enqueue: ").run([SUBMISSIONS], [], 1)
    assert len(lines) == 1
    assert "detected enqueue: the job does not exist (store/transitions/job.py:" in lines[0]
    assert "interleaving `two submissions of one name`, interleaved after 0 calls: not ended: ['j']" in lines[0]


def test_an_undetected_removal_fails_without_a_reason(no_patches: None) -> None:
    lines: list[str] = []
    # One submission only: there is no conflict about the name.
    lone = SurveyedTrial(name="a job is submitted", is_interleaving=False)
    assert not removal(lines, only="enqueue: ").run([lone], [], 1)
    assert "MISSED   enqueue: the job does not exist" in lines[0]
    reasons = {("enqueue", "job", "does not exist"): "so it is"}
    assert removal(lines, only="enqueue: ", reasons=reasons).run([lone], [], 1)
    assert lines[1].endswith("so it is")


def test_a_reason_for_a_detected_condition_fails(no_patches: None) -> None:
    reasons = {("enqueue", "job", "does not exist"): "so it is"}
    assert not removal([], only="enqueue: ", reasons=reasons).run([SUBMISSIONS], [], 1)


def test_conditions_that_never_fail_alone_are_removed_together(no_patches: None) -> None:
    lines: list[str] = []
    preemption = SurveyedTrial(name="a preemption and an end", is_interleaving=True)
    attempt, job = (
        "preempt: the attempt has the version that was read",
        "preempt: the job has the version that was read",
    )
    assert removal(lines, only="preempt: the job has").run([preemption], [], 1)
    assert len(lines) == 1
    assert f"detected {attempt}, and {job}" in lines[0] or f"detected {job}, and {attempt}" in lines[0]


def test_runs_follow_if_no_trial_detects_the_removal() -> None:
    lines: list[str] = []
    title = "lost events are recovered by describing training jobs"
    # It ends with the first run that detects it.
    assert removal(lines, only=title).run([LISTED], range(21, 40), 1)
    assert "run " in lines[0]


def test_a_trial_that_violates_an_invariant_without_a_removal_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    broken = Survey(broken=["a trial: a violation"])
    monkeypatch.setattr("headway_verification.soak.safeguards.removing.survey_trial", lambda trial: broken)
    assert not removal(lines, only="nothing").run([LISTED], [], 1)
    assert lines == ["BROKEN without a removal: a trial: a violation"]


def test_the_command_exits_with_1_if_a_removal_is_not_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "TRIALS", (LISTED,))
    monkeypatch.setattr(soak, "unreached", lambda calls: [])
    assert soak.main(["--safeguards", "--seeds", "1", "--only", "no safeguard has this title"]) == 0
    monkeypatch.setattr(soak, "TRIALS", (SurveyedTrial(name="a job is submitted", is_interleaving=False),))
    assert soak.main(["--safeguards", "--seeds", "1", "--only", "add_pool: "]) == 1


@pytest.mark.parametrize(
    ("safeguard", "title"),
    [
        ("the intent is written before SageMaker is called", "two schedulers"),
        ("start: takes instances from the pools", "two schedulers"),
        ("a held job does not start", "a start and a hold"),
    ],
)
def test_removals_of_other_safeguards_are_detected(safeguard: str, title: str) -> None:
    lines: list[str] = []
    assert removal(lines, only=safeguard).run([SurveyedTrial(name=title, is_interleaving=True)], [], 1)
    assert title in lines[0]


MET_ONLY = ("jobs start", "the end of a restore, and a pause", "a rogue job that is found while its pool goes")
"""Trials that set conditions only after a fault, or beside another actor."""


def survey_all() -> Survey:
    """Survey the conditions in each situation without a disturbance, and in two ways of a few trials."""
    found = Survey()
    for trial in TRIALS:
        with recorded() as record, redirect_stdout(StringIO()):
            undisturbed(trial.name, trial.situation)
        found.places |= record.places
        found.calls |= record.calls
    for trial in (each for each in TRIALS if each.name in MET_ONLY):
        with redirect_stdout(StringIO()):
            ways = trial.ways()
        each = survey([ways[0], ways[-1]])
        found.places |= each.places
        found.calls |= each.calls
    return found


def test_each_condition_of_a_write_has_a_row_and_each_reason_a_condition() -> None:
    found = survey_all()
    assert unreached(found.calls) == [], "write a situation or an interleaving in which the code sets this condition"
    assert stale_reasons(found.places) == []
    rows = {(place.function, place.item, place.condition) for place in found.places}
    assert ("preempt", "pause", "does not exist") in rows
    assert ("preempt", "pause of all", "does not exist") in rows
    assert ("start", "pause", "does not exist") in rows


def test_unreached_conditions_are_found() -> None:
    lines = {each for each in unreached(set()) if each.startswith("store/transitions/")}
    assert len(lines) > 40


def test_trials_cover_all_situations_and_interleavings() -> None:
    assert {trial.name for trial in TRIALS} == {*INTERLEAVINGS, *SITUATIONS}


def key_of(pool: str) -> Key:
    return PoolRecord.key(pool)


def table_with(*pools: tuple[str, int, int]) -> MemoryTable:
    table = MemoryTable()
    for pool, size, free in pools:
        key = key_of(pool)
        table.write([Put(item={"pk": key.pk, "sk": key.sk, "pool": pool, "size": size, "free": free})])
    return table


def record_of(pool: str) -> PoolRecord:
    return PoolRecord(pool=pool, size=0, free=0)


@pytest.mark.parametrize(
    ("size", "free", "decides"), [(1, 0, ["has size 0"]), (0, 1, ["has free 0"]), (1, 1, ["has free 0", "has size 0"])]
)
def test_the_failed_conditions_of_a_write_are_recorded(size: int, free: int, decides: Sequence[str]) -> None:
    table = table_with(("p", size, free))
    with recorded() as record, pytest.raises(Conflict):
        table.write(transitions.remove_pool(record_of("p")))
    (decided,) = record.decided
    assert [place.condition for place in sorted(decided)] == decides
    assert {place.condition for place in record.places} == {"has size 0", "has free 0"}
    assert {place.function for place in record.places} == {"remove_pool"}


def test_one_condition_of_several_is_removed() -> None:
    table = table_with(("p", 1, 0))
    with recorded() as record:
        (write, _) = transitions.remove_pool(record_of("p"))
    size = next(place for place in record.places if place.condition == "has size 0")
    with without([size]):
        table.write(transitions.remove_pool(record_of("p")))
    assert table.get(write.key) is None


def test_a_condition_is_removed_in_one_function_only() -> None:
    pause = PauseRecord(pool="p", by="me", reason="so it is", since_ms=1)
    with recorded() as record:
        transitions.pause(pause)
        transitions.change_pause(pause, pause)
    place = next(place for place in record.places if place.function == "pause")
    assert place.title == "pause: the pause of the pool does not exist"
    with without([place]):
        assert transitions.pause(pause)[0].requires is None
        assert transitions.change_pause(pause, pause)[0].requires == Equals("sinceMs", 1)
    assert transitions.pause(pause)[0].requires is not None


def test_a_condition_that_no_function_of_the_service_sets_is_not_recorded() -> None:
    with recorded() as record:
        PauseRecord(pool="p", by="me", reason="so it is", since_ms=1).put(requires=Absent())
    assert record.places == set()


def test_a_removed_check_always_passes() -> None:
    with recorded() as record:
        checks = shared.require_not_paused({"p": 1})  # no transition consists of this alone
    assert sorted(place.item for place in record.places) == ["pause", "pause of all"]
    with without(record.places):
        table = MemoryTable()
        table.write([PauseRecord(pool="p", by="me", reason="so it is", since_ms=1).put(requires=Absent())])
        table.write([*shared.require_not_paused({"p": 1}), Delete(key=Key("a", "b"))])
    assert all(isinstance(check, Check) for check in checks)


@pytest.mark.parametrize("name", PATCHES)
def test_a_removed_safeguard_is_restored_afterwards(name: str) -> None:
    patch = PATCHES[name]
    before = getattr(patch.target, patch.name)
    with removed(name):
        assert getattr(patch.target, patch.name) is not before
    with patch.watched(lambda: None):
        pass
    assert getattr(patch.target, patch.name) is before


def test_a_place_is_described_by_function_item_and_condition() -> None:
    place = Place(module="transitions", line=7, function="start", item="pool", condition="has enough free")
    assert (place.title, place.where) == ("start: the pool has enough free", "transitions.py:7")
