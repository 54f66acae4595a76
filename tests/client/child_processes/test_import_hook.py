"""A function that is called when a module has been imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import pytest

from headway_client.child_processes.import_hook import call_after_import


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "hooked.py").write_text("VALUE = 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    before = list(sys.meta_path)
    yield
    sys.meta_path[:] = before
    sys.modules.pop("hooked", None)


def test_the_function_is_called_once_after_the_module_has_run() -> None:
    values: list[int] = []
    call_after_import("hooked", lambda: values.append(sys.modules["hooked"].VALUE))
    assert values == []

    module = importlib.import_module("hooked")
    importlib.reload(module)

    assert values == [5]


def test_a_question_whether_the_module_is_installed_is_no_import() -> None:
    calls: list[None] = []
    call_after_import("hooked", lambda: calls.append(None))

    assert find_spec("hooked") is not None
    assert calls == []

    importlib.import_module("hooked")
    assert calls == [None]


def test_an_import_after_a_failed_one_counts(tmp_path: Path) -> None:
    calls: list[None] = []
    call_after_import("hooked", lambda: calls.append(None))
    (tmp_path / "hooked.py").write_text("raise ImportError('the first time')\n")
    with pytest.raises(ImportError, match="the first time"):
        importlib.import_module("hooked")
    assert calls == []

    (tmp_path / "hooked.py").write_text("VALUE = 5\n")
    importlib.import_module("hooked")
    assert calls == [None]


def test_a_module_that_is_run_twice_counts_once() -> None:
    calls: list[None] = []
    call_after_import("hooked", lambda: calls.append(None))
    for spec in (find_spec("hooked"), find_spec("hooked")):
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(module_from_spec(spec))

    assert calls == [None]


def test_the_import_system_is_as_before_when_the_module_has_run() -> None:
    before = list(sys.meta_path)
    call_after_import("hooked", lambda: None)

    importlib.import_module("hooked")

    assert sys.meta_path == before


def test_a_module_that_is_imported_already_counts() -> None:
    importlib.import_module("hooked")
    calls: list[None] = []

    call_after_import("hooked", lambda: calls.append(None))

    assert calls == [None]


def test_the_module_has_its_own_loader() -> None:
    plain = importlib.import_module("hooked").__loader__
    del sys.modules["hooked"]
    call_after_import("hooked", lambda: None)

    module = importlib.import_module("hooked")

    assert type(module.__loader__) is type(plain)
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__


def test_an_error_of_the_function_fails_the_import() -> None:
    def fail() -> None:
        raise ValueError("not configured")

    call_after_import("hooked", fail)

    with pytest.raises(ValueError, match="not configured"):
        importlib.import_module("hooked")
    assert "hooked" not in sys.modules


def test_a_module_that_does_not_exist_is_not_found() -> None:
    call_after_import("no_such_module", lambda: None)

    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_module")
