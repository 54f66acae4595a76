from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.rehearsal.errors import CannotRehearse
from headway_sandbox.rehearsal.subject import Subject, of_request, of_script, with_metrics
from headway_sandbox.sagemaker.request_builder import training_request
from headway_sandbox.training.platform.metric_definitions import MetricDefinitions


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "src/train.py"
    path.parent.mkdir()
    path.write_text("pass")
    (tmp_path / "src/model.py").write_text("pass")
    return path


def keys(subject: Subject) -> list[str]:
    return sorted(location.key for location, _path in subject.files)


def command(subject: Subject) -> list[str]:
    algorithm = subject.request["AlgorithmSpecification"]
    return [*algorithm["ContainerEntrypoint"], *algorithm.get("ContainerArguments", [])]


def test_a_script_runs_alone_with_its_arguments(script: Path):
    subject = of_script(script, ["--epochs", "3"], source_dir=None, data={})
    assert keys(subject) == ["channels/code/train.py"]
    assert command(subject) == ["python", "/opt/ml/input/data/code/train.py", "--epochs", "3"]


def test_a_script_runs_with_the_folder_that_it_needs(script: Path, tmp_path: Path):
    subject = of_script(script, [], source_dir=tmp_path, data={})
    assert keys(subject) == ["channels/code/src/model.py", "channels/code/src/train.py"]
    assert command(subject) == ["python", "/opt/ml/input/data/code/src/train.py"]


def test_the_data_of_a_script_are_channels(script: Path, tmp_path: Path):
    (tmp_path / "rows.csv").write_text("1")
    subject = of_script(script, [], source_dir=None, data={"train": tmp_path / "rows.csv", "lib": script.parent})
    assert {channel["ChannelName"] for channel in subject.request["InputDataConfig"]} == {"code", "train", "lib"}
    assert keys(subject) == [
        *["channels/code/train.py", "channels/lib/model.py", "channels/lib/train.py", "channels/train/rows.csv"]
    ]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("missing.py", {}, "missing.py is not a file"),
        ("src/train.py", {"source_dir": "other"}, "train.py is not in --source-dir"),
        ("src/train.py", {"data": {"train": "missing"}}, "missing is neither a file nor a folder"),
        ("src/train.py", {"data": {"no channel": "src"}}, "SageMaker would refuse the request: .*channelName"),
    ],
)
def test_a_script_that_cannot_run_is_refused(
    script: Path, tmp_path: Path, name: str, options: dict[str, Any], message: str
):
    (tmp_path / "other").mkdir()
    source_dir = tmp_path / options["source_dir"] if "source_dir" in options else None
    data = {key: tmp_path / path for key, path in options.get("data", {}).items()}
    with pytest.raises(CannotRehearse, match=message):
        of_script(tmp_path / name, [], source_dir=source_dir, data=data)


def request(uri: str = "s3://team/data/train", **changes: Any) -> dict[str, Any]:
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}}
    channels = {"InputDataConfig": [{"ChannelName": "train", "DataSource": source}]}
    return {**training_request("job", [("ml.m5.xlarge", 1)], run_s=1), **channels, **changes}


@pytest.mark.parametrize("name", ["train", "s3://team/data/train"])
def test_the_data_of_a_request_are_named_by_channel_or_uri(script: Path, name: str):
    subject = of_request(request(), data={name: script.parent})
    assert [str(location) for location, _path in subject.files] == [
        "s3://team/data/train/model.py", "s3://team/data/train/train.py"
    ]  # fmt: skip
    assert subject.request == request()


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        ({}, {}, "Channel train has no data on this machine. Give it: --data train=FILE-OR-FOLDER"),
        ({}, {"test": "src"}, "--data test=…: test is neither a channel of the request nor of the form s3://"),
        ({"ResourceConfig": {"InstanceCount": -1}}, {"train": "src"}, "SageMaker would refuse the request: "),
        ({"RoleArn": 5}, {"train": "src"}, "SageMaker would refuse the request: "),
    ],
)
def test_a_request_that_cannot_run_is_refused(
    script: Path, tmp_path: Path, changes: dict[str, Any], data: dict[str, str], message: str
):
    with pytest.raises(CannotRehearse, match=message):
        of_request(request(**changes), data={name: tmp_path / path for name, path in data.items()})


def found(subject: Subject, line: str) -> dict[str, float]:
    definitions = MetricDefinitions(subject.request)
    with closing(definitions):
        return dict(definitions.read(line).values)


def measured(definitions: list[dict[str, str]] | None = None, **options: Any) -> Subject:
    algorithm = {**request()["AlgorithmSpecification"], **({"MetricDefinitions": definitions} if definitions else {})}
    given = {"step_regex": None, "metric": None, "metric_regex": None, **options}
    return with_metrics(Subject(request=request(AlgorithmSpecification=algorithm)), **given)


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("step 12", 12.0),
        ("epoch 3 Step [12/200] loss 5", 12.0),
        ("global_step=7", 7.0),
        ("step: 0", 0.0),
        ("steps per second 3", None),
        ("step_time 3", None),
    ],
)
def test_steps_are_found_in_usual_lines(line: str, step: float | None):
    subject = measured()
    assert found(subject, line).get(subject.step_name) == step


@pytest.mark.parametrize(
    ("line", "loss"),
    [
        ("loss=0.25", 0.25),
        ("loss: 2.5e-3, step 4", 0.0025),
        ("loss -1", -1.0),
        ("loss is low", None),
    ],
)
def test_a_metric_is_the_number_after_its_name(line: str, loss: float | None):
    subject = measured(metric="loss")
    assert (subject.metric_name, found(subject, line).get("loss")) == ("loss", loss)


def test_the_metrics_of_a_request_are_its_own():
    own = [{"Name": "step", "Regex": "<([0-9]+)>"}, {"Name": "loss", "Regex": "L([0-9]+)"}]
    subject = measured(own, metric="loss")
    assert subject.step_name == "step"
    assert found(subject, "<5> L7 step 3 loss 4") == {"step": 5.0, "loss": 7.0}


def test_a_regular_expression_takes_precedence_over_the_metrics_of_a_request():
    own = [{"Name": "step", "Regex": "<([0-9]+)>"}, {"Name": "loss", "Regex": "L([0-9]+)"}]
    subject = measured(own, step_regex="s([0-9]+)", metric="loss", metric_regex="M([0-9]+)")
    values = found(subject, "<5> L7 s3 M4")
    assert (values[subject.step_name], values["loss"], subject.step_name == "step") == (3.0, 4.0, False)
    assert "loss" not in found(subject, "L7")


@pytest.mark.parametrize("options", [{"step_regex": "("}, {"step_regex": "step"}, {"metric": "x", "metric_regex": "y"}])
def test_a_regular_expression_that_finds_nothing_is_refused(options: dict[str, Any]):
    with pytest.raises(CannotRehearse, match=r"is not a regular expression|has no group"):
        measured(**options)
