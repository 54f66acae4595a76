from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from tests.sandbox.fleets import request


@pytest.fixture(scope="module")
def fleet() -> FakeSageMaker:
    """Twenty-five jobs, ten seconds apart; every third has been stopped."""
    fleet = FakeSageMaker(settings=SageMakerSettings(rates={}))  # all calls at the same time
    for number in range(25):
        fleet.create(request(f"job-{number:02}"), now=number * 10.0)
    for number in range(0, 25, 3):
        fleet.stop(f"job-{number:02}", now=250.0)
    return fleet


def pages(fleet: FakeSageMaker, **filters: Any) -> list[list[str]]:
    found: list[list[str]] = []
    token = None
    while True:
        more: dict[str, Any] = {"NextToken": token} if token else {}
        answer = fleet.list_jobs(now=250.0, **filters, **more)
        found.append([entry["TrainingJobName"] for entry in answer["TrainingJobSummaries"]])
        token = answer.get("NextToken")
        if token is None:
            return found


def test_a_page_has_ten_entries_by_default(fleet):
    assert [len(page) for page in pages(fleet)] == [10, 10, 5]
    assert [len(page) for page in pages(fleet, MaxResults=100)] == [25]


def test_the_status_filter_applies_after_paging(fleet):
    found = pages(fleet, StatusEquals="Stopping", MaxResults=5)
    assert [len(page) for page in found] == [2, 2, 1, 2, 2]
    assert pages(fleet, StatusEquals="Completed", MaxResults=10) == [[], [], []]


@pytest.mark.parametrize(
    ("filters", "first", "count"),
    [
        ({}, "job-00", 25),
        ({"SortOrder": "Descending"}, "job-24", 25),
        ({"SortBy": "Name", "SortOrder": "Descending"}, "job-24", 25),
        ({"SortBy": "Status", "SortOrder": "Descending"}, "job-24", 25),
        ({"NameContains": "-1"}, "job-10", 10),
        ({"NameContains": "JOB-07"}, "job-07", 1),
        ({"CreationTimeAfter": 40.0}, "job-05", 20),
        ({"CreationTimeBefore": 40.0}, "job-00", 4),
        ({"LastModifiedTimeAfter": 249.0}, "job-00", 11),
    ],
)
def test_filters_and_order(fleet, filters, first, count):
    found = [name for page in pages(fleet, **filters) for name in page]
    assert (found[0], len(found)) == (first, count)


def test_summaries_carry_no_instance_type(fleet):
    entry = fleet.list_jobs(now=250.0)["TrainingJobSummaries"][0]
    assert set(entry) == {
        "TrainingJobName", "TrainingJobArn", "CreationTime", "LastModifiedTime", "TrainingJobStatus", "SecondaryStatus",
    }  # fmt: skip


@pytest.mark.parametrize("token", ["nonsense", "bm9uc2Vuc2U=", "aGVhZHdheS1zYW5kYm94Ong="])
def test_a_foreign_token_is_refused(fleet, token):
    with pytest.raises(AwsError, match="Invalid pagination token"):
        fleet.list_jobs(now=250.0, NextToken=token)


def test_more_than_a_hundred_are_refused(fleet):
    with pytest.raises(AwsError, match="Member must have value less than or equal to 100"):
        fleet.list_jobs(now=250.0, MaxResults=101)
