"""Outputs of jobs that have completed are filled into S3 URIs of channels, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.sagemaker_api.outputs import (
    MAX_URI_CHARS,
    errors,
    fill_in,
    has_template_of,
    outputs_of,
    too_long,
    with_samples,
)

FIELD = "InputDataConfig[0].DataSource.S3DataSource.S3Uri"


def request(*uris: Any, **more: Any) -> dict[str, Any]:
    channels = [{"ChannelName": f"c{i}", "DataSource": {"S3DataSource": {"S3Uri": uri}}} for i, uri in enumerate(uris)]
    return {"TrainingJobName": "train", "InputDataConfig": channels, **more}


def uris(document: dict[str, Any]) -> list[Any]:
    return [each["DataSource"]["S3DataSource"]["S3Uri"] for each in document["InputDataConfig"]]


@pytest.mark.parametrize(
    ("config", "output"),
    [
        ({"S3OutputPath": "s3://b/out"}, "s3://b/out/prepare/output"),
        ({"S3OutputPath": "s3://b/out/"}, "s3://b/out/prepare/output"),
        ({"S3OutputPath": "s3://b", "CompressionType": "GZIP"}, "s3://b/prepare/output"),
    ],
)
def test_the_outputs_of_a_training_job_are_below_its_output_path(config: dict[str, str], output: str) -> None:
    found = outputs_of({"OutputDataConfig": config}, "prepare")
    assert found == {"model": f"{output}/model.tar.gz", "output": output}


def test_a_model_that_is_not_compressed_is_no_output() -> None:
    config = {"S3OutputPath": "s3://b", "CompressionType": "NONE"}
    assert outputs_of({"OutputDataConfig": config}, "prepare") == {"output": "s3://b/prepare/output"}


def test_templates_of_one_job_are_replaced_literally() -> None:
    before = request(
        "{{ jobs.prepare.model }}",
        "{{jobs.prepare.output}}/a{{x}}/b",
        "{{ jobs.other.model }}",
        "s3://b/{{ jobs.prepare.model }}",
    )
    outputs = {"model": "s3://b/m", "output": "s3://b/o"}
    after = fill_in(before, "prepare", outputs)
    assert uris(after) == ["s3://b/m", "s3://b/o/a{{x}}/b", "{{ jobs.other.model }}", "s3://b/{{ jobs.prepare.model }}"]
    assert uris(before)[0] == "{{ jobs.prepare.model }}", "the request itself is not changed"


def test_a_template_names_the_job_whose_output_it_is() -> None:
    wanted = request("s3://b/{{ jobs.other.model }}", "{{ jobs.prepare.output }}/a")
    assert has_template_of(wanted, "prepare")
    assert not has_template_of(wanted, "other"), "a template stands at the beginning"
    assert not has_template_of(wanted, "prepar")


def test_only_uris_of_channels_are_replaced() -> None:
    text = "{{ jobs.prepare.model }}"
    elsewhere = {"HyperParameters": {"x": text}, "CheckpointConfig": {"S3Uri": text}}
    assert fill_in(request("s3://b", **elsewhere), "prepare", {"model": "s3://m"}) == request("s3://b", **elsewhere)


@pytest.mark.parametrize(
    "channels", [None, "x", [None], [{}], [{"DataSource": 1}], [{"DataSource": {"S3DataSource": {"S3Uri": 5}}}]]
)
def test_requests_of_any_shape_have_no_templates(channels: Any) -> None:
    document = {"InputDataConfig": channels}
    assert list(errors(document, [])) == []
    assert with_samples(document) == document


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("{{ jobs.prepare }}", "is '{{ jobs.prepare }}'; write {{ jobs.NAME.model }} or {{ jobs.NAME.output }}"),
        ("{{ jobs.prepare.modle }}", "is '{{ jobs.prepare.modle }}'; write {{ jobs.NAME.model }} or "),
        ("{{ prepare.model }}", "is '{{ prepare.model }}'; write "),
        ("{{ jobs.prepare.model }", "is '{{ jobs.prepare.model }'; write "),
        (
            "{{ jobs.other.model }}",
            "names `other`, which need not complete first: add it to dependsOn, with the condition ok",
        ),
        ("{{ jobs.prepare.model }}/x", "has more after the template: a model is one object; an output may be "),
        ("{{ jobs.prepare.output }}x", "has more after the template: "),
    ],
)
def test_what_is_wrong_with_a_template_is_said(uri: str, message: str) -> None:
    (error,) = errors(request(uri), {"prepare"})
    assert error.field == FIELD
    assert error.message.startswith(message)


@pytest.mark.parametrize(
    "uri", ["s3://b/x", "{{ jobs.prepare.model }}", "{{jobs.prepare.output}}/x/y", "s3://b/{{ x }}"]
)
def test_a_template_of_a_dependency_has_no_error_and_gets_a_sample(uri: str) -> None:
    assert list(errors(request(uri), {"prepare"})) == []
    assert uris(with_samples(request(uri)))[0].startswith("s3://")


def test_a_uri_that_is_too_long_is_named() -> None:
    fits = "s3://" + "x" * (MAX_URI_CHARS - 5)
    assert too_long(request(fits)) is None
    assert too_long(request("s3://b", fits + "x")) == FIELD.replace("0", "1", 1)
