"""What a dry run of a configuration says, and what then happens when it is set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headway.refusals import Cause, FailedLaunches
from headway_service.config.document import validate
from headway_service.effects import waiting
from headway_service.errors import InvalidConfiguration
from headway_service.ports.table import Put
from headway_service.store.records.job import request_key
from tests.core.builders import job
from tests.service.effects.busy_queue import DOCUMENT, G5, BusyQueue, changed, sentence, told
from tests.service.world import P5

CLOSED = {"days": ["fri"], "from": "08:40", "to": "24:00", "size": 0}
NO_TEAM = "teams: callers who are in no team may no longer submit"
Check = Callable[[BusyQueue], bool]


def nothing(queue: BusyQueue) -> bool:
    """All run that ran, and none is stopped."""
    running = {name for name, state in queue.states().items() if state == "running"}
    return running == {"high", "low", "wide", "small"} and not queue.world.called("StopTrainingJob")


def stopped(*names: str) -> Check:
    """These jobs, and no others, were stopped."""
    return lambda queue: {each.partition("-")[0] for each in queue.world.called("StopTrainingJob")} == {*names}


def waits(*names: str) -> Check:
    """These jobs wait as nothing can ever start them, and all run that ran."""
    codes = {"ExceedsPool", "ExceedsTeamLimit", "UnknownPool"}
    return lambda queue: nothing(queue) and {queue.world.seen(name).reason.code for name in names} <= codes


def ended(name: str, code: str) -> Check:
    """A job has ended, or is told to stop, for this reason."""
    return lambda queue: queue.happened_to(name) == {name: code}


# name, document, effects by code, what has happened an hour later
RISKY: list[tuple[str, dict[str, Any], dict[str, list[str]], Check]] = [
    (
        "preemption is switched on",
        changed(preemption={"enabled": True}),
        {"Preempted": ["wide"]},
        stopped("wide"),
    ),
    (
        "a pool closes, and what runs is stopped",
        changed(pools={P5: {"schedule": [CLOSED], "atShrink": "stop"}}),
        {"Stopped": ["high", "low", "wide"]},
        stopped("high", "low", "wide"),
    ),
    (
        "a pool closes, and what runs may end",
        changed(pools={P5: {"schedule": [CLOSED], "atShrink": "run"}}),
        {},
        nothing,
    ),
    (
        "a pool becomes smaller than its use",
        changed(pools={P5: {"size": 1}}),
        {"BelowUse": [P5], "NeverStarts": ["urgent", "whole"]},
        waits("urgent", "whole"),
    ),
    (
        "a pool is removed",
        changed(pools={P5: None}),
        {"BelowUse": [P5], "NeverStarts": ["urgent", "whole"]},
        waits("urgent", "whole"),
    ),
    (
        "a type is written wrong",
        changed(pools={"ml.p5.48xlrge": {"size": 1}}),
        {"UnknownType": ["ml.p5.48xlrge"]},
        nothing,
    ),
    (
        "a team is removed",
        changed(teams={"blue": None}),
        {"LosesTeam": ["low", "wide"], "LosesRights": [NO_TEAM]},
        nothing,
    ),
    (
        "a team gets a limit below what its jobs demand",
        changed(teams={"red": {"limit": {P5: 3}}}),
        {"NeverStarts": ["whole"]},
        waits("whole"),
    ),
    (
        "the highest priority is lowered",
        changed(priority={"maximum": 8, "default": 1}),
        {"AboveMaximum": ["denied", "urgent"]},
        nothing,
    ),
    (
        "a rule stops jobs that wait",
        changed(rules={"small": {"require": {"maxInstances": 1}, "onStart": "stop"}}, pools={P5: {"size": 6}}),
        {"BreaksRules": ["urgent", "whole"], "OutsideStopped": ["rogue"]},
        stopped("urgent"),
    ),
    (
        "refused jobs are given up sooner",
        changed(launches={"giveUpSeconds": 3600}),
        {"GivenUp": ["denied"]},
        ended("denied", "LaunchRefused"),
    ),
    (
        "jobs outside the queue are stopped",
        changed(pools={"ml.g5.2xlarge": {"size": 1}}, rogues={"action": "stop"}),
        {"OutsideStopped": ["rogue"]},
        stopped("rogue"),
    ),
    (
        "an administrator is removed",
        changed(access={"admins": ["user/ada"]}),
        {"LosesRights": ["access.admins: user/bob"]},
        nothing,
    ),
    (
        "a team is closed",
        changed(teams={"blue": {"members": ["user/bob"]}}),
        {
            "LosesRights": [
                "teams.blue: every caller's submissions",
                "teams: callers who are in no team may no longer submit",
            ]
        },
        nothing,
    ),
    (
        "all at once",
        changed(preemption={"enabled": True}, pools={G5: {"size": 0}}, access=None, teams={"red": {"maxPriority": 8}}),
        {
            "Preempted": ["wide"],
            "BelowUse": [G5],
            "NeverStarts": ["denied"],
            "AboveMaximum": ["denied", "urgent"],
            "LosesRights": ["access.admins: user/ada", "access.admins: user/bob"],
        },
        stopped("wide"),
    ),
]


@pytest.mark.parametrize(("document", "effects", "happens"), [row[1:] for row in RISKY], ids=[row[0] for row in RISKY])
def test_a_dry_run_tells_what_happens(document: dict[str, Any], effects: dict[str, list[str]], happens: Check) -> None:
    queue = BusyQueue()
    found = queue.effects(document)
    assert told(found) == effects
    assert all(each.count == len(each.names) for each in found.effects)
    assert found.changes
    assert nothing(queue), "a dry run changes nothing"
    queue.set(document)
    queue.play(60)
    assert happens(queue)


def test_a_document_that_changes_nothing_has_no_effects() -> None:
    found = BusyQueue().effects(DOCUMENT)
    assert (found.changes, found.effects) == ([], [])


def test_what_happens_by_the_configuration_in_force_as_well_is_no_effect() -> None:
    queue = BusyQueue()
    queue.set(changed(pools={P5: {"schedule": [CLOSED], "atShrink": "stop"}}))
    assert told(queue.effects(changed(pools={P5: {"schedule": [CLOSED], "atShrink": "stop"}}, currency="EUR"))) == {}


def test_a_document_that_is_not_valid_has_no_effects_to_show() -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        BusyQueue().effects(changed(pools={P5: {"size": -1}}))
    assert [each.field for each in caught.value.fields] == [f"pools.{P5}.size"]


def test_the_changes_are_those_of_values_and_not_of_their_notation() -> None:
    found = BusyQueue().effects(changed(pools={P5: {"size": 5}}, backfill={"enabled": True}))
    assert [(each.field, each.message) for each in found.changes] == [(f"pools.{P5}.size", "4 → 5")]


def test_the_sentences_say_what_becomes_of_how_many() -> None:
    queue = BusyQueue()
    found = queue.effects(changed(pools={P5: {"size": 1}}))
    assert sentence(found, "BelowUse") == (
        f"{P5} would have 1 of its 4 instances, with 4 in use or reserved: nothing starts there until they fit"
    )
    reason = f"demands 2 {P5}"
    assert sentence(found, "NeverStarts").startswith(f"2 waiting jobs could never start: {reason}")
    typo = queue.effects(changed(pools={"ml.p5.48xlrge": {"size": 1}}))
    assert sentence(typo, "UnknownType").endswith("; is ml.p5.48xlarge meant?")


def test_a_job_whose_request_cannot_be_read_is_left_out() -> None:
    queue = BusyQueue()
    item = queue.world.table.get(request_key("urgent"))
    assert item is not None
    queue.world.table.write([Put(item={**item, "schemaVersion": 99})])
    rule = {"small": {"require": {"maxInstances": 1}, "onStart": "stop"}}
    assert told(queue.effects(changed(rules=rule)))["BreaksRules"] == ["whole"]


def test_a_rule_that_jobs_break_already_is_no_effect_of_another_name() -> None:
    queue = BusyQueue()
    rule = {"require": {"maxInstances": 1}, "onStart": "stop"}
    queue.set(changed(rules={"small": rule}))
    assert "BreaksRules" not in told(queue.effects(changed(rules={"few": rule})))
    assert "BreaksRules" not in told(queue.effects(changed(rules={"small": {**rule, "require": {"maxInstances": 3}}})))


def test_a_stop_that_comes_sooner_is_told() -> None:
    queue = BusyQueue()
    queue.set(changed(preemption={"enabled": True, "minRunTimeSeconds": 4200}))
    assert told(queue.effects(changed(preemption={"enabled": True, "minRunTimeSeconds": 0}))) == {"Preempted": ["wide"]}
    assert told(queue.effects(changed(preemption={"enabled": True, "minRunTimeSeconds": 4199}))) == {}


def test_many_jobs_that_are_given_up_are_all_counted() -> None:
    failed = FailedLaunches(
        count=9, since_ms=0, last_ms=0, idled_ms=0, cause=Cause.DENIED, by_request_since_ms=0, pools_size=0
    )
    jobs = [replace(job(f"a{number}"), failed=failed) for number in range(100)]
    sooner = validate({**DOCUMENT, "launches": {"giveUpSeconds": 60}})
    (found,) = waiting.ending(validate(DOCUMENT), sooner, jobs, 0)
    assert (found.count, len(found.names)) == (100, 20)
