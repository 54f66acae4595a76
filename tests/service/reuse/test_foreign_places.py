"""Who may not read a place learns nothing about it by reuse: every answer is the same, whatever is there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.lifecycle import JobState
from headway.reasons import ReasonCode
from headway_service.admission.submission import Submission
from headway_service.testing.memory_role_permissions import EVERYTHING
from tests.service.reuse.test_reuse import CHECKPOINTS, DATA, OUTPUTS, archive, channel, document, job, run, submit
from tests.service.world import P5, ROOT, World

ROLE = document("x")["RoleArn"]
OTHER_ROLE = f"{ROLE}2"
ALL: list[Mapping[str, Any]] = [EVERYTHING]
MINE = {"StringLike": {"s3:prefix": ["mine/*", "output/*"]}}
OWN: list[Mapping[str, Any]] = [
    {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*", "Condition": MINE},
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::*/mine/*"},
]
"""A policy without the secret places."""

SAID = "is not there, or may not be read by its training role, or by the queue now"
GUESS = b"print('hello')"
PACKED = archive(("train.py", GUESS))

Place = Callable[[World], object]

NAMES: dict[str, dict[str, Any]] = {
    "a folder of checkpoints": {"CheckpointConfig": {"S3Uri": "s3://data/secret/co"}},
    "a beginning of names": {"CheckpointConfig": {"S3Uri": "s3://data/secr"}},
    "data": {"InputDataConfig": [channel("s3://data/secret/code")]},
    "sources": {"InputDataConfig": [channel("s3://data/secret/code/", "code")]},
    "drivers": {"InputDataConfig": [channel("s3://data/secret/code/", "sm_drivers")]},
    "an archive": {"HyperParameters": {"sagemaker_submit_directory": '"s3://data/secret/code/x.tar.gz"'}},
}


def _put(world: World, plain: bytes, packed: bytes) -> None:
    world.objects.put(DATA, "secret/code/train.py", plain)
    world.objects.put(DATA, "secret/code/x.tar.gz", packed)


def _put_many(world: World) -> None:
    for i in range(5001):
        world.objects.put(DATA, f"secret/code/{i}", b"")


THERE: dict[str, Place] = {
    "nothing": lambda world: None,
    "what was guessed": lambda world: _put(world, GUESS, PACKED),
    "something else": lambda world: _put(world, b"2", archive(("train.py", b"2"))),
    "more than is read": lambda world: _put(world, bytes(9 << 20), bytes(9 << 20)),
    "very many objects": _put_many,
    "no bucket": lambda world: world.objects.contents.pop(DATA),
}


def world_with(place: Place, *, readable: bool = False) -> World:
    world = World(pools={P5: 8})
    world.objects.put(OUTPUTS, "other", b"")
    # The same as is guessed, at a place that may be read.
    world.objects.put(DATA, "mine/code/train.py", GUESS)
    world.objects.put(DATA, "mine/code/x.tar.gz", PACKED)
    place(world)
    world.role_permissions.statements[ROLE] = list(ALL if readable else OWN)
    return world


def own(names: Mapping[str, Any]) -> dict[str, Any]:
    """The same request with the places that may be read."""
    mine: dict[str, Any] = json.loads(json.dumps(names).replace("secret/", "mine/"))
    return mine


def told(world: World, *names: str) -> list[Any]:
    """All that is known about jobs but what S3 was asked for."""
    return [(world.seen(name).job.model_dump(), world.seen(name).reason) for name in names]


def submitted(world: World, names: Mapping[str, Any]) -> list[Any]:
    submit(world, "mine", InputDataConfig=[channel("s3://data/mine/code/", "code")])
    submit(world, "asks", **{"InputDataConfig": None, **names})
    return told(world, "mine", "asks")


def in_a_tick(world: World, names: Mapping[str, Any]) -> list[Any]:
    world.submit("before")
    submit(world, "asks", after=[{"job": "before"}], **{"InputDataConfig": None, **names})
    world.tick()
    world.pass_time(1200, tick=False)
    assert world.tick().failed == []
    return told(world, "asks")


def as_a_member(world: World, names: Mapping[str, Any]) -> list[Any]:
    request = document("asks", **{"InputDataConfig": None, **names})
    world.submitter.submit(Submission(request=request, sweep={"grid": {"lr": ["1"]}}, reuse=True), ROOT)
    assert world.tick().failed == []
    return told(world, "asks_0")


@pytest.mark.parametrize("ask", [submitted, in_a_tick, as_a_member])
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_a_place_that_the_training_role_may_not_read_is_told_nothing_about(
    names: dict[str, Any], ask: Callable[[World, Mapping[str, Any]], list[Any]]
) -> None:
    answers = []
    for what, place in THERE.items():
        if what == "no bucket" and ask is submitted:
            continue  # its own place is in the same bucket
        world = world_with(place)
        answers.append(ask(world, names))
        assert not [call for call in world.objects.calls if "secr" in call], what
        codes = {step.reason.code for name in ("asks", "asks_0") for step in _history(world, name)}
        assert ReasonCode.NOT_REUSED in codes
    assert all(answer == answers[0] for answer in answers)
    assert SAID in str(answers[0][-1])


def _history(world: World, name: str) -> Any:
    return job(world, name).history if name in {each["jobName"] for each in _jobs(world)} else ()


def _jobs(world: World) -> list[dict[str, Any]]:
    return [dict(item) for item in world.table._items.values() if "jobName" in item]  # type: ignore[attr-defined]


@given(st.text("secrt/co", max_size=14))
@settings(max_examples=40)
def test_no_prefix_tells_whether_a_name_begins_so(prefix: str) -> None:
    """A name was once spelt out letter by letter with this."""
    uri = {"CheckpointConfig": {"S3Uri": f"s3://data/secret{prefix}"}}
    answers = [submitted(world_with(THERE[what]), uri) for what in ("nothing", "what was guessed")]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("names", [NAMES["sources"], NAMES["an archive"]], ids=["sources", "an archive"])
def test_the_same_place_is_compared_for_a_role_that_may_read_it(names: dict[str, Any]) -> None:
    """So the tests above compare what would be equal."""
    world = world_with(THERE["what was guessed"], readable=True)
    submit(world, "mine", **{"InputDataConfig": None, **own(names)})
    assert submit(world, "asks", **{"InputDataConfig": None, **names}).job.twin == "mine"


def test_outputs_that_the_training_role_may_not_list_answer_nobody() -> None:
    world = world_with(THERE["nothing"])
    submit(world, "first", OutputDataConfig={"S3OutputPath": "s3://jobs/secret"})
    run(world, "first", outputs=False)
    world.objects.put(OUTPUTS, "secret/first/output/model.tar.gz", b"model")
    seen = submit(world, "second", OutputDataConfig={"S3OutputPath": "s3://jobs/secret"})
    assert (seen.job.job_state, seen.job.reused_from) == (JobState.PENDING, "")
    assert not [call for call in world.objects.calls if "secret" in call]


def test_a_role_whose_policies_name_prefixes_has_its_jobs_answered() -> None:
    world = world_with(THERE["nothing"])
    inputs: dict[str, Any] = {"InputDataConfig": [channel("s3://data/mine/code/", "code")]}
    submit(world, "first", **inputs)
    run(world, "first")
    assert submit(world, "second", **inputs).job.reused_from == "first"
    assert SAID in submit(world, "third", InputDataConfig=[channel("s3://data/other")]).job.reason.message


@pytest.mark.parametrize("first", [ROLE, OTHER_ROLE])
def test_what_was_read_for_one_role_in_a_tick_is_not_known_for_another_one(first: str) -> None:
    world = world_with(THERE["what was guessed"])
    world.role_permissions.statements[OTHER_ROLE] = list(ALL)
    for role in (first, ROLE if first == OTHER_ROLE else OTHER_ROLE):
        name = "b" if role == ROLE else "c"
        request = document(name, RoleArn=role, **NAMES["sources"])
        world.submitter.submit(Submission(request=request, sweep={"grid": {"lr": ["1"]}}, reuse=True), ROOT)
    world.tick()
    assert SAID in str(job(world, "b_0").history)
    assert SAID not in str(job(world, "c_0").history)


def test_a_permission_that_was_taken_away_counts_at_the_end() -> None:
    world = world_with(THERE["what was guessed"], readable=True)
    submit(world, "first", **NAMES["sources"])
    world.role_permissions.statements[ROLE] = list(OWN)
    run(world, "first")
    assert not [item for item in world.table._items if item.pk.startswith("reuse#")]  # type: ignore[attr-defined]


@pytest.mark.parametrize("unknown", [True, False])
def test_an_answer_that_iam_does_not_give_costs_a_computation_only(unknown: bool) -> None:
    world = world_with(THERE["nothing"])
    world.role_permissions.unknown = unknown
    inputs: dict[str, Any] = {"InputDataConfig": [channel("s3://data/mine/code/", "code")]}
    submit(world, "first", **inputs)
    seen = submit(world, "second", **inputs)
    assert (seen.job.twin == "", SAID in seen.job.reason.message) == (unknown, unknown)


def test_iam_is_asked_once_for_the_members_of_an_array() -> None:
    world = World(pools={P5: 100})
    world.objects.put(OUTPUTS, "other", b"")
    world.objects.put(DATA, "train/a", b"1")
    sweep = {"grid": {"lr": [str(i) for i in range(50)]}}
    world.submitter.submit(Submission(request=document("s", **CHECKPOINTS), sweep=sweep, reuse=True), ROOT)
    world.tick()
    assert len(re.findall("running", str(world.states(*(f"s_{i:02}" for i in range(50)))))) == 50
    assert [resources for _, _, resources, _ in world.role_permissions.calls] == [
        ("arn:aws:s3:::data",),
        ("arn:aws:s3:::jobs",),
    ]


def test_without_reuse_nothing_is_asked_and_nothing_is_read() -> None:
    world = world_with(THERE["what was guessed"])
    for name, names in enumerate(NAMES.values()):
        world.submitter.submit(document(f"j{name}", **names), ROOT)
    world.tick()
    world.pass_time(1200)
    world.tick()
    assert (world.role_permissions.calls, world.objects.calls) == ([], [])
