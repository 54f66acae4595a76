"""The administrator's key: random, in a file that only its user can read, and kept with the state."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway_sandbox import administrator


def test_each_sandbox_has_a_key_of_its_own_and_keeps_it(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    made = [administrator.find_or_make(tmp_path / name) for name in ("a", "b")]
    assert len({key.access_key for key in made}) == len({key.secret_key for key in made}) == len(made)
    assert administrator.find_or_make(tmp_path / "a") == administrator.find(tmp_path / "a") == made[0]
    assert len(made[0].secret_key) >= 40
    assert made[0].secret_key not in repr(made[0])


def test_the_file_is_the_users_only(tmp_path: Path):
    administrator.find_or_make(tmp_path)
    assert (tmp_path / "credentials").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text", ["", "[default]\n", "no section", "[default]\naws_access_key_id = a\n", "\xff", "[default"]
)
def test_a_file_that_is_no_key_is_replaced(tmp_path: Path, text: str):
    path = tmp_path / "credentials"
    path.write_text(text, encoding="latin-1")
    path.chmod(0o600)
    assert administrator.find(tmp_path) is None
    assert administrator.find_or_make(tmp_path) == administrator.find(tmp_path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_could_have_read_is_replaced(tmp_path: Path, mode: int):
    before = administrator.find_or_make(tmp_path)
    (tmp_path / "credentials").chmod(mode)
    assert administrator.find(tmp_path) is None
    assert administrator.find_or_make(tmp_path) != before
    assert (tmp_path / "credentials").stat().st_mode & 0o777 == 0o600


def test_the_key_is_never_written_through_a_link(tmp_path: Path):
    target = tmp_path / "of-somebody"
    target.write_text("kept")
    (tmp_path / "credentials").symlink_to(target)
    administrator.find_or_make(tmp_path)
    assert target.read_text() == "kept"
    assert not (tmp_path / "credentials").is_symlink()
