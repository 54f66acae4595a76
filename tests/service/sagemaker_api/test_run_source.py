"""What a training job runs, by which later ones like it are recognized."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.sagemaker_api.run_source import SOURCE_CHARS, run_source


def image(uri: str, **more: Any) -> dict[str, Any]:
    return {"AlgorithmSpecification": {"TrainingImage": uri, "TrainingInputMode": "File", **more}}


def program(name: str, uri: str = "a/b:1") -> dict[str, Any]:
    place = {"sagemaker_program": name, "sagemaker_submit_directory": f"s3://b/{uri}"}
    return {**image(uri), "HyperParameters": place}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (image("host:5000/team/bert:1"), image("host:5000/team/bert:2"), True),
        (image("host/team/bert"), image("host/team/bert@sha256:00"), True),
        (image("host/team/bert:1@sha256:00"), image("host/team/bert:2"), True),
        (image("host/team/bert:1"), image("host/team/gpt:1"), False),
        (image("host:5000/bert"), image("host:5001/bert"), False),
        (program("train.py", "a:1"), program("train.py", "b:2"), True),
        (program("train.py"), program("test.py"), False),
        (program("train.py"), image("a/b:1"), False),
        (image("a", ContainerEntrypoint=["sh", "x"]), image("a", ContainerEntrypoint=["sh", "y"]), False),
        (image("a", ContainerArguments=["x"]), image("a", ContainerArguments=["y"]), False),
        ({"AlgorithmSpecification": {"AlgorithmName": "x"}}, {"AlgorithmSpecification": {"AlgorithmName": "y"}}, False),
        ({}, {"AlgorithmSpecification": "wrong"}, True),
        ({}, {"HyperParameters": ["wrong"], "AlgorithmSpecification": {"TrainingImage": 7}}, True),
    ],
)
def test_a_new_version_of_a_source_is_the_same_source(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert (run_source(one) == run_source(other)) is same
    assert len(run_source(one)) == SOURCE_CHARS
