"""The file that is being written is found in whatever way it is written."""

from __future__ import annotations

import select
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway_sandbox.rehearsal.writes import Writes

CONTENT = "0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "checkpoints"
    (found / "old").mkdir(parents=True)
    (found / "state").write_text("earlier")
    return found


@pytest.fixture
def writes(folder: Path) -> Iterator[Writes]:
    with Writes([folder]) as found:
        yield found


def first(writes: Writes) -> tuple[str, bytes | None]:
    written = next(writes.read())
    return str(written.path), written.half


def in_place(folder: Path) -> None:
    (folder / "state").write_text(CONTENT)


def appended(folder: Path) -> None:
    with (folder / "state").open("a") as file:
        file.write("!")


def new(folder: Path) -> None:
    (folder / "step-1").write_text(CONTENT)


def renamed(folder: Path) -> None:
    (folder / "draft").write_text(CONTENT)
    (folder / "draft").replace(folder / "state")


def in_a_subfolder(folder: Path) -> None:
    (folder / "old/part").write_text(CONTENT)


def in_a_new_folder(folder: Path) -> None:
    (folder / "new/deep").mkdir(parents=True)
    (folder / "new/deep/part").write_text(CONTENT)


def in_a_folder_that_is_renamed(folder: Path) -> None:
    (folder / "draft").mkdir()
    (folder / "draft/part").write_text(CONTENT)
    (folder / "draft").rename(folder / "step-1")


def made_elsewhere(folder: Path) -> None:
    (folder.parent / "draft").write_text(CONTENT)
    (folder.parent / "draft").replace(folder / "step-1")


def folder_made_elsewhere(folder: Path) -> None:
    (folder.parent / "draft").mkdir()
    (folder.parent / "draft/part").write_text(CONTENT)
    (folder.parent / "draft").rename(folder / "step-1")


@pytest.mark.parametrize(
    ("write", "path", "half"),
    [
        (in_place, "state", b"01234"),
        (appended, "state", b"earl"),
        (new, "step-1", b"01234"),
        (renamed, "draft", b"01234"),
        (in_a_subfolder, "old/part", b"01234"),
        (in_a_new_folder, "new/deep/part", b"01234"),
        (in_a_folder_that_is_renamed, "draft/part", b"01234"),
        (made_elsewhere, "step-1", None),
        (folder_made_elsewhere, "step-1", None),
    ],
)
def test_a_write_is_found_by_the_name_that_it_began_with(
    folder: Path, writes: Writes, write: Callable[[Path], None], path: str, half: bytes | None
):
    write(folder)
    assert first(writes) == (path, half)


def test_a_file_that_has_nothing_yet_is_found_with_its_first_content(folder: Path, writes: Writes):
    (folder / "state").write_text("")
    (folder / "step-1").touch()
    (folder / "new").mkdir()
    (folder / "new/part").touch()
    assert list(writes.read()) == []
    (folder / "step-1").write_text("ab")
    assert first(writes) == ("step-1", b"a")


def test_files_that_are_not_written_are_not_found(folder: Path, writes: Writes):
    (folder / "state").read_text()
    (folder / "state").chmod(0o600)
    (folder / "empty").mkdir()
    (folder / "state").rename(folder / "kept")
    (folder / "kept").unlink()
    shutil.rmtree(folder / "old")
    assert list(writes.read()) == []


def test_files_that_are_kept_under_other_names_are_not_written(folder: Path, writes: Writes):
    (folder / "draft").write_text(CONTENT)
    (folder / "new").mkdir()
    (folder / "new/part").write_text(CONTENT)
    assert {str(written.path) for written in writes.read()} == {"draft", "new/part"}
    (folder / "state").rename(folder / "state.1")
    (folder / "draft").rename(folder / "state")
    (folder / "new").rename(folder / "step-1")
    (folder / "copy").hardlink_to(folder / "state")
    assert list(writes.read()) == []


def test_a_write_after_a_folder_was_renamed_has_its_new_name(folder: Path, writes: Writes):
    (folder / "old").rename(folder / "kept")
    assert list(writes.read()) == []
    (folder / "kept/part").write_text(CONTENT)
    assert first(writes) == ("kept/part", b"01234")


def test_a_write_to_a_folder_that_was_made_elsewhere_is_found(folder: Path, writes: Writes):
    folder_made_elsewhere(folder)
    assert [written.half for written in writes.read()] == [None]
    (folder / "step-1/part").write_text(CONTENT * 2)
    assert first(writes)[0] == "step-1/part"


def test_nothing_outside_is_read_through_a_link(folder: Path, writes: Writes):
    secret = folder.parent / "secret"
    secret.mkdir()
    (secret / "part").write_text(CONTENT)
    (folder / "link").symlink_to(secret)
    (folder / "file").symlink_to(secret / "part")
    (secret / "part").write_text(CONTENT * 2)
    assert list(writes.read()) == []
    # A folder that was written to, and is a link by the time that it is looked at.
    (folder / "swapped").mkdir()
    (folder / "swapped/part").write_text(CONTENT)
    shutil.rmtree(folder / "swapped")
    (folder / "swapped").symlink_to(secret)
    assert list(writes.read()) == []
    assert {path.name for _root, path in writes._folders.values()} == {"", "old"}


def test_the_folders_of_several_hosts_are_watched(folder: Path, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    with Writes([folder, other]) as writes:
        new(other)
        assert first(writes) == ("step-1", b"01234")


def test_a_missing_folder_has_no_writes(tmp_path: Path):
    with Writes([tmp_path / "missing"]) as writes:
        assert list(writes.read()) == []


def test_a_write_that_is_found_can_be_waited_for(folder: Path, writes: Writes):
    assert select.select([writes], [], [], 0)[0] == []
    new(folder)
    assert select.select([writes], [], [], 5)[0] == [writes]
