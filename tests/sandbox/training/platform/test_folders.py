from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from headway_sandbox.training.platform import folders

HERE = PurePosixPath()


def test_files_are_found_without_following_links(tmp_path: Path):
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/file").write_text("content")
    (folder / "link").symlink_to(outside / "secret")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
    assert [(str(found.path), found.content.read()) for found in folders.files(folder, HERE)] == [
        ("deep/file", b"content")
    ]


def test_a_folder_that_is_missing_or_a_link_has_no_files(tmp_path: Path):
    outside, root = tmp_path / "outside", tmp_path / "root"
    (outside / "data").mkdir(parents=True)
    (outside / "data/secret").write_text("secret")
    root.mkdir()
    (root / "output").symlink_to(outside)
    for below in ("missing", "output", "output/data"):
        assert list(folders.files(root, PurePosixPath(below))) == []
    assert folders.read_start(root, PurePosixPath("output/data/secret"), 99) == b""


def test_the_begin_of_a_file_is_read_and_a_link_is_not(tmp_path: Path):
    (tmp_path / "failure").write_text("a long reason")
    (tmp_path / "link").symlink_to(tmp_path / "failure")
    assert folders.read_start(tmp_path, PurePosixPath("failure"), 6) == b"a long"
    assert folders.read_start(tmp_path, PurePosixPath("link"), 6) == b""
    assert folders.read_start(tmp_path, PurePosixPath("missing/failure"), 6) == b""


def test_a_folder_is_removed_with_parts_that_were_made_inaccessible(tmp_path: Path):
    closed = tmp_path / "folder/closed"
    closed.mkdir(parents=True)
    (closed / "file").write_text("x")
    closed.chmod(0)
    folders.remove(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_the_size_of_a_folder_is_that_of_its_blocks(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/usr/bin/env")
    assert 100_000 <= folders.size_of(tmp_path) < 200_000


def test_a_folder_that_another_process_removes_too_is_removed(tmp_path: Path):
    folder = tmp_path / "folder"
    for number in range(300):
        (folder / f"{number}/deep").mkdir(parents=True)
    with ThreadPoolExecutor(4) as processes:
        for removal in [processes.submit(folders.remove, folder) for _ in range(4)]:
            removal.result()
    assert not folder.exists()
