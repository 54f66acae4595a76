"""A layer with other contents than the pinned packages is refused."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy import contents
from deploy.pins import Pin

ELF_AARCH64 = b"\x7fELF".ljust(18, b"\0") + b"\xb7\x00"
ELF_X86_64 = b"\x7fELF".ljust(18, b"\0") + b"\x3e\x00"
BINARY = "six/fast.cpython-313-aarch64-linux-gnu.so"
FILES = {"six/__init__.py": b"one = 1", BINARY: ELF_AARCH64}
PINS = [Pin("six", "1.17.0", ())]


def install(site: Path, files: dict[str, bytes]) -> None:
    """Install a distribution as pip does."""
    info = site / "six-1.17.0.dist-info"
    info.mkdir(parents=True)
    record = ["six-1.17.0.dist-info/METADATA,,", "six-1.17.0.dist-info/RECORD,,"]
    metadata = b"Metadata-Version: 2.1\nName: Six\nVersion: 1.17.0\n"
    for name, content in {**files, "six-1.17.0.dist-info/METADATA": metadata}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}")
    (info / "RECORD").write_text("\n".join(record))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    install(tmp_path, FILES)
    return tmp_path


def test_a_layer_of_pinned_files_passes(site: Path) -> None:
    assert [*contents.wrong_distributions(site, PINS), *contents.wrong_files(site)] == []


@pytest.mark.parametrize(
    ("pins", "found"),
    [
        ([], ["six 1.17.0 is in the layer, and not pinned"]),
        ([Pin("six", "1.16.0", ())], ["six 1.16.0 is pinned, and not", "six 1.17.0 is in the layer, and not pinned"]),
        ([*PINS, Pin("idna", "3.20", ())], ["idna 3.20 is pinned, and not in the layer"]),
    ],
)
def test_unpinned_distributions_are_reported(site: Path, pins: list[Pin], found: list[str]) -> None:
    told = list(contents.wrong_distributions(site, pins))
    assert len(told) == len(found)
    assert all(map(str.startswith, told, found))


def add(name: str, content: bytes) -> Callable[[Path], None]:
    def change(site: Path) -> None:
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_bytes(content)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (add("backdoor.py", b""), "backdoor.py comes from no pinned distribution"),
        (add("six/__init__.py", b"one = 2"), "six/__init__.py is not as its distribution has it"),
        (add("pip/__main__.py", b""), "pip/__main__.py is not for the functions"),
        (add("six/tests", b""), "six/tests is not for the functions"),
        (add(BINARY, ELF_X86_64), f"{BINARY} is not for Python 3.13 on arm64"),
        (
            add("six/fast.cpython-312-aarch64-linux-gnu.so", ELF_AARCH64),
            "six/fast.cpython-312-aarch64-linux-gnu.so is not for Python 3.13 on arm64",
        ),
    ],
)
def test_an_unexpected_file_is_reported(site: Path, change: Callable[[Path], None], said: str) -> None:
    change(site)
    assert said in list(contents.wrong_files(site))


def test_a_layer_of_own_code_equals_its_source(tmp_path: Path) -> None:
    for folder, text in (("source", b"1"), ("built", b"1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_bytes(text)
    (tmp_path / "source/__pycache__").mkdir()
    (tmp_path / "source/__pycache__/a.pyc").touch()
    assert list(contents.wrong_copies(tmp_path / "built", tmp_path / "source")) == []
    (tmp_path / "built/b.py").touch()
    assert len(list(contents.wrong_copies(tmp_path / "built", tmp_path / "source"))) == 1


def test_exceeding_lambdas_limit_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(b"12345")
    assert list(contents.too_large(tmp_path)) == []
    monkeypatch.setattr(contents, "LAMBDA_LIMIT_BYTES", 4)
    assert len(list(contents.too_large(tmp_path))) == 1
