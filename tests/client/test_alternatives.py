"""What is submitted for a job with alternatives."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from botocore.credentials import Credentials

from headway_client.alternatives import is_item, name_in, with_alternatives
from headway_client.errors import RefusedError, UsageError
from headway_client.http.api import HeadwayApi
from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from tests.client.conftest import FAST
from tests.client.fakes.contract import request
from tests.client.fakes.handler_server import serving
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY
from tests.client.pages import example
from tests.client.test_real_handler import begin_with, handler  # noqa: F401  # a fixture

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
SPOT: dict[str, Any] = {
    "ResourceConfig": {"InstanceType": G5, "InstanceCount": 2, "VolumeSizeInGB": 10},
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200},
    "Environment": {"TOKEN": "secret"},
}


@pytest.fixture
def api(handler: ModuleType) -> Iterator[HeadwayApi]:  # noqa: F811
    begin_with(handler, {"pools": {P5: {"size": 2}, G5: {"size": 4}}})
    with serving(handler.handler) as endpoint:
        yield HeadwayApi(endpoint, region=REGION, credentials=Credentials(ACCESS_KEY, SECRET_KEY), limits=FAST)


def test_a_request_without_alternatives_is_submitted_as_it_is() -> None:
    assert with_alternatives(request("a"), []) == request("a")
    assert not is_item(request("a"))


def test_a_job_without_alternatives_has_nothing_to_wait_for() -> None:
    for terms in ({"wait_at_most_s": 60}, {"portable_checkpoint": True}):
        with pytest.raises(UsageError, match="jobs with alternatives"):
            with_alternatives(request("a"), [], **terms)


def test_a_job_with_alternatives_is_submitted_and_shown(api: HeadwayApi) -> None:
    body = with_alternatives(request("a"), [SPOT], wait_at_most_s=600, portable_checkpoint=True)
    assert name_in(body) == "a"
    assert api.dry_run(body).job.choices == ({P5: 1}, {G5: 2})
    assert api.submit(body).created
    assert not api.submit(body).created
    details = api.get_job("a")
    assert details.job.demand == {P5: 1}
    assert details.job.choices == ({P5: 1}, {G5: 2})
    assert details.alternatives == (SPOT,)
    assert (details.wait_at_most_seconds, details.portable_checkpoint) == (600, True)
    assert [job.choices for job in api.list_jobs()] == [({P5: 1}, {G5: 2})]
    assert "otherwise for 2 ml.g5.xlarge" in details.history[0].reason.message


def test_a_batch_and_a_queue_submit_jobs_with_alternatives(api: HeadwayApi) -> None:
    results = api.submit_many([with_alternatives(request("a"), [SPOT]), request("b")])
    assert [(each.name, each.submission is not None) for each in results] == [("a", True), ("b", True)]
    TrainingQueue(api=api).submit(request("c"), alternatives=[SPOT], wait_at_most_s=60)
    TrainingQueue(api=api).map(request("d"), [None], ["d"], alternatives=[SPOT])
    assert {name: len(api.get_job(name).job.choices) for name in "abcd"} == {"a": 2, "b": 0, "c": 2, "d": 2}


def test_a_wrong_alternative_of_a_batch_is_refused_by_itself(api: HeadwayApi) -> None:
    results = api.submit_many([with_alternatives(request("a"), [{"RoleArn": "x"}]), request("b")])
    assert isinstance(results[0].error, RefusedError)
    assert "alternatives[0].RoleArn" in str(results[0].error)
    assert results[1].submission is not None


def test_the_example_of_the_guide_submits_a_job_with_an_alternative(
    api: HeadwayApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HEADWAY_ENDPOINT": api.endpoint, "HEADWAY_REGION": REGION}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    exec(example("docs/how-to/alternatives.md", "Submit a job with alternatives"), {"request": request("a")})
    assert api.get_job("a").job.choices == ({P5: 1}, {G5: 2})
