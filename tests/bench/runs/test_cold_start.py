"""A cold start loads what the function has on Lambda, and every function is measured."""

from __future__ import annotations

from pathlib import Path

from bench.runs import cold_start


def test_a_cold_start_sees_the_function_and_its_layers_only(tmp_path: Path) -> None:
    cold_start.lay_out(tmp_path, compiled=False)
    assert {path.name for path in (tmp_path / "botocore" / "data").iterdir() if path.is_dir()} == cold_start._services()
    found = cold_start.start("observe", tmp_path)
    for name in ("ms", "cpuMs", "mb"):
        assert 0 < found["ready"][name] < found["answered"][name]
    assert not list(tmp_path.rglob("*.pyc"))
    assert {path.name for path in tmp_path.iterdir()}.isdisjoint(
        {"pytest", "moto", "headway_sandbox", "headway_client"}
    )


def test_all_functions_are_measured() -> None:
    assert set(cold_start.FUNCTIONS) == {path.parent.name for path in (cold_start.ROOT / "functions").glob("*/app.py")}
