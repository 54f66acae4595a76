"""Bytecode has the same bytes on any machine, and a build continues without a matching interpreter."""

from __future__ import annotations

import marshal
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import bytecode

ROOT = Path(__file__).resolve().parents[2]
TAG = sys.implementation.cache_tag or ""
UNCHECKED_HASH = (1).to_bytes(4, "little")  # PEP 552
HEADER = 16


def copied(folder: Path) -> Path:
    """Copy a build of the core layer and a function, as sam leaves it."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "layers/core/src", folder / "CoreLayer/python", ignore=ignored)
    shutil.copytree(ROOT / "functions/patrol", folder / "PatrolFunction", ignore=ignored)
    return folder


def written(build: Path) -> dict[str, bytes]:
    return {path.relative_to(build).as_posix(): path.read_bytes() for path in sorted(build.rglob("*.pyc"))}


def test_two_builds_elsewhere_at_other_times_with_other_seeds_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = copied(tmp_path / "one"), copied(tmp_path / "another place")
    for path in second.rglob("*.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    for build, seed in ((first, "1"), (second, "8")):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        bytecode.compile_build(build, sys.executable)
    assert written(first) == written(second)
    assert set(written(first)) == {
        f"{path.parent.relative_to(first)}/__pycache__/{path.stem}.{TAG}.pyc" for path in first.rglob("*.py")
    }


def test_bytecode_has_the_paths_on_lambda_and_does_not_check_times_or_contents(
    tmp_path: Path,
) -> None:
    build = copied(tmp_path)
    bytecode.compile_build(build, sys.executable)
    found = written(build)
    for content in found.values():
        assert content[4:8] == UNCHECKED_HASH
        assert str(tmp_path).encode() not in content
    for part, name in {
        "CoreLayer/python/headway/scheduling/__pycache__/queue_order": "/opt/python/headway/scheduling/queue_order.py",
        "PatrolFunction/__pycache__/app": "/var/task/app.py",
    }.items():
        assert marshal.loads(found[f"{part}.{TAG}.pyc"][HEADER:]).co_filename == name


def test_an_interpreter_uses_the_bytecode(tmp_path: Path) -> None:
    (tmp_path / "told.py").write_text("print('compiled')")
    bytecode.compile_folder(tmp_path, sys.executable, at="/opt/python")
    (tmp_path / "told.py").write_text("print('source')")
    command = [sys.executable, "-I", "-S", "-B", "-c", f"import sys; sys.path.append({str(tmp_path)!r}); import told"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "compiled\n"


def test_a_part_that_has_bytecode_keeps_it(tmp_path: Path) -> None:
    build = copied(tmp_path)
    kept = build / "CoreLayer/python/__pycache__/kept.pyc"
    kept.parent.mkdir()
    kept.write_bytes(b"kept")
    bytecode.compile_build(build, sys.executable)
    assert written(build) == {
        "CoreLayer/python/__pycache__/kept.pyc": b"kept",
        f"PatrolFunction/__pycache__/app.{TAG}.pyc": written(build)[f"PatrolFunction/__pycache__/app.{TAG}.pyc"],
    }


def test_a_module_with_a_syntax_error_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def")
    with pytest.raises(subprocess.CalledProcessError):
        bytecode.compile_folder(tmp_path, sys.executable, at="/opt/python")


@pytest.mark.parametrize(
    ("pythons", "tag", "found"),
    [
        (("/nowhere/python", sys.executable), TAG, sys.executable),
        ((sys.executable,), "cpython-26", None),
        (("/nowhere/python", "false"), TAG, None),
    ],
)
def test_only_an_interpreter_of_the_same_version_fits(pythons: tuple[str, ...], tag: str, found: str | None) -> None:
    assert bytecode.fitting(pythons, tag) == found


@pytest.mark.parametrize(("tag", "said", "files"), [(TAG, "bytecode: ", 2), ("cpython-26", "WITHOUT BYTECODE", 0)])
def test_a_build_reports_whether_it_has_bytecode_and_continues_without(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tag: str,
    said: str,
    files: int,
) -> None:
    build = copied(tmp_path)
    shutil.rmtree(build / "CoreLayer")
    (build / "PatrolFunction/more.py").touch()
    monkeypatch.setattr(bytecode, "LAMBDA", tag)
    monkeypatch.setattr(sys, "argv", ["bytecode", str(build), "/nowhere/python"])
    assert bytecode.main() == 0
    assert said in capsys.readouterr().out
    assert len(written(build)) == files


def test_bytecode_is_for_the_python_that_the_functions_run_on() -> None:
    version = bytecode.LAMBDA.removeprefix("cpython-")
    assert f"    Runtime: python{version[0]}.{version[1:]}\n" in (ROOT / "template.yaml").read_text(encoding="utf-8")


def test_the_makefile_checks_then_compiles_then_packs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps = re.findall(r"python -m deploy\.(\w+) \.aws-sam/build", makefile)
    assert steps == ["contents", "bytecode", "archives"]
