"""A second build in another environment has the same result, and differences are reported."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from deploy import reproducible
from deploy.archives import SUMS as SUMS_FILE

SUMS = ["1  ApiFunction.zip", "2  CoreLayer.zip"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "here"
    (here / reproducible.BUILD).mkdir(parents=True)
    (here / reproducible.BUILD / SUMS_FILE).write_text("\n".join(SUMS) + "\n")
    (here / "folder").mkdir()
    (here / "folder" / "new file").write_text("new")
    (here / ".gitignore").write_text(".aws-sam\n")
    subprocess.run(["git", "init", "--quiet"], cwd=here, check=True)
    monkeypatch.chdir(here)
    return here


@pytest.mark.parametrize(
    ("second", "status", "said"),
    [
        (SUMS, 0, ""),
        (["1  ApiFunction.zip", "3  CoreLayer.zip"], 1, "CoreLayer.zip differs"),
        (SUMS[:1], 1, "CoreLayer.zip differs"),
    ],
)
def test_archives_that_differ_are_reported(
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    second: list[str],
    status: int,
    said: str,
) -> None:
    monkeypatch.setattr(reproducible, "build", lambda copy, sam: second)
    assert reproducible.main() == status
    assert said in capsys.readouterr().err


def test_the_copy_has_what_git_does_not_ignore_from_another_time(checkout: Path, tmp_path: Path) -> None:
    reproducible.copy_checkout(checkout, tmp_path / "copy")
    copied = {path.relative_to(tmp_path / "copy") for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert copied == {Path(".gitignore"), Path("folder/new file")}
    copy, original = ((folder / "folder/new file").stat() for folder in (tmp_path / "copy", checkout))
    assert copy.st_mtime != original.st_mtime


def test_the_second_build_runs_in_another_environment(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(
        ".envs/sam/.made:\n\texit 1\n"
        "build: .envs/sam/.made\n\tmkdir -p .aws-sam/build\n\ttouch made\n"
        '\techo "$$TZ $$LC_ALL $(SAM)" > .aws-sam/build/archives.sha256\n'
    )
    assert reproducible.build(tmp_path, Path("/tools")) == ["Asia/Kathmandu C /tools"]
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o600


def test_a_second_build_that_fails_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("build:\n\t@echo broken >&2; exit 1\n")
    with pytest.raises(SystemExit, match="broken"):
        reproducible.build(tmp_path, Path("/tools"))
