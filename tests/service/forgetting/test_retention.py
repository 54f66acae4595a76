"""The table of what is kept for how long has a row for each kind of record."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import headway_service
from headway.days import DAYS_KEPT
from headway_sandbox.local.checkout import Checkout
from headway_service.accounting.records import KINDS_KEPT, MARK_KEPT_S, MONTHS_KEPT
from headway_service.actions import action as actions
from headway_service.jobs.shared_checkpoints import KEPT_S as CHECKPOINTS_KEPT_S
from headway_service.pools.config_history import KEPT_S
from headway_service.store.records.base import Record
from headway_service.store.records.digest import DIGEST_KEPT_S
from headway_service.store.records.feed import FEED_KEPT_S
from headway_service.store.transitions.job import GIVEN_UP_KEPT_S

PAGE = (Checkout.here().root / "docs/reference/security.md").read_text("utf-8")
ROWS = [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", PAGE.partition("**Retention.**")[2], re.MULTILINE)]
DAY_S = 86_400

LIVE, ENDED, STATE = "a waiting or running job", "an ended job with its request", "the queue's own state"
KINDS = {
    **dict.fromkeys(("JobRecord", "ListedJob", "QueueEntry"), LIVE),
    **dict.fromkeys(("MemberResultRecord", "ComputedRecord", "EndedJobRecord", "RecheckRecord"), ENDED),
    **dict.fromkeys(("OpenArrayRecord", "UnlaunchableMemberRecord"), LIVE),
    "CheckpointsRecord": "where a job writes its checkpoints",
    "MarkRecord": "what of a job is in the sums of usage",
    "RepairRecord": "repairs of these sums",
    **dict.fromkeys(("FeedEntry", "FeedHead"), "the feed of events"),
    "DigestRecord": "digests of a week",
    **dict.fromkeys(("ActionRecord", "ConfigRecord"), "what operators have done"),
    **dict.fromkeys(
        (
            *("AttemptRecord", "CalendarRecord", "GivenUpRecord", "IdleRecord", "PauseRecord", "PlanRecord"),
            *(
                "PoolRecord",
                "ProgressRecord",
                "StartCountRecord",
                "QueueCountRecord",
                "ReservationRecord",
                "RogueJobRecord",
                "ScanRecord",
            ),
            *(
                "BudgetUseRecord",
                "PastUseRecord",
                "UsedRecord",
                "SpotScoresRecord",
                "TeamRecord",
                "UnreadJobsRecord",
                "WarmPoolRecord",
            ),
        ),
        STATE,
    ),
}
"""By record that is an item of its own, how the row of the table begins that has it."""


def stored_records() -> Iterator[type[Record]]:
    for module in pkgutil.walk_packages(headway_service.__path__, "headway_service."):
        if "routes" not in module.name:
            importlib.import_module(module.name)
    left = [Record]
    while left:
        of = left.pop()
        left += of.__subclasses__()
        if (hasattr(of, "key") or hasattr(of, "KEY")) and of.__module__.startswith("headway_service"):
            yield of


def row_of(begin: str) -> list[str]:
    (row,) = (row for row in ROWS if row[0].startswith(begin))
    return row


def test_each_kind_of_stored_record_has_a_row() -> None:
    assert {each.__name__ for each in stored_records()} == KINDS.keys()
    for begin in set(KINDS.values()):
        assert row_of(begin)


@pytest.mark.parametrize(
    ("begin", "retention"),
    [
        ("what of a job", f"{MARK_KEPT_S // DAY_S} days"),
        ("sums of usage by day", f"{DAYS_KEPT} days"),
        ("sums of usage by month", {3660: "ten years"}[MONTHS_KEPT]),
        ("run times", f"{KINDS_KEPT} days"),
        ("the feed", f"{FEED_KEPT_S // DAY_S} days"),
        ("where a job writes", f"{CHECKPOINTS_KEPT_S // DAY_S} days"),
        ("digests", f"{DIGEST_KEPT_S // DAY_S} days"),
        ("the queue's own state", f"a launch without an answer {GIVEN_UP_KEPT_S // DAY_S} days"),
        ("what operators have done", f"{KEPT_S // DAY_S} days"),
        ("what operators have done", f"{actions.KEPT_S // DAY_S} days"),
    ],
)
def test_the_times_are_those_of_the_code(begin: str, retention: str) -> None:
    assert retention in row_of(begin)[2]
