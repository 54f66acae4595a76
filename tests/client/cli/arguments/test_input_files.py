from __future__ import annotations

import io
from pathlib import Path

import pytest

from headway_client.cli.arguments import input_files
from headway_client.cli.arguments.input_files import read_object, read_objects
from headway_client.errors import RequestFileError
from tests.client.command_line import Run
from tests.client.fakes.server import ContractServer


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b'{\n  "a": 1,\n  "b" 2\n}', "line 3, column 7"),
        (b'{"a": 1} x', "line 1, column 10"),
        (b'{"a": 1} {"a": 2}', "not 2 values"),
        (b'{"a": "\xff"}', "not in UTF-8: see line 1"),
        (b"[]", "not a list"),
        (b'"x"', "not a string"),
        (b"5", "not a number"),
        (b"true", "not true or false"),
        (b"null", "not null"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', 'the key "c" appears twice'),
        (b'{"a": 1, "b": 2, "b": 3, "c": 4, "b": 5}', 'the key "b" appears twice'),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not valid"),
        (b"[" * 100_000, "is nested more than 64 deep"),
        (b'{"a": ' * 65 + b"1" + b"}" * 65, "is nested more than 64 deep"),
        (b"a: 1\nb:\n  c: 1\n  c: 2\n", 'line 4, column 3 has the key "c" again, as line 3 has'),
        (b"a: 1\n b: 2\n", "is not YAML: line 2, column 3"),
        (b"a: 1\n---\na: 2\n", "not 2 values"),
        (b"# a list\n- a: 1\n", "not a list"),
        (b"a: [1, .nan]\n", "line 1, column 8 has .nan, which is not a number in JSON"),
        (b"a: &x 1\nb: *x\n", r"line 2, column 4 has the alias \*x"),
        (b"a: " + b"x" * 1_000_000, "is larger than 1,000,000 bytes, the limit for YAML; use JSON"),
    ],
)
def test_a_file_without_an_object_is_reported_with_its_position(tmp_path: Path, content: bytes, words: str):
    path = tmp_path / "request.json"
    path.write_bytes(content)

    with pytest.raises(RequestFileError, match=words) as caught:
        read_object(str(path))
    assert caught.value.message.startswith(str(path))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": 1}', [{"a": 1}]),
        (b'{\n  "a": 1\n}\n', [{"a": 1}]),
        (b'{"a": 1}\n{"a": 2}\n\n', [{"a": 1}, {"a": 2}]),
        (b'{"a": 1}{"a": 2}', [{"a": 1}, {"a": 2}]),
        (b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        (b'[{"a": 1}]\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        (b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        (b"a: 1\n", [{"a": 1}]),
        (b"# one\na: 1\n---\na: 2\n...\n", [{"a": 1}, {"a": 2}]),
        (b"---\n- a: 1\n- {a: 2}\n", [{"a": 1}, {"a": 2}]),
        (b'\xef\xbb\xbf# {"b"}\r\na: 1\r\n', [{"a": 1}]),
    ],
)
def test_objects_are_read_one_or_many(tmp_path: Path, content: bytes, expected: list[dict[str, int]]):
    path = tmp_path / "requests.jsonl"
    path.write_bytes(content)

    assert [each.value for each in read_objects(str(path))] == expected


def test_an_object_is_located_by_line_or_item(tmp_path: Path):
    path = tmp_path / "requests.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n[{"a": 3}, {"a": 4}]\n')

    places = [each.place.removeprefix(f"{path}, ") for each in read_objects(str(path))]

    assert places == ["line 1", "line 3", "item 1", "item 2"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"[]", "contains no object"),
        (b"a: 1\n---\n- b\n", "not a string"),
        (b"5", "not a number"),
        (b'[{"a": 1}, [1]]', "not a list"),
        (b'{"a": 1}\n{"a" 2}', "line 2, column 6"),
    ],
)
def test_values_other_than_objects_are_reported_with_their_position(tmp_path: Path, content: bytes, words: str):
    path = tmp_path / "requests.jsonl"
    path.write_bytes(content)

    with pytest.raises(RequestFileError, match=words):
        read_objects(str(path))


def test_documents_of_yaml_are_located_by_line_or_item(tmp_path: Path):
    path = tmp_path / "requests.yaml"
    path.write_text("a: 1\n---\n\na: 2\n---\n- a: 3\n- a: 4\n")

    places = [each.place.removeprefix(f"{path}, ") for each in read_objects(str(path))]

    assert places == ["line 1", "line 4", "item 1", "item 2"]


def test_values_of_yaml_are_those_of_json(tmp_path: Path):
    path = tmp_path / "request.yaml"
    path.write_text("text: no\nday: 2026-01-01\nsmall: 1e-4\nflag: true\nnothing:\nquoted: '7'\n")

    assert read_object(str(path)) == {
        "text": "no", "day": "2026-01-01", "small": 1e-4, "flag": True, "nothing": None, "quoted": "7",
    }  # fmt: skip


def test_a_missing_or_too_large_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(RequestFileError, match="can't be read: No such file"):
        read_object(str(tmp_path / "none"))
    with pytest.raises(RequestFileError, match="Is a directory"):
        read_object(str(tmp_path))
    monkeypatch.setattr(input_files, "MAX_FILE_BYTES", 10)
    (tmp_path / "large").write_bytes(b" " * 11)
    with pytest.raises(RequestFileError, match="larger than 10 bytes"):
        read_object(str(tmp_path / "large"))


def test_a_hyphen_is_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'\xef\xbb\xbf{"a": 1}')))
    assert read_object("-") == {"a": 1}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"{")))
    with pytest.raises(RequestFileError, match="standard input is not JSON"):
        read_object("-")


REQUEST = """\
# A job of two hosts.
TrainingJobName: from-yaml
RoleArn: arn:aws:iam::123456789012:role/training
AlgorithmSpecification:
  TrainingImage: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1
  TrainingInputMode: File
OutputDataConfig: {S3OutputPath: s3://bucket/out}
ResourceConfig: {InstanceType: ml.p5.48xlarge, InstanceCount: 2, VolumeSizeInGB: 10}
StoppingCondition:
  MaxRuntimeInSeconds: 3600
"""

CONFIGURATION = """\
version: 1
pools:
  ml.p5.48xlarge: {size: 4}
"""


@pytest.mark.parametrize(
    "command",
    [
        ["submit", "request.yaml"],
        ["submit", "request.yaml", "--dry-run"],
        ["submit", "request.yaml", "--alternative", "configuration.yaml"],
        ["what-if", "--submit", "request.yaml"],
        ["config", "set", "configuration.yaml"],
        ["policy", "lint", "configuration.yaml"],
        ["policy", "test", "configuration.yaml", "--request", "request.yaml"],
    ],
    ids=" ".join,
)
def test_every_command_that_reads_a_document_reads_yaml(run: Run, server: ContractServer, command: list[str]):
    Path("request.yaml").write_text(REQUEST, encoding="utf-8")
    Path("configuration.yaml").write_text(CONFIGURATION, encoding="utf-8")

    code, _, err = run(*command)

    assert (code, [line for line in err.splitlines() if "YAML" in line]) == (0, [])


def test_the_document_that_is_read_from_yaml_is_sent(run: Run, server: ContractServer):
    Path("request.yaml").write_text(REQUEST, encoding="utf-8")
    assert run("submit", "request.yaml")[0] == 0
    assert server.queue.jobs["from-yaml"]["request"]["ResourceConfig"]["InstanceCount"] == 2
