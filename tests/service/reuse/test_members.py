"""Each member of CreateTrainingJob is a part of the digest, or there is a reason why it is not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import boto3
import pytest

from headway_service.reuse.members import IGNORED_RESOURCES, MEMBERS, Role
from headway_service.reuse.request import NotReusable, canonical, require_reusable, submitted_archive
from tests.service.world import request

MODEL = boto3.client("sagemaker", region_name="eu-west-1").meta.service_model.operation_model("CreateTrainingJob")
PINNED = {"TrainingImage": f"image@sha256:{'a' * 64}"}


def test_every_member_of_the_service_model_is_classified():
    shape: Any = MODEL.input_shape
    members = shape.members
    assert set(MEMBERS) == set(members)
    assert set(IGNORED_RESOURCES) <= set(members["ResourceConfig"].members)


def test_the_page_has_every_member_with_what_it_means():
    page = (Path(__file__).parents[3] / "docs/reference/semantics.md").read_text()
    section = page.partition("\n### Reuse\n")[2].partition("\n### ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (\w+)", section, re.MULTILINE))
    words = {Role.PART: "part", Role.STATE: "part", Role.IGNORED: "ignored", Role.NEVER: "never"}
    assert rows == {member: words[role] for member, role in MEMBERS.items()}


def test_a_member_that_nobody_has_classified_is_never_answered():
    with pytest.raises(NotReusable, match="jobs with Novelty always do"):
        require_reusable({**request("a"), "Novelty": 1}, unpinned=True)


@pytest.mark.parametrize("member", [member for member, role in MEMBERS.items() if role is Role.NEVER])
def test_a_job_with_effects_elsewhere_is_never_answered(member: str):
    with pytest.raises(NotReusable, match=member):
        require_reusable({**request("a"), member: {}}, unpinned=True)


@pytest.mark.parametrize(
    ("algorithm", "pinned"),
    [
        (PINNED, True),
        ({"TrainingImage": "image:1"}, False),
        ({"TrainingImage": f"image@sha256:{'a' * 63}"}, False),
        ({"TrainingImage": f"image@sha256:{'a' * 64}x"}, False),
        ({"AlgorithmName": "mine"}, False),
    ],
)
def test_an_image_is_pinned_by_its_digest_only(algorithm: dict[str, str], pinned: bool):
    document = {**request("a"), "AlgorithmSpecification": algorithm}
    require_reusable(document, unpinned=True)
    if pinned:
        require_reusable(document, unpinned=False)
    else:
        with pytest.raises(NotReusable, match="its image may have changed"):
            require_reusable(document, unpinned=False)


def test_how_long_instances_are_kept_does_not_matter_and_all_else_about_them_does():
    resources = {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}
    kept = canonical({"ResourceConfig": {**resources, "KeepAlivePeriodInSeconds": 60, "TrainingPlanArn": "arn"}})
    assert kept == {"ResourceConfig": resources}


def test_the_order_of_channels_does_not_matter():
    channels = [{"ChannelName": name, "DataSource": {"S3DataSource": {"S3Uri": f"s3://a/{name}"}}} for name in "ab"]
    assert canonical({"InputDataConfig": channels}) == canonical({"InputDataConfig": channels[::-1]})


def test_the_place_of_data_matters_and_that_of_sources_does_not():
    def of(name: str, place: str) -> object:
        return canonical({"InputDataConfig": [{"ChannelName": name, "DataSource": {"S3DataSource": {"S3Uri": place}}}]})

    assert of("code", "s3://a/1") == of("code", "s3://a/2")
    assert of("sm_drivers", "s3://a/1") == of("sm_drivers", "s3://a/2")
    assert of("train", "s3://a/1") != of("train", "s3://a/2")


@pytest.mark.parametrize(
    ("value", "found"),
    [('"s3://a/b.tar.gz"', "s3://a/b.tar.gz"), ("s3://a/b.tar.gz", "s3://a/b.tar.gz"), ('"/opt/ml/x"', ""), ("3", "")],
)
def test_the_archive_of_the_sources_is_found_as_the_sdk_writes_it(value: str, found: str):
    document = {"HyperParameters": {"sagemaker_submit_directory": value, "sagemaker_job_name": '"a"', "lr": "1"}}
    assert submitted_archive(document) == found
    kept = {"lr": "1"} if found else {"lr": "1", "sagemaker_submit_directory": value}
    assert canonical(document) == {"HyperParameters": kept}


@pytest.mark.parametrize(
    ("value", "archive"),
    [
        ("s3://data/x.tar.gz", "s3://data/x.tar.gz"),
        ('"s3://data/x.tar.gz"', "s3://data/x.tar.gz"),
        ('"s3://data/ä b"', "s3://data/ä b"),
        (r'"s3://data/\u0061"', ""),
        (r'"s3://data/\ud800"', ""),
        (r"s3://data/\u0061", ""),
        ('"s3://data/a"b"', ""),
        ('"s3://data/a', ""),
        ('s3://data/a"', ""),
        ('"s3://data/a\n"', ""),
        ("s3://data/\x00", ""),
        ("file:///x.tar.gz", ""),
        ("[" * 2500, ""),
        ("", ""),
    ],
)
def test_the_archive_is_recognized_as_the_sdk_writes_it_and_nothing_is_decoded(value: str, archive: str):
    named = {"HyperParameters": {"sagemaker_submit_directory": value}}
    assert submitted_archive(named) == archive
    # Otherwise the value counts as any other.
    assert ("sagemaker_submit_directory" in canonical(named)["HyperParameters"]) == (not archive)
