from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from headway_client.botocore_hooks.attach import attach
from headway_client.http.api import HeadwayApi
from tests.client.fakes.contract import request
from tests.client.fakes.server import REGION, ContractServer


def test_no_credentials_for_sagemaker_are_needed(
    api: HeadwayApi, server: ContractServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    made = boto3.Session(region_name=REGION).client("sagemaker")
    attach(made, api)

    made.create_training_job(**request("job1"))
    made.stop_training_job(TrainingJobName="job1")

    assert server.queue.jobs["job1"]["jobState"] == "stopped"


def test_all_clients_of_an_attached_session_go_to_the_queue(api: HeadwayApi, server: ContractServer):
    session = boto3.Session(region_name=REGION)
    attach(session, api, priority=3)

    session.client("sagemaker").create_training_job(**request("job1"))

    assert server.queue.jobs["job1"]["priority"] == 3


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (None, 4),
        ([{"Key": "team", "Value": "vision"}], 4),
        ([{"Key": "priority", "Value": "0"}], 0),
        ([{"Key": "headway:priority", "Value": "9"}], 9),
    ],
)
def test_a_requests_own_priority_tag_counts_before_the_attached_one(
    client: Any, api: HeadwayApi, server: ContractServer, tags: list[dict[str, str]] | None, expected: int
):
    attach(client, api, priority=4)

    client.create_training_job(**request("job1", **({"Tags": tags} if tags else {})))

    assert server.queue.jobs["job1"]["priority"] == expected


def test_attaching_again_replaces_the_attachment(client: Any, api: HeadwayApi, server: ContractServer):
    attach(client, api, priority=1)
    attach(client, api, priority=2)

    client.create_training_job(**request("job1"))

    assert len(server.received) == 1
    assert server.queue.jobs["job1"]["priority"] == 2


def test_the_callers_parameters_are_not_changed(client: Any, api: HeadwayApi, server: ContractServer):
    attach(client, api, priority=4)
    given = request("job1", Tags=[])
    before = json.dumps(given)

    client.create_training_job(**given)

    assert json.dumps(given) == before
    assert server.queue.jobs["job1"]["request"]["Tags"] == [{"Key": "priority", "Value": "4"}]
