"""What an operator has done is a record with who, when and why, and a sentence."""

from __future__ import annotations

import pytest

from headway_service.actions.action import DEPLOYMENT, KEPT_S, ActionKind, ActionRecord, Author
from tests.service.stopped_clocks import clocks_at

ADA = Author("user/ada", "10.0.0.7", "the cooling is repaired")


@pytest.mark.parametrize(
    ("kind", "target", "author", "message"),
    [
        (ActionKind.PAUSE, "all pools", ADA, "user/ada paused all pools: the cooling is repaired"),
        (
            ActionKind.DRAIN,
            "ml.p5.48xlarge",
            ADA,
            "user/ada drained ml.p5.48xlarge, and had running jobs stopped: the cooling is repaired",
        ),
        (ActionKind.RESUME, "ml.p5.48xlarge", Author("user/ada"), "user/ada resumed ml.p5.48xlarge"),
        (ActionKind.CONFIGURE, "1", DEPLOYMENT, "the deployment set version 1 of the configuration"),
        (ActionKind.CONFIGURE, "7", Author(""), "somebody set version 7 of the configuration"),
        (
            ActionKind.STOP_ROGUE,
            "past",
            Author("user/ada"),
            "user/ada requested the stop of the training job `past`, which did not come through the queue",
        ),
        (ActionKind.REDRIVE, "dead letters", Author("user/ada"), "user/ada redrove dead letters"),
        (
            ActionKind.FORGET,
            "the name of an owner",
            Author("user/ada"),
            "user/ada took the name of an owner out of the table",
        ),
    ],
)
def test_an_action_is_told_in_a_sentence(kind: ActionKind, target: str, author: Author, message: str) -> None:
    record = ActionRecord.of(kind, target, author, clocks_at(5_000))
    assert record.message == message
    assert ActionRecord.parse(record.put().item) == record


def test_the_newest_action_is_stored_first_and_each_by_itself() -> None:
    at = [
        ActionRecord.of(ActionKind.PAUSE, "all pools", ADA, clocks_at(now_ms))
        for now_ms in (1_000, 999_999_999_999_999)
    ]
    at.append(ActionRecord.of(ActionKind.RESUME, "all pools", ADA, clocks_at(1_000)))
    keys = [each.key().sk for each in at]
    assert sorted(keys)[0] == keys[1]
    assert len(set(keys)) == len({each.id for each in at}) == 3


def test_an_action_is_kept_for_two_years() -> None:
    assert ActionRecord.of(ActionKind.PAUSE, "all pools", ADA, clocks_at(5_000)).expires_at == 5 + KEPT_S
