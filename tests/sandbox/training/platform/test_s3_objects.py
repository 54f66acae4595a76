from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_sandbox.training.errors import RequestFault
from headway_sandbox.training.platform.s3_objects import Location, relative_path

PARTS = st.lists(st.sampled_from(["a", "b.csv", "..", ".", "", "c"]), max_size=5)


@pytest.mark.parametrize(
    ("key", "prefix", "path"),
    [
        ("data/train/a/b.csv", "data/train", "a/b.csv"),
        ("data/train/a/b.csv", "data/train/", "a/b.csv"),
        ("data/train/a/b.csv", "data/tr", "train/a/b.csv"),
        ("data/train.csv", "data/train.csv", "train.csv"),
        ("a.csv", "", "a.csv"),
        ("data//a.csv", "data", "a.csv"),
        ("data/train/", "data", None),
    ],
)
def test_an_object_is_placed_by_its_key_below_the_prefix(key: str, prefix: str, path: str | None):
    assert relative_path(key, prefix) == (None if path is None else PurePosixPath(path))


def test_a_key_that_leads_out_of_the_folder_is_refused():
    with pytest.raises(RequestFault, match=r"has a part '\.\.'"):
        relative_path("data/../../etc/passwd", "data/")


@given(PARTS, PARTS)
def test_no_key_is_placed_outside_of_the_folder(prefix: list[str], rest: list[str]):
    begin = "/".join(prefix)
    try:
        path = relative_path(begin + "/".join(rest), begin)
    except RequestFault:
        return
    folder = Path("/folder")
    assert path is None or folder in (folder / path).resolve().parents


@pytest.mark.parametrize("uri", ["", "s3://", "bucket/key", "https://bucket/key"])
def test_what_is_no_s3_uri_is_refused(uri: str):
    with pytest.raises(RequestFault, match="is not of the form"):
        Location.parse(uri)


def test_a_location_is_extended_by_a_name():
    assert str(Location.parse("s3://bucket/a/") / "b" / PurePosixPath("c/d")) == "s3://bucket/a/b/c/d"
    assert str(Location.parse("s3://bucket") / "b") == "s3://bucket/b"
