from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ParamValidationError

from headway.attempt_digest import digest_of
from headway_client.botocore_hooks import list_response
from headway_client.botocore_hooks.attach import attach
from headway_client.http.api import HeadwayApi
from tests.client.fakes.aws_stub import AwsStub, training_job
from tests.client.fakes.server import ContractServer

AGAIN = f"again-{digest_of('again')}-2"


@pytest.fixture
def jobs(server: ContractServer) -> None:
    """A job in its second attempt, a waiting one and an ended one, submitted a second apart."""
    server.queue.add(
        "again", jobState="running", liveAttempt=AGAIN, entryTime="2026-01-02T03:00:01.000Z", attemptCount=2
    )
    server.queue.add("waits", entryTime="2026-01-02T03:00:02.000Z")
    server.queue.add(
        "ended", jobState="stopped", entryTime="2026-01-02T03:00:03.000Z", endedTime="2026-01-02T05:00:00.000Z"
    )


def names(page: dict[str, Any]) -> list[str]:
    return [summary["TrainingJobName"] for summary in page["TrainingJobSummaries"]]


def at(hour: int, second: int = 0) -> datetime:
    return datetime(2026, 1, 2, hour, 0, second, tzinfo=UTC)


def test_the_queues_jobs_come_first_and_sagemakers_others_follow(client: Any, jobs: None, aws: AwsStub):
    for name in ("again", AGAIN, "ended", "tuner-001"):
        aws.training_jobs[name] = training_job(name, "Stopped", "Stopped")

    summaries = client.list_training_jobs()["TrainingJobSummaries"]

    assert [(each["TrainingJobName"], each["TrainingJobStatus"]) for each in summaries] == [
        ("again", "InProgress"),
        ("waits", "InProgress"),
        ("ended", "Stopped"),
        ("tuner-001", "Stopped"),
    ]
    assert summaries[2]["TrainingEndTime"] == at(5)
    assert summaries[1]["TrainingJobArn"].endswith(":123456789012:training-job/waits")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"StatusEquals": "InProgress"}, ["again", "waits"]),
        ({"StatusEquals": "Stopped"}, ["ended"]),
        ({"StatusEquals": "Failed"}, []),
        ({"NameContains": "WAIT"}, ["waits"]),
        ({"CreationTimeAfter": at(3, 1)}, ["waits", "ended"]),
        ({"CreationTimeBefore": at(3, 2)}, ["again"]),
        ({"CreationTimeBefore": "2026-01-02T03:00:02Z"}, ["again"]),
        ({"CreationTimeAfter": at(3, 2).timestamp()}, ["ended"]),
        ({"LastModifiedTimeAfter": at(4)}, ["ended"]),
        ({"LastModifiedTimeBefore": at(4)}, ["again", "waits"]),
        ({"WarmPoolStatusEquals": "Available"}, []),
        ({"SortOrder": "Descending"}, ["ended", "waits", "again"]),
        ({"SortBy": "Name"}, ["again", "ended", "waits"]),
        ({"SortBy": "Status", "SortOrder": "Descending"}, ["ended", "waits", "again"]),
    ],
    ids=str,
)
def test_filters_and_order_mean_what_they_mean_at_sagemaker(
    client: Any, jobs: None, filters: dict[str, Any], expected: list[str]
):
    assert names(client.list_training_jobs(**filters)) == expected


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 100])
@pytest.mark.parametrize("order", ["Ascending", "Descending"])
def test_pages_have_each_job_once_and_at_most_the_requested_number(
    client: Any, jobs: None, aws: AwsStub, size: int, order: str
):
    for name in ("again", AGAIN, "tuner-001", "tuner-002"):
        aws.training_jobs[name] = training_job(name, "Stopped", "Stopped")
    own = ["again", "waits", "ended"]

    pages = list(
        client.get_paginator("list_training_jobs").paginate(SortOrder=order, PaginationConfig={"PageSize": size})
    )

    expected = [*(own if order == "Ascending" else own[::-1]), "tuner-001", "tuner-002"]
    assert [name for page in pages for name in names(page)] == expected
    assert all(len(page["TrainingJobSummaries"]) <= size for page in pages)


def test_jobs_that_come_and_go_between_two_pages_hide_no_other(
    client: Any, jobs: None, server: ContractServer, monkeypatch: pytest.MonkeyPatch, api: HeadwayApi
):
    monkeypatch.setattr("headway_client.botocore_hooks.job_cache.LISTED_S", 0.0)
    attach(client, api)
    first = client.list_training_jobs(MaxResults=1)
    del server.queue.jobs["again"]

    assert names(client.list_training_jobs(MaxResults=1, NextToken=first["NextToken"])) == ["waits"]


def test_further_pages_do_not_call_the_queue_again(client: Any, jobs: None, server: ContractServer, aws: AwsStub):
    for number in range(30):
        aws.training_jobs[f"tuner-{number:03}"] = training_job(f"tuner-{number:03}", "Stopped", "Stopped")

    pages = list(client.get_paginator("list_training_jobs").paginate())

    assert sum(len(page["TrainingJobSummaries"]) for page in pages) == 33
    # The jobs that have not ended, and those that have ended.
    assert len(server.received) == 2


def test_no_attempt_of_a_listed_job_is_listed_beside_it(client: Any, jobs: None, server: ContractServer, aws: AwsStub):
    for name in ("ended", f"ended-{digest_of('ended')}-2", f"waits-{digest_of('waits')}-2", "own-0123abcd-2"):
        aws.training_jobs[name] = training_job(name, "Stopped", "Stopped")

    assert names(client.list_training_jobs(StatusEquals="Stopped")) == ["ended", "own-0123abcd-2"]

    first = client.list_training_jobs(MaxResults=3)
    # The next attempt starts between two pages, of which the second one uses the listing of the first.
    aws.training_jobs[AGAIN] = training_job(AGAIN, "InProgress", "Training")
    server.queue.jobs["again"]["liveAttempt"] = AGAIN
    assert names(client.list_training_jobs(NextToken=first["NextToken"])) == ["own-0123abcd-2"]


def test_a_listing_requests_at_most_a_thousand_jobs(
    client: Any, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("headway_client.botocore_hooks.job_cache.MAX_LISTED_JOBS", 3)
    for number in range(5):
        server.queue.add(f"job{number}")

    assert names(client.list_training_jobs()) == ["job0", "job1", "job2"]
    assert len(server.received) == 1


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "5", "[1]"])
def test_a_token_that_is_damaged_is_none(text: str):
    assert list_response._read_token(f"headway:{base64.urlsafe_b64encode(text.encode()).decode()}") is None


@pytest.mark.parametrize("parameters", [{"MaxResults": "x"}, {"CreationTimeAfter": "never"}, {"NextToken": 5}], ids=str)
def test_botocores_own_validation_comes_first(client: Any, jobs: None, parameters: dict[str, Any]):
    with pytest.raises(ParamValidationError):
        client.list_training_jobs(**parameters)
