"""Work on each of several records by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway_service.errors import Conflict, RetryLater, UnreadableRecord
from headway_service.observability.isolation import MAX_CONFLICTS, Isolation, Outcome


class Noted:
    """An isolation, and what it has noted."""

    def __init__(self) -> None:
        self.conflicts = 0
        self.failed: list[tuple[str, Exception]] = []
        self.isolation = Isolation(note_conflict=self.count, note_failed=lambda *told: self.failed.append(told))

    def count(self) -> None:
        self.conflicts += 1

    def do(self, work: Callable[[], bool], name: str = "a", what: str = "a record") -> Outcome:
        return self.isolation.do(what, name, work)


def raising(error: Exception) -> Callable[[], bool]:
    def work() -> bool:
        raise error

    return work


@pytest.mark.parametrize(("changed", "outcome"), [(True, Outcome.CHANGED), (False, Outcome.UNCHANGED)])
def test_work_that_is_done_says_whether_it_has_changed_anything(changed: bool, outcome: Outcome) -> None:
    noted = Noted()
    found = noted.do(lambda: changed)
    assert found is outcome
    assert (found.is_done, found.reads_again) == (True, changed)
    assert (noted.conflicts, noted.failed) == (0, [])


@pytest.mark.parametrize("error", [Conflict([0]), RetryLater("busy")])
def test_a_record_that_conflicts_is_read_again_until_it_is_left_alone_and_reported_once(error: Exception) -> None:
    noted = Noted()
    outcomes = [noted.do(raising(error)) for _ in range(MAX_CONFLICTS + 2)]
    left = [Outcome.LEFT_ALONE] * 3
    assert outcomes == [Outcome.CONFLICT] * (MAX_CONFLICTS - 1) + left
    assert [(each.is_done, each.reads_again) for each in outcomes[:1] + left[:1]] == [(False, True), (False, False)]
    assert (noted.conflicts, noted.failed) == (MAX_CONFLICTS, [("a", error)])


@pytest.mark.parametrize("error", [UnreadableRecord("damaged"), KeyError("jobDetails"), ZeroDivisionError()])
def test_a_record_that_cannot_be_processed_is_left_alone_at_once(error: Exception) -> None:
    noted = Noted()
    assert [noted.do(raising(error)) for _ in range(2)] == [Outcome.LEFT_ALONE] * 2
    assert (noted.conflicts, noted.failed) == (0, [("a", error)])
    assert noted.do(lambda: True) is Outcome.LEFT_ALONE


def test_other_records_and_other_work_on_the_record_go_on() -> None:
    noted = Noted()
    noted.do(raising(UnreadableRecord("damaged")))
    assert noted.do(lambda: True, name="b") is Outcome.CHANGED
    assert noted.do(lambda: True, what="other work") is Outcome.CHANGED
    assert noted.isolation.left_alone("a record") == {"a"}
    assert noted.isolation.left_alone("other work") == set()


def test_a_kill_is_no_error_of_a_record() -> None:
    class Killed(BaseException):
        pass

    def killed() -> bool:
        raise Killed

    with pytest.raises(Killed):
        Noted().do(killed)
