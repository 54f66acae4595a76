"""The deployed archives have the same bytes on any machine at any time."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deploy import archives

NAMES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "B", "d/a", "d/e/f"]), st.binary(max_size=20)), unique_by=lambda each: each[0]
)


def written(folder: Path, files: list[tuple[str, bytes]], *, mode: int, time_s: int) -> Path:
    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
        os.utime(path, (time_s, time_s))
    folder.mkdir(exist_ok=True)
    return folder


@settings(max_examples=30)
@given(files=NAMES)
def test_an_archive_is_independent_of_order_time_and_umask(
    files: list[tuple[str, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    there = tmp_path_factory.mktemp("there")
    folders = [
        written(there / "one", files, mode=0o600, time_s=1_000_000_000),
        written(there / "other", files[::-1], mode=0o664, time_s=1_800_000_000),
    ]
    for folder in folders:
        archives.pack(folder, folder.with_suffix(".zip"))
    one, other = (folder.with_suffix(".zip").read_bytes() for folder in folders)
    assert one == other


def test_an_archive_has_the_contents_of_the_folder_and_keeps_executable_bits(tmp_path: Path) -> None:
    folder = written(tmp_path / "layer", [("python/a.py", b"a"), ("python/b.so", b"b")], mode=0o640, time_s=1)
    (folder / "python/b.so").chmod(0o700)
    archives.pack(folder, tmp_path / "layer.zip")
    with zipfile.ZipFile(tmp_path / "layer.zip") as packed:
        assert {info.filename: packed.read(info) for info in packed.infolist()} == {
            "python/a.py": b"a",
            "python/b.so": b"b",
        }
        assert [oct(info.external_attr >> 16) for info in packed.infolist()] == ["0o100644", "0o100755"]


def test_the_built_template_names_the_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "ApiFunction", [("app.py", b"")], mode=0o644, time_s=1)
    written(tmp_path / "CoreLayer", [("python/headway.py", b"")], mode=0o644, time_s=1)
    template = tmp_path / "template.yaml"
    template.write_text("      CodeUri: ApiFunction\n      ContentUri: CoreLayer\n      Handler: app.handler\n")
    monkeypatch.setattr(sys, "argv", ["archives", str(tmp_path)])
    assert archives.main() == 0
    assert template.read_text().split() == [
        *("CodeUri:", "ApiFunction.zip", "ContentUri:", "CoreLayer.zip", "Handler:", "app.handler")
    ]
    names = [line.split()[1] for line in (tmp_path / archives.SUMS).read_text().splitlines()]
    assert names == ["ApiFunction.zip", "CoreLayer.zip"]
    # A second build has nothing left to pack, which would otherwise go unnoticed.
    assert archives.main() == 1
