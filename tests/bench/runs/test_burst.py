"""A burst of submissions: nothing is lost or misreported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bench.runs.burst import Answers, found, oldest_age_s
from headway_client.errors import BusyError, ConflictError, NotReachableError


class User:
    """A client with given responses, one per submission."""

    def __init__(self, *answers: Exception | None) -> None:
        self._answers: Iterator[Exception | None] = iter(answers)

    def submit(self, request: dict[str, Any], *, idempotency_key: str) -> None:
        assert idempotency_key == request["TrainingJobName"]
        answer = next(self._answers)
        if answer is not None:
            raise answer


class Now:
    """Random numbers without waits."""

    def uniform(self, _least: float, _most: float) -> float:
        return 0.0


def answered(*answers: Exception | None, names: str) -> Answers:
    told, user = Answers(), User(*answers)
    for name in names:
        told.submit(user, Now(), {"TrainingJobName": name})  # type: ignore[arg-type]
    return told


FULL = ConflictError("1 jobs wait for p, and 1 may (limits.waitingPerTeam): try again", status=409)


def test_who_is_throttled_asks_again_and_who_is_refused_is_told_why() -> None:
    told = answered(BusyError("later", status=429), None, FULL, NotReachableError("gone"), names="abc")
    assert told.accepted.keys() == {"a"}
    assert told.refused == {"b": FULL.message}
    assert told.lost.keys() == {"c"}
    assert told.throttles == {"429": 1}


def figures(told: Answers, listed: set[str], names: str) -> dict[str, Any]:
    requests = [{"TrainingJobName": name} for name in names]
    return found(
        told, listed=listed, looks=[(11.0, 3), (12.0, 0)], passes=2, began_s=10.0, took_s=2.0, requests=requests
    )


@pytest.mark.parametrize(
    ("listed", "lost", "kept"),
    [({"a"}, ["c"], []), (set(), ["a", "c"], []), ({"a", "b"}, ["c"], ["b"])],
)
def test_what_was_accepted_has_to_be_there_and_what_was_refused_not(
    listed: set[str], lost: list[str], kept: list[str]
) -> None:
    told = answered(None, FULL, NotReachableError("gone"), names="abc")
    seen = figures(told, listed, "abc")
    assert (seen["lost"], seen["kept though refused"]) == (lost, kept)
    assert seen["refused"] == {"limits.waitingPerTeam": 1}
    assert (seen["mostWakesWaiting"], seen["secondsUntilNoWakeWaits"]) == (3, 1.0)


@pytest.mark.parametrize(
    ("left", "now_s", "age_s"),
    [(0, 9.0, 0.0), (1, 9.0, 4.0), (3, 9.0, 8.0), (7, 9.0, 8.0), (1, 3.0, 0.0), (2, 0.5, 0.0)],
)
def test_the_oldest_wake_up_is_as_old_as_those_sent_since_are_left(left: int, now_s: float, age_s: float) -> None:
    assert oldest_age_s([1.0, 3.0, 5.0], left, now_s) == age_s
