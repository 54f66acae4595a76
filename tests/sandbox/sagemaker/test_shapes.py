"""Answers have the shapes of botocore's model, and events the shape that AWS documents."""

from __future__ import annotations

import json
from typing import Any

import botocore.model
import botocore.parsers
import pytest

from headway_sandbox.sagemaker.api.request_validation import service_model
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import play, request, spot


def unknown(shape: botocore.model.Shape, value: Any, path: str = "") -> list[str]:
    """Return members that the model does not have, and required members that are missing."""
    if isinstance(shape, botocore.model.StructureShape):
        found = [f"{path}.{name}" for name in value if name not in shape.members]
        found += [f"{path}.{name} is missing" for name in shape.required_members if name not in value]
        for name in set(value) & set(shape.members):
            found += unknown(shape.members[name], value[name], f"{path}.{name}")
        return found
    if isinstance(shape, botocore.model.ListShape):
        return [entry for member in value for entry in unknown(shape.member, member, f"{path}[]")]
    return []


def parsed(operation: str, answer: dict[str, Any]) -> dict[str, Any]:
    shape = service_model().operation_model(operation).output_shape
    assert shape is not None
    assert unknown(shape, answer) == []
    parser = botocore.parsers.create_parser("json")
    response = {"body": json.dumps(answer).encode(), "headers": {}, "status_code": 200}
    result: dict[str, Any] = parser.parse(response, shape)
    return result


@pytest.mark.parametrize("moment", [0.0, 100.0, 200.0, 400.0, 815.0, 900.0])
def test_a_description_parses_at_every_stage(moment):
    fleet = FakeSageMaker()
    fleet.create(request(HyperParameters={"epochs": "3"}), now=0.0)
    answer = parsed("DescribeTrainingJob", fleet.describe("train-1", now=moment))
    assert answer["CreationTime"].timestamp() == 0.0
    assert answer["ResourceConfig"] == {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}
    assert answer["HyperParameters"] == {"epochs": "3"}
    assert answer["Environment"] == {"SANDBOX_RUN_SECONDS": "600"}


def test_a_description_has_the_members_of_an_answer():
    fleet = FakeSageMaker()
    fleet.create(request(), now=0.0)
    answer = fleet.describe("train-1", now=900.0)
    assert answer["OutputDataConfig"]["KmsKeyId"] == ""
    assert answer["ModelArtifacts"] == {"S3ModelArtifacts": "s3://jobs/output/train-1/output/model.tar.gz"}
    assert {"TrainingJobArn", "LastModifiedTime", "BillableTimeInSeconds", "ProfilingStatus"} <= set(answer)


@pytest.mark.parametrize("outcome", ["AlgorithmError: " + "x" * 400, "CapacityError"])
def test_the_reason_of_a_failed_job_is_cut_to_the_length_in_the_model(outcome):
    fleet = FakeSageMaker()
    fleet.create(request(Environment={"SANDBOX_OUTCOME": outcome}), now=0.0)
    answer = parsed("DescribeTrainingJob", fleet.describe("train-1", now=5000.0))
    assert 0 < len(answer["FailureReason"]) <= 1024


def test_other_answers_also_parse():
    fleet = FakeSageMaker()
    created = parsed("CreateTrainingJob", fleet.create(spot(), now=0.0))
    parsed("ListTrainingJobs", fleet.list_jobs(now=900.0))
    assert parsed("ListTags", fleet.list_tags(created["TrainingJobArn"], now=0.0)) == {
        "Tags": [{"Key": "team", "Value": "vision"}],
        "ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": {}},
    }
    parsed("AddTags", fleet.add_tags(created["TrainingJobArn"], {"a": "b"}, now=0.0))


def test_an_event_has_times_in_milliseconds_and_tags_as_a_map():
    fleet = FakeSageMaker()
    fleet.create(request(), now=1_700_000_000.1234)
    *_, last = play(fleet, until=2e9)
    assert last["CreationTime"] == 1_700_000_000_123
    assert last["TrainingStartTime"] == 1_700_000_180_123
    assert last["TrainingEndTime"] == last["LastModifiedTime"] == 1_700_000_830_123
    assert last["SecondaryStatusTransitions"][0]["StartTime"] == 1_700_000_000_123
    assert last["Tags"] == {"team": "vision"}
    assert (last["TrainingJobStatus"], last["SecondaryStatus"]) == ("Completed", "Completed")
    assert last["ResourceConfig"]["InstanceCount"] == 1
    assert "FailureReason" not in last


def test_an_event_has_the_jobs_state_at_the_time_it_was_sent():
    fleet = FakeSageMaker()
    fleet.create(request(), now=0.0)
    first, *rest = fleet.advance(5000.0)
    assert first["SecondaryStatus"] == "Starting"
    assert [len(event["SecondaryStatusTransitions"]) for event in [first, *rest]] == [1, 2, 3, 4, 5, 6]
