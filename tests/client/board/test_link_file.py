"""The file that leads a browser to the board."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from headway_client.board.web.link_file import LinkFile

ROOT = Path(__file__).parents[3]
URL = "http://127.0.0.1:8000/#token=abc"


@pytest.fixture
def umask() -> Iterator[None]:
    """Files that all may read and change, unless the code says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def path_of(file: LinkFile) -> Path:
    return Path(unquote(urlsplit(file.address).path))


def test_only_its_owner_can_read_it_or_its_folder(umask: None) -> None:
    file = LinkFile(URL)
    path = path_of(file)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    file.remove()
    assert not path.parent.exists()
    file.remove()


def test_its_address_has_no_token_and_it_leads_to_the_link() -> None:
    file = LinkFile(URL)
    assert "token" not in file.address
    assert "abc" not in file.address
    assert f'content="0; url={URL}"' in path_of(file).read_text()
    file.remove()


def test_each_has_a_folder_of_its_own() -> None:
    first, second = LinkFile(URL), LinkFile(URL)
    assert path_of(first).parent != path_of(second).parent
    first.remove()
    second.remove()


def test_what_somebody_has_placed_there_is_not_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/board.html").symlink_to(tmp_path / "target")
    monkeypatch.setattr("tempfile.mkdtemp", lambda **_: str(tmp_path / "folder"))
    with pytest.raises(FileExistsError):
        LinkFile(URL)
    assert (tmp_path / "target").read_text() == ""


def test_no_browser_is_opened_but_with_this_file() -> None:
    sources = [path for part in ("client", "sandbox") for path in (ROOT / part / "src").rglob("*.py")]
    found = [path.name for path in sources if "webbrowser.open" in path.read_text(encoding="utf-8")]
    # Both hand it to `BoardServer.open`.
    assert found == ["board.py", "board.py"]
    calls = [path for path in sources if "webbrowser.open(" in path.read_text(encoding="utf-8")]
    assert calls == []
