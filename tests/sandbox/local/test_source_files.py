from __future__ import annotations

from pathlib import Path

import pytest

from headway_sandbox.local.source_files import source_files


@pytest.mark.parametrize("written", ["__pycache__/a.txt", "d/.mypy_cache/a.json", "d/.ruff_cache/a", "d/a.pyc"])
def test_what_interpreters_and_tools_write_is_no_source(tmp_path: Path, written: str):
    for name in ("d/b.py", "a.py", written):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert list(source_files(tmp_path)) == [("a.py", tmp_path / "a.py"), ("d/b.py", tmp_path / "d" / "b.py")]


def test_a_file_is_a_source_itself(tmp_path: Path):
    path = tmp_path / "template.yaml"
    path.write_text("")
    assert list(source_files(path)) == [("template.yaml", path)]
