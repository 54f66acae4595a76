from __future__ import annotations

import io
from pathlib import Path

import pytest

from headway_client.cli.arguments import input_files
from headway_client.cli.arguments.input_files import read_object, read_objects
from headway_client.errors import RequestFileError


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1, column 1"),
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
    ],
)
def test_a_file_without_a_json_object_is_reported_with_its_position(tmp_path: Path, content: bytes, words: str):
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
        (b"", "line 1, column 1"),
        (b"[]", "contains no JSON object"),
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
