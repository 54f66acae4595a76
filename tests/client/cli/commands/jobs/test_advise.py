"""`headway advise`: lines for people, a document for programs, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway_client.config.profile import Connection
from headway_sandbox.inprocess.stub_client import stub_client
from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer

T0 = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)


def described(_: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer DescribeTrainingJob: 40 minutes of downloads and 80 of training."""
    training, end = ((T0 + timedelta(minutes=minutes)).timestamp() for minutes in (40, 120))
    return {
        "TrainingJobName": request["TrainingJobName"],
        "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1},
        "AlgorithmSpecification": {"TrainingInputMode": "File"},
        "InputDataConfig": [{"ChannelName": "train"}],
        "SecondaryStatusTransitions": [
            {"Status": "Downloading", "StartTime": T0.timestamp(), "EndTime": training},
            {"Status": "Training", "StartTime": training, "EndTime": end},
        ],
        "TrainingEndTime": end,
    }


def measured(_: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer GetMetricData: full processors and a GPU that is busy a quarter of the time, for 80 minutes."""
    values = {"CPUUtilization": 400.0, "GPUUtilization": 25.0, "GPUMemoryUtilization": 60.0}
    results = [
        {"Id": query["Id"], "Values": [values[query["MetricStat"]["Metric"]["MetricName"]]] * 80}
        for query in request["MetricDataQueries"]
    ]
    return {"MetricDataResults": results}


@pytest.fixture
def starved(monkeypatch: pytest.MonkeyPatch, server: ContractServer) -> None:
    """A job that has completed, whose GPU has waited for its data."""
    clients = {"sagemaker": stub_client("sagemaker", described), "cloudwatch": stub_client("cloudwatch", measured)}
    monkeypatch.setattr(Connection, "aws_client", lambda _, service: clients[service])
    attempt = {
        "attemptName": "job1-r2", "number": 2, "attemptState": "ended", "trainingJobStatus": "Completed",
        "secondaryStatus": "Completed", "startedTime": "2026-01-02T03:00:00.000Z",
        "endedTime": "2026-01-02T05:00:00.000Z", "failureReason": None,
        "reason": {"code": "Completed", "message": "completed"},
    }  # fmt: skip
    server.queue.add("job1", jobState="completed", attempts=[attempt])
    server.queue.add("new")
    server.queue.settings["pools"] = {"ml.c5.2xlarge": {"size": 4}, "ml.g5.xlarge": {"size": 4}}


@pytest.mark.usefixtures("starved")
def test_advice_has_findings_remedies_options_figures_and_confidence(run: Run):
    code, out, err = run("advise", "job1")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "1. The GPUs wait for their data: the vCPUs are full, and the GPUs are not.",
        (
            "   Do: Use an instance type with more vCPUs per GPU, or a heterogeneous cluster with a group of CPU "
            "instances that prepare the data. Before that, cheaper preparation (smaller files, a compiled decoder, "
            "augmentation on the GPU) may do."
        ),
        "   - 1 ml.g5.4xlarge, estimated 4.0 times as fast",
        "   - 2 ml.c5.2xlarge and 1 ml.g5.xlarge, estimated 4.0 times as fast",
        (
            "   Rests on: CPUUtilization 100 % of the vCPUs of ml.g5.xlarge; GPUUtilization 25 % of its GPUs; 80 min "
            "of values. Confidence: high."
        ),
        "2. The instances wait while SageMaker copies the data.",
        (
            "   Do: Read the channels in InputMode FastFile, which begins at once; it suits large files that are read "
            "in order. For many small files, pack them first."
        ),
        "   Saves up to 40 min.",
        "   Rests on: Downloading 40 min, 33 % of the attempt's 2 h. Confidence: high.",
        "3. The job may run much longer than it did.",
        (
            "   Do: Set MaxRuntimeInSeconds to 10800 for such a job (`headway submit --set "
            "StoppingCondition.MaxRuntimeInSeconds=10800`): with a short limit it may pass a blocked job, so it starts "
            "sooner."
        ),
        "   Rests on: Run time 2 h, limit 1 d. Confidence: medium.",
    ]


PRICES = {
    "ml.g5.xlarge": [{"from": "2020-01-01", "onDemandPerHour": 1.0}, {"from": "2999-01-01", "onDemandPerHour": 9.0}],
    "ml.g5.4xlarge": [{"from": "2020-01-01", "onDemandPerHour": 9.0}, {"from": "2021-01-01", "onDemandPerHour": 2.0}],
}


@pytest.mark.usefixtures("starved")
def test_costs_are_compared_by_the_prices_of_the_day_which_are_listed(run: Run, server: ContractServer):
    server.queue.settings |= {"prices": PRICES, "currency": "EUR"}
    lines = run("advise", "job1")[1].splitlines()
    assert "   - 1 ml.g5.4xlarge, estimated 4.0 times as fast, at 0.5 times the cost" in lines
    assert "   - 2 ml.c5.2xlarge and 1 ml.g5.xlarge, estimated 4.0 times as fast" in lines, "one has no price"
    assert lines[-1] == (
        "Prices of an on-demand instance for an hour, in EUR: ml.g5.4xlarge 2 since 2021-01-01, "
        "ml.g5.xlarge 1 since 2020-01-01."
    )
    document = json.loads(run("advise", "job1", "-o", "json")[1])
    assert document["currency"] == "EUR"
    assert document["prices"][0] == {"instanceType": "ml.g5.4xlarge", "from": "2021-01-01", "onDemandPerHour": 2.0}


@pytest.mark.usefixtures("starved")
def test_without_a_price_of_the_instances_of_the_job_no_cost_is_shown(run: Run, server: ContractServer):
    server.queue.settings |= {"prices": {"ml.g5.4xlarge": PRICES["ml.g5.4xlarge"]}}
    out = run("advise", "job1")[1]
    assert "cost" not in out
    assert "Prices" not in out


@pytest.mark.usefixtures("starved")
def test_programs_get_a_document_with_the_figures_of_each_host(run: Run):
    document = json.loads(run("advise", "job1", "-o", "json")[1])
    assert (document["jobName"], document["attemptName"], document["missing"]) == ("job1", "job1-r2", [])
    assert [each["code"] for each in document["advice"]] == ["StarvedGpus", "LongDownload", "LooseLimit"]
    starved, download, _ = document["advice"]
    group = {"instances": {"ml.g5.xlarge": 1, "ml.c5.2xlarge": 2}, "speed": 4.0, "cost": None}
    assert starved["options"][1] == group
    assert (starved["confidence"], starved["savedSeconds"], download["savedSeconds"]) == ("high", None, 2400.0)
    assert document["hosts"] == [
        {
            "instanceType": "ml.g5.xlarge", "minutes": 80, "cpuPercent": 400.0, "gpuPercent": 25.0,
            "gpuPeakPercent": 25.0, "gpuMemoryPeakPercent": 60.0,
        }
    ]  # fmt: skip


@pytest.mark.usefixtures("starved")
def test_types_that_no_pool_has_are_advised_where_no_pool_has_hosts_without_gpus(run: Run, server: ContractServer):
    del server.queue.settings["pools"]["ml.c5.2xlarge"]
    document = json.loads(run("advise", "job1", "-o", "json")[1])
    assert document["advice"][0]["options"][1]["instances"] == {"ml.g5.xlarge": 1, "ml.c5.4xlarge": 1}


@pytest.mark.usefixtures("starved")
def test_what_is_missing_is_named(run: Run):
    assert run("advise", "new") == (
        0,
        (
            "new: there is no advice.\n"
            "Not enough data: utilization: 0 of at least 10 min; how long the data was downloaded; the run time: the "
            "job has not completed.\n"
        ),
        "",
    )
    assert run("advise", "nobody")[0] == 4


@pytest.mark.usefixtures("starved")
def test_csv_is_refused(run: Run):
    assert run("advise", "job1", "-o", "csv")[0] == 2
